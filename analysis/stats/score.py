"""Score how much better a side is than a baseline over all cases, as a geometric mean with an interval.

Models: each case (everything but the figure of merit) counts once, by the first of its figures of merit that has a
better direction; a ratio is turned so that above 1 is better. Sides that share their jobs are compared by the medians
of launches. Their interval is the percentile bootstrap over launches, drawn by the exact distribution of a bootstrap
median (the order statistics of uniform numbers), so that its cost does not depend on the number of launches. Other
sides are compared by jobs (`analysis.stats.jobs`). Leaves out: weights, figures of merit without a direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.stats import jobs, verdicts
from analysis.stats.medians import ENOUGH
from analysis.stats.verdicts import Finding
from placements.arrays import Floats, Ints, np
from railyard.records.units import Better, Fom

DRAWS = 4000
SEED = 20131


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One contribution: values of the side and of the baseline, of one case and figure of merit.

    `jobs` has the jobs of the side's values and of the baseline's, if a value is that of a job and not of a launch.
    """

    case: tuple[object, ...]
    fom: Fom
    values: Sequence[float]
    baseline: Sequence[float]
    finding: Finding
    jobs: tuple[Sequence[str], Sequence[str]] = ((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`value` above 1 is better than the baseline; `low` and `high` bound 95 %, None without enough launches or jobs.

    `finding` is what may be stated, and never contradicts the findings of the cases behind it. `jobs` are the fewest
    jobs of the side and of the baseline in any case, None if launches are compared.
    """

    value: float
    low: float | None
    high: float | None
    cases: int
    finding: Finding
    jobs: tuple[int, int] | None = None


def score(ratios: Iterable[Ratio]) -> Score | None:
    """Return the score of a side, or None if no case has a figure of merit with a direction on both sides.

    With fewer than 6 launches on either side of any case there is no interval: a bootstrap of so few is too narrow.
    """
    chosen = _headline(ratios)
    if not chosen:
        return None
    if all(ratio.jobs[0] for ratio in _all(chosen)):
        return _by_jobs(chosen)
    chance = np.random.default_rng(SEED)
    logs = [
        _log(ratio, np.array([np.median(ratio.values)]), np.array([np.median(ratio.baseline)]))
        for ratio in _all(chosen)
    ]
    value = _mean_by_case(chosen, logs)[0]
    if any(min(len(ratio.values), len(ratio.baseline)) < ENOUGH for ratio in _all(chosen)):
        return _score(value, None, chosen)
    drawn = [
        _log(ratio, median_draws(ratio.values, chance), median_draws(ratio.baseline, chance))
        for ratio in _all(chosen)
    ]
    low, high = np.percentile(_mean_by_case(chosen, drawn), [2.5, 97.5])
    return _score(value, (math.exp(low), math.exp(high)), chosen)


def _score(
    log: float, interval: tuple[float, float] | None, chosen: Mapping[tuple[object, ...], Sequence[Ratio]]
) -> Score:
    value = math.exp(log)
    low, high = interval or (None, None)
    finding = verdicts.overall(value, interval, [ratio.finding for ratio in _all(chosen)])
    return Score(value=value, low=low, high=high, cases=len(chosen), finding=finding)


def _by_jobs(chosen: Mapping[tuple[object, ...], Sequence[Ratio]]) -> Score:
    """Return the score of sides that are compared by jobs; the interval alone decides where there are several pairs."""
    rows = [
        jobs.Row(
            weight=_sign(ratio) / len(chosen) / len(members),
            side=dict(zip(ratio.jobs[0], map(math.log, ratio.values), strict=True)),
            baseline=dict(zip(ratio.jobs[1], map(math.log, ratio.baseline), strict=True)),
        )
        for members in chosen.values()
        for ratio in members
    ]
    value, log_interval = math.exp(jobs.difference(rows)), jobs.interval(rows)
    interval = log_interval and (math.exp(log_interval[0]), math.exp(log_interval[1]))
    low, high = interval or (None, None)
    return Score(
        value=value,
        low=low,
        high=high,
        cases=len(chosen),
        finding=verdicts.overall(value, interval, [ratio.finding for ratio in _all(chosen)], by_jobs=True),
        jobs=(min(len(row.side) for row in rows), min(len(row.baseline) for row in rows)),
    )


def _headline(ratios: Iterable[Ratio]) -> dict[tuple[object, ...], list[Ratio]]:
    """Return for each case the ratios of its first FOM with a direction; several labels count as one case."""
    by_case: dict[tuple[object, ...], list[Ratio]] = {}
    for ratio in ratios:
        if ratio.fom.better is Better.NEITHER or not _is_positive(ratio):
            continue
        members = by_case.setdefault(ratio.case, [])
        if not members or members[0].fom == ratio.fom:
            members.append(ratio)
    return by_case


def _is_positive(ratio: Ratio) -> bool:
    return bool(ratio.values and ratio.baseline and min(*ratio.values, *ratio.baseline) > 0)


def _all(chosen: Mapping[tuple[object, ...], Sequence[Ratio]]) -> list[Ratio]:
    return [ratio for members in chosen.values() for ratio in members]


def _log(ratio: Ratio, medians: Floats, baselines: Floats) -> Floats:
    return _sign(ratio) * (np.log(medians) - np.log(baselines))


def _sign(ratio: Ratio) -> float:
    return -1.0 if ratio.fom.better is Better.LOWER else 1.0


def _mean_by_case(chosen: Mapping[tuple[object, ...], Sequence[Ratio]], logs: Sequence[Floats]) -> Floats:
    """Return the mean over cases of the mean over a case's series."""
    rest, means = iter(logs), []
    for members in chosen.values():
        means.append(np.mean([next(rest) for _ in members], axis=0))
    return np.asarray(np.mean(means, axis=0))


def median_draws(values: Sequence[float], chance: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Return medians of `draws` bootstrap samples of the values.

    The k-th smallest of n draws with replacement is the value at rank ceil(n U), U the k-th of n uniform numbers, which
    follows a beta distribution with parameters k and n + 1 - k.
    """
    ordered, n = np.sort(np.asarray(values, dtype=float)), len(values)
    k = (n + 1) // 2
    first = chance.beta(k, n + 1 - k, draws)
    middle = ordered[_rank(first, n)]
    if n % 2:
        return np.asarray(middle)
    second = first + (1 - first) * chance.beta(1, n - k, draws)
    return np.asarray((middle + ordered[_rank(second, n)]) / 2)


def _rank(uniform: Floats, n: int) -> Ints:
    return np.clip(np.ceil(uniform * n).astype(np.int64) - 1, 0, n - 1)
