"""Error rates, power and coverage of everything that reports conclude, over values drawn with fixed seeds.

Models: launches and jobs with a known effect through the functions that reports call: sides
(`railyard.analysis.judge.versus`), combinations (`railyard.analysis.cases.judgement`), intervals, impact factors,
series over dates. Sides differ in number and spread, and noise has several shapes. Two sides are equal if their
medians are. Leaves out real machines, and the gate (`perf gate` of commit f016650).

A case is drawn many times. What a draw shows has a group, which is a row of the table in docs/report.md: its text ends,
after a colon, with what is counted, and that has a limit.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table
from support.entries import KEY, entry

from perf.vtorus import console
from railyard.analysis.cases import judgement
from railyard.analysis.cases.judgement import Comparison, Evidence, Series
from railyard.analysis.judge import over, versus
from railyard.analysis.judge.versus import Versus
from railyard.analysis.plan import enough
from railyard.analysis.stats import impact, medians
from railyard.analysis.stats.contrast import FEWEST
from railyard.analysis.stats.impact import Statistic
from railyard.analysis.stats.verdicts import Finding, Outcome
from railyard.records import looks, units
from railyard.records.store.entries import Entry
from railyard.records.units import Better

Array = npt.NDArray[np.float64]
Chance = np.random.Generator
Shape = Callable[[Chance, tuple[int, ...]], Array]
#: What one draw shows: by group, whether it happened; None where it could not.
Shown = Mapping[str, bool | None]
DRAWS = 200
SEED = 51
LAUNCHES = 6
MOST_ROUNDS = 100
FOM = units.fom("iteration_us", "us", "lower")
WON = (Finding.BETTER, Finding.WORSE)
#: The least and the largest share that the project sets itself, by what is counted.
LIMITS = {
    "a winner": (0.0, 0.05),
    "a winner among equals": (0.0, 0.05),
    "a winner overall": (0.0, 0.05),
    "a row better or worse": (0.0, 0.05),
    "a wrong winner": (0.0, 0.005),
    "a change": (0.0, 0.02),
    "covers": (0.93, 1.0),
    "found": (0.9, 1.0),
    "holds": (0.9, 1.0),
}

#: Noise of logarithms with median 0 and a spread of about 1, by its shape.
NOISE: dict[str, Shape] = {
    "normal": lambda chance, size: chance.standard_normal(size),
    "log-normal": lambda chance, size: (np.exp(0.6 * chance.standard_normal(size)) - 1) / 0.8,
    "heavy tails": lambda chance, size: chance.standard_t(3, size) / math.sqrt(3),
    "gamma": lambda chance, size: chance.gamma(1.0, 1.0, size) - math.log(2),
    # A quarter is slower by 4.
    "two classes": lambda chance, size: chance.standard_normal(size) / 3 + 4 * (chance.random(size) < 0.25) - 0.144,
    # One launch in 20 takes three times as long as usual, at a noise of 2.5 %.
    "1 of 20 disturbed": lambda chance, size: (
        chance.standard_normal(size) + math.log(3) / 0.025 * (chance.random(size) < 0.05)
    ),
}
SHAPES = tuple(NOISE)[:-1]
#: The numbers of jobs, and of launches, of two sides, and how many times larger the spread of the second is.
JOBS = ((4, 4), (5, 5), (10, 10), (30, 30), (20, 4), (10, 5), (30, 5), (4, 20))
COUNTS = ((4, 4), (6, 6), (10, 10), (20, 20), (18, 6), (30, 4), (12, 8), (6, 18))
SPREADS = (1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One case of a group: how often something happened in its draws, and the limits, if any."""

    group: str
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
        """Return the standard error of the share, by Agresti and Coull: it is above 0 for a share of 0 or 1, too."""
        near = (self.count + 1) / (self.draws + 2)
        return math.sqrt(near * (1 - near) / self.draws)

    @property
    def is_kept(self) -> bool:
        """Return whether the share is within its limits, up to two standard errors."""
        return self.least - 2 * self.error <= self.share <= self.most + 2 * self.error

    @property
    def limit(self) -> str:
        """Return the limit in words; empty for none."""
        at_most = f"at most {self.most:.1%}" if self.most < 1 else ""
        return f"at least {self.least:.0%}" if self.least else at_most


# ---- machines, whose launches belong to jobs ----


def _equal_machines(chance: Chance, jobs: tuple[int, int], ratio: float, shape: str) -> Shown:
    one, other = jobs
    compared = _versus([_jobs(chance, shape, one, 0.02 / ratio), _jobs(chance, shape, other, 0.02)])
    numbers = "as many jobs" if one == other else "4 to 30 jobs"
    return {
        f"equal machines, {numbers} per side, spreads 1 to 10 times: a winner": _finding(compared) in WON,
        f"interval of a ratio of machines, {numbers} per side: covers": _covers(compared, 1.0),
    }


def _apart(chance: Chance, shape: str) -> Shown:
    finding = _finding(_versus([_jobs(chance, shape, 5, 0.01), 1.05 * _jobs(chance, shape, 5, 0.01)]))
    group = "machines 5 % apart, 5 jobs per side, 1 % between jobs"
    return {f"{group}: found": finding is Finding.WORSE, f"{group}: a wrong winner": finding is Finding.BETTER}


def _nine_checks(chance: Chance, jobs: tuple[int, int], ratio: float) -> Shown:
    launches = [_jobs(chance, "normal", 9 * jobs[0], 0.02 / ratio), _jobs(chance, "normal", 9 * jobs[1], 0.02)]
    compared = _versus(launches, checks=9)
    named = any(group.finding in WON for row in compared.rows for group in row.comparison.groups)
    return {
        "9 checks of equal machines: a row better or worse": named,
        "9 checks of equal machines: a winner overall": _finding(compared) in WON,
    }


def _serial_machines(chance: Chance, count: int, correlation: float) -> Shown:
    compared = _versus([1000 * np.exp(0.01 * _serial(chance, count, correlation)) for _ in range(2)])
    numbers = f"{count} jobs" if count < 20 else "20 or 30 jobs"
    group = f"equal machines, jobs with autocorrelation {correlation:g}, {numbers} per side"
    return {f"{group}: a winner": _finding(compared) in WON}


def _serial(chance: Chance, count: int, correlation: float) -> Array:
    """Return AR(1) levels of jobs with launches that differ by a tenth of their spread."""
    levels = chance.standard_normal(count)
    for at in range(1, count):
        levels[at] = correlation * levels[at - 1] + math.sqrt(1 - correlation**2) * levels[at]
    return np.asarray(levels[:, None] + 0.1 * chance.standard_normal((count, LAUNCHES)))


def _placements(chance: Chance, count: int, effect: float) -> Shown:
    """Compare two placements whose difference is another in each job.

    With fewer than 4 jobs the truth is that of these jobs, which the sentence names.
    """
    names = ["placement=plain", "placement=custom"]
    effects = effect * chance.standard_normal(count)
    entries = []
    for job, own in enumerate(effects):
        level = 0.02 * chance.standard_normal()
        values = [
            (KEY._replace(placement=name), (1000 * np.exp(level + shift + chance.normal(0, 0.01, LAUNCHES))).tolist())
            for name, shift in (("plain", 0.0), ("custom", own))
        ]
        one = entry(job, values[0][1], placements=["plain", "custom"])
        entries.append(Entry(path=one.path, setting=one.setting, own=one.own, values=values))
    compared = versus.of_texts(names, lambda **_: entries)
    if count < FEWEST:
        covers = _covers(compared, math.exp(-float(effects.mean())))
        return {"interval of placements in 1 or 3 shared jobs: covers": covers}
    group = "equal placements in 4 to 30 shared jobs, effects of 0 to 2 % by job: a winner"
    return {
        group: _finding(compared) in WON,
        "interval of placements in 4 to 30 shared jobs: covers": _covers(compared, 1.0),
    }


def _dated(chance: Chance, records: int) -> Shown:
    values = 1000 * np.exp(0.01 * _serial(chance, records, 0.6))
    entries = [entry(number, row.tolist()) for number, row in enumerate(values)]
    is_named = any(one.changes for one in over.dated(entries))
    return {"over dates, no change, AR(1) 0.6, 9 to 50 records: a change": is_named}


def _jobs(chance: Chance, shape: str, count: int, between: float) -> Array:
    """Return the launches of jobs in ns, shape (count, LAUNCHES): noise between jobs, and normal noise within one."""
    level = between * NOISE[shape](chance, (count, 1))
    return np.asarray(1000 * np.exp(level + 0.01 * chance.standard_normal((count, LAUNCHES))))


def _versus(launches: Sequence[Array], checks: int = 1) -> Versus:
    """Return the comparison of two machines from the launches of their jobs; jobs take turns among checks."""
    entries = [
        entry(1000 * number + job, row.tolist(), system=system, check=f"halo_{job % checks}")
        for number, system in enumerate(("base", "side"))
        for job, row in enumerate(launches[number])
    ]
    names = ["system=base", "system=side"]
    return versus.of_texts(names, lambda **_: entries)


def _finding(compared: Versus) -> Finding:
    (score,) = compared.scores.values()
    return score.finding if score else Finding.NO_VALUE


def _covers(compared: Versus, ratio: float) -> bool:
    (score,) = compared.scores.values()
    return bool(score and score.low and score.high and score.low <= ratio <= score.high)


# ---- combinations, whose launches belong to one job ----


def _alike(chance: Chance, shape: str, count: int, launches: int) -> Shown:
    judged = _compared([0.025 * NOISE[shape](chance, (launches,)) for _ in range(count)])
    named = _is_won(judged) or any(group.finding in WON for group in judged.groups)
    return {"2 to 12 combinations, 6 or 10 launches: a winner among equals": named}


def _two_best(chance: Chance, shape: str, count: int, launches: int) -> Shown:
    """Compare as many equal combinations, all better than the baseline."""
    logs = [0.025 * NOISE[shape](chance, (launches,)) + 0.2 * (number == 0) for number in range(count + 1)]
    group = "2 to 12 combinations, 6 or 10 launches, all better than the baseline: a winner among equals"
    return {group: _is_won(_compared(logs))}


def _faster(chance: Chance, shape: str, count: int, launches: int) -> Shown:
    """Compare combinations of which the first is 5 % faster."""
    judged = _first_faster(chance, shape, count, launches, change=0.05)
    best = judged.verdict.best if _is_won(judged) else None
    return {"2 to 12 combinations, 6 or 10 launches: a wrong winner": best not in {None, "0"}}


def _excluded(chance: Chance, shape: str, launches: int, change: float) -> Shown:
    judged = _first_faster(chance, shape, 2, launches, change=change)
    holds = None if _is_won(judged) else (judged.excluded_percent("01") or math.inf) >= 100 * change
    return {'"a difference above X is excluded" where one of 3 or 5 % is not found: holds': holds}


def _first_faster(chance: Chance, shape: str, count: int, launches: int, *, change: float) -> Comparison:
    """Return the comparison of combinations, of which the first, the baseline, is faster by `change`."""
    slower = math.log1p(change)
    return _compared([0.025 * NOISE[shape](chance, (launches,)) + slower * (number > 0) for number in range(count)])


def _compared(logs: Iterable[Array], looked: float = 1.0) -> Comparison:
    """Return the comparison of groups of launches of one job, by their number; the first is the baseline."""
    evidence = {str(name): Evidence(values=np.exp(values).tolist()) for name, values in enumerate(logs)}
    one = Series(fom=FOM, labels=(), evidence=evidence, deterministic=False)
    return judgement.compare([one], "0", looked=looked)[0]


def _is_won(comparison: Comparison) -> bool:
    return comparison.verdict.outcome is Outcome.BEST


def _unlike(chance: Chance, launches: tuple[int, int], ratio: float, shape: str) -> Shown:
    one, other = launches
    judged = _compared([0.03 / ratio * NOISE[shape](chance, (one,)), 0.03 * NOISE[shape](chance, (other,))])
    covers = _contains(judged.group("1").change_interval, 0.0)
    return {
        "equal combinations, 4 to 30 launches, spreads 1 to 10 times: a winner": _is_won(judged),
        "interval of a ratio of unlike launches: covers": covers,
    }


def _contains(bounds: tuple[float, float] | None, truth: float) -> bool:
    return bounds is not None and bounds[0] <= truth <= bounds[1]


# ---- intervals ----


def _median_of_a_job(chance: Chance, shape: str, launches: int) -> Shown:
    NOISE[shape](chance, (1, 1))  # the level of the job
    logs = 0.01 * NOISE[shape](chance, (1, launches))
    return {"interval of the median of 1 job, 6 to 20 launches: covers": _covers_median(logs)}


def _median_of_jobs(chance: Chance, shape: str, jobs: int) -> Shown:
    logs = 0.02 * NOISE[shape](chance, (jobs, 1)) + 0.001 * chance.standard_normal((jobs, LAUNCHES))
    return {"interval of the machine's median, 6 to 30 jobs: covers": _covers_median(logs)}


def _covers_median(logs: Array) -> bool:
    """Return whether the interval of the median of launches, a row for each job, covers 1."""
    names = [str(job) for job, launches in enumerate(logs) for _ in launches]
    bounds = medians.summarise(np.exp(logs).ravel().tolist(), of_jobs=names).interval
    return bounds is not None and bounds.low <= 1.0 <= bounds.high


def _impact(chance: Chance, statistic: Statistic, launches: int, shape: str) -> Shown:
    """Estimate a factor whose true value is 2, of launches that differ by 5 %, samples by 10 %."""

    def drawn(level: float) -> list[list[float]]:
        logs = 0.05 * NOISE[shape](chance, (launches, 1)) + 0.1 * chance.standard_normal((launches, 200))
        return (level * np.exp(logs)).tolist()  # type: ignore[no-any-return]

    samples = impact.Samples(alone=drawn(1.0), loaded=drawn(2.0), better=Better.LOWER)
    estimate = impact.estimate(samples, statistic)
    group = f"interval of an impact factor ({statistic}), 6 to 20 launches: covers"
    return {group: estimate is not None and _contains(estimate.interval(), math.log(2))}


# ---- jobs that end at `until=2%` ----


def _ended(chance: Chance, shape: str, spreads: tuple[float, float]) -> Shown:
    least, most = spreads
    spread = least * (most / least) ** chance.random()
    job = np.asarray(spread * NOISE[shape](chance, (2, MOST_ROUNDS)))  # logarithms of launches of two combinations
    bounds = _compared(job[:, : _rounds(job)], looks.TESTS).group("1").change_interval
    return {"interval of a ratio where until=2% ended the job: covers": _contains(bounds, 0.0)}


def _rounds(job: Array) -> int:
    """Return the number of rounds after which a job ends, because its interval is narrow or it has no more."""

    def is_narrow(rounds: int) -> bool:
        return enough.is_enough(enough.half_widths([_compared(job[:, :rounds], looks.TESTS)]), 2.0)

    return next(filter(is_narrow, looks.rounds(MOST_ROUNDS)), MOST_ROUNDS)


# ---- the table ----

#: What is drawn, and the values of its arguments: every combination of them is a case. Jobs of machines are unlike in
#: number and spread, or resemble their predecessors.
CASES: tuple[tuple[Callable[..., Shown], *tuple[Sequence[Any], ...]], ...] = (
    (_equal_machines, JOBS, SPREADS, SHAPES),
    (_apart, SHAPES),
    (_nine_checks, ((5, 5), (20, 4), (10, 5)), (1.0, 4.0, 10.0)),
    (_serial_machines, (5, 10, 20, 30), (0.3, 0.7)),
    (_placements, (1, 3, 4, 5, 10, 30), (0.0, 0.01, 0.02)),
    (_dated, (9, 20, 50)),
    *((judge, tuple(NOISE), (2, 5, 12), (6, 10)) for judge in (_alike, _two_best, _faster)),
    (_excluded, SHAPES, (6, 10), (0.03, 0.05)),
    (_unlike, COUNTS, SPREADS, SHAPES),
    (_median_of_a_job, SHAPES, (6, 10, 20)),
    (_median_of_jobs, SHAPES, (6, 10, 30)),
    (_impact, (Statistic.AVERAGE, Statistic.P99), (6, 10, 20), SHAPES),
    (_ended, SHAPES, ((0.005, 0.04), (0.02, 0.02))),  # the noise of a job is drawn between these
)


def rates(count: int = DRAWS) -> Iterator[Rate]:
    """Yield the rate of every case and group over `count` draws; every case has the same generators."""
    for draw, *values in CASES:
        for arguments in itertools.product(*values):
            shown = [draw(np.random.default_rng((SEED, number)), *arguments) for number in range(count)]
            named = zip(list(inspect.signature(draw).parameters)[1:], arguments, strict=True)
            what = ", ".join(f"{name} {value}" for name, value in named)
            for group in shown[0]:
                happened = [bool(one[group]) for one in shown if one[group] is not None]
                name, _, counted = group.partition(": ")
                # Jobs that resemble their predecessors are not jobs by chance, and nothing is promised of them.
                least, most = LIMITS.get(counted if "autocorrelation" not in name else "", (0.0, 1.0))
                full, draws = f"{name}, {what}: {counted}", len(happened)
                if draws:
                    yield Rate(group=group, what=full, count=sum(happened), draws=draws, least=least, most=most)


def measure(options: argparse.Namespace) -> None:
    """Print every rate that misses its limit, and the table of docs/report.md."""
    count = options.count or DRAWS
    title = f"{count} draws, seed {SEED}"
    measured = list(rates(count))
    missed = [rate for rate in measured if not rate.is_kept]
    table = Table("what", "share", "limit", title=f"{len(missed)} of {len(measured)} rows missed, {title}")
    for rate in missed:
        table.add_row(rate.what, f"{rate.share:.1%} ± {rate.error:.1%}", rate.limit)
    console.print(table)
    console.print(f"| what ({title}) | rows | share | limit |", "|---|---|---|---|", sep="\n")
    console.print(*summary(measured), sep="\n")


def summary(measured: Sequence[Rate]) -> Iterator[str]:
    """Yield a row of Markdown for each group of rates: how many, the lowest and highest share, and the limit."""
    for group in dict.fromkeys(rate.group for rate in measured):
        members = [rate for rate in measured if rate.group == group]
        low, high = (f"{100 * chosen(rate.share for rate in members):.1f}" for chosen in (min, max))
        shares = f"{low} %" if low == high else f"{low} to {high} %"
        limit = members[0].limit.replace("%", " %")
        yield f"| {group} | {len(members)} | {shares} | {limit} |"
