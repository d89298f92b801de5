"""Compute impact factors: how many times worse a program's samples are under load than alone.

Models: the average and the 99 and 99.9 percentiles of all samples of all launches, loaded over alone for times and
alone over loaded for rates, so that above 1 is always worse; of a rate the percentile is the value that 99 % of the
samples exceed. The estimate is the logarithm of the factor, over launches, which vary independently as samples do not;
`railyard.analysis.stats.contrast` tests it in the family that the caller names. The percentile bootstrap covers 86 to
90 % with six launches; `python -m perf statistics` prints the coverage of this interval.

`gpcnet` is the same factor as GPCNeT 1.3 defines it (utils.c, `summarize_performance` and `print_comparison_results`;
Chunduri et al., SC'19, section 3): percentiles are edges of 100,000 equal buckets. Its rounding of printed figures to
one decimal is left out, because the factor of two rounded numbers depends on their unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from railyard.analysis.stats import contrast, verdicts
from railyard.analysis.stats.contrast import Estimate, Test
from railyard.analysis.stats.medians import ENOUGH
from railyard.analysis.stats.verdicts import Finding
from railyard.records.units import Better

Array = npt.NDArray[np.float64]
Launches = Sequence[Sequence[float]]
BUCKETS = 100_000


class Statistic(StrEnum):
    """What a factor compares."""

    AVERAGE = "average"
    P99 = "p99"
    P999 = "p99.9"


#: The share of samples that a percentile lets pass, and how many samples it needs at least.
SHARES = {Statistic.P99: 0.99, Statistic.P999: 0.999}
LEAST_SAMPLES = {Statistic.AVERAGE: 1, Statistic.P99: 100, Statistic.P999: 1000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The samples of each launch, alone and under one load; `better` is the unit's better direction.

    A difference of at most `noise_percent` of the larger value shows nothing.
    """

    alone: Launches
    loaded: Launches
    better: Better
    noise_percent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """The congestion impact factor of one statistic: `value` above 1 is worse under load.

    `value` is None if there are too few samples for the statistic. `low` and `high` are the 95 % interval, None without
    enough launches. `finding` is what the launches show of the load, and `p_holm` the corrected p-value of their test.
    `launches` is their number with and without load. `gpcnet` is the factor by GPCNeT's definition, None for p99.9,
    for which GPCNeT prints none.
    """

    statistic: Statistic
    value: float | None
    low: float | None
    high: float | None
    p_holm: float | None
    finding: Finding
    launches: tuple[int, int]
    samples: tuple[int, int]
    gpcnet: float | None


def factors(measured: Sequence[Samples]) -> list[list[Factor]]:
    """Return the factors of several loads or series, each by every statistic; all tests are one family."""
    estimates = [[estimate(samples, statistic) for statistic in Statistic] for samples in measured]
    tests = iter(contrast.decide([one for of_samples in estimates for one in of_samples if one is not None]))
    return [
        [
            _factor(samples, statistic, next(tests) if one is not None else None)
            for statistic, one in zip(Statistic, of_samples, strict=True)
        ]
        for samples, of_samples in zip(measured, estimates, strict=True)
    ]


def _factor(measured: Samples, statistic: Statistic, test: Test | None) -> Factor:
    has_samples = min(_counts(measured)) >= LEAST_SAMPLES[statistic]
    low, high = (math.exp(bound) for bound in bounds) if (bounds := test and test.interval) else (None, None)
    return Factor(
        statistic=statistic,
        value=_value(measured, statistic) if has_samples else None,
        low=low,
        high=high,
        p_holm=test.p_holm if test else None,
        finding=verdicts.of_test(test, Better.LOWER, measured.noise_percent),
        launches=(len(measured.alone), len(measured.loaded)),
        samples=_counts(measured),
        gpcnet=gpcnet(measured, statistic) if has_samples else None,
    )


def _counts(measured: Samples) -> tuple[int, int]:
    return sum(map(len, measured.alone)), sum(map(len, measured.loaded))


def _value(measured: Samples, statistic: Statistic) -> float | None:
    of = _function(statistic, measured.better)
    return _ratio(of(_all(measured.alone)), of(_all(measured.loaded)), measured.better)


def _function(statistic: Statistic, better: Better) -> Callable[[Array], float]:
    if statistic is Statistic.AVERAGE:
        return lambda values: float(values.mean())
    share = SHARES[statistic] if better is Better.LOWER else 1 - SHARES[statistic]
    return lambda values: float(np.quantile(values, share))


def estimate(measured: Samples, statistic: Statistic) -> Estimate | None:
    """Return the logarithm of a factor over launches; None with fewer than six on a side or too few samples.

    Its degrees of freedom are those of Welch and Satterthwaite.
    """
    if min(len(measured.alone), len(measured.loaded)) < ENOUGH:
        return None
    factor = _value(measured, statistic)
    if not factor or min(_counts(measured)) < LEAST_SAMPLES[statistic]:
        return None
    variances = [
        (variance, len(launches) - 1)
        for launches in (measured.alone, measured.loaded)
        if (variance := _variance(launches, statistic, measured.better)) is not None
    ]
    return contrast.of_variances(math.log(factor), variances) if len(variances) == 2 else None


def _variance(launches: Launches, statistic: Statistic, better: Better) -> float | None:
    """Return the variance of the logarithm of a statistic of all samples, None if a value is not positive.

    It is the variance of the mean over launches of the launches' own logarithms. For a percentile that of Woodruff
    (J. Am. Stat. Assoc. 47, 1952) is added, from how the launches' shares of samples below the percentile vary: with
    the larger of the two alone, factors of skewed launches are covered in 89 to 92 %.
    """
    of, n = _function(statistic, better), len(launches)
    own = np.array([of(np.asarray(launch)) for launch in launches])
    if n < 2 or own.min() <= 0:
        return None
    variance = float(np.log(own).var(ddof=1)) / n
    if statistic is Statistic.AVERAGE:
        return variance
    pooled = _all(launches)
    percentile, share = of(pooled), SHARES[statistic] if better is Better.LOWER else 1 - SHARES[statistic]
    below = [float((np.asarray(launch) <= percentile).mean()) for launch in launches]
    error = float(np.std(below, ddof=1)) / math.sqrt(n)
    low, high = np.quantile(pooled, np.clip([share - error, share + error], 0, 1))
    return None if low <= 0 else variance + (math.log(high / low) / 2) ** 2


def _all(launches: Launches) -> Array:
    return np.concatenate([np.asarray(launch, dtype=float) for launch in launches])


def _ratio(alone: float, loaded: float, better: Better) -> float | None:
    above, below = (loaded, alone) if better is Better.LOWER else (alone, loaded)
    return above / below if below > 0 and math.isfinite(above) else None


def gpcnet(measured: Samples, statistic: Statistic) -> float | None:
    """Return the congestion impact factor of all samples by GPCNeT's definition; None for what it does not print."""
    if statistic is Statistic.P999:
        return None
    alone, loaded = _all(measured.alone), _all(measured.loaded)
    if statistic is Statistic.AVERAGE:
        return _ratio(float(alone.mean()), float(loaded.mean()), measured.better)
    from_least = measured.better is Better.LOWER
    return _ratio(_bucket(alone, from_least), _bucket(loaded, from_least), measured.better)


def _bucket(values: Array, from_least: bool) -> float:
    """Return the edge of the bucket in which 99 % of the samples are reached, counted from the better end."""
    low, high = float(values.min()), float(values.max())
    if high == low:
        return low
    width = (high - low) / (BUCKETS - 1)
    counts = np.bincount(((values - low) / width).astype(np.int64), minlength=BUCKETS)
    wanted = int(0.99 * len(values))
    if from_least:
        return low + (int(np.argmax(np.cumsum(counts) >= wanted)) + 1) * width
    return low + (BUCKETS - 1 - int(np.argmax(np.cumsum(counts[::-1]) >= wanted))) * width
