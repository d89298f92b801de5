"""Error rates, power and coverage of everything that reports conclude, over values drawn with fixed seeds.

Models: launches and jobs with a known effect, in four shapes of noise, through the functions that reports call: sides
(`analysis.compare`), combinations (`analysis.cases.judgement`), intervals, impact factors, series over dates, spreads
over allocations. Leaves out: real machines (`python -m perf same`), and the gate (`python -m perf gate`).
"""

from __future__ import annotations

import functools
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
class Draws:
    """As many independent generators of random numbers as `count`; every row draws from its own."""

    count: int = DRAWS
    seed: int = SEED

    def __iter__(self) -> Iterator[Chance]:
        return (np.random.default_rng((self.seed, number)) for number in range(self.count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One row: how often something happened, and the limit that the project sets itself, if any.

    Rows of one `group` are one row of the table in docs/report.md. `error_of_mean` is the standard error where the
    share is no share of draws.
    """

    group: str
    what: str
    count: int
    draws: int
    least: float = 0.0
    most: float = 1.0
    error_of_mean: float | None = None

    @property
    def share(self) -> float:
        """Return the share of draws."""
        return self.count / self.draws

    @property
    def error(self) -> float:
        """Return the standard error of the share, by Agresti and Coull: it is above 0 for a share of 0 or 1, too."""
        if self.error_of_mean is not None:
            return self.error_of_mean
        near = (self.count + 1) / (self.draws + 2)
        return math.sqrt(near * (1 - near) / self.draws)

    @property
    def is_kept(self) -> bool:
        """Return whether the share is within its limits, up to two standard errors."""
        return self.least - 2 * self.error <= self.share <= self.most + 2 * self.error

    @property
    def limit(self) -> str:
        """Return the limit in words; empty for none."""
        if self.least:
            return f"at least {self.least:.0%}"
        return f"at most {self.most:.1%}" if self.most < 1 else ""


def rates(draws: Draws) -> Iterator[Rate]:
    """Yield all rows."""
    yield from of_sides(draws)
    yield from of_combinations(draws)
    yield from of_intervals(draws)
    yield from of_until(draws)
    yield from of_series(draws)


def of_sides(draws: Draws) -> Iterator[Rate]:
    """Yield how often two systems differ overall, if they are alike and if one is 5 % slower."""
    for shape, between, count in itertools.product(SHAPES, (0.0, 0.005, 0.01, 0.02), (1, 3, 5, 10)):
        findings = [_side(chance, shape, between, count, change=0.0) for chance in draws]
        is_enough = count >= jobs.FEWEST
        yield Rate(
            group=f"equal sides, {'5 or 10' if is_enough else '1 or 3'} jobs, 0 to 2 % between jobs: a winner",
            what=f"equal sides, {shape}, {between:.1%} between jobs, {count} jobs: a winner",
            count=sum(one is not None for one in findings),
            draws=draws.count,
            most=0.05 if is_enough else 0.0,
        )
    for shape in SHAPES:
        findings = [_side(chance, shape, 0.01, 5, change=0.05) for chance in draws]
        group = "sides 5 % apart, 5 jobs, 1 % between jobs"
        for word, finding, limit in (
            ("found", Finding.WORSE, {"least": 0.9}),
            ("a wrong winner", Finding.BETTER, {"most": 0.005}),
        ):
            yield Rate(
                group=f"{group}: {word}",
                what=f"{group}, {shape}: {word}",
                count=findings.count(finding),
                draws=draws.count,
                **limit,
            )


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


def of_combinations(draws: Draws) -> Iterator[Rate]:
    """Yield how often one job names a winner, of equal combinations and of one that is 5 % faster."""
    for shape, count, launches in itertools.product(SHAPES, (2, 5), (6, 10)):
        alike = [_judged(chance, shape, count, launches, change=0.0) for chance in draws]
        faster = [_judged(chance, shape, count, launches, change=0.05) for chance in draws]
        winners = [one.verdict.best for one in faster if one.verdict.outcome is Outcome.BEST]
        right, group = winners.count("0"), "2 or 5 combinations, 6 or 10 launches"
        named = sum(one.verdict.outcome is Outcome.BEST for one in alike)
        what = f"{count} combinations, {launches} launches, {shape}"
        rows: tuple[tuple[str, str, int, dict[str, float]], ...] = (
            (group, "a winner among equals", named, {"most": 0.05}),
            (f"{launches} launches of {count} combinations", "5 % found at 2.5 % noise", right, {}),
            (group, "a wrong winner", len(winners) - right, {"most": 0.005}),
        )
        for of, word, number, limit in rows:
            yield Rate(
                group=f"{of}: {word}", what=f"{what}: {word}", count=number, draws=draws.count, **limit
            )
        stated = [interval for one in faster if (interval := _stated(one)) is not None]
        if count == 2 and stated:
            covered = sum(low <= 5 <= high for low, high in stated)
            yield Rate(
                group="interval of a ratio covers, of those printed",
                what=f"{what}: ratio covered, of those printed",
                count=covered,
                draws=len(stated),
                least=0.9,
            )
    for shape, launches, change in itertools.product(SHAPES, (6, 10), (0.03, 0.05)):
        judged = [_judged(chance, shape, 2, launches, change=change) for chance in draws]
        unnamed = [one for one in judged if one.verdict.outcome is not Outcome.BEST]
        if unnamed:
            yield Rate(
                group='"a difference above X is excluded" where one of 3 or 5 % is not found: holds',
                what=f"{launches} launches, {shape}, {change:.0%} not found: what is excluded is larger",
                count=sum(_excludes_more(one, 100 * change) for one in unnamed),
                draws=len(unnamed),
                least=0.9,
            )


def _excludes_more(one: Comparison, change_percent: float) -> bool:
    most = equivalence.largest_percent([group.evidence.values for group in one.groups])
    return most is None or most >= change_percent


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


def of_intervals(draws: Draws) -> Iterator[Rate]:
    """Yield how often intervals cover the truth: medians, ratios over jobs, and impact factors."""
    for shape, n in itertools.product(SHAPES, (6, 10, 20)):
        covered = sum(_covers_median(chance, shape, count=1, launches=n, between=0.0) for chance in draws)
        yield _coverage(
            f"of the median of 1 job, {n} launches", "6 to 20 launches", shape, covered=covered, draws=draws
        )
    for shape, between, n in itertools.product(SHAPES, (0.0, 0.01), (4, 5, 10)):
        covered = sum(
            _covers_median(chance, shape, count=n, launches=LAUNCHES, between=between) for chance in draws
        )
        what = f"of the machine's median, {between:.0%} between jobs, {n} jobs"
        yield _coverage(what, "4 to 10 jobs", shape, covered=covered, draws=draws)
    for shape, n in itertools.product(SHAPES, (4, 5, 10)):
        covered = sum(_covers_jobs(chance, shape, n) for chance in draws)
        yield _coverage(
            f"of a ratio of machines, {n} jobs per side",
            "4 to 10 jobs per side",
            shape,
            covered=covered,
            draws=draws,
        )
    for statistic, n in itertools.product((Statistic.AVERAGE, Statistic.P99), (6, 10, 20)):
        for shape in SHAPES:
            bounded = [_factor(chance, shape, n, statistic) for chance in draws]
            covered = sum(low is not None and high is not None and low <= 2 <= high for low, high in bounded)
            what = f"of an impact factor ({statistic}), {n} launches"
            yield _coverage(what, "6 to 20 launches", shape, covered=covered, draws=draws)


def _coverage(what: str, sizes: str, shape: str, *, covered: int, draws: Draws) -> Rate:
    """Return the row of an interval; the last words of `what` are its size, of which a group has several."""
    first = what.split(", ", maxsplit=1)[0]
    return Rate(
        group=f"interval {first}, {sizes}: covers",
        what=f"interval {what}, {shape}: covers",
        count=covered,
        draws=draws.count,
        least=0.93,
    )


def _covers_median(chance: Chance, shape: str, *, count: int, launches: int, between: float) -> bool:
    """Return whether the interval of the median of so many jobs covers that of one job, or else of the machine."""
    level = between * chance.standard_normal((count, 1))
    values = np.exp(level + 0.01 * SHAPES[shape](chance, (count, launches))).ravel().tolist()
    of_jobs = [str(job) for job in range(count) for _ in range(launches)]
    bounds = medians.summarise(values, of_jobs=of_jobs).interval
    return bounds is not None and bounds.low <= math.exp(0.01 * _centre(shape)) <= bounds.high


@functools.cache
def _centre(shape: str) -> float:
    """Return the median of a shape."""
    return float(np.median(SHAPES[shape](np.random.default_rng(SEED), (1_000_000,))))


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


def of_until(draws: Draws) -> Iterator[Rate]:
    """Yield coverage and cost of jobs that end at `until=2%`, whose noise of launches differs by job or is 2 %.

    The fixed design has the fewest launches with which 95 % of the same jobs are as narrow.
    """
    for shape, (least, most, dearest) in itertools.product(SHAPES, ((0.005, 0.04, 0.55), (0.02, 0.02, 0.8))):
        jobs_drawn = [_two_combinations(chance, shape, least, most) for chance in draws]
        last_rounds = [_rounds(values) for values in jobs_drawn]
        covered = sum(
            _covers_ratio(values, count) for values, count in zip(jobs_drawn, last_rounds, strict=True)
        )
        noise = (
            f"noise {100 * least:g} to {100 * most:g} % by job"
            if least < most
            else f"noise {100 * most:g} % in all jobs"
        )
        yield Rate(
            group="interval of a ratio where until=2% ended the job: covers",
            what=f"until=2%, {shape}, {noise}: ratio covered",
            count=covered,
            draws=draws.count,
            least=0.93,
        )
        fixed = _fixed_design(jobs_drawn)
        yield Rate(
            group=f"launches of until=2%, of a fixed design as narrow in 95 % of jobs: {noise}",
            what=f"until=2%, {shape}, {noise}: launches, of a fixed design's {fixed}",
            count=sum(last_rounds),
            draws=draws.count * fixed,
            most=dearest,
            error_of_mean=float(np.std(last_rounds)) / fixed / math.sqrt(draws.count),
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


def of_series(draws: Draws) -> Iterator[Rate]:
    """Yield what series over dates and spreads over allocations show."""
    for newest in (1, 2, 3):
        steps = [_dated(chance, [1.0] * (9 - newest) + [3.0] * newest, 0.0) for chance in draws]
        yield Rate(
            group="over dates, three times as slow in the last 1 to 3 of 9 records: named",
            what=f"over dates, x3 in the last {newest} of 9: named",
            count=sum(steps),
            draws=draws.count,
            least=0.95,
        )
    for count in (9, 20, 50):
        steps = [_dated(chance, [1.0] * count, 0.6) for chance in draws]
        yield Rate(
            group="over dates, no change, AR(1) 0.6, 9 to 50 records: a change",
            what=f"over dates, AR(1) 0.6, {count} records: a change",
            count=sum(steps),
            draws=draws.count,
            most=0.02,
        )
    for count in (3, 10):
        steady = sum(_steady(chance, count) for chance in draws)
        yield Rate(
            group="3 or 10 allocations that differ by 8 %: steady",
            what=f"{count} allocations that differ by 8 %: steady",
            count=steady,
            draws=draws.count,
            most=0.05,
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


def measure(console: Console, draws: Draws) -> list[dict[str, Any]]:
    """Print every rate with its standard error and its limit, then the table of docs/report.md."""
    title = f"{draws.count} draws, seed {draws.seed}"
    table = Table("what", "share", "limit", "", title=title)
    measured = list(rates(draws))
    for rate in measured:
        share = f"{rate.share:.1%} ± {rate.error:.1%}"
        table.add_row(rate.what, share, rate.limit, "" if rate.is_kept else "missed")
    console.print(table)
    console.print(f"| what ({title}) | share | limit |", "|---|---|---|", *summary(measured), sep="\n")
    return [
        {"what": rate.what, "share": rate.share, "error": rate.error, "kept": rate.is_kept}
        for rate in measured
    ]


def summary(measured: Sequence[Rate]) -> list[str]:
    """Return a row of Markdown for each group of rates: the lowest and the highest share, and the limit."""
    groups: dict[str, list[Rate]] = {}
    for rate in measured:
        groups.setdefault(rate.group, []).append(rate)
    rows = []
    for group, members in groups.items():
        low, high = (f"{100 * chosen(rate.share for rate in members):.1f}" for chosen in (min, max))
        shares = f"{high} %" if low == high else f"{low} to {high} %"
        limit = members[0].limit.replace("%", " %")
        rows.append(f"| {group} | {shares} | {limit} |")
    return rows
