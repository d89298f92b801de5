"""Score each combination (placement, NIC policy, software) against its baseline, over a system's cases.

Models: one row for every system, origin, baseline and combination; cases in which a combination has no value are
counted, not dropped. Leaves out: curves, whose points are not ranked; the score itself
(`railyard.analysis.cases.score`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.analysis.cases import score
from railyard.analysis.cases.cases import Case, Combination
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.cases.score import Ratio, Score
from railyard.analysis.cases.titles import title
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import Format, counted
from railyard.records import programs
from railyard.records.record import combination_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One row; `missing` is the number of cases that requested the combination and have no value of it.

    `only` is the title of the case with a value, if there is just one; `what` names what the cases measure.
    """

    system: str
    origin: str
    combination: str
    baseline: str
    score: Score | None
    missing: int = 0
    only: str = ""
    what: str = ""

    @property
    def value(self) -> str:
        """Return the score as text."""
        return f"{self.score.value:.3f}" if self.score else "no value"

    @property
    def interval(self) -> str:
        """Return the 95 % interval as text, or why there is none."""
        if self.score is None or self.score.low is None:
            return "too few launches or jobs"
        return f"{self.score.low:.3f} to {self.score.high:.3f}"

    @property
    def cases(self) -> str:
        """Return in how many cases the combination has a value, and in how many it has none."""
        missing = f", {self.missing} without a value" if self.missing else ""
        return f"{self.score.cases if self.score else 0}{missing}"

    @property
    def verdict(self) -> Finding:
        """Return what the score shows."""
        return self.score.finding if self.score else Finding.NO_VALUE


def faster(name: str, score: Score, baseline: str, what: str = "") -> str:
    """Return `a is 2.11 times as fast as b (95 %: 2.09 to 2.13, 3 cases)`, the faster one first.

    With `what` it is `a makes WHAT 2.11 times as fast as b`. Where launches are compared, it ends in `, in this job)`.
    """
    value, low, high = score.value, score.low, score.high
    if value < 1:
        name, baseline, value = baseline, name, 1 / value
        low, high = (None, None) if low is None or high is None else (1 / high, 1 / low)
    form = Format.for_values([value - 1 or 1.0])
    decimals = Format(decimals=min(4, max(2, form.decimals - 2 if form.decimals is not None else 4)))
    between = "" if low is None or high is None else f"95 %: {decimals.text(low)} to {decimals.text(high)}, "
    basis = counted(score.cases, "case")
    if score.jobs is not None:
        ours, theirs = score.jobs
        same = f"{counted(ours, 'shared job')}" if score.is_shared else f"{counted(ours, 'job')} per side"
        of_jobs = same if ours == theirs else f"{ours} and {theirs} jobs"
        of_launches = f"in {'this job' if ours == 1 else f'these {ours} jobs'}"
        basis += f", {of_jobs if score.by_job else of_launches}"
    verb = f"makes {what}" if what else "is"
    return f"{name} {verb} {decimals.text(value)} times as fast as {baseline} ({between}{basis})"


def standings(judged: Sequence[tuple[Case, Sequence[Comparison]]]) -> list[Standing]:
    """Return a row for each combination that some case compares with its baseline, in the order of the cases."""
    rows: dict[tuple[str, str, str, str], list[tuple[Case, list[Ratio]]]] = {}  # system, origin, combination, baseline
    for case, comparisons in judged:
        for combination in case.combinations:
            if combination != case.baseline:
                key = (case.first.system.name, str(case.origin), _name(combination), _name(case.baseline))
                name = case.name(combination)
                ratios = [ratio for one in comparisons if (ratio := score.ratio(one, name, (case.key,)))]
                rows.setdefault(key, []).append((case, ratios))
    scored: dict[tuple[str, str, str, str], Score | None] = {}
    for family in dict.fromkeys((system, origin, baseline) for system, origin, _, baseline in rows):
        members = {key: of_cases for key, of_cases in rows.items() if (*key[:2], key[3]) == family}
        scored |= score.scores(
            {key: [ratio for _, ratios in of_cases for ratio in ratios] for key, of_cases in members.items()}
        )
    standings = []
    for (system, origin, name, baseline), of_cases in rows.items():
        titles = [title(case) for case, ratios in of_cases if ratios]
        standings.append(
            Standing(
                system=system,
                origin=origin,
                combination=name,
                baseline=baseline,
                score=scored[system, origin, name, baseline],
                missing=len(of_cases) - len(titles),
                only=titles[0] if len(titles) == 1 else "",
                what=programs.what({case.first.case.benchmark for case, _ in of_cases}),
            )
        )
    return standings


def _name(combination: Combination) -> str:
    return combination_name(combination.placement, combination.nic_policy, combination.software)
