"""Decide what launches show. Sentence, table, score, export and reference all print what this module decides.

Models: one `Finding` per pair of groups, from the rank test of the pair (`analysis.stats.ranktest`), corrected over
its family; one `Verdict` per comparison, made of its findings; one `Finding` per score, which contradicts no case. A
deterministic origin needs no test: its groups are compared as they are. Leaves out: how a finding is worded, and how
large a difference matters to the reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from analysis.stats.medians import ENOUGH, Summary
from analysis.stats.ranktest import Pair, enough
from railyard.records.units import Better

Key = TypeVar("Key")
#: A difference that no test can support counts from this many noise floors on.
UNTESTED = 2


class Finding(StrEnum):
    """The possible results of comparing one group with another."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"  # the same value in a deterministic model
    NO_DIFFERENCE = "no difference shown"
    MIXED = "mixed"  # a score: better in some cases, worse in others
    TOO_FEW = "n too small"
    UNRANKED = "not ranked"  # the FOM has no better direction
    NO_VALUE = "no value"


class Outcome(StrEnum):
    """The possible results of comparing several groups."""

    BEST = "best"  # one group is significantly better than every other
    NO_DIFFERENCE = "no difference shown"  # the best median is not significantly better than every other
    TOO_FEW = "n too small"  # so few launches that no result of theirs could be significant
    EXACT = "exact"  # a deterministic model: no spread, no test needed
    ALONE = "alone"  # fewer than two groups have a value
    UNDIRECTED = "undirected"  # the FOM has no better direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Generic[Key]):
    """The verdict on several groups: `best` has the best median, and `outcome` is whether it wins.

    `apart` are the groups than which it is significantly better; if that is all others, the outcome is BEST. `noise`
    are the groups whose difference from it is significant, but not above the noise floor `noise_percent`. `p_holm` is
    the largest corrected p-value of the tests of `best` against `apart`. `needed` is the number of launches per group
    from which on the tests could be significant.
    """

    outcome: Outcome
    best: Key | None
    apart: tuple[Key, ...] = ()
    p_holm: float | None = None
    needed: int = 0
    noise: tuple[Key, ...] = ()
    noise_percent: float = 0.0


def between(
    key: Key, pair: Pair[Key], groups: Mapping[Key, Summary], better: Better, *, deterministic: bool = False
) -> Finding:
    """Return what the pair's test shows of `key` against the other group of the pair.

    A difference is found only if the corrected p-value is at most the family's level, ranks and medians agree on its
    direction, and it is above the noise floor of both groups.
    """
    other = pair.other if key == pair.one else pair.one
    ours, theirs = groups[key], groups[other]
    if better is Better.NEITHER:
        return Finding.UNRANKED
    is_better = (ours.median < theirs.median) == (better is Better.LOWER)
    if deterministic and is_flat(groups):
        if ours.median == theirs.median:
            return Finding.EQUAL
        return Finding.BETTER if is_better else Finding.WORSE
    if not pair.attainable:
        return Finding.TOO_FEW
    ranks_agree = (better_share(key, pair, better) > 0.5) == is_better
    if not pair.is_significant or ours.median == theirs.median or not ranks_agree or is_noise(ours, theirs):
        return Finding.NO_DIFFERENCE
    return Finding.BETTER if is_better else Finding.WORSE


def is_noise(one: Summary, other: Summary) -> bool:
    """Return whether two medians are no further apart than their noise floor, a share of the larger.

    The floor is twice as high where either has fewer launches than a rank test needs.
    """
    floor = max(one.noise_percent, other.noise_percent)
    floor *= 1 if min(one.n, other.n) >= ENOUGH else UNTESTED
    small, large = sorted((abs(one.median), abs(other.median)))
    return floor > 0 and 100 * (large - small) <= floor * large


def is_flat(groups: Mapping[Key, Summary]) -> bool:
    """Return whether no group varies from launch to launch."""
    return all(group.minimum == group.maximum for group in groups.values())


def judge(
    groups: Mapping[Key, Summary],
    better: Better,
    pairs: Mapping[tuple[Key, Key], Pair[Key]],
    *,
    tests: int,
    deterministic: bool = False,
) -> Verdict[Key]:
    """Return what groups of launches show together; of equal medians the first counts as the best.

    `pairs` are the tests between the groups, `tests` the size of their family. `deterministic` is true if the origin is
    a model, whose groups without spread are compared as they are.
    """
    if len(groups) < 2:
        return Verdict(outcome=Outcome.ALONE, best=None)
    if better is Better.NEITHER:
        return Verdict(outcome=Outcome.UNDIRECTED, best=None)
    sign = 1 if better is Better.LOWER else -1
    best = min(groups, key=lambda key: sign * groups[key].median)
    with_best = {key: pair_of(pairs, best, key) for key in groups if key != best}
    findings = {
        key: between(best, pair, groups, better, deterministic=deterministic)
        for key, pair in with_best.items()
    }
    worse = tuple(key for key, finding in findings.items() if finding is Finding.BETTER)
    if deterministic and is_flat(groups):
        outcome = Outcome.EXACT if len(worse) == len(findings) else Outcome.NO_DIFFERENCE
        return Verdict(outcome=outcome, best=best, apart=worse)
    needed = enough(tests)
    if Finding.TOO_FEW in findings.values():
        return Verdict(outcome=Outcome.TOO_FEW, best=best, needed=needed)
    outcome = Outcome.BEST if len(worse) == len(findings) else Outcome.NO_DIFFERENCE
    largest = max((with_best[key].p_holm for key in worse), default=None)
    noise = tuple(
        key for key, pair in with_best.items() if pair.is_significant and is_noise(groups[best], groups[key])
    )
    return Verdict(
        outcome=outcome,
        best=best,
        apart=worse,
        p_holm=largest,
        needed=needed,
        noise=noise,
        noise_percent=max(group.noise_percent for group in groups.values()),
    )


def pair_of(pairs: Mapping[tuple[Key, Key], Pair[Key]], one: Key, other: Key) -> Pair[Key]:
    """Return the test of two groups, in whichever order it was made; KeyError if there is none."""
    return pairs[one, other] if (one, other) in pairs else pairs[other, one]


def better_share(key: Key, pair: Pair[Key], better: Better) -> float:
    """Return the share of pairs of launches in which `key` has the better value; 0.5 is no effect."""
    lower = pair.lower if key == pair.one else 1 - pair.lower
    return lower if better is Better.LOWER else 1 - lower


def overall(
    value: float, interval: tuple[float, float] | None, findings: Sequence[Finding], *, by_jobs: bool = False
) -> Finding:
    """Return what a score shows: `value` above 1 is better, `findings` are those of the pairs behind it.

    One pair: its own finding, so that a score and a table never differ. Several: better or worse only if the interval
    excludes 1, at least one pair was found so and none the other way. An interval over jobs is a test of its own: a few
    jobs settle the mean of many rows, none of which they could settle after the correction for their number.
    """
    if len(findings) == 1:
        return findings[0]
    if {Finding.BETTER, Finding.WORSE} <= set(findings):
        return Finding.MIXED
    if interval is None:
        return Finding.TOO_FEW
    direction, other = (Finding.BETTER, Finding.WORSE) if value > 1 else (Finding.WORSE, Finding.BETTER)
    excludes_one = not interval[0] <= 1 <= interval[1]
    supported = other not in findings if by_jobs else direction in findings
    return direction if excludes_one and supported else Finding.NO_DIFFERENCE
