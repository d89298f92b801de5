"""Make the options of `topobw` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Kind, Program, Run, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from ("--coordinates", "coordinates", "--links", "links")
    yield from given.options("--size=size_bytes", "--messages", "--repeats", "--tolerance=tolerance_percent")
    # Hosts' names belong to the torus; elsewhere to another network.
    yield from ("--routes", "strict" if given.is_emulated else "off")
    rail = given.value("rail")
    if rail and given.is_emulated:
        yield from ("--nic-suffix", f".nic{rail}")


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case: a link without its missing share, or with more samples than rounds of it."""
    for labels, (_, missing) in run.points("bandwidth_gbyte_s", "missing_percent"):
        if not missing:
            yield f"no missing_percent of {labels.get('link')}, which the program always writes"


def sent(run: Run) -> Iterator[tuple[str, float]]:
    """Yield the bytes of all links together, each in every round in which it answered."""
    size, messages = (run.parameters.get(name) for name in ("size_bytes", "messages"))
    if type(size) is int and type(messages) is int:
        rounds = sum(len(samples) for _, (samples,) in run.points("bandwidth_gbyte_s"))
        yield "", float(size * messages * rounds)


PROGRAM = Program(
    name="topobw",
    noun="the transfer over single links",
    options=options,
    needs={**dict.fromkeys(("size_bytes", "messages", "repeats"), Kind.INTEGER), "tolerance_percent": Kind.NUMBER},
    may={"rail": Kind.INTEGER},
    figures=dict.fromkeys(("bandwidth_gbyte_s", "missing_percent"), "link dimension direction class sharers links"),
    contradictions=contradictions,
    sent=sent,
)
