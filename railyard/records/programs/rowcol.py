"""Make the options of `rowcol` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from railyard.records.programs import pairs
from railyard.records.programs.base import SMALL, Given, Kind, Program, Run, Word, numbers, outside, unlike, words


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.options("--splits", "--collectives", "--sizes=sizes_bytes")
    yield from given.timing()
    yield from given.option("--start", "start")
    if given.scale == SMALL:
        # On a busy machine ranks begin later, and what is accepted grows; how late they began is in the document.
        yield from ("--late-percent", "3", "--late-most", "90")


#: Collectives whose size is that of the block of one rank.
BY_BLOCK = frozenset({"alltoall", "alltoallv", "allgather", "reduce-scatter"})
#: Collective -> share of its bytes that a rank must send at least, by the number of ranks (nccl-tests' bus bandwidth).
BUS_SHARE: Mapping[str, Callable[[int], float]] = {
    **dict.fromkeys(BY_BLOCK, lambda ranks: (ranks - 1) / ranks),
    **dict.fromkeys(("allreduce", "allreduce-float"), lambda ranks: 2 * (ranks - 1) / ranks),
    "bcast": lambda ranks: 1,
}
RATES = ("algorithmic_bandwidth_gbyte_s", "bus_bandwidth_gbyte_s")


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: series, both rates, the mean, and the splits."""
    for collective in words(run.parameters.get("collectives")):
        figures = ("slowest_us", "mean_us", "split_us", *(RATES if collective in BUS_SHARE else ()))
        for split in words(run.parameters.get("splits")):
            for size in numbers(run.parameters.get("sizes_bytes")) if collective in BUS_SHARE else [0]:
                yield from run.lacks(figures, collective=collective, split=split, size_bytes=size)
    splits = pairs.by_point(run, "split_us")
    for labels, (slowest, mean, *rates) in run.points("slowest_us", "mean_us", *RATES):
        yield from outside("mean_us", mean, [0.0] * len(slowest), slowest)
        own = splits.get(frozenset(labels.items()), [slowest])
        yield from unlike("slowest_us", slowest, list(map(max, zip(*own, strict=False))))
        share, ranks = BUS_SHARE.get(str(labels.get("collective"))), labels.get("ranks")
        if share is None or type(ranks) is not int:
            continue
        size = int(labels["size_bytes"]) * (ranks if labels["collective"] in BY_BLOCK else 1)
        for fom, rate, part in zip(RATES, rates, (1.0, share(ranks)), strict=True):
            yield from unlike(fom, rate, [1e-3 * part * size / time_us for time_us in slowest])


def sent(run: Run) -> Iterator[tuple[str, float]]:
    """Yield the bytes that left each host at least: those for ranks that cannot be on it."""
    per_host = run.ranks.counts()
    most = max(per_host.values(), default=0)
    for labels, (samples,) in run.points("slowest_us"):
        others = int(labels.get("ranks", 0)) - most
        for host, own in per_host.items() if others > 0 else ():
            times = {"alltoall": own * others, "allgather": own, "allreduce": 1}.get(str(labels["collective"]), 0)
            yield host, float(len(samples) * times * int(labels["size_bytes"]))


_POINT = "collective split ranks size_bytes"
PROGRAM = Program(
    name="rowcol",
    noun="the collectives of rows and columns",
    options=options,
    needs={
        "splits": Kind.TEXTS,
        "collectives": Kind.TEXTS,
        "sizes_bytes": Kind.INTEGERS,
        "repeats": Kind.INTEGER,
        "start": Kind.TEXT,
    },
    figures={
        "split_us": f"{_POINT} from to",
        **dict.fromkeys(("slowest_us", "mean_us", *RATES, "calls_count", "dropped_count", "latest_start_us"), _POINT),
    },
    contradictions=contradictions,
    sent=sent,
    follows=dict.fromkeys(RATES, ("slowest_us",)),
)
