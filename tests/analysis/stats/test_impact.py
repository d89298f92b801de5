"""Impact factors: what they are on samples whose answer is known, and GPCNeT's definition on the same samples."""

from __future__ import annotations

import numpy as np
import pytest

from railyard.analysis.stats import impact
from railyard.analysis.stats.impact import Samples, Statistic
from railyard.analysis.stats.verdicts import Finding
from railyard.records.units import Better


def drawn(seed: int, launches: int, samples: int, scale: float) -> list[list[float]]:
    """Times with a long tail, as latencies have."""
    chance = np.random.default_rng(seed)
    return [(scale * (1 + chance.gamma(2.0, 0.3, samples))).tolist() for _ in range(launches)]


@pytest.mark.parametrize("better", [Better.LOWER, Better.HIGHER])
@pytest.mark.parametrize("scale", [1.0, 1.1, 40.0])
@pytest.mark.parametrize("seed", range(2))
def test_both_definitions_agree_within_two_percent(better: Better, scale: float, seed: int) -> None:
    measured = Samples(alone=drawn(seed, 8, 400, 10.0), loaded=drawn(seed + 100, 8, 400, 10.0 * scale), better=better)
    average, p99, p999 = impact.factors([measured])[0]
    assert average.value is not None and p99.value is not None and p999.value is not None
    assert average.gpcnet == pytest.approx(average.value, rel=0.02)
    assert p99.gpcnet == pytest.approx(p99.value, rel=0.02)
    assert p999.gpcnet is None


def test_above_one_is_worse_for_times_and_for_rates() -> None:
    slow, fast = drawn(1, 8, 200, 20.0), drawn(2, 8, 200, 10.0)
    times, rates = impact.factors(
        [Samples(alone=fast, loaded=slow, better=Better.LOWER), Samples(alone=slow, loaded=fast, better=Better.HIGHER)]
    )
    for average, p99, _ in (times, rates):
        assert average.value == pytest.approx(2.0, rel=0.05) and average.finding is Finding.WORSE
        assert average.low is not None and average.high is not None
        assert average.low < 2.0 < average.high
        assert p99.value is not None and 1.7 < p99.value < 2.3


def test_a_factor_within_the_noise_floor_shows_nothing() -> None:
    alone = [[100.0 + 0.01 * number] * 10 for number in range(8)]
    loaded = [[1.013 * value for value in launch] for launch in alone]
    for floor, shown in ((0.0, True), (2.0, False)):
        measured = Samples(alone=alone, loaded=loaded, better=Better.LOWER, noise_percent=floor)
        assert (impact.factors([measured])[0][0].finding is Finding.WORSE) is shown


def test_equal_loads_show_no_difference_and_few_samples_no_percentile() -> None:
    same = Samples(alone=drawn(1, 8, 20, 10.0), loaded=drawn(2, 8, 20, 10.0), better=Better.LOWER)
    average, p99, p999 = impact.factors([same])[0]
    assert average.finding is Finding.NO_DIFFERENCE and p99.value is not None and p999.value is None
    few = Samples(alone=drawn(1, 2, 20, 10.0), loaded=drawn(2, 2, 20, 10.0), better=Better.LOWER)
    average, p99, p999 = impact.factors([few])[0]
    assert average.value is not None and average.low is None and p99.value is None
    assert [each.statistic for each in (average, p99, p999)] == list(Statistic)
