"""Answer how many launches and jobs find a difference, as a table and as JSON.

Models: the noise of a check, as it is stated or in an archive. Logarithms of values have normal noise. The spread
within a job is pooled over jobs and combinations. That between jobs is what the variance of the jobs' means has beyond
it (a one-way analysis of variance), pooled over combinations. The power of the test that decides, for one noise, is
found by drawing launches or jobs and applying that test; means and medians of the sides differ, means by more than the
noise floor. The first of `tests` tests of one family passes Holm's correction. The draws have a fixed seed. A noise
that was estimated from a pilot gives a range. Leaves out: drift between dates (`railyard series dates`), and other
shapes of noise (`python -m perf statistics`).
"""

from __future__ import annotations

import functools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railyard.analysis.cases.comparison import label_text, rank_of
from railyard.analysis.judge.rows import Row, series
from railyard.analysis.stats import contrast
from railyard.analysis.stats.contrast import ALPHA, FEWEST
from railyard.analysis.text import DataTable, counted, percent
from railyard.placements.arrays import Floats, np
from railyard.records import comparable
from railyard.records.json_io import Json
from railyard.records.record import COMPUTED
from railyard.records.store.entries import Entry
from railyard.records.units import Better

#: The probabilities of finding the difference, one for each column of answers.
WANTED = (0.8, 0.95)
FORMAT = "railyard-plan/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of one figure of merit of a check: relative spreads, `between` None where no two jobs show it.

    `launches` are those of a combination in the newest job, `combinations` its number of combinations, `points` those
    of the figure of merit, and `floor` is the noise floor as a share. `freedom` has the degrees of freedom with which
    the two spreads were estimated, 0 where they are stated. `what` names the figure and where it was measured; empty
    for a noise that is stated.
    """

    what: str
    within: float
    between: float | None
    jobs: int
    launches: int
    combinations: int
    floor: float
    points: int = 1
    freedom: tuple[int, int] = (0, 0)


def _factor(freedom: int, share: float) -> float:
    """Return the limit of a standard deviation over its estimate, by the chi-squared distribution."""
    if not freedom:
        return 1.0
    import scipy.special  # imported here: takes 1 s, and --help does not need it

    return math.sqrt(freedom / float(scipy.special.chdtri(freedom, 1 - share)))


def of_archive(entries: Iterable[Entry], check: str, foms: Sequence[str] = ()) -> list[Noise]:
    """Return the noise of each setting and series in which a check was measured, of its first figure of merit.

    `foms` chooses other figures. Settings without two launches of one combination are left out.
    """
    chosen = (entry for entry in entries if entry.setting["check"] == check)
    rows = [row for row in series(chosen, _shared, None, foms) if row.key.fom.better is not Better.NEITHER]
    if not foms and rows:
        first = min((row.key.fom for row in rows), key=rank_of)
        rows = [row for row in rows if row.key.fom == first]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.shared["reference"], row.key.fom, row.key.labels), []).append(row)
    points = Counter(key[:2] for key in groups)
    noises = (_noise(members, points[key[:2]]) for key, members in groups.items())
    return [noise for noise in noises if noise is not None]


def _shared(setting: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return what jobs must have in common to differ by chance alone; None for what is computed."""
    return None if setting["origin"] in COMPUTED else {"reference": comparable.reference_digest(setting)}


def _noise(rows: Sequence[Row], points: int) -> Noise | None:
    squares, freedom = 0.0, 0  # within jobs
    between, inverse, more = 0.0, 0.0, 0  # between the means of jobs
    for row in rows:
        jobs = [[math.log(value) for value in point.values] for point in row.points if min(point.values) > 0]
        squares += math.fsum(statistics.variance(logs) * (len(logs) - 1) for logs in jobs if len(logs) > 1)
        freedom += sum(len(logs) - 1 for logs in jobs)
        if len(jobs) > 1:
            between += statistics.variance(map(statistics.fmean, jobs)) * (len(jobs) - 1)
            inverse += statistics.fmean(1 / len(logs) for logs in jobs) * (len(jobs) - 1)
            more += len(jobs) - 1
    if not freedom:
        return None
    within = squares / freedom
    newest = max((row.points[-1] for row in rows), key=lambda point: point.created)
    setting = newest.setting
    labels = label_text(rows[0].key.labels)
    return Noise(
        what=f"{rows[0].key.fom.stem}{f' {labels}' if labels else ''}, {rows[0].what}",
        within=math.sqrt(within),
        between=math.sqrt(max(0.0, (between - inverse * within) / more)) if more else None,
        jobs=max(len(row.points) for row in rows),
        launches=len(newest.values),
        combinations=math.prod(len(setting[name]) for name in ("placements", "nic_policies", "software")),
        floor=max(point.entry.own["noise_percent"] for row in rows for point in row.points) / 100,
        points=points,
        freedom=(freedom, more),
    )


# ---- answers ----


#: A number, and the least and the most that it may be; None for more than are tried.
Range = tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answers for one noise, each for the probabilities of `WANTED`; None where no number is enough.

    `launches` per combination and `jobs` per side find the difference, `everywhere` are launches that find it at all
    points. Each is a number with the range that the pilot leaves open. `within` and `between` are the smallest shares
    that today's launches, and `sides` jobs per side, find.
    """

    noise: Noise
    launches: Sequence[Range]
    everywhere: Sequence[Range]
    jobs: Sequence[Range]
    within: Sequence[float | None]
    between: Sequence[float | None]
    sides: int


def planned(noise: Noise, change: float) -> Plan:
    """Return the answers for one noise; those on jobs are empty where the spread between jobs is unknown."""
    tests = max(1, noise.combinations - 1) * noise.points
    of_combinations: dict[str, Any] = {"tests": tests, "floor": noise.floor}
    sides, has_jobs = max(noise.jobs, FEWEST), noise.between is not None
    # The noise as estimated, and the least and the most that it may be: each spread is within them in 80 % of cases.
    factors = [(1.0, 1.0), *(tuple(_factor(freedom, share) for freedom in noise.freedom) for share in (0.9, 0.1))]
    spreads = [noise.within * within for within, _ in factors]
    drawn = np.random.default_rng(SEED).standard_normal((DRAWS, noise.launches))
    of_median = float(np.median(drawn, axis=1).std())
    of_jobs = [
        math.hypot((noise.between or 0.0) * between, noise.within * within * of_median) for within, between in factors
    ]

    def needed(wanted: Iterable[float], spreads: Sequence[float], **how: Any) -> list[Range]:
        return [tuple(enough(spread, change, one, **how) for spread in spreads) for one in wanted]

    at_all_points = [wanted ** (1 / noise.points) for wanted in WANTED]
    return Plan(
        noise=noise,
        launches=needed(WANTED, spreads, **of_combinations),
        everywhere=needed(at_all_points, spreads, **of_combinations) if noise.points > 1 else [],
        jobs=needed(WANTED, of_jobs, floor=noise.floor) if has_jobs else [],
        within=[detectable(noise.launches, noise.within, wanted, **of_combinations) for wanted in WANTED],
        between=[detectable(sides, of_jobs[0], wanted, floor=noise.floor) for wanted in WANTED] if has_jobs else [],
        sides=sides,
    )


def head(check: str, noise: Noise) -> str:
    """Return what was measured, and its noise."""
    between = (
        f"unknown between jobs{': the archive has 1 job' if noise.jobs else ''} (--between gives it)"
        if noise.between is None
        else f"{percent(100 * noise.between, signed=False)} between {f'{noise.jobs} ' if noise.jobs else ''}jobs"
    )
    within = percent(100 * noise.within, signed=False)
    return f"{noise.what or check}: noise {within} between launches, {between}"


def table(plan: Plan, change: float) -> DataTable:
    """Return the answers as rows."""
    size, noise = percent(100 * change, signed=False), plan.noise
    launches = counted(noise.launches, "launch")
    rows = [
        (f"launches of each of {noise.combinations} combinations that find {size}", *map(_count, plan.launches)),
        *([(f"the same at all {noise.points} points", *map(_count, plan.everywhere))] if plan.everywhere else []),
        (f"difference that {launches} find between combinations", *map(_share, plan.within)),
    ]
    if plan.jobs:
        rows += [
            (f"jobs per side, of {launches}, that find {size}", *map(_count, plan.jobs)),
            (f"difference that {plan.sides} jobs per side find", *map(_share, plan.between)),
        ]
    columns = ("", *(f"in {wanted:.0%} of cases".replace("%", " %") for wanted in WANTED))
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:]))


def _count(counts: Range) -> str:
    """Return `7`, or `7 (5 to 11)` where the pilot leaves a range open."""
    number, low, high = (f"more than {MOST}" if count is None else str(count) for count in counts)
    return number if low == high else f"{number} ({low} to {high})"


def _share(share: float | None) -> str:
    return "none" if share is None else percent(100 * share, signed=False)


def document(check: str, change: float, plans: Sequence[Plan]) -> dict[str, Json]:
    """Return the answers as one JSON document; shares are in percent."""

    def percents(shares: Sequence[float | None]) -> list[float | None]:
        return [None if share is None else round(100 * share, 4) for share in shares]

    return {
        "format": FORMAT,
        "check": check,
        "find_percent": 100 * change,
        "probabilities": list(WANTED),
        "plans": [
            {
                "what": plan.noise.what,
                "noise_percent": percents([plan.noise.within])[0],
                "between_percent": percents([plan.noise.between])[0],
                "jobs_measured": plan.noise.jobs,
                "combinations": plan.noise.combinations,
                "launches_measured": plan.noise.launches,
                "points": plan.noise.points,
                "launches": [number for number, *_ in plan.launches],
                "launches_range": [limits for _, *limits in plan.launches],
                "launches_at_all_points": [number for number, *_ in plan.everywhere],
                "jobs": [number for number, *_ in plan.jobs],
                "jobs_range": [limits for _, *limits in plan.jobs],
                "launches_find_percent": percents(plan.within),
                "jobs_per_side": plan.sides,
                "jobs_find_percent": percents(plan.between),
            }
            for plan in plans
        ],
    }


# ---- power ----


DRAWS = 4000
SEED = 51
#: The most launches, or jobs, that are tried.
MOST = 400


def power(n: int, spread: float, change: float, *, tests: int = 1, floor: float = 0.0) -> float:
    """Return how probably `n` values per side show a change of a share `change` between sides of relative `spread`.

    `floor` is the noise floor as a share of the larger mean.
    """
    if n < FEWEST:
        return 0.0
    shift = math.log1p(change)
    means, medians, error = _drawn(n)
    means, medians = shift + spread * means, shift + spread * medians
    one = contrast.of_variances(1.0, [(1.0, n - 1), (1.0, n - 1)])
    reach = one.interval(ALPHA / tests)
    assert reach is not None  # it varies
    quantile = (reach[1] - reach[0]) / 2 / one.error
    distance = np.where(means * medians > 0, np.minimum(np.abs(means), np.abs(medians)), 0.0)
    is_found = distance > spread * quantile * error
    return float((is_found & (-np.expm1(-np.abs(means)) > floor)).mean())


@functools.lru_cache(maxsize=64)
def _drawn(n: int) -> tuple[Floats, Floats, Floats]:
    """Return of each draw the differences of two means and of two medians, and the standard error, of spread 1."""
    chance = np.random.default_rng(SEED)
    base, side = chance.standard_normal((2, DRAWS, n))
    error = np.sqrt((base.var(axis=1, ddof=1) + side.var(axis=1, ddof=1)) / n)
    return side.mean(axis=1) - base.mean(axis=1), np.median(side, axis=1) - np.median(base, axis=1), error


def enough(spread: float, change: float, wanted: float, *, tests: int = 1, floor: float = 0.0) -> int | None:
    """Return the fewest values per side that show the change with the probability `wanted`; None above `MOST`."""

    def is_enough(n: int) -> bool:
        return power(n, spread, change, tests=tests, floor=floor) >= wanted

    high = 2
    while not is_enough(high):
        if high >= MOST:
            return None
        high = min(2 * high, MOST)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def detectable(n: int, spread: float, wanted: float, *, tests: int = 1, floor: float = 0.0) -> float | None:
    """Return the smallest change that `n` values per side show with the probability `wanted`; None for no change."""
    if n < FEWEST:
        return None
    low, high = 0.0, 0.01
    while power(n, spread, high, tests=tests, floor=floor) < wanted:
        low, high = high, 2 * high
        if high > 100:
            return None
    while high - low > high / 100:
        middle = (low + high) / 2
        low, high = (middle, high) if power(n, spread, middle, tests=tests, floor=floor) < wanted else (low, middle)
    return high
