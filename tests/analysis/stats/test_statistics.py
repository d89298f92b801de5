"""The rank tests against SciPy and closed forms, Holm's correction, false winners and true ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats import equivalence, medians, ranktest, verdicts
from analysis.stats.verdicts import Outcome
from railyard.records.units import Better

GROUPS = st.lists(st.floats(0, 1e6), min_size=1, max_size=30)


def verdict(
    *groups: Sequence[float], better: Better = Better.LOWER, deterministic: bool = False
) -> verdicts.Verdict[str]:
    """What a comparison of groups a, b, c, ... shows, as one family of its own."""
    series = dict(zip("abcd", groups, strict=False))
    (pairs,) = ranktest.family([series])
    summaries = {name: medians.summarise(values) for name, values in series.items()}
    return verdicts.judge(summaries, better, pairs, tests=len(pairs), deterministic=deterministic)


def judge(*groups: Sequence[float], **how: Any) -> tuple[Outcome, str | None]:
    found = verdict(*groups, **how)
    return found.outcome, found.best


@settings(deadline=None)  # other work on the machine is no fault of the function
@given(st.lists(st.tuples(GROUPS, GROUPS), min_size=1, max_size=5))
def test_p_values_are_those_of_scipy(samples: list[tuple[list[float], list[float]]]) -> None:
    for p_value, (one, other) in zip(ranktest.mann_whitney(samples), samples, strict=True):
        both = [*one, *other]
        if len(set(both)) == 1:
            assert p_value == 1
            continue
        if len(set(both)) < len(both) <= 40:  # SciPy has no exact test with ties
            continue
        method: Any = "exact" if len(set(both)) == len(both) else "asymptotic"
        assert p_value == pytest.approx(scipy.stats.mannwhitneyu(one, other, method=method).pvalue)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=5), st.lists(st.integers(0, 3), min_size=1, max_size=5)
)
def test_p_values_with_ties_count_all_ways_to_choose_the_launches(one: list[int], other: list[int]) -> None:
    both = [*one, *other]
    if 1 < len(set(both)) < len(both):
        ranks = scipy.stats.rankdata(both)
        sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(one))]
        own = sum(ranks[: len(one)])
        tail = min(sum(value <= own for value in sums), sum(value >= own for value in sums))
        assert ranktest.mann_whitney([(one, other)])[0] == pytest.approx(min(1, 2 * tail / len(sums)))


@pytest.mark.parametrize(("n", "m"), [(2, 3), (2, 8), (5, 3), (5, 8), (8, 8)])
def test_the_smallest_p_is_reached_by_groups_that_are_apart(n: int, m: int) -> None:
    (p_value,) = ranktest.mann_whitney([(range(n), range(100, 100 + m))])
    assert p_value == pytest.approx(ranktest.smallest_p(n, m))


@pytest.mark.parametrize(("tests", "needed"), [(1, 4), (3, 5), (10, 6), (66, 8), (330, 9)])
def test_enough_launches_grow_with_the_number_of_tests(tests: int, needed: int) -> None:
    assert ranktest.enough(tests) == needed


def test_too_few_launches_are_named_before_they_run() -> None:
    assert ranktest.shortage(12, 6) == (
        "12 combinations need 8 launches each before one can be named the best, and 6 for a comparison with the "
        "baseline; 6 are requested"
    )
    assert ranktest.shortage(2, 1) == (
        "2 combinations need 4 launches each before one can be named the best; 1 is requested"
    )
    assert not ranktest.shortage(12, 8) and not ranktest.shortage(1, 1)


def test_holm_is_the_worked_example() -> None:
    adjusted = ranktest.holm([0.01, 0.04, 0.03, 0.005])
    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert ranktest.holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_lies_between_no_correction_and_bonferroni(p_values: list[float]) -> None:
    for p_value, adjusted in zip(p_values, ranktest.holm(p_values), strict=True):
        assert p_value <= adjusted <= min(1, len(p_values) * p_value) + 1e-12


@given(GROUPS, GROUPS)
def test_superiority_is_a_share_and_turns_round(one: list[float], other: list[float]) -> None:
    share = ranktest.superiority(one, other)
    assert 0 <= share <= 1
    assert share + ranktest.superiority(other, one) == pytest.approx(1)


def test_superiority_counts_pairs() -> None:
    assert ranktest.superiority([1, 2], [3, 4]) == 1
    assert ranktest.superiority([1, 3], [2, 3]) == (1 + 1 + 0 + 0.5) / 4


def test_a_best_group_must_be_significantly_better_than_every_other() -> None:
    low, high = range(10, 18), range(30, 38)
    between = [value + 1.5 for value in low]
    assert judge(low, high) == (Outcome.BEST, "a")
    assert judge(low, high, better=Better.HIGHER) == (Outcome.BEST, "b")
    found = verdict(low, between, high)
    assert (found.outcome, found.best, found.apart) == (Outcome.NO_DIFFERENCE, "a", ("c",))
    assert judge(low, high[:2]) == (Outcome.TOO_FEW, "a")
    assert judge(low) == (Outcome.ALONE, None)
    assert judge(low, high, better=Better.NEITHER) == (Outcome.UNDIRECTED, None)


def test_a_family_of_many_tests_needs_more_launches() -> None:
    series = [{"a": range(4), "b": range(10, 14)}] * 10
    pairs = ranktest.family(series)
    assert [pair.p_holm for each in pairs for pair in each.values()] == pytest.approx([10 * 2 / 70] * 10)
    assert not any(pair.attainable for each in pairs for pair in each.values())


def test_a_deterministic_model_needs_no_test_unless_it_has_spread() -> None:
    assert judge([1.0], [2.0], deterministic=True) == (Outcome.EXACT, "a")
    assert judge([1.0], [1.0], deterministic=True) == (Outcome.NO_DIFFERENCE, "a")
    assert judge([1.0, 1.1], [2.0, 2.0], deterministic=True) == (Outcome.TOO_FEW, "a")
    assert judge([1.0], [2.0]) == (Outcome.TOO_FEW, "a")


PAIRS = 1000


def drawn(chance: np.random.Generator, relative_spread: float, n: int) -> list[float]:
    """Times of n launches, skewed upwards as times are, with median 1."""
    return list(chance.lognormal(0, relative_spread, n))


def test_a_difference_of_3_2_percent_is_found_at_a_spread_of_2_5_percent_with_20_launches() -> None:
    chance = np.random.default_rng(8)
    slower = [[1.032 * value for value in drawn(chance, 0.025, 20)] for _ in range(PAIRS)]
    found = [judge(drawn(chance, 0.025, 20), each) for each in slower]
    assert found.count((Outcome.BEST, "a")) >= 0.9 * PAIRS
    assert found.count((Outcome.BEST, "b")) == 0


def test_spread_and_percentiles_describe_launches_and_repeats() -> None:
    assert medians.spread_percent([9, 10, 11]) == pytest.approx(10)
    assert medians.spread_percent([5.0]) is None
    assert medians.percentiles(range(101)) == [5, 50, 95]
    chance = random.Random(3)
    values = [chance.random() for _ in range(50)]
    assert medians.summarise(values).spread_percent == pytest.approx(
        100 * float(np.std(values, ddof=1)) / float(np.mean(values))
    )


# ---- how large a difference is still possible ----


@settings(deadline=None, max_examples=30)
@given(st.integers(5, 9), st.integers(5, 9), st.integers(0, 1 << 30))
def test_a_ratio_of_one_is_excluded_exactly_where_the_rank_test_of_the_same_level_excludes_it(
    n: int, m: int, seed: int
) -> None:
    """SciPy's exact test of groups whose true ratio is the end of the interval is at the level, and not beyond it."""
    draw = np.random.default_rng(seed)
    one, other = draw.lognormal(0, 0.1, n), draw.lognormal(0.05, 0.1, m)
    most = equivalence.largest_percent([one.tolist(), other.tolist()])
    assert most is not None
    beyond, within = 1 + (most + 1e-6) / 100, 1 + (most - 1e-6) / 100
    at = {
        factor: max(
            scipy.stats.mannwhitneyu(one, other * factor, method="exact").pvalue,
            scipy.stats.mannwhitneyu(one * factor, other, method="exact").pvalue,
        )
        for factor in (beyond, within)
    }
    assert at[beyond] <= 0.01 < at[within]


def test_the_excluded_difference_covers_the_true_one_in_99_of_100_draws() -> None:
    draw = np.random.default_rng(1)
    excluded = [
        equivalence.largest_percent([draw.lognormal(mean, 0.03, 6).tolist() for mean in (0, 0.02, 0)])
        for _ in range(1000)
    ]
    true = 100 * np.expm1(0.02)
    assert sum(each is not None and each >= true for each in excluded) >= 990


@pytest.mark.parametrize(
    "groups", [[], [[1.0, 2.0]], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[1.0] * 6, [0.0] * 6]]
)
def test_too_few_launches_or_values_of_no_ratio_exclude_nothing(groups: list[list[float]]) -> None:
    assert equivalence.largest_percent(groups) is None


def test_the_normal_distribution_of_many_launches_goes_on_where_the_exact_one_ends() -> None:
    draw = np.random.default_rng(2)
    one, other = draw.lognormal(0, 0.01, 32).tolist(), draw.lognormal(0, 0.01, 32).tolist()
    exact, normal = (equivalence.largest_percent([one[:n], other[:n]]) for n in (31, 32))
    assert exact is not None and normal == pytest.approx(exact, rel=0.2)
