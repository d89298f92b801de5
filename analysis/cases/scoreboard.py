"""The score table: each combination (placement, NIC policy, software) against its baseline, over a system's cases.

Models: one row for every system, origin, baseline and combination; cases in which a combination has no value are
counted, not dropped. Leaves out: curves, whose points are not ranked; the score itself (`analysis.stats.score`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from analysis.cases.cases import Case, Combination
from analysis.cases.comparison import Comparison
from analysis.stats import score
from analysis.stats.score import Ratio, Score
from railyard.records.record import combination_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One row: `missing` is the number of cases that asked for the combination and have no value of it."""

    system: str
    origin: str
    combination: str
    baseline: str
    score: Score | None
    missing: int


@dataclass(slots=True)
class _Found:
    ratios: list[Ratio] = field(default_factory=list)
    missing: int = 0


def standings(judged: Sequence[tuple[Case, Sequence[Comparison]]]) -> list[Standing]:
    """A row for each combination that some case compares with its baseline, in the order met."""
    found: dict[tuple[str, str, str, str], _Found] = {}
    for case, comparisons in judged:
        for combination in case.combinations:
            if combination != case.baseline:
                key = (case.first.system.name, str(case.origin), _name(combination), _name(case.baseline))
                _add(found.setdefault(key, _Found()), case, combination, comparisons)
    return [
        Standing(
            system=system,
            origin=origin,
            combination=combination,
            baseline=baseline,
            score=score.score(of_key.ratios),
            missing=of_key.missing,
        )
        for (system, origin, combination, baseline), of_key in found.items()
    ]


def _name(combination: Combination) -> str:
    return combination_name(combination.placement, combination.nic_policy, combination.software)


def _add(found: _Found, case: Case, combination: Combination, comparisons: Sequence[Comparison]) -> None:
    ratios = [ratio for each in comparisons if (ratio := _ratio(case, combination, each)) is not None]
    found.ratios += ratios
    found.missing += not ratios


def _ratio(case: Case, combination: Combination, comparison: Comparison) -> Ratio | None:
    groups = {group.combination: group for group in comparison.groups}
    ours, base = groups.get(combination), groups.get(case.baseline)
    if not ours or not base or not ours.observations or not base.observations:
        return None
    return Ratio(
        case=(case.key,),
        fom=comparison.fom,
        values=[observation.value for observation in ours.observations],
        baseline=[observation.value for observation in base.observations],
        finding=ours.finding,
    )
