"""Check what each benchmark declares: what case and figures determine of a figure, and the bytes that left a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from railyard.records import programs
from railyard.records.programs import Run
from railyard.records.record import Launch, Origin, Record, Verdict
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import Fault, ended_well, rule


def _run(read: Record, launch: Launch) -> Run:
    return Run(
        parameters=read.case.parameters,
        ranks=launch.ranks,
        series=launch.series,
        not_measured=launch.not_measured,
        reported=launch.reported,
        grid=rebuilt.grid(read) or (),
    )


@rule("contradiction")
def contradiction(read: Record) -> Iterator[Fault]:
    """Each figure is what the case and the other figures of its launch determine; none of the program's is missing."""
    if read.origin is Origin.MODELLED:
        return  # the model writes other figures, and all of them are computed again
    contradictions = programs.contradictions(read.case.benchmark)
    for field, launch in ended_well(read):
        for text in contradictions(_run(read, launch)):
            yield Fault(f"{field}.series", text[:300])


@rule("payload")
def payload(read: Record) -> Iterator[Fault]:
    """The NICs of each node sent at least the payload that left it, wherever the bytes are proof of a policy."""
    program = programs.PROGRAMS.get(read.case.benchmark)
    if program is None or read.origin is Origin.MODELLED:
        return
    cached: dict[object, Mapping[str, float]] = {}
    for field, launch in ended_well(read):
        of_ranks = rebuilt.counts_nics(read, launch)
        if not launch.nics or (of_ranks and launch.nic_verdict is not Verdict.OBEYED):
            continue
        key = id(launch.ranks.host_of), tuple(len(series.samples) for series in launch.series)
        if key not in cached:
            cached[key] = _summed(program.sent(_run(read, launch)))
        counted = _summed((node, size) for (node, _), size in zip(launch.nics.pairs, launch.nics.tx_bytes, strict=True))
        counted[""] = sum(counted.values())
        for host, size in cached[key].items():
            if counted.get(host, 0) < size:
                where = f"the NICs of {host}" if host else "all NICs"
                text = f"{where} sent {counted.get(host, 0):.0f} bytes; {size:.0f} left it by the figures"
                yield Fault(f"{field}.nics", text)
                break


def _summed(parts: Iterator[tuple[str, float]]) -> dict[str, float]:
    """Return the sum of each name's numbers."""
    sums: dict[str, float] = {}
    for name, size in parts:
        sums[name] = sums.get(name, 0.0) + size
    return sums
