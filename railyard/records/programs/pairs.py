"""Relate the figures of programs that measure pairs of ranks at the same time: hops, paths, contention, pt2pt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from railyard.records.benchmark import HOST_LABELS, Label
from railyard.records.programs.base import SMALL
from railyard.records.programs.contradictions import CLOCKS, Point, Run, outside, unlike

#: Tests of bandwidth.
STREAMS = ("bandwidth", "bibandwidth")
#: Test -> figures of all pairs together, the figure of each pair first; tests that no check runs are left out.
FIGURES: Mapping[str, Sequence[str]] = {
    "latency": ("pair_latency_us", "slowest_latency_us", "mean_latency_us", "overlap_percent"),
    **dict.fromkeys(STREAMS, ("pair_bandwidth_gbyte_s", "aggregate_bandwidth_gbyte_s", "overlap_percent")),
    "rate": ("pair_rate_message_s", "aggregate_rate_message_s", "overlap_percent"),
}
ALONE = ("latency_us", "bandwidth_gbyte_s", "rate_message_s")
_POINT = "test size_bytes dimension hops paths pairs_per_node round pattern step per_node"
_ENDS = f"{_POINT} from to from_rank to_rank"
_TAILS = ("latency_p50_us", "latency_p99_us", "latency_p999_us")
_OF_ALL = {fom for figures in FIGURES.values() for fom in figures[1:]} | {"under_sampled_percent"}
#: Figure of these programs -> names of the labels that its series may have.
LABELS: Mapping[str, str] = {
    **dict.fromkeys([*_OF_ALL, *(f"{kind}_{tail}" for kind in ("mean", "slowest") for tail in _TAILS)], _POINT),
    **dict.fromkeys([figures[0] for figures in FIGURES.values()], _ENDS),
    **dict.fromkeys([*ALONE, *_TAILS, *(f"pair_{tail}" for tail in _TAILS)], _ENDS),
}


def lacking(run: Run, tests: Sequence[str], **labels: Label) -> Iterator[str]:
    """Yield a line for each figure of some tests without a series at some labels."""
    for test in tests:
        yield from run.lacks(FIGURES.get(test, ()), test=test, **labels)


def counts(run: Run) -> Iterator[str]:
    """Yield a line for each figure that has not one sample per repeat, at the scale at which no time limits them."""
    if run.parameters.get("scale") == SMALL:
        whole = {fom for figures in FIGURES.values() for fom in figures}
        yield from run.counts(run.parameters.get("repeats"), sorted(whole | {*ALONE}))


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the pairs: the slowest and mean latency, the rate of all pairs, and their overlap."""
    latencies = by_point(run, "pair_latency_us")
    for labels, (slowest, mean) in run.points("slowest_latency_us", "mean_latency_us"):
        if own := latencies.get(frozenset(labels.items())):
            yield from unlike("slowest_latency_us", slowest, list(map(max, zip(*own, strict=False))))
            yield from unlike("mean_latency_us", mean, [sum(one) / len(one) for one in zip(*own, strict=False)])
    for pair, whole in ((FIGURES[test][0], FIGURES[test][1]) for test in ("bandwidth", "rate")):
        rates = by_point(run, pair)
        for labels, (aggregate, overlap) in run.points(whole, "overlap_percent"):
            own = rates.get(frozenset(labels.items()), [])
            most = [len(one) * min(one) for one in zip(*own, strict=False)]
            # All pairs together take as long as the slowest at least, and twice as long less what they overlap.
            least = [rate * (1 + share / 100) / 2 if share else 0.0 for rate, share in zip(most, overlap, strict=False)]
            if own:
                yield from outside(whole, aggregate, least, most, room=CLOCKS)
    for _, (overlap,) in run.points("overlap_percent"):
        yield from outside("overlap_percent", overlap, [0.0] * len(overlap), [100.0] * len(overlap))


def by_point(run: Run, fom: str) -> Mapping[Point, list[Sequence[float]]]:
    """Return point -> the samples of each pair or split there."""
    points: dict[Point, list[Sequence[float]]] = {}
    for labels, (samples,) in run.points(fom):
        point = frozenset((name, value) for name, value in labels.items() if name not in HOST_LABELS)
        points.setdefault(point, []).append(samples)
    return points


def sent(run: Run) -> Iterator[tuple[str, float]]:
    """Yield the bytes of one unit of each sample of each pair: a message each way, or a window of messages."""
    window = run.parameters.get("window", 1)
    for fom in (*ALONE, *(figures[0] for figures in FIGURES.values())):
        for labels, (samples,) in run.points(fom):
            first, other, test = labels.get("from"), labels.get("to"), labels.get("test")
            size = float(len(samples) * int(labels["size_bytes"]) * (1 if test == "latency" else window))
            if first != other:
                yield str(first), size
                if test in {"latency", "bibandwidth"}:
                    yield str(other), size
