"""Relate the figures of third-party programs: a rate, its time, and the work that size and ranks determine.

The parsers (`railyard.applications.programs`) compare the same numbers as a program prints them. A record has them
without the printed digits, so that each function names how many there are. Leaves out: programs that write one
figure, and those whose figures are all rates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping

from railyard.records.programs.base import Contradictions, Follows, Run, nothing, numbers, outside, unlike

#: LULESH's edge of the whole mesh -> (iterations to the end, final origin energy as printed): LLNL's reference results;
#: 15 and 20 by one domain.
LULESH_RUNS: Mapping[int, tuple[int, str]] = {
    5: (72, "7.853665e+03"),
    10: (231, "2.720531e+04"),
    15: (400, "5.702894e+04"),
    20: (575, "9.668856e+04"),
    30: (932, "2.025075e+05"),
    45: (1477, "4.234875e+05"),
    50: (1662, "5.124778e+05"),
    70: (2402, "9.417145e+05"),
    90: (3145, "1.482403e+06"),
}


def _printed(value: float, digits: int) -> float:
    """Return half a unit of the last of so many significant digits, as a share of a printed number."""
    return 0.5 * 10 ** (math.floor(math.log10(value)) - digits + 1) / value if value > 0 else math.inf


def _rate(run: Run, digits: Mapping[str, int], work: tuple[float, float], *, half_s: float = 0) -> Iterator[str]:
    """Yield a line unless rate times time is between the two numbers of `work`; both have so many digits.

    `half_s` is half a unit of the last decimal of the time, where a version of the program prints fixed decimals.
    """
    rate, time = digits
    for _, (rates, times) in run.points(rate, time):
        for value, time_s in zip(rates, times, strict=False):
            room = 1.01 * (_printed(value, digits[rate]) + max(_printed(time_s, digits[time]), half_s / (time_s or 1)))
            least, most = (one / time_s if time_s else value for one in work)
            yield from outside(rate, [value], [least], [most], room=room)


def _lulesh(run: Run) -> Iterator[str]:
    """Yield a line unless the rate is that of the zones of all ranks and iterations; the time has two digits."""
    yield from run.lacks(("fom_kzone_s", "elapsed_s"))
    edge, ranks = run.parameters.get("size"), len(run.ranks)
    if type(edge) is not int:
        return
    mesh = edge * round(ranks ** (1 / 3))
    determined = run.parameters.get("iterations") or LULESH_RUNS.get(mesh, (None,))[0]
    iterations = determined or run.reported.get("iterations")
    for name, wanted in (("iterations", determined), ("edge", edge)):
        if wanted is not None and run.reported.get(name, wanted) != wanted:
            yield f"reported {name} is {run.reported[name]}; the case gives {wanted}"
    if type(iterations) is int:
        zones = edge**3 * ranks * iterations / 1000  # the program prints thousands, and calls them zones
        yield from _rate(run, {"fom_kzone_s": 7, "elapsed_s": 2}, (zones, zones), half_s=5e-3)


def _of_set_up_and_solve(run: Run, *, combined: Callable[[float, float], float]) -> Iterator[str]:
    """Yield a line unless the figure of merit is what `combined` gives of the rates of set-up and solution."""
    figures = ("fom_per_s", "setup_per_s", "solve_per_s")
    yield from run.lacks(figures)
    for _, (fom, setup, solve) in run.points(*figures):
        both = [combined(*pair) for pair in zip(setup, solve, strict=False)]
        yield from unlike("fom_per_s", fom, both, room=1e-5)


def _hpcg(run: Run) -> Iterator[str]:
    """Yield a line unless the rating is at most the raw rate."""
    yield from run.lacks(("rating_gflop_s", "raw_gflop_s", "time_s"))
    for _, (rating, raw) in run.points("rating_gflop_s", "raw_gflop_s"):
        yield from outside("rating_gflop_s", rating, [0.0] * len(rating), raw)


def _minife(run: Run) -> Iterator[str]:
    """Yield a line unless rate and time give the operations of the iterations; a rank may own its block's far side."""
    yield from run.lacks(("cg_mflop_s", "cg_s", "program_s"))
    for _, (solve, program) in run.points("cg_s", "program_s"):
        yield from outside("cg_s", solve, [0.0] * len(solve), program)
    edge, iterations = run.parameters.get("size"), run.reported.get("iterations")
    if type(edge) is not int or type(iterations) is not int or not run.grid:
        return
    elements = [edge * ranks for ranks in run.grid]
    products = 2 * math.prod(3 * count + 1 for count in elements) * (iterations + 1)
    vectors = 13 * iterations + 6
    rows = math.prod(elements), math.prod(count + 1 for count in elements)
    work = [1e-6 * (products + vectors * count) for count in rows]
    yield from _rate(run, {"cg_mflop_s": 5, "cg_s": 5}, (work[0], work[1]))


def _minighost(run: Run) -> Iterator[str]:
    """Yield a line unless rate and time give 27 operations for each point, variable and step."""
    yield from run.lacks(("total_gflop_s", "time_s"))
    edge, variables, steps = (run.parameters.get(name) for name in ("size", "variables", "steps"))
    if type(edge) is int and type(variables) is int and type(steps) is int:
        work = 27e-9 * edge**3 * len(run.ranks) * variables * steps
        yield from _rate(run, {"total_gflop_s": 4, "time_s": 4}, (work, work))


def _snap(run: Run) -> Iterator[str]:
    """Yield a line unless rate and time give the cells, angles and inner iterations."""
    yield from run.lacks(("cells_per_s", "solve_s"))
    edge, angles = run.parameters.get("size"), run.parameters.get("angles")
    iterations = run.reported.get("iterations")
    if type(edge) is int and type(angles) is int and type(iterations) is int:
        work = float(edge**3 * angles * 8 * iterations)
        yield from _rate(run, {"cells_per_s": 5, "solve_s": 5}, (work, work))


def _umt(run: Run) -> Iterator[str]:
    """Yield a line unless rate and time give the unknowns of all iterations."""
    yield from run.lacks(("unknowns_per_s", "work_s"))
    unknowns, iterations = run.reported.get("unknowns"), run.reported.get("iterations")
    if isinstance(unknowns, float | int) and type(iterations) is int:
        work = float(unknowns * iterations)
        yield from _rate(run, {"unknowns_per_s": 5, "work_s": 5}, (work, work))


def _osu(run: Run) -> Iterator[str]:
    """Yield what contradicts the sizes, or another column of the same line."""
    figures = [fom for fom in ("latency_us", "bandwidth_gbyte_s") if fom in run.figures]
    for size in numbers(run.parameters.get("sizes_bytes")):
        yield from run.lacks(figures or ["latency_us"], size_bytes=size)
    for labels, (messages, rates) in run.points("rate_message_s", "bandwidth_gbyte_s"):
        for count, rate in zip(messages, rates, strict=False):
            room = 1.01 * (5e-3 / count + 5e-6 / rate)  # both columns have two decimals
            yield from unlike("bandwidth_gbyte_s", [rate], [1e-9 * count * int(labels["size_bytes"])], room=room)
    for fom in ("latency_us", "init_s"):
        for _, (mean, least, most) in run.points(fom, f"min_{fom}", f"max_{fom}"):
            if least and most:
                yield from outside(fom, mean, least, most)


#: Benchmark -> the function that yields its contradictions, for programs that are not railyard's own.
_CONTRADICTIONS: Mapping[str, Contradictions] = {
    # one set-up and three solutions, of rates; one set-up and one solution, of times
    "amg": functools.partial(_of_set_up_and_solve, combined=lambda setup, solve: (setup + 3 * solve) / 4),
    "amg2023": functools.partial(_of_set_up_and_solve, combined=lambda setup, solve: setup * solve / (setup + solve)),
    "hpcg": _hpcg,
    "lulesh": _lulesh,
    "minife": _minife,
    "minighost": _minighost,
    "snap": _snap,
    "umt": _umt,
    **dict.fromkeys(("comd", "gpcnet", "mcb", "quicksilver"), nothing),
}

#: Benchmark -> its figures that repeat another. The figure of merit counts, or the one with more digits.
_FOLLOWS: Mapping[str, Follows] = {
    "hpl": {"time_s": ("solve_gflop_s",)},
    "imb": {"bandwidth_gbyte_s": ("max_latency_us", "latency_us"), "rate_message_s": ("bandwidth_gbyte_s",)},
    "lulesh": {"elapsed_s": ("fom_kzone_s",)},
    "mcb": {"advance_s": ("tracks_per_s",)},
    "minife": {"cg_s": ("cg_mflop_s",)},
    "minighost": {"time_s": ("total_gflop_s",)},
    "nccl_tests": dict.fromkeys(("algorithm_bandwidth_gbyte_s", "bus_bandwidth_gbyte_s"), ("time_us",)),
    "snap": {"solve_s": ("cells_per_s",)},
    "umt": {"work_s": ("unknowns_per_s",)},
}


def contradictions(benchmark: str) -> Contradictions:
    """Return the function that yields the contradictions of a program that is not railyard's own, such as OSU's."""
    return _osu if benchmark.startswith("osu_") else _CONTRADICTIONS.get(benchmark, nothing)


def is_known(benchmark: str) -> bool:
    """Return whether a parser of railyard reads the benchmark, so that its figures and labels are known."""
    return benchmark.startswith("osu_") or benchmark in _CONTRADICTIONS


def follows(benchmark: str) -> Follows:
    """Return the figures of a program that repeat another figure, with that figure; so do the rates of OSU."""
    is_osu = benchmark.startswith("osu_")
    return {"rate_message_s": ("bandwidth_gbyte_s",)} if is_osu else _FOLLOWS.get(benchmark, {})
