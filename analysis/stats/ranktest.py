"""Test whether groups of launches differ: two-sided rank tests, corrected for their number, with an effect size.

Models: the Mann-Whitney U test of each pair: exact, with ties by the permutation distribution of the rank sum
(Streitberg & Röhmel, Statistical Software Newsletter 12, 1986), and for many launches SciPy's normal approximation with
tie and continuity correction; Holm's step-down correction over one family of tests (Holm, Scand. J. Stat. 6, 1979);
the probability of superiority as effect size (a launch of one against a launch of the other, ties count half), and
the number of launches below which a family can show nothing. Leaves out: which tests are one family
(`analysis.cases.comparison`), paired designs, anything that assumes a normal distribution.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from placements.arrays import Floats, np

Key = TypeVar("Key")
Values = Sequence[float]

#: The level of a family of tests. Not 5 %: a count of false winners over a thousand equal pairs has a standard
#: deviation of 0.7 %, and is to stay below 5 % all the same.
ALPHA = 0.03
#: Above this many launches in both groups together the exact distribution is left for the normal one.
_MOST_EXACT = 120
#: The same where launches have equal values.
_MOST_EXACT_TIED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Generic[Key]):
    """A rank test of two groups of launches, `one` and `other`.

    `p_value` is that of this test, `p_holm` the value corrected for all tests of the family by Holm's method. `lower`
    is the share of pairs of launches, one of each group, in which `one` has the lower value; a tie counts half.
    `attainable` is whether any result of so few launches could be significant.
    """

    one: Key
    other: Key
    p_value: float
    p_holm: float
    lower: float
    attainable: bool

    @property
    def is_significant(self) -> bool:
        """Return whether the corrected p-value is at most the family's level."""
        return self.p_holm <= ALPHA


def smallest_p(n: int, m: int) -> float:
    """Return the smallest two-sided p-value that groups of n and m launches can reach: 2 / C(n + m, n)."""
    log_ways = math.lgamma(n + m + 1) - math.lgamma(n + 1) - math.lgamma(m + 1)
    return min(1.0, 2 * math.exp(-log_ways))


def enough(tests: int) -> int:
    """Return the fewest launches per group with which the first of `tests` tests can be significant after Holm."""
    return next(n for n in itertools.count(2) if smallest_p(n, n) * max(1, tests) <= ALPHA)


def shortage(combinations: int, launches: int) -> str:
    """Return what so few launches of each combination cannot show, in one sentence; empty for enough.

    The tests are those of one figure of merit without labels.
    """
    best, compared = enough(math.comb(combinations, 2)), enough(combinations - 1)
    if combinations < 2 or launches >= best:
        return ""
    against = "" if compared == best else f", and {compared} for a comparison with the baseline"
    return (
        f"{combinations} combinations need {best} launches each before one can be named the best{against}; {launches} "
        f"{'is' if launches == 1 else 'are'} requested"
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values in the order given: max over the smaller ones of (tests - rank) p, at most 1."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def family(
    series: Sequence[Mapping[Key, Values]], baseline: Key | None = None
) -> list[dict[tuple[Key, Key], Pair[Key]]]:
    """Test all pairs of groups within each series as one family; return a result for each series, in order.

    The tests with a baseline are a family of their own.
    """
    pairs = [
        (index, one, other)
        for index, groups in enumerate(series)
        for one, other in itertools.combinations(groups, 2)
    ]
    results = _tested(series, pairs)
    own = [(index, names) for index, tests in enumerate(results) for names in tests if baseline in names]
    for (index, names), adjusted in zip(
        own, holm([results[i][pair].p_value for i, pair in own]), strict=True
    ):
        one, other = (len(series[index][name]) for name in names)
        results[index][names] = dataclasses.replace(
            results[index][names],
            p_holm=adjusted,
            attainable=smallest_p(one, other) * len(own) <= ALPHA,
        )
    return results


def _tested(
    series: Sequence[Mapping[Key, Values]], pairs: Sequence[tuple[int, Key, Key]]
) -> list[dict[tuple[Key, Key], Pair[Key]]]:
    """Return the tests of the pairs named (series, one, other), corrected together."""
    samples = [(series[index][one], series[index][other]) for index, one, other in pairs]
    p_values = mann_whitney(samples)
    results: list[dict[tuple[Key, Key], Pair[Key]]] = [{} for _ in series]
    for (index, one, other), (first, second), p_value, adjusted in zip(
        pairs, samples, p_values, holm(p_values), strict=True
    ):
        results[index][one, other] = Pair(
            one=one,
            other=other,
            p_value=p_value,
            p_holm=adjusted,
            lower=superiority(first, second),
            attainable=smallest_p(len(first), len(second)) * len(pairs) <= ALPHA,
        )
    return results


def superiority(one: Values, other: Values) -> float:
    """Return the share of pairs (a of `one`, b of `other`) with a < b, ties counting half: U / (n m)."""
    ordered = np.sort(np.asarray(other, dtype=float))
    sought = np.sort(np.asarray(one, dtype=float))
    upto = np.searchsorted(ordered, sought, side="right")
    tied = upto - np.searchsorted(ordered, sought, side="left")
    return float((ordered.size - upto + tied / 2).sum() / (sought.size * ordered.size))


def mann_whitney(samples: Sequence[tuple[Values, Values]]) -> list[float]:
    """Return two-sided p-values, one for each pair of groups; 1 for groups that are one value throughout."""
    p_values = [1.0] * len(samples)
    alike: dict[tuple[int, int, bool], list[int]] = {}
    for index, (one, other) in enumerate(samples):
        both = np.concatenate((np.asarray(one, dtype=float), np.asarray(other, dtype=float)))
        different = np.unique(both).size
        if different == 1 or not one or not other:
            continue
        if different < both.size <= _MOST_EXACT_TIED:
            p_values[index] = _tied_p(both, len(one))
        else:
            exact = different == both.size <= _MOST_EXACT
            alike.setdefault((len(one), len(other), exact), []).append(index)
    for (_, _, exact), places in alike.items():
        first = np.array([samples[index][0] for index in places], dtype=float)
        second = np.array([samples[index][1] for index in places], dtype=float)
        for index, p_value in zip(places, _p_values(first, second, exact), strict=True):
            p_values[index] = float(p_value)
    return p_values


def _tied_p(both: Floats, n: int) -> float:
    """Return the exact two-sided p-value of the first `n` of some values against the others, given the ties."""
    _, which, counts = np.unique(both, return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(counts) - counts + 1)[which]  # twice the mean rank of equal values
    below, above = _tails(tuple(sorted(doubled.tolist())), n)
    rank_sum = int(doubled[:n].sum())
    return min(1.0, 2 * float(min(below[rank_sum], above[rank_sum])))


@functools.lru_cache(maxsize=1024)
def _tails(ranks: tuple[int, ...], n: int) -> tuple[Floats, Floats]:
    """Return the shares of the choices of `n` ranks whose sum is at most, and at least, each possible sum."""
    ways = np.zeros((n + 1, sum(ranks) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank]
    shares = ways[n] / math.comb(len(ranks), n)
    return np.cumsum(shares), np.cumsum(shares[::-1])[::-1]


def _p_values(first: Floats, second: Floats, exact: bool) -> Floats:
    """Test rows of equal shape at once."""
    import scipy.stats  # imported here: takes 1 s, and evaluating a tender does not need it

    method: Literal["exact", "asymptotic"] = "exact" if exact else "asymptotic"
    return np.asarray(scipy.stats.mannwhitneyu(first, second, axis=1, method=method).pvalue)
