"""The one test and the one interval: against SciPy, as a family, and with units that are not alike."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from railyard.analysis.cases import judgement
from railyard.analysis.cases.judgement import Evidence, Series
from railyard.analysis.stats import contrast, medians, samples
from railyard.analysis.stats.contrast import ALPHA, Estimate
from railyard.analysis.stats.samples import Values
from railyard.analysis.stats.verdicts import Outcome, Verdict
from railyard.records import units

LOGS = st.lists(st.floats(-1, 1), min_size=4, max_size=12)


def named(prefix: str, values: Sequence[float]) -> Mapping[str, float]:
    return {f"{prefix}{at}": value for at, value in enumerate(values)}


def verdict(
    *groups: Sequence[float], better: str = "lower", deterministic: bool = False
) -> tuple[Verdict, judgement.Comparison]:
    """What a comparison of groups a, b, c, ... shows, as one family of its own."""
    evidence = {name: Evidence(values=values) for name, values in zip("abcd", groups, strict=False)}
    series = Series(fom=units.fom("a_us", "us", better), labels=(), evidence=evidence, deterministic=deterministic)
    (judged,) = judgement.compare([series], "a")
    return judged.verdict, judged


def judge(*groups: Sequence[float], **how: Any) -> tuple[Outcome, str | None]:
    found, _ = verdict(*groups, **how)
    return found.outcome, found.best


# ---- one estimate ----


@settings(deadline=None)  # other work on the machine is no fault of the function
@given(LOGS, LOGS)
def test_the_standard_error_is_that_of_welch(one: list[float], other: list[float]) -> None:
    ours = contrast.estimate([(1.0, named("a", one)), (-1.0, named("b", other))], is_serial=False)
    theirs: Any = scipy.stats.ttest_ind(one, other, equal_var=False)
    assert ours is not None and ours.value == pytest.approx(np.mean(one) - np.mean(other), abs=1e-12)
    if ours.error > 1e-9:
        assert ours.value / ours.error == pytest.approx(theirs.statistic, rel=1e-6, abs=1e-9)
        assert min(len(one), len(other)) - 1 <= ours.freedom + 1e-9 <= theirs.df + 1e-6


@settings(deadline=None)
@given(LOGS, st.integers(0, 1 << 30))
def test_units_that_both_sides_share_are_a_paired_test(one: list[float], seed: int) -> None:
    other = (np.array(one) + np.random.default_rng(seed).normal(0.1, 0.05, len(one))).tolist()
    ours = contrast.estimate([(1.0, named("job", one)), (-1.0, named("job", other))], is_serial=False)
    theirs: Any = scipy.stats.ttest_rel(one, other)
    assert ours is not None
    assert (ours.value / ours.error, ours.freedom) == pytest.approx((theirs.statistic, len(one) - 1))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 30), (30, 3)])
def test_three_units_on_a_side_are_too_few(n: int, m: int) -> None:
    assert contrast.estimate([(1.0, named("a", range(n))), (-1.0, named("b", range(m)))]) is None


def test_jobs_that_resemble_their_predecessors_widen_the_interval() -> None:
    slow_drift = [math.sin(at / 6) for at in range(30)]
    shuffled = random.Random(1).sample(slow_drift, 30)
    ordered, mixed = (
        contrast.estimate([(1.0, named("a", side)), (-1.0, named("b", side[::-1]))]) for side in (slow_drift, shuffled)
    )
    assert ordered is not None and mixed is not None
    assert ordered.error > 2 * mixed.error and ordered.freedom < mixed.freedom


ESTIMATES = st.builds(
    Estimate,
    value=st.floats(-1, 1),
    error=st.floats(0, 1),
    freedom=st.floats(1, 100),
    median=st.floats(-1, 1),
    slack=st.floats(0, 0.5),
)


@given(ESTIMATES, st.floats(1e-6, 0.5))
def test_an_interval_excludes_zero_exactly_if_the_p_value_is_below_its_level(one: Estimate, level: float) -> None:
    bounds = one.interval(level)
    if bounds is not None and min(map(abs, bounds)) > 1e-9:
        assert (bounds[0] <= 0 <= bounds[1]) is (one.p_value >= level)


# ---- a family ----


def test_holm_is_the_worked_example() -> None:
    adjusted = contrast.holm([0.01, 0.04, 0.03, 0.005])
    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert contrast.holm([]) == []


@given(st.lists(st.floats(0, 4), max_size=12), st.integers(0, 20), st.sampled_from([1.0, 1.25]))
def test_in_a_family_the_interval_and_holms_p_value_decide_alike(
    values: list[float], tests: int, looked: float
) -> None:
    estimates = [Estimate(value=value, error=1.0, freedom=10.0, median=value) for value in values]
    for test in contrast.decide(estimates, tests=tests, looked=looked):
        bounds = test.interval
        assert bounds is not None and test.estimate.p_value <= test.p_holm <= 1
        if abs(test.p_holm - ALPHA) > 1e-9:
            assert (bounds[0] > 0) is test.is_significant is (test.p_holm < ALPHA)


def test_too_few_launches_are_named_before_they_run() -> None:
    assert contrast.shortage(2, 1) == (
        "2 combinations need 4 launches each before they can be compared; 1 is requested"
    )
    assert not contrast.shortage(12, 4) and not contrast.shortage(1, 1)


# ---- units ----


def difference(one: Values, other: Values, **how: Any) -> Estimate | None:
    taken = samples.of_groups({"one": one, "other": other}, **how)
    return samples.difference(taken["one"], taken["other"])


def test_jobs_that_no_side_shares_count_once_each_and_of_one_that_both_share_the_launches() -> None:
    jobs = [f"{job}" for job in range(4) for _ in range(6)]
    launches = [100.0 + 10 * int(job) + launch for launch, job in enumerate(jobs)]
    one, other = (Values(values=launches, jobs=[f"{side}{job}" for job in jobs]) for side in "ab")
    taken = samples.of_groups({"a": one, "b": other})
    assert all(sample.by_job and len(sample.units) == 4 for sample in taken.values())
    one = Values(values=[1.0, 2.0, 3.0, 4.0, 100.0], jobs=["j", "j", "j", "j", "k"])
    other = Values(values=[2.0, 3.0, 4.0, 5.0], jobs=["j"] * 4)
    taken = samples.of_groups({"a": one, "b": other})
    assert not taken["a"].by_job and list(taken["a"].values) == [1.0, 2.0, 3.0, 4.0], "the other job is left out"


def test_levels_of_two_or_three_jobs_are_no_noise_of_their_launches() -> None:
    chance = np.random.default_rng(4)
    jobs = ["j"] * 6 + ["k"] * 6
    levels = np.array([0.0] * 6 + [1.0] * 6)
    one, other = (np.exp(levels + chance.normal(shift, 0.01, 12)).tolist() for shift in (0.0, 0.05))
    found = difference(Values(values=other, jobs=jobs), Values(values=one, jobs=jobs))
    assert found is not None and found.value == pytest.approx(0.05, abs=0.01) and found.error < 0.01


def test_one_disturbed_launch_changes_nothing_and_a_mode_of_three_counts() -> None:
    chance = np.random.default_rng(5)
    quiet, slow = (chance.lognormal(shift, 0.02, 10).tolist() for shift in (0.0, 0.05))
    clean = difference(Values(values=slow), Values(values=quiet))
    disturbed = difference(Values(values=[*slow, 3.0]), Values(values=quiet))
    assert clean is not None and disturbed is not None and disturbed == clean
    mode = difference(Values(values=[*slow[:8], 3.0, 3.1, 3.2]), Values(values=quiet))
    assert mode is not None and mode.value > 0.3 and mode.error > 0.1


@pytest.mark.parametrize(("reading", "is_told"), [(1050.0, False), (1100.0, True)])
def test_readings_one_step_apart_are_no_difference(reading: float, is_told: bool) -> None:
    """A clock of 50 us that shows 1000 us may have seen 1024 us."""
    one = Values(values=[1000.0] * 5 + [1050.0])
    found = difference(Values(values=[reading] * 6), one)
    assert found is not None and (found.p_value < ALPHA) is is_told
    bounds = found.interval()
    assert bounds is not None and bounds[1] - bounds[0] > 0.045


def test_counts_have_no_clock_and_equal_readings_no_interval() -> None:
    counted = difference(Values(values=[1000.0] * 6), Values(values=[1050.0] * 6), is_counted=True)
    assert counted is not None and counted.p_value == 0
    equal = difference(Values(values=[1000.0] * 6), Values(values=[1000.0] * 6))
    assert equal is not None and equal.p_value == 1 and equal.interval() is None


def test_values_of_no_ratio_are_compared_as_they_are() -> None:
    missing = verdict([0.0, 1.0, 0.5, 0.2, 0.1], [5.0, 6.0, 5.5, 5.2, 5.1])[1]
    group = missing.group("b")
    assert missing.verdict.outcome is Outcome.BEST and group.change_interval is None
    assert missing.excluded_percent("ab") is None


# ---- verdicts ----


def test_a_best_group_must_be_significantly_better_than_every_other() -> None:
    low, high = range(10, 18), range(30, 38)
    between = [value + 1.5 for value in low]
    assert judge(low, high) == (Outcome.BEST, "a")
    assert judge(low, high, better="higher") == (Outcome.BEST, "b")
    found, _ = verdict(low, between, high)
    assert (found.outcome, found.best, found.apart) == (Outcome.NO_DIFFERENCE, "a", ("c",))
    assert judge(low, high[:2]) == (Outcome.TOO_FEW, "a")
    assert judge(low) == (Outcome.ALONE, None)
    assert judge(low, high, better="neither") == (Outcome.UNDIRECTED, None)


def test_a_deterministic_model_needs_no_test_unless_it_has_spread() -> None:
    assert judge([1.0], [2.0], deterministic=True) == (Outcome.EXACT, "a")
    assert judge([1.0], [1.0], deterministic=True) == (Outcome.NO_DIFFERENCE, "a")
    assert judge([1.0], [1.0], [2.0], deterministic=True) == (Outcome.NO_DIFFERENCE, "a")
    assert judge([1.0, 1.1], [2.0, 2.0], deterministic=True) == (Outcome.TOO_FEW, "a")
    assert judge([1.0], [2.0]) == (Outcome.TOO_FEW, "a")


def test_spread_and_percentiles_describe_launches_and_repeats() -> None:
    assert medians.spread_percent([9, 10, 11]) == pytest.approx(10)
    assert medians.spread_percent([5.0]) is None
    assert medians.percentiles(range(101)) == (5, 95)
    chance = random.Random(3)
    values = [chance.random() for _ in range(50)]
    assert medians.summarise(values).spread_percent == pytest.approx(
        100 * float(np.std(values, ddof=1)) / float(np.mean(values))
    )
