"""The programs that measure pairs of ranks: `hops` one at a time, `paths`, `contention` and `pt2pt` many at once.

Makes the options of each from the parameters of a case, and relates its figures.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from railyard.records.benchmark import HOST_LABELS, Label
from railyard.records.programs.base import (
    CLOCKS,
    SMALL,
    Given,
    Kind,
    Point,
    Program,
    Run,
    Word,
    numbers,
    outside,
    unlike,
    words,
)

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


def of_pairs(run: Run) -> Iterator[str]:
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


#: Least seconds of each point at the scale small, where no parameter names others.
LEAST_S = 3.0


def options_of_contention(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.options("--pairs=pairs_per_node", "--sizes=sizes_bytes", "--window")
    yield from given.timing(warmups=1, least_s=given.value("least_s", LEAST_S))


def contradictions_by(run: Run, *, by: str, tests: Sequence[str], is_counted: bool = False) -> Iterator[str]:
    """Yield what contradicts the case or other figures: points, samples, and the figures of all pairs together.

    `by` is the label with which the points are measured at each size. With `is_counted` each repeat is a sample.
    """
    for label in numbers(run.parameters.get(by)):
        for size in numbers(run.parameters.get("sizes_bytes")):
            yield from lacking(run, tests, **{by: label}, size_bytes=size)
    if is_counted:
        yield from counts(run)
    yield from of_pairs(run)


def options_of_hops(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.options("--sizes=sizes_bytes", "--window")
    if given.is_located:
        yield from given.option("--pairs-per-point", "pairs_per_point")
    yield from given.timing()


def contradictions_of_hops(run: Run) -> Iterator[str]:
    """Yield what contradicts the case: a test and size without a pair, or with another number of samples."""
    for test, figure in (("latency", "latency_us"), *((test, "bandwidth_gbyte_s") for test in STREAMS)):
        for size in numbers(run.parameters.get("sizes_bytes")):
            if size or test == "latency":
                yield from run.lacks([figure], test=test, size_bytes=size)
    yield from counts(run)
    most = run.parameters.get("pairs_per_point")
    for fom in ("latency_us", "bandwidth_gbyte_s"):
        for point, taken in by_point(run, fom).items():
            if type(most) is int and len(taken) > most:
                yield f"{fom} of {len(taken)} pairs at {dict(point)}; pairs_per_point is {most}"


def options_of_paths(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.coordinates
    yield from given.options("--paths", "--sizes=sizes_bytes")
    yield from ("--tests", "bandwidth")
    yield from given.option("--window", "window")
    yield from given.timing()


def options_of_pt2pt(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--pattern", "pattern")
    if given.value("pattern") == "ring":  # checks/canary.py
        yield from ("--tests", "latency,bandwidth")
        yield from given.option("--sizes", "sizes_bytes")
        yield from ("--window", "4")
        yield from given.option("--repeats", "repeats")
        yield from ("--max-time-per-point", "10")
        return
    yield from given.options("--tests", "--sizes=sizes_bytes", "--window")
    yield from ("--batch", "1", "--windows", "1")
    yield from given.timing(SMALL, warmups=1)


def contradictions_of_pt2pt(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: points, and the figures of all pairs together."""
    if run.parameters.get("pattern") != "ring":  # checks/canary.py has these by itself
        for name in sorted({"tests", "window"} - run.parameters.keys()):
            yield f"no parameter {name}, which the program needs"
    tests = words(run.parameters.get("tests")) or ["latency", "bandwidth"]
    for size in numbers(run.parameters.get("sizes_bytes")):
        yield from lacking(run, tests, pattern=str(run.parameters.get("pattern")), size_bytes=size)
    yield from of_pairs(run)


_OF_ALL_PROGRAMS = {"sizes_bytes": Kind.INTEGERS, "repeats": Kind.INTEGER}
_program = functools.partial(Program, figures=LABELS, sent=sent)
PROGRAMS = (
    _program(
        name="contention",
        noun="the exchange of many pairs",
        options=options_of_contention,
        needs={**_OF_ALL_PROGRAMS, "pairs_per_node": Kind.INTEGERS, "window": Kind.INTEGER},
        may={"least_s": Kind.NUMBER},
        contradictions=functools.partial(contradictions_by, by="pairs_per_node", tests=["latency", *STREAMS]),
    ),
    _program(
        name="hops",
        noun="the messages between pairs of nodes",
        options=options_of_hops,
        needs={**_OF_ALL_PROGRAMS, "window": Kind.INTEGER, "pairs_per_point": Kind.INTEGER},
        contradictions=contradictions_of_hops,
    ),
    _program(
        name="paths",
        noun="the exchange along paths",
        options=options_of_paths,
        needs={**_OF_ALL_PROGRAMS, "paths": Kind.INTEGERS, "window": Kind.INTEGER},
        contradictions=functools.partial(contradictions_by, by="paths", tests=["bandwidth"], is_counted=True),
    ),
    _program(
        name="pt2pt",
        noun="the messages between pairs of ranks",
        options=options_of_pt2pt,
        needs={**_OF_ALL_PROGRAMS, "pattern": Kind.TEXT},
        may={"tests": Kind.TEXTS, "window": Kind.INTEGER},
        contradictions=contradictions_of_pt2pt,
    ),
)
