"""Make the options of `sonar` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Kind, Program, Run, Word, numbers, unlike, words


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--sizes", "sizes_bytes")
    yield from ("--pings", ",".join(given.value("pings", ["send"])))
    yield from given.number("--count", "count")
    yield from given.option("--repeats", "repeats")
    yield from ("--group", str(given.value("group", "auto")))


FIGURES = (
    *("source_sent_bytes", "source_received_bytes", "destination_sent_bytes", "destination_received_bytes"),
    *("source_sent_packets_count", "source_received_packets_count"),
    *("destination_sent_packets_count", "destination_received_packets_count", "efficiency_percent"),
)


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: series, and the efficiency of the counted bytes."""
    for ping in words(run.parameters.get("pings")) or ["send"]:
        for size in numbers(run.parameters.get("sizes_bytes")):
            yield from run.lacks(FIGURES, ping=ping, size_bytes=size)
    for labels, (efficiency, out, back) in run.points("efficiency_percent", *FIGURES[:2]):
        if len(efficiency) == len(out) == len(back):  # a sample without its counters is left out
            size = int(labels["size_bytes"])
            counted = [a + b for a, b in zip(out, back, strict=True)]
            yield from unlike("efficiency_percent", efficiency, [100 * size / one for one in counted if one])


def sent(run: Run) -> Iterator[tuple[str, float]]:
    """Yield the bytes of one ping of each sample, which rank 0 sent; the number of pings is not a parameter."""
    for labels, (samples,) in run.points("source_sent_bytes"):
        if labels.get("ping") in {"send", "put"}:
            yield run.ranks.host_names[0], float(len(samples) * int(labels["size_bytes"]))


PROGRAM = Program(
    name="sonar",
    noun="the messages between pairs of nodes",
    options=options,
    needs={"sizes_bytes": Kind.INTEGERS, "repeats": Kind.INTEGER},
    may={"pings": Kind.TEXTS, "group": Kind.TEXT},
    figures=dict.fromkeys(FIGURES, "ping payload size_bytes"),
    contradictions=contradictions,
    sent=sent,
)
