"""Decide what launches show. Sentence, table, score, export and reference all print what this module decides.

Models: one `Finding` per test of two groups (`railyard.analysis.stats.contrast`); one `Verdict` per comparison, made of
its findings; one `Finding` per score. A deterministic origin needs no test: its groups are compared as they are. Leaves
out: how a finding is worded, and how large a difference matters to the reader.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from railyard.analysis.stats.contrast import Test
from railyard.analysis.stats.medians import Summary
from railyard.records.units import Better


class Finding(StrEnum):
    """The possible results of comparing one group with another."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"  # the same value in a deterministic model
    NO_DIFFERENCE = "no difference shown"
    MIXED = "mixed"  # a score: none shown, and better in some cases, worse in others
    TOO_FEW = "n too small"
    UNRANKED = "not ranked"  # the FOM has no better direction
    NO_VALUE = "no value"


class Outcome(StrEnum):
    """The possible results of comparing several groups."""

    BEST = "best"  # one group is significantly better than every other
    NO_DIFFERENCE = "no difference shown"  # the best median is not significantly better than every other
    TOO_FEW = "n too small"  # so few launches or jobs that none is compared
    EXACT = "exact"  # a deterministic model: no spread, no test needed
    ALONE = "alone"  # fewer than two groups have a value
    UNDIRECTED = "undirected"  # the FOM has no better direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on several groups: `best` has the best median, and `outcome` is whether it wins.

    `apart` are the groups than which it is significantly better; if that is all others, the outcome is BEST. `noise`
    are the groups whose difference from it is significant, but not above the noise floor `noise_percent`. `p_holm` is
    the largest corrected p-value of the tests of `best` against `apart`; None without tests.
    """

    outcome: Outcome
    best: str | None
    apart: tuple[str, ...] = ()
    p_holm: float | None = None
    noise: tuple[str, ...] = ()
    noise_percent: float = 0.0


def of_test(test: Test | None, better: Better, noise_percent: float = 0.0, *, is_ratio: bool = True) -> Finding:
    """Return what a test shows of its first side: the one rule that decides a difference.

    A difference is found if the test's interval excludes 0, and the estimate is above the noise floor.
    """
    if better is Better.NEITHER:
        return Finding.UNRANKED
    if test is None:
        return Finding.TOO_FEW
    change = test.estimate.value
    is_noise = is_ratio and -100 * math.expm1(-abs(change)) <= noise_percent  # a share of the larger side
    if not test.is_significant or is_noise:
        return Finding.NO_DIFFERENCE
    return Finding.BETTER if (change < 0) == (better is Better.LOWER) else Finding.WORSE


def exactly(ours: Summary, theirs: Summary, better: Better) -> Finding:
    """Return how two groups of a deterministic model compare."""
    if better is Better.NEITHER:
        return Finding.UNRANKED
    if ours.median == theirs.median:
        return Finding.EQUAL
    return Finding.BETTER if (ours.median < theirs.median) == (better is Better.LOWER) else Finding.WORSE


def judge(
    groups: Mapping[str, Summary],
    better: Better,
    findings: Mapping[str, Finding],
    tests: Mapping[str, Test],
    *,
    noise_percent: float,
) -> Verdict:
    """Return what groups show together.

    `findings` are those of the best group (`best_of`) against each other one, `tests` the tests behind them, none in a
    deterministic model.
    """
    if len(groups) < 2:
        return Verdict(outcome=Outcome.ALONE, best=None)
    if better is Better.NEITHER:
        return Verdict(outcome=Outcome.UNDIRECTED, best=None)
    best = best_of(groups, better)
    if Finding.TOO_FEW in findings.values():
        return Verdict(outcome=Outcome.TOO_FEW, best=best)
    beaten = tuple(name for name, finding in findings.items() if finding is Finding.BETTER)
    won = Outcome.BEST if tests else Outcome.EXACT
    return Verdict(
        outcome=won if len(beaten) == len(findings) else Outcome.NO_DIFFERENCE,
        best=best,
        apart=beaten,
        p_holm=max((tests[name].p_holm for name in beaten if name in tests), default=None),
        noise=tuple(name for name, test in tests.items() if test.is_significant and name not in beaten),
        noise_percent=noise_percent,
    )


def best_of(groups: Mapping[str, Summary], better: Better) -> str:
    """Return the group with the best median; of equal ones the first."""
    sign = 1 if better is Better.LOWER else -1
    return min(groups, key=lambda name: sign * groups[name].median)


def of_score(test: Test | None, findings: Sequence[Finding], noise_percent: float = 0.0) -> Finding:
    """Return what a score shows; `findings` are those of the cases behind it, which only a score without one names."""
    finding = of_test(test, Better.HIGHER, noise_percent)
    is_mixed = finding is Finding.NO_DIFFERENCE and {Finding.BETTER, Finding.WORSE} <= set(findings)
    return Finding.MIXED if is_mixed else finding
