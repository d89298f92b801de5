"""Compute the limits of a case: how much worse than its history a record may be, in one variable and in all together.

Models: logarithms of the records' medians. A record's shift is the median over its variables of their distance from
their levels: a slower machine moves all of them alike. The rest is each variable's own. Both have a level, the median
of three windows of the history: the oldest three records, the last ten, and the last three. The limit is the strictest
of the three. So neither many small steps nor the loss of a new improvement passes. The spread from record to record
comes from differences of neighbouring records, with outliers drawn in; a slow drift does not enlarge it. The shifts of
ten records are ten pieces of evidence, however many variables there are. Of the rest, a prior and all variables of the
case take part in the spread (Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004): the
expectation for a variable is the noise of its own launches and the run-to-run spread that the variables have in common.
The quantiles are such that all variables together give a false alarm in 50 runs with a probability of at most `ALPHA`.
With fewer than `FEWEST` variables there is no shift.
Leaves out: change points, seasons, causes.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from railyard.analysis.stats import contrast
from railyard.analysis.stats.samples import OF_A_NORMAL
from railyard.records.references import Point

Name = TypeVar("Name", bound=str)

#: The probability of any false alarm of `RUNS` runs.
ALPHA, RUNS = 0.10, 50
OLDEST, LAST, NEWEST = 3, 10, 3
#: The newest records that a history has, besides the oldest, and how many independent tests the windows are worth.
KEPT, WINDOWS = 30, 5
#: The run-to-run spread that is assumed before there is a history, and how many records it counts as.
PRIOR, PRIOR_RECORDS = 0.0175, 4.0
#: The spread of shifts while there are few, and the fewest degrees of freedom that a quantile has.
PRIOR_SHIFT, LEAST_DEGREES = 0.035, 6
#: A variance so many times the prior contradicts it, which then counts as one record.
UNLIKE = 4.0
#: What the prior counts as for the quantile while no case has neighbouring records to learn from.
UNKNOWN = 20.0
#: The most degrees of freedom that the other variables of a case contribute.
MOST_SHARED = 60.0
#: The fewest variables from which the spread between variables is estimated, and a ratio of variances that is none.
FEWEST, NOTHING = 3, 1e-6
#: The least tolerance. A smaller difference is not worth a failed run.
LEAST = 0.03
#: Differences are drawn in to so many standard deviations.
DRAWN_IN = 3.0
#: So many of the newest records together are compared with those before them, for what is small beside the spread.
TOGETHER = 5
#: How many of the largest differences of shifts are reduced to the next one.
DRAWN = 3
#: How often the median polish goes over records and variables.
POLISHED = 3
#: The change for which `Limit.found_of_100` is given.
CHANGE = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One variable: its level, the worst value that passes in any run, and what that can find.

    `noise` is the relative standard deviation of one record's value, without the shift. `found_of_100` is how many of
    100 runs in which this variable alone is 10 % worse exceed the limit. `own` is the logarithm of the level without
    the shift, and `most` that of the worst value beside it; both rise when the variable gets worse.
    """

    level: float
    worst: float
    noise: float
    found_of_100: int
    own: float
    most: float
    sign: int

    def distance(self, value: float) -> float:
        """Return the logarithm of how many times worse than its level a value is."""
        return self.sign * math.log(value) - self.own


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Generic[Name]):
    """The limits of a case: of each variable, and the largest shift that passes, a logarithm; None without shifts."""

    of: Mapping[Name, Limit]
    shift: float | None

    def worse(self, values: Mapping[Name, float]) -> tuple[tuple[Name, ...], float]:
        """Return the variables of a run that are worse than allowed, and the run's shift if that is; 0 if it is not."""
        of = {name: self.of[name] for name in values if name in self.of}
        distances = {name: limit.distance(values[name]) for name, limit in of.items()}
        if self.shift is None or len(distances) < FEWEST:
            return tuple(name for name, one in of.items() if one.sign * (values[name] - one.worst) > 0), 0.0
        shift = statistics.median(distances.values())
        if shift > self.shift:
            return tuple(name for name in distances if distances[name] > math.log1p(LEAST)), shift
        return tuple(name for name, one in of.items() if distances[name] - shift > one.most - one.own), 0.0


#: The variance of logarithms between records, and its degrees of freedom.
_Spread = tuple[float, float]


def limits(
    histories: Mapping[Name, Sequence[Point]], *, larger_is_worse: Mapping[Name, bool], family: int
) -> Limits[Name]:
    """Return the limits of a case's variables, each from its records in order of time.

    `family` is the number of variables of all cases that one run judges.
    """
    signs = {name: 1 if larger_is_worse[name] else -1 for name in histories}
    values = {
        name: {point.record: signs[name] * math.log(point.median) for point in points}
        for name, points in histories.items()
    }
    shifts = _shifts(values)
    own = {
        name: [value - shifts[record] for record, value in of_name.items() if record in shifts] or [*of_name.values()]
        for name, of_name in values.items()
    }
    launches = {name: statistics.fmean(point.noise**2 for point in points) for name, points in histories.items()}
    variances = {name: _alone(own[name], PRIOR**2 + launches[name]) for name in histories}
    common, tests = None, WINDOWS * RUNS * float(family)
    if shifts:
        tests *= 2  # of the shift and of the rest
        series = [*shifts.values()]
        common = _worst(series, *_alone(series, PRIOR**2, first=PRIOR_SHIFT**2), tests=tests / len(histories))
        variances = _moderated({name: _spread(own[name]) for name in histories}, launches)
    of: dict[Name, Limit] = {}
    for name, (variance, degrees) in variances.items():
        noise, sign, newest = math.sqrt(variance), signs[name], [*values[name].values()][-LAST:]
        level, most = statistics.median(own[name][-LAST:]), _worst(own[name], variance, degrees, tests=tests)
        margin = level + math.log1p(CHANGE) - most
        power = math.erfc(-margin / noise / math.sqrt(2)) / 2 if noise else float(margin > 0)
        of[name] = Limit(
            level=math.exp(sign * statistics.median(newest)),
            worst=math.exp(sign * (most + (common or 0.0))),
            noise=noise,
            found_of_100=round(100 * power),
            own=level,
            most=most,
            sign=sign,
        )
    return Limits(of=of, shift=common)


def _shifts(values: Mapping[Name, Mapping[int, float]]) -> dict[int, float]:
    """Return each record's shift by Tukey's median polish; empty for a case of few variables."""
    records = sorted({record for of_name in values.values() for record in of_name})
    rows = {record: [name for name in values if record in values[name]] for record in records}
    shifts = {record: 0.0 for record in records if len(rows[record]) >= FEWEST}
    for _ in range(POLISHED if shifts else 0):
        levels = {
            name: statistics.median(
                [value - shifts[record] for record, value in of_name.items() if record in shifts] or [0.0]
            )
            for name, of_name in values.items()
        }
        shifts = {
            record: statistics.median(values[name][record] - levels[name] for name in rows[record]) for record in shifts
        }
    return shifts


def _worst(values: Sequence[float], variance: float, degrees: float, *, tests: float) -> float:
    """Return the largest value that passes after these: alone, and with the `TOGETHER` - 1 before it."""
    room = _quantile(tests, max(LEAST_DEGREES, int(degrees))) * math.sqrt(variance)
    least = math.log1p(LEAST)
    alone = min(
        statistics.median(window) + max(least, room * math.sqrt(1 + _variance_of_median(len(window))))
        for window in (values[:OLDEST], values[-LAST:], values[-NEWEST:])
    )
    before, recent = values[: 1 - TOGETHER], values[1 - TOGETHER :]
    if len(before) < OLDEST:
        return alone
    level = statistics.fmean(before)
    most = level + max(least, room * math.sqrt(1 / TOGETHER + 1 / len(before)))
    return min(alone, max(level, TOGETHER * most - math.fsum(recent)))  # a record at the old level passes


@functools.lru_cache(maxsize=1024)
def _quantile(tests: float, degrees: int) -> float:
    return -contrast.quantile(ALPHA / tests, degrees)


def _variance_of_median(n: int) -> float:
    """Return the variance of the median of n normal values over that of one value; approximate for more than 2."""
    return 1 / n if n <= 2 else math.pi / 2 / (n + 0.5)


def _alone(values: Sequence[float], prior: float, *, first: float | None = None) -> tuple[float, float]:
    """Return the variance of a record's value, and its degrees of freedom, from one series and a prior variance.

    With few records the prior alone counts, or `first` in its place.

    Differences of neighbours, and of those two apart, determine it. A change of the level makes three, which are drawn
    in; that makes the mean smaller by 2.3 / n for normal values, and the degrees of freedom are 0.8 (n - 2).
    """
    steps = sorted(abs(values[n + lag] - values[n]) for lag in (1, 2) for n in range(len(values) - lag))
    if len(steps) < 2 * DRAWN:
        return first or prior, UNKNOWN
    square = statistics.fmean(min(step, steps[-1 - DRAWN]) ** 2 for step in steps) / 2 / (1 - 2.3 / len(values))
    degrees = 0.8 * (len(values) - 2)
    weight = 1.0 if square > UNLIKE * prior else PRIOR_RECORDS
    return (weight * prior + degrees * square) / (weight + degrees), weight + degrees


def _spread(values: Sequence[float]) -> _Spread:
    steps = [two - one for one, two in itertools.pairwise(values)]
    if (n := len(steps)) < 2:
        return 0.0, 0.0
    middle = statistics.median(steps)
    most = DRAWN_IN * OF_A_NORMAL * statistics.median(abs(step - middle) for step in steps)
    steps = [min(most, max(-most, step - middle)) for step in steps]
    mean = statistics.fmean(steps)
    squares = math.fsum((step - mean) ** 2 for step in steps)
    return squares / (2 * (n - 1 / n)), 2 / 3 * (n - 0.5)


def _moderated(spreads: Mapping[Name, _Spread], launches: Mapping[Name, float]) -> dict[Name, tuple[float, float]]:
    """Return of each variable the variance of a record's value, and its degrees of freedom.

    `launches` are the variances of medians of launches.
    """
    most = max((degrees for _, degrees in spreads.values()), default=0.0)
    repeated = {name: spread for name, spread in spreads.items() if spread[1]}
    excess = [between - launches[name] for name, (between, _) in repeated.items()] or [0.0]
    weighted = PRIOR_RECORDS * PRIOR**2 + most * statistics.fmean(excess)
    shared = max(0.0, weighted / (PRIOR_RECORDS + most))
    expected = {name: shared + launches[name] for name in spreads}
    weight = _weight([(between / expected[name], own) for name, (between, own) in repeated.items() if expected[name]])
    return {
        name: ((weight * expected[name] + own * between) / (weight + own), weight + own)
        for name, (between, own) in spreads.items()
    }


def _weight(ratios: Sequence[tuple[float, float]]) -> float:
    """Return how many degrees of freedom the expectation is worth: many where the variables follow it alike."""
    if not ratios:
        return UNKNOWN
    logarithms = [math.log(ratio) for ratio, _ in ratios if ratio > NOTHING]
    if len(logarithms) < FEWEST:
        return PRIOR_RECORDS
    chance = statistics.fmean(_trigamma(degrees / 2) for _, degrees in ratios)
    spread = statistics.variance(logarithms)
    excess = spread / (1 + math.sqrt(2 / (len(logarithms) - 1))) - chance
    return min(MOST_SHARED, max(PRIOR_RECORDS, 2 * _inverse_trigamma(excess))) if excess > 0 else MOST_SHARED


@functools.lru_cache(maxsize=1024)
def _trigamma(x: float) -> float:
    import scipy.special  # imported here: only an archive of many records needs it

    return float(scipy.special.polygamma(1, x))


def _inverse_trigamma(value: float) -> float:
    """Return x with trigamma(x) = value > 0, by bisection."""
    low, high = 1e-3, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _trigamma(middle) > value else (low, middle)
    return low
