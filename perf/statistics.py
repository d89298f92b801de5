"""Error rates, power and coverage of everything that reports conclude, over values drawn with fixed seeds.

Models: launches and jobs with a known effect, in four shapes of noise, through the functions that reports call: sides
(`analysis.compare`), combinations (`analysis.cases.judgement`), intervals, impact factors, series over dates, spreads
over allocations. Leaves out: real machines (`python -m perf same`), and the gate (`python -m perf gate`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from support.entries import entry

from analysis.cases import judgement
from analysis.cases.judgement import Comparison, Evidence, Series
from analysis.compare import compare, sides
from analysis.over import allocations, dates
from analysis.over.allocations import Steadiness
from analysis.plan import enough
from analysis.stats import equivalence, impact, jobs, medians
from analysis.stats.impact import Statistic
from analysis.stats.verdicts import Finding, Outcome
from railyard.records import units
from railyard.records.rules import looks
from railyard.records.units import Better

Array = npt.NDArray[np.float64]
Chance = np.random.Generator
DRAWS = 200
SEED = 51
LAUNCHES = 6
MOST_ROUNDS = 100
FOM = units.fom("iteration_us", "us", "lower")

#: Noise of logarithms with a spread of about 1, by its shape.
SHAPES: dict[str, Callable[[Chance, tuple[int, ...]], Array]] = {
    "normal": lambda chance, size: chance.standard_normal(size),
    "log-normal": lambda chance, size: (np.exp(0.6 * chance.standard_normal(size)) - 1) / 0.78,
    "heavy tails": lambda chance, size: chance.standard_t(3, size) / math.sqrt(3),
    "bimodal": lambda chance, size: chance.standard_normal(size) / 2 + 2.2 * (chance.random(size) < 0.2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One row: how often something happened, and the limit that the project sets itself, if any."""

    what: str
    count: int
    draws: int
    least: float = 0.0
    most: float = 1.0

    @property
    def share(self) -> float:
        """Return the share of draws."""
        return self.count / self.draws

    @property
    def error(self) -> float:
        """Return the standard error of the share by Agresti and Coull, which is above 0 for a share of 0 or 1, too."""
        near = (self.count + 1) / (self.draws + 2)
        return math.sqrt(near * (1 - near) / self.draws)

    @property
    def is_kept(self) -> bool:
        """Return whether the share is within its limits, up to two standard errors."""
        return self.least - 2 * self.error <= self.share <= self.most + 2 * self.error


def rates(draws: int) -> Iterator[Rate]:
    """Yield all rows; each has its own seed, so that a row does not depend on the rows before it."""
    yield from of_sides(draws)
    yield from of_combinations(draws)
    yield from of_intervals(draws)
    yield from of_until(draws)
    yield from of_series(max(1, draws // 5))


def of_sides(draws: int) -> Iterator[Rate]:
    """Yield how often two systems differ overall, if they are alike and if one is 5 % slower."""
    for shape, between, count in itertools.product(SHAPES, (0.0, 0.005, 0.01, 0.02), (1, 3, 5, 10)):
        findings = [_side(chance, shape, between, count, change=0.0) for chance in _chances(draws)]
        text = f"equal sides, {shape}, {between:.1%} between jobs, {count} jobs: a winner"
        yield Rate(
            what=text,
            count=sum(one is not None for one in findings),
            draws=draws,
            most=0.05 if count >= jobs.FEWEST else 0.0,
        )
    for shape in SHAPES:
        findings = [_side(chance, shape, 0.01, 5, change=0.05) for chance in _chances(draws)]
        what = f"sides 5 % apart, {shape}, 1 % between jobs, 5 jobs"
        yield Rate(what=f"{what}: found", count=findings.count(Finding.WORSE), draws=draws, least=0.9)
        yield Rate(
            what=f"{what}: wrong winner", count=findings.count(Finding.BETTER), draws=draws, most=0.005
        )


def _chances(draws: int) -> Iterator[Chance]:
    return (np.random.default_rng((SEED, number)) for number in range(draws))


def _side(chance: Chance, shape: str, between: float, count: int, *, change: float) -> Finding | None:
    """Return the finding for a side, which is `change` slower than its baseline; None unless better or worse."""
    entries = []
    for number, system in enumerate(("base", "side")):
        level = number * math.log1p(change) + between * chance.standard_normal(count)
        logs = level[:, None] + 0.01 * SHAPES[shape](chance, (count, LAUNCHES))
        entries += [
            entry(number * count + job, (1000 * np.exp(row)).tolist(), system=system)
            for job, row in enumerate(logs)
        ]
    names = ["system=base", "system=side"]
    versus = compare.compare([(entries, sides.parse(names, lambda: entries))], names, names[0])
    score = versus.scores["measured", names[1]]
    finding = score.finding if score else None
    return finding if finding in (Finding.BETTER, Finding.WORSE) else None


def of_combinations(draws: int) -> Iterator[Rate]:
    """Yield how often one job names a winner, of equal combinations and of one that is 5 % faster."""
    for shape, count, launches in itertools.product(SHAPES, (2, 5), (6, 10)):
        alike = [_judged(chance, shape, count, launches, change=0.0) for chance in _chances(draws)]
        what = f"{count} combinations, {launches} launches, {shape}"
        named = sum(one.verdict.outcome is Outcome.BEST for one in alike)
        yield Rate(what=f"{what}: winner among equals", count=named, draws=draws, most=0.05)
        faster = [_judged(chance, shape, count, launches, change=0.05) for chance in _chances(draws)]
        winners = [one.verdict.best for one in faster if one.verdict.outcome is Outcome.BEST]
        yield Rate(what=f"{what}: 5 % found at 2.5 % noise", count=winners.count("0"), draws=draws)
        wrong = len(winners) - winners.count("0")
        yield Rate(what=f"{what}: wrong winner", count=wrong, draws=draws, most=0.005)
        stated = [interval for one in faster if (interval := _stated(one)) is not None]
        if count == 2 and stated:
            covered = sum(low <= 5 <= high for low, high in stated)
            text = f"{what}: ratio covered, of those printed"
            yield Rate(what=text, count=covered, draws=len(stated), least=0.9)


def _judged(chance: Chance, shape: str, count: int, launches: int, *, change: float) -> Comparison:
    """Return the comparison of combinations, of which the first, the baseline, is faster by `change`."""
    evidence = {}
    for number in range(count):
        logs = 0.025 * SHAPES[shape](chance, (launches,)) + (math.log1p(change) if number else 0.0)
        evidence[str(number)] = Evidence(values=np.exp(logs).tolist())
    return judgement.compare(FOM, [Series(labels=(), evidence=evidence, deterministic=False)], "0")[0]


def _stated(one: Comparison) -> tuple[float, float] | None:
    """Return the interval of the ratio of two combinations, in percent, if the sentence names a winner."""
    if one.verdict.outcome is not Outcome.BEST:
        return None
    return equivalence.percent_interval(one.group("1").evidence.values, one.group("0").evidence.values)


def of_intervals(draws: int) -> Iterator[Rate]:
    """Yield how often intervals cover the truth: medians, ratios over jobs, and impact factors."""
    for shape, n in itertools.product(SHAPES, (6, 10, 20)):
        centre = float(np.median(SHAPES[shape](np.random.default_rng(SEED), (200_000,))))
        drawn = (SHAPES[shape](chance, (n,)).tolist() for chance in _chances(draws))
        bounds = [medians.median_interval(values) for values in drawn]
        covered = sum(bound is not None and bound.low <= centre <= bound.high for bound in bounds)
        yield Rate(what=f"median of {n}, {shape}: covered", count=covered, draws=draws, least=0.93)
    for shape, n in itertools.product(SHAPES, (4, 5, 10)):
        covered = sum(_covers_jobs(chance, shape, n) for chance in _chances(draws))
        yield Rate(
            what=f"ratio over {n} jobs per side, {shape}: covered", count=covered, draws=draws, least=0.93
        )
    for statistic, n in itertools.product((Statistic.AVERAGE, Statistic.P99), (6, 10, 20)):
        some = draws if statistic is Statistic.AVERAGE else max(2, draws // 2)
        for shape in SHAPES:
            bounded = [_factor(chance, shape, n, statistic) for chance in _chances(some)]
            covered = sum(low is not None and high is not None and low <= 2 <= high for low, high in bounded)
            what = f"impact factor, {statistic}, {n} launches, {shape}: covered"
            yield Rate(what=what, count=covered, draws=some, least=0.93)


def _covers_jobs(chance: Chance, shape: str, n: int) -> bool:
    values = [[*map(float, 0.01 * SHAPES[shape](chance, (n,)))] for _ in range(2)]
    side, base = (
        {f"{name}{job}": value for job, value in enumerate(own)}
        for name, own in zip("ab", values, strict=True)
    )
    bounds = jobs.interval([jobs.Row(weight=1.0, side=side, baseline=base)])
    return bounds is not None and bounds[0] <= 0 <= bounds[1]


def _factor(chance: Chance, shape: str, n: int, statistic: Statistic) -> tuple[float | None, float | None]:
    """Return the interval of a factor whose true value is 2, of launches that differ by 5 %, samples by 10 %."""

    def drawn(level: float) -> list[list[float]]:
        logs = 0.05 * SHAPES[shape](chance, (n, 1)) + 0.1 * chance.standard_normal((n, 200))
        return (level * np.exp(logs)).tolist()  # type: ignore[no-any-return]

    samples = impact.Samples(alone=drawn(1.0), loaded=drawn(2.0), better=Better.LOWER)
    return impact.interval(samples, statistic)


def of_until(draws: int) -> Iterator[Rate]:
    """Yield coverage and cost of jobs that end at `until=2%`, whose noise of launches differs by job or is 2 %.

    The fixed design has the fewest launches with which 95 % of the same jobs are as narrow.
    """
    for shape, (least, most) in itertools.product(SHAPES, ((0.005, 0.04), (0.02, 0.02))):
        jobs_drawn = [_two_combinations(chance, shape, least, most) for chance in _chances(draws)]
        last_rounds = [_rounds(values) for values in jobs_drawn]
        covered = sum(
            _covers_ratio(values, count) for values, count in zip(jobs_drawn, last_rounds, strict=True)
        )
        noise = f"{least:.1%} to {most:.0%}" if least < most else f"{most:.0%}"
        what = f"until=2%, {shape}, noise {noise}"
        yield Rate(what=f"{what}: ratio covered", count=covered, draws=draws, least=0.93)
        fixed = _fixed_design(jobs_drawn)
        yield Rate(
            what=f"{what}: launches, of a fixed design's {fixed}",
            count=sum(last_rounds),
            draws=draws * fixed,
            most=1.0,
        )


def _two_combinations(chance: Chance, shape: str, least: float, most: float) -> Array:
    spread = least * (most / least) ** chance.random()
    return np.asarray(np.exp(spread * SHAPES[shape](chance, (2, MOST_ROUNDS))))


def _at(values: Array, rounds: int, looked: float) -> Comparison:
    evidence = {name: Evidence(values=row[:rounds].tolist()) for name, row in zip("ab", values, strict=True)}
    series = Series(labels=(), evidence=evidence, deterministic=False)
    return judgement.compare(FOM, [series], "a", looked=looked)[0]


def _is_narrow(values: Array, rounds: int, looked: float) -> bool:
    return enough.is_enough(enough.half_widths([_at(values, rounds, looked)]), 2.0)


def _rounds(values: Array) -> int:
    """Return the number of rounds after which a job ends."""
    planned = looks.rounds(MOST_ROUNDS)
    return next((count for count in planned if _is_narrow(values, count, looks.TESTS)), MOST_ROUNDS)


def _covers_ratio(values: Array, rounds: int) -> bool:
    judged = _at(values, rounds, looks.TESTS)
    bounds = judged.interval_percent(judged.group("b"), judged.group("a"), tests=1)
    return bounds is not None and bounds[0] <= 0 <= bounds[1]


def _fixed_design(drawn: Sequence[Array]) -> int:
    """Return the fewest launches with which 95 % of the jobs have an interval as narrow."""
    low, high = 3, MOST_ROUNDS
    while high - low > 1:
        middle = (low + high) // 2
        narrow = sum(_is_narrow(values, middle, 1.0) for values in drawn)
        low, high = (low, middle) if narrow >= 0.95 * len(drawn) else (middle, high)
    return high


def of_series(draws: int) -> Iterator[Rate]:
    """Yield what series over dates and spreads over allocations show."""
    for newest in (1, 2, 3):
        steps = [_dated(chance, [1.0] * (9 - newest) + [3.0] * newest, 0.0) for chance in _chances(draws)]
        yield Rate(
            what=f"over dates, x3 in the last {newest} of 9: named", count=sum(steps), draws=draws, least=0.95
        )
    for count in (9, 20):
        steps = [_dated(chance, [1.0] * count, 0.6) for chance in _chances(draws)]
        yield Rate(
            what=f"over dates, AR(1) 0.6, {count} records: change", count=sum(steps), draws=draws, most=0.02
        )
    for count in (3, 10):
        steady = sum(_steady(chance, count) for chance in _chances(draws))
        yield Rate(
            what=f"{count} allocations that differ by 8 %: steady", count=steady, draws=draws, most=0.05
        )


def _dated(chance: Chance, levels: Sequence[float], correlation: float) -> bool:
    noise = chance.standard_normal(len(levels))
    for at in range(1, len(levels)):
        noise[at] = correlation * noise[at - 1] + math.sqrt(1 - correlation**2) * noise[at]
    entries = [
        entry(number, (1000 * level * np.exp(0.01 * (shift + chance.normal(0, 0.1, LAUNCHES)))).tolist())
        for number, (level, shift) in enumerate(zip(levels, noise, strict=True))
    ]
    return any(one.changes for one in dates.dated(entries))


def _steady(chance: Chance, count: int) -> bool:
    entries = [
        entry(
            number,
            (1000 * np.exp(chance.normal(0, 0.08) + chance.normal(0, 0.01, LAUNCHES))).tolist(),
            allocation=str(number),
        )
        for number in range(count)
    ]
    return any(one.verdict is Steadiness.STEADY for one in allocations.spreads(entries))


def measure(console: Console, draws: int) -> list[dict[str, Any]]:
    """Print every rate with its standard error and its limit."""
    table = Table("what", "share", "limit", "", title=f"{draws} draws, seed {SEED}")
    rows = []
    for rate in rates(draws):
        limit = (
            f"at least {rate.least:.0%}"
            if rate.least
            else f"at most {rate.most:.1%}"
            if rate.most < 1
            else ""
        )
        table.add_row(
            rate.what, f"{rate.share:.1%} ± {rate.error:.1%}", limit, "" if rate.is_kept else "missed"
        )
        rows.append({"what": rate.what, "share": rate.share, "error": rate.error, "kept": rate.is_kept})
    console.print(table)
    return rows
