"""Error rates, power and coverage of everything that reports conclude, over values drawn with fixed seeds.

Models: launches and jobs with a known effect through the functions that reports call: sides
(`railyard.analysis.judge.versus`), combinations (`railyard.analysis.cases.judgement`), intervals, impact factors,
series over dates, spreads over allocations. Sides differ in number and spread, and noise has several shapes. Two
sides are equal if their medians are. Leaves out:
real machines (`python -m perf same`), and the gate (`python -m perf gate`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from support.entries import KEY, entry

from railyard.analysis.cases import judgement
from railyard.analysis.cases.judgement import Comparison, Evidence, Series
from railyard.analysis.judge import over, versus
from railyard.analysis.judge.over import Steadiness
from railyard.analysis.judge.versus import Versus
from railyard.analysis.plan import enough
from railyard.analysis.stats import impact, medians
from railyard.analysis.stats.contrast import FEWEST
from railyard.analysis.stats.impact import Statistic
from railyard.analysis.stats.verdicts import Finding, Outcome
from railyard.records import units
from railyard.records.rules import looks
from railyard.records.store.entries import Entry
from railyard.records.units import Better

Array = npt.NDArray[np.float64]
Chance = np.random.Generator
Shape = Callable[[Chance, tuple[int, ...]], Array]
DRAWS = 200
SEED = 51
LAUNCHES = 6
MOST_ROUNDS = 100
FOM = units.fom("iteration_us", "us", "lower")
SIDES = ["system=base", "system=side"]
WON = (Finding.BETTER, Finding.WORSE)

#: Noise of logarithms with median 0 and a spread of about 1, by its shape.
SHAPES: dict[str, Shape] = {
    "normal": lambda chance, size: chance.standard_normal(size),
    "log-normal": lambda chance, size: (np.exp(0.6 * chance.standard_normal(size)) - 1) / 0.8,
    "heavy tails": lambda chance, size: chance.standard_t(3, size) / math.sqrt(3),
    "gamma": lambda chance, size: chance.gamma(1.0, 1.0, size) - math.log(2),
    "two classes": lambda chance, size: (
        chance.standard_normal(size) / 3
        + 4 * (chance.random(size) < 0.25)
        - 0.144  # a quarter is slower by 4
    ),
}
#: One launch in 20 takes three times as long as usual, at a noise of 2.5 %.
DISTURBED: Shape = lambda chance, size: (  # noqa: E731  # a shape as those above
    chance.standard_normal(size) + math.log(3) / 0.025 * (chance.random(size) < 0.05)
)
#: The numbers of jobs, and of launches, of two sides, and how many times larger the spread of the second is.
JOBS = ((4, 4), (5, 5), (10, 10), (30, 30), (20, 4), (10, 5), (30, 5), (4, 20))
COUNTS = ((4, 4), (6, 6), (10, 10), (20, 20), (18, 6), (30, 4), (12, 8), (6, 18))
SPREADS = (1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """As many independent generators of random numbers as `count`; every row draws from its own."""

    count: int = DRAWS
    seed: int = SEED

    def __iter__(self) -> Iterator[Chance]:
        return (np.random.default_rng((self.seed, number)) for number in range(self.count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One row: how often something happened, and the limits that the project sets itself, if any.

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
    yield from of_machines(draws)
    yield from of_rows(draws)
    yield from of_serial_jobs(draws)
    yield from of_shared_jobs(draws)
    yield from of_clocks(draws)
    yield from of_combinations(draws)
    yield from of_unlike_launches(draws)
    yield from of_intervals(draws)
    yield from of_until(draws)
    yield from of_series(draws)


def _rate(group: str, what: str, happened: Iterable[bool], draws: Draws, **limit: float) -> Rate:
    """Return a row: `what` of the cases of its group, separated by a colon from what is counted."""
    name, _, counted = group.partition(": ")
    return Rate(
        group=group, what=f"{name}, {what}: {counted}", count=sum(happened), draws=draws.count, **limit
    )


def of_machines(draws: Draws) -> Iterator[Rate]:
    """Yield how often two machines differ whose jobs are unlike in number and spread: equal ones, and 5 % apart."""
    for (one, other), ratio, shape in itertools.product(JOBS, SPREADS, SHAPES):
        compared = [
            _machines([_jobs(chance, shape, one, 0.02 / ratio), _jobs(chance, shape, other, 0.02)])
            for chance in draws
        ]
        numbers = "as many jobs" if one == other else "4 to 30 jobs"
        what = f"{one} and {other} jobs, spreads {2 / ratio:g} and 2 %, {shape}"
        group = f"equal machines, {numbers} per side, spreads 1 to 10 times: a winner"
        yield _rate(group, what, [_finding(one) in WON for one in compared], draws, most=0.05)
        group = f"interval of a ratio of machines, {numbers} per side: covers"
        yield _rate(group, what, [_covers(one, 1.0) for one in compared], draws, least=0.93)
    for shape in SHAPES:
        findings = [
            _finding(_machines([_jobs(chance, shape, 5, 0.01), 1.05 * _jobs(chance, shape, 5, 0.01)]))
            for chance in draws
        ]
        group = "machines 5 % apart, 5 jobs per side, 1 % between jobs"
        yield _rate(f"{group}: found", shape, [one is Finding.WORSE for one in findings], draws, least=0.9)
        yield _rate(
            f"{group}: a wrong winner", shape, [one is Finding.BETTER for one in findings], draws, most=0.005
        )
    for one, other in ((1, 1), (3, 3), (2, 30)):
        compared = [
            _machines([_jobs(chance, "normal", count, 0.01) for count in (one, other)]) for chance in draws
        ]
        decided = [_finding(one) is not Finding.TOO_FEW for one in compared]
        yield _rate(
            "fewer than 4 jobs on a side: a verdict", f"{one} and {other} jobs", decided, draws, most=0.0
        )


def _jobs(chance: Chance, shape: str, count: int, between: float, *, within: float = 0.01) -> Array:
    """Return the launches of jobs, a row each."""
    level = between * SHAPES[shape](chance, (count, 1))
    return np.asarray(1000 * np.exp(level + within * chance.standard_normal((count, LAUNCHES))))


def _machines(values: Sequence[Array], checks: int = 1) -> Versus:
    """Return the comparison of two machines from the launches of their jobs; rows of jobs take turns among checks."""
    entries = [
        entry(1000 * number + job, row.tolist(), system=system, check=f"halo_{job % checks}")
        for number, system in enumerate(("base", "side"))
        for job, row in enumerate(values[number])
    ]
    return versus.of_texts(SIDES, lambda **_: entries)


def _finding(versus: Versus) -> Finding:
    (score,) = versus.scores.values()
    return score.finding if score else Finding.NO_VALUE


def _covers(versus: Versus, ratio: float) -> bool:
    (score,) = versus.scores.values()
    return bool(score and score.low and score.high and score.low <= ratio <= score.high)


def of_rows(draws: Draws) -> Iterator[Rate]:
    """Yield how often any of nine checks of two equal machines is better or worse, and their score."""
    for (one, other), ratio in itertools.product(((5, 5), (20, 4), (10, 5)), (1.0, 4.0, 10.0)):
        compared = [
            _machines(
                [
                    _jobs(chance, "normal", 9 * count, spread)
                    for count, spread in ((one, 0.02 / ratio), (other, 0.02))
                ],
                checks=9,
            )
            for chance in draws
        ]
        what = f"{one} and {other} jobs, spreads {2 / ratio:g} and 2 %"
        named = [
            any(group.finding in WON for row in versus.rows for group in row.comparison.groups)
            for versus in compared
        ]
        yield _rate("9 checks of equal machines: a row better or worse", what, named, draws, most=0.05)
        won = [_finding(versus) in WON for versus in compared]
        yield _rate("9 checks of equal machines: a winner overall", what, won, draws, most=0.05)


def of_serial_jobs(draws: Draws) -> Iterator[Rate]:
    """Yield how often equal machines differ whose jobs resemble their predecessors, one side after the other."""
    for count, correlation in itertools.product((5, 10, 20, 30), (0.3, 0.7)):
        won = [
            _finding(_machines([1000 * np.exp(0.01 * _serial(chance, count, correlation)) for _ in range(2)]))
            in WON
            for chance in draws
        ]
        numbers = f"{count} jobs" if count < 20 else "20 or 30 jobs"
        group = f"equal machines, jobs with autocorrelation {correlation:g}, {numbers} per side: a winner"
        yield _rate(group, f"{count} jobs", won, draws)


def _serial(chance: Chance, count: int, correlation: float) -> Array:
    """Return AR(1) levels of jobs with launches that differ by a tenth of their spread."""
    levels = chance.standard_normal(count)
    for at in range(1, count):
        levels[at] = correlation * levels[at - 1] + math.sqrt(1 - correlation**2) * levels[at]
    return np.asarray(levels[:, None] + 0.1 * chance.standard_normal((count, LAUNCHES)))


def of_shared_jobs(draws: Draws) -> Iterator[Rate]:
    """Yield what placements show that ran in the same jobs, and whose effect differs from job to job.

    With fewer than 4 jobs the truth is that of these jobs, because the sentence names them alone.
    """
    for count, effect in itertools.product((1, 3, 4, 5, 10, 30), (0.0, 0.01, 0.02)):
        drawn = [_placements(chance, count, effect) for chance in draws]
        truth = [0.0 if count >= FEWEST else mean for _, mean in drawn]
        what = f"{count} jobs, effect differs by {effect:.0%} from job to job"
        if count >= FEWEST:
            won = [_finding(versus) in WON for versus, _ in drawn]
            group = "equal placements in 4 to 30 shared jobs, effects of 0 to 2 % by job: a winner"
            yield _rate(group, what, won, draws, most=0.05)
        covered = [_covers(versus, math.exp(-mean)) for (versus, _), mean in zip(drawn, truth, strict=True)]
        group = f"interval of placements in {'4 to 30' if count >= FEWEST else '1 or 3'} shared jobs: covers"
        yield _rate(group, what, covered, draws, least=0.93)


def _placements(chance: Chance, count: int, effect: float) -> tuple[Versus, float]:
    """Return the comparison of two placements in shared jobs, and the mean effect in these jobs."""
    names = ["placement=plain", "placement=custom"]
    effects = effect * chance.standard_normal(count)
    entries = []
    for job, own in enumerate(effects):
        level = 0.02 * chance.standard_normal()
        values = [
            (
                KEY._replace(placement=name),
                (1000 * np.exp(level + shift + chance.normal(0, 0.01, LAUNCHES))).tolist(),
            )
            for name, shift in (("plain", 0.0), ("custom", own))
        ]
        one = entry(job, values[0][1], placements=["plain", "custom"])
        entries.append(Entry(path=one.path, setting=one.setting, own=one.own, values=values))
    return versus.of_texts(names, lambda **_: entries), float(effects.mean())


def of_clocks(draws: Draws) -> Iterator[Rate]:
    """Yield what launches show of two machines through a clock of few readings."""
    for step, true in itertools.product((0.01, 0.02, 0.05), (0.0, 0.014, 0.03)):
        compared = [
            _machines(
                [
                    np.round(_jobs(chance, "normal", 5, 0.003, within=0.003) * factor / (1000 * step))
                    * 1000
                    * step
                    for factor in (1.0, 1 + true)
                ]
            )
            for chance in draws
        ]
        intervals = [score for versus in compared for score in versus.scores.values() if score and score.low]
        what = f"step {step:.0%}, {true:.1%} apart"
        covered = [_covers(versus, 1 / (1 + true)) for versus in compared]
        if intervals:  # there is none where all readings are equal
            yield Rate(
                group="interval of machines through a clock with a step of 1 to 5 %, of those printed: covers",
                what=f"clock, {what}: covers",
                count=sum(covered),
                draws=len(intervals),
                least=0.93,
            )
        empty = [score.low == score.high for score in intervals]
        yield _rate("interval through a coarse clock: no width", what, empty, draws, most=0.0)
        if not true:
            won = [_finding(versus) in WON for versus in compared]
            yield _rate("equal machines through a coarse clock: a winner", what, won, draws, most=0.05)


def of_combinations(draws: Draws) -> Iterator[Rate]:
    """Yield how often one job names a winner, of equal combinations and of one that is 5 % faster."""
    for (shape, noise), count, launches in itertools.product(
        (*SHAPES.items(), ("1 of 20 disturbed", DISTURBED)), (2, 5, 12), (6, 10)
    ):
        alike = [_judged(chance, noise, count, launches, change=0.0) for chance in draws]
        faster = [_judged(chance, noise, count, launches, change=0.05) for chance in draws]
        winners = [one.verdict.best if one.verdict.outcome is Outcome.BEST else None for one in faster]
        what, group = f"{count} of {launches} launches, {shape}", "2 to 12 combinations, 6 or 10 launches"
        named = [
            one.verdict.outcome is Outcome.BEST or any(group.finding in WON for group in one.groups)
            for one in alike
        ]
        yield _rate(f"{group}: a winner among equals", what, named, draws, most=0.05)
        best_two = [
            _compared(
                {
                    str(number): 0.025 * noise(chance, (launches,)) + (0.2 if number == 0 else 0.0)
                    for number in range(count + 1)
                }
            )
            for chance in draws
        ]
        named = [one.verdict.outcome is Outcome.BEST for one in best_two]
        yield _rate(
            f"{group}, all better than the baseline: a winner among equals", what, named, draws, most=0.05
        )
        wrong = [winner not in {None, "0"} for winner in winners]
        yield _rate(f"{group}: a wrong winner", what, wrong, draws, most=0.005)
        right = [winner == "0" for winner in winners]
        group = f"{launches} launches of {count} combinations"
        yield _rate(f"{group}: 5 % found at 2.5 % noise", shape, right, draws)
    for (shape, noise), launches, change in itertools.product(SHAPES.items(), (6, 10), (0.03, 0.05)):
        judged = [_judged(chance, noise, 2, launches, change=change) for chance in draws]
        unnamed = [one for one in judged if one.verdict.outcome is not Outcome.BEST]
        if unnamed:
            yield Rate(
                group='"a difference above X is excluded" where one of 3 or 5 % is not found: holds',
                what=f"{launches} launches, {shape}, {change:.0%} not found: what is excluded is larger",
                count=sum((one.excluded_percent("01") or math.inf) >= 100 * change for one in unnamed),
                draws=len(unnamed),
                least=0.9,
            )


def _judged(chance: Chance, noise: Shape, count: int, launches: int, *, change: float) -> Comparison:
    """Return the comparison of combinations, of which the first, the baseline, is faster by `change`."""
    return _compared(
        {
            str(number): 0.025 * noise(chance, (launches,)) + (math.log1p(change) if number else 0.0)
            for number in range(count)
        }
    )


def _compared(logs: Mapping[str, Array], looked: float = 1.0) -> Comparison:
    """Return the comparison of groups of launches of one job, the first of which is the baseline."""
    evidence = {name: Evidence(values=np.exp(values).tolist()) for name, values in logs.items()}
    series = Series(labels=(), evidence=evidence, deterministic=False)
    return judgement.compare(FOM, [series], next(iter(logs)), looked=looked)[0]


def of_unlike_launches(draws: Draws) -> Iterator[Rate]:
    """Yield how often launches of one job differ that are unlike in number and spread, but equal in the mean."""
    for (one, other), ratio, (shape, noise) in itertools.product(COUNTS, SPREADS, SHAPES.items()):
        judged = [
            _compared({"0": 0.03 / ratio * noise(chance, (one,)), "1": 0.03 * noise(chance, (other,))})
            for chance in draws
        ]
        what = f"{one} and {other} launches, spreads {3 / ratio:g} and 3 %, {shape}"
        won = [member.verdict.outcome is Outcome.BEST for member in judged]
        group = "equal combinations, 4 to 30 launches, spreads 1 to 10 times: a winner"
        yield _rate(group, what, won, draws, most=0.05)
        bounds = [member.group("1").change_interval for member in judged]
        covered = [bound is not None and bound[0] <= 0 <= bound[1] for bound in bounds]
        yield _rate("interval of a ratio of unlike launches: covers", what, covered, draws, least=0.93)


def of_intervals(draws: Draws) -> Iterator[Rate]:
    """Yield how often intervals cover the truth: medians, and impact factors."""
    for shape, n in itertools.product(SHAPES, (6, 10, 20)):
        covered = [_covers_median(chance, shape, count=1, launches=n, between=0.0) for chance in draws]
        group = "interval of the median of 1 job, 6 to 20 launches: covers"
        yield _rate(group, f"{n} launches, {shape}", covered, draws, least=0.93)
    for shape, n in itertools.product(SHAPES, (6, 10, 30)):
        covered = [
            _covers_median(chance, shape, count=n, launches=LAUNCHES, between=0.02) for chance in draws
        ]
        group = "interval of the machine's median, 6 to 30 jobs: covers"
        yield _rate(group, f"{n} jobs, {shape}", covered, draws, least=0.93)
    for statistic, n, shape in itertools.product((Statistic.AVERAGE, Statistic.P99), (6, 10, 20), SHAPES):
        bounds = [_factor(chance, SHAPES[shape], n, statistic) for chance in draws]
        covered = [bound is not None and bound[0] <= math.log(2) <= bound[1] for bound in bounds]
        group = f"interval of an impact factor ({statistic}), 6 to 20 launches: covers"
        yield _rate(group, f"{n} launches, {shape}", covered, draws, least=0.93)


def _covers_median(chance: Chance, shape: str, *, count: int, launches: int, between: float) -> bool:
    """Return whether the interval of the median of so many jobs covers that of one job, or else of the machine."""
    level = between * SHAPES[shape](chance, (count, 1))
    noise = SHAPES[shape] if count == 1 else SHAPES["normal"]
    values = (
        np.exp(level + (0.01 if count == 1 else 0.001) * noise(chance, (count, launches))).ravel().tolist()
    )
    bounds = medians.summarise(
        values, of_jobs=[str(job) for job in range(count) for _ in range(launches)]
    ).interval
    return bounds is not None and bounds.low <= 1.0 <= bounds.high


def _factor(chance: Chance, noise: Shape, n: int, statistic: Statistic) -> tuple[float, float] | None:
    """Return the interval of a factor whose true value is 2, of launches that differ by 5 %, samples by 10 %."""

    def drawn(level: float) -> list[list[float]]:
        logs = 0.05 * noise(chance, (n, 1)) + 0.1 * chance.standard_normal((n, 200))
        return (level * np.exp(logs)).tolist()  # type: ignore[no-any-return]

    samples = impact.Samples(alone=drawn(1.0), loaded=drawn(2.0), better=Better.LOWER)
    estimate = impact.estimate(samples, statistic)
    return estimate.interval() if estimate else None


def of_until(draws: Draws) -> Iterator[Rate]:
    """Yield coverage and cost of jobs that end at `until=2%`, whose noise of launches differs by job or is 2 %.

    The fixed design has the fewest launches with which 95 % of the same jobs are as narrow.
    """
    for shape, (least, most, dearest) in itertools.product(SHAPES, ((0.005, 0.04, 0.55), (0.02, 0.02, 0.8))):
        jobs_drawn = [_two_combinations(chance, SHAPES[shape], least, most) for chance in draws]
        last_rounds = [_rounds(values) for values in jobs_drawn]
        bounds = [
            _at(values, count, looks.TESTS).group("b").change_interval
            for values, count in zip(jobs_drawn, last_rounds, strict=True)
        ]
        noise = (
            f"noise {100 * least:g} to {100 * most:g} % by job" if least < most else "noise 2 % in all jobs"
        )
        covered = [bound is not None and bound[0] <= 0 <= bound[1] for bound in bounds]
        group = "interval of a ratio where until=2% ended the job: covers"
        yield _rate(group, f"{shape}, {noise}", covered, draws, least=0.93)
        fixed = _fixed_design(jobs_drawn)
        yield Rate(
            group=f"launches of until=2%, of a fixed design as narrow in 95 % of jobs: {noise}",
            what=f"until=2%, {shape}, {noise}: launches, of a fixed design's {fixed}",
            count=sum(last_rounds),
            draws=draws.count * fixed,
            most=dearest,
            error_of_mean=float(np.std(last_rounds)) / fixed / math.sqrt(draws.count),
        )


def _two_combinations(chance: Chance, noise: Shape, least: float, most: float) -> Array:
    spread = least * (most / least) ** chance.random()
    return np.asarray(spread * noise(chance, (2, MOST_ROUNDS)))


def _at(values: Array, rounds: int, looked: float) -> Comparison:
    return _compared({name: row[:rounds] for name, row in zip("ab", values, strict=True)}, looked)


def _is_narrow(values: Array, rounds: int, looked: float) -> bool:
    return enough.is_enough(enough.half_widths([_at(values, rounds, looked)]), 2.0)


def _rounds(values: Array) -> int:
    """Return the number of rounds after which a job ends."""
    planned = looks.rounds(MOST_ROUNDS)
    return next((count for count in planned if _is_narrow(values, count, looks.TESTS)), MOST_ROUNDS)


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
        group = "over dates, three times as slow in the last 1 to 3 of 9 records: named"
        yield _rate(group, f"the last {newest}", steps, draws, least=0.95)
    for count in (9, 20, 50):
        steps = [_dated(chance, [1.0] * count, 0.6) for chance in draws]
        group = "over dates, no change, AR(1) 0.6, 9 to 50 records: a change"
        yield _rate(group, f"{count} records", steps, draws, most=0.02)
    for count in (3, 10):
        steady = [_steady(chance, count) for chance in draws]
        group = "3 or 10 allocations that differ by 8 %: steady"
        yield _rate(group, f"{count} allocations", steady, draws, most=0.05)


def _dated(chance: Chance, levels: Sequence[float], correlation: float) -> bool:
    values = 1000 * np.array(levels)[:, None] * np.exp(0.01 * _serial(chance, len(levels), correlation))
    entries = [entry(number, row.tolist()) for number, row in enumerate(values)]
    return any(one.changes for one in over.dated(entries))


def _steady(chance: Chance, count: int) -> bool:
    values = _jobs(chance, "normal", count, 0.08)
    entries = [entry(number, row.tolist(), allocation=str(number)) for number, row in enumerate(values)]
    return any(one.verdict is Steadiness.STEADY for one in over.spreads(entries))


def measure(console: Console, draws: Draws) -> list[dict[str, Any]]:
    """Print every rate that misses its limit, and the table of docs/report.md; return all."""
    title = f"{draws.count} draws, seed {draws.seed}"
    measured = list(rates(draws))
    missed = [rate for rate in measured if not rate.is_kept]
    table = Table("what", "share", "limit", title=f"{len(missed)} of {len(measured)} rows missed, {title}")
    for rate in missed:
        table.add_row(rate.what, f"{rate.share:.1%} ± {rate.error:.1%}", rate.limit)
    console.print(table)
    console.print(
        f"| what ({title}) | rows | share | limit |", "|---|---|---|---|", *summary(measured), sep="\n"
    )
    return [
        {"what": rate.what, "share": rate.share, "error": rate.error, "kept": rate.is_kept}
        for rate in measured
    ]


def summary(measured: Sequence[Rate]) -> list[str]:
    """Return a row of Markdown for each group of rates: how many, the lowest and highest share, and the limit."""
    groups: dict[str, list[Rate]] = {}
    for rate in measured:
        groups.setdefault(rate.group, []).append(rate)
    rows = []
    for group, members in groups.items():
        low, high = (f"{100 * chosen(rate.share for rate in members):.1f}" for chosen in (min, max))
        shares = f"{high} %" if low == high else f"{low} to {high} %"
        limit = members[0].limit.replace("%", " %")
        rows.append(f"| {group} | {len(members)} | {shares} | {limit} |")
    return rows
