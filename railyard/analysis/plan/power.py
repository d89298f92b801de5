"""Estimate how probably launches or jobs find a difference, by drawing them and applying the test that decides.

Models: logarithms of values with normal noise; `tests` tests of one family, of which the first must pass Holm's
correction; means and medians of the sides differ, means by more than the noise floor. The draws have a fixed seed.
Leaves out: other shapes of noise, whose effect `python -m perf statistics` prints.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from railyard.analysis.stats import contrast
from railyard.analysis.stats.contrast import ALPHA, FEWEST
from railyard.placements.arrays import Floats, np

DRAWS = 4000
SEED = 51
#: The most launches, or jobs, that are tried.
MOST = 400


def power(n: int, spread: float, change: float, *, tests: int = 1, floor: float = 0.0) -> float:
    """Return how probably `n` values per side show a change of a share `change` between sides of relative `spread`.

    `floor` is the noise floor as a share of the larger mean.
    """
    if n < FEWEST:
        return 0.0
    shift = math.log1p(change)
    means, medians, error = _drawn(n)
    means, medians = shift + spread * means, shift + spread * medians
    one = contrast.of_variances(1.0, [(1.0, n - 1), (1.0, n - 1)])
    reach = one.interval(ALPHA / tests)
    assert reach is not None  # it varies
    quantile = (reach[1] - reach[0]) / 2 / one.error
    distance = np.where(means * medians > 0, np.minimum(np.abs(means), np.abs(medians)), 0.0)
    is_found = distance > spread * quantile * error
    return float((is_found & (-np.expm1(-np.abs(means)) > floor)).mean())


@functools.lru_cache(maxsize=64)
def _drawn(n: int) -> tuple[Floats, Floats, Floats]:
    """Return of each draw the differences of two means and of two medians, and the standard error, of spread 1."""
    chance = np.random.default_rng(SEED)
    base, side = chance.standard_normal((2, DRAWS, n))
    error = np.sqrt((base.var(axis=1, ddof=1) + side.var(axis=1, ddof=1)) / n)
    return side.mean(axis=1) - base.mean(axis=1), np.median(side, axis=1) - np.median(base, axis=1), error


def enough(spread: float, change: float, wanted: float, *, tests: int = 1, floor: float = 0.0) -> int | None:
    """Return the fewest values per side that show the change with the probability `wanted`; None above `MOST`."""
    return _least(lambda n: power(n, spread, change, tests=tests, floor=floor) >= wanted)


def _least(is_enough: Callable[[int], bool]) -> int | None:
    high = 2
    while not is_enough(high):
        if high >= MOST:
            return None
        high = min(2 * high, MOST)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def detectable(n: int, spread: float, wanted: float, *, tests: int = 1, floor: float = 0.0) -> float | None:
    """Return the smallest change that `n` values per side show with the probability `wanted`; None for no change."""
    if n < FEWEST:
        return None
    low, high = 0.0, 0.01
    while power(n, spread, high, tests=tests, floor=floor) < wanted:
        low, high = high, 2 * high
        if high > 100:
            return None
    while high - low > high / 100:
        middle = (low + high) / 2
        low, high = (middle, high) if power(n, spread, middle, tests=tests, floor=floor) < wanted else (low, middle)
    return high


@functools.lru_cache(maxsize=256)
def of_medians(n: int) -> float:
    """Return the standard deviation of the median of `n` normal values, in units of their standard deviation."""
    drawn = np.random.default_rng(SEED).standard_normal((DRAWS, n))
    return float(np.median(drawn, axis=1).std())
