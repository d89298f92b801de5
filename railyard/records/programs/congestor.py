"""Make the options of `congestor` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Kind, Program, Run, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--pattern", "pattern")
    yield from given.option("--size", "size_bytes", unit="B")
    yield from given.option("--rounds", "rounds")


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case: a figure that is not there."""
    labels = {name: run.parameters[name] for name in ("pattern", "size_bytes") if name in run.parameters}
    yield from run.lacks(("round_us", "aggregate_bandwidth_gbyte_s"), **labels)


def sent(run: Run) -> Iterator[tuple[str, float]]:
    """Yield the bytes of an allreduce, which every host must send once in each round."""
    if run.parameters.get("pattern") == "allreduce" and len(run.ranks.hosts) > 1:
        for _, (samples,) in run.points("round_us"):
            yield from ((host, 8.0 * len(samples)) for host in run.ranks.hosts)


PROGRAM = Program(
    name="congestor",
    noun="the background traffic",
    options=options,
    needs={"pattern": Kind.TEXT, "size_bytes": Kind.INTEGER, "rounds": Kind.INTEGER},
    figures=dict.fromkeys(("round_us", "aggregate_bandwidth_gbyte_s"), "pattern size_bytes"),
    contradictions=contradictions,
    sent=sent,
)
