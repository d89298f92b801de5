"""Estimate how probably launches or jobs find a difference, by drawing them and applying the test that decides.

Models: logarithms of values with normal noise; `tests` tests of one family, of which the first must pass Holm's
correction; means further apart than the noise floor. The draws have a fixed seed. Leaves out: other shapes of noise,
whose effect `python -m perf statistics` prints.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from analysis.stats.contrast import ALPHA, FEWEST
from placements.arrays import Floats, np

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
    import scipy.special  # imported here: takes 1 s, and --help does not need it

    noise, error = _drawn(n)
    estimates = math.log1p(change) + spread * noise
    quantile = -float(scipy.special.stdtrit(2 * n - 2, ALPHA / tests / 2))
    is_found = np.abs(estimates) > spread * quantile * error
    return float((is_found & (-np.expm1(-np.abs(estimates)) > floor)).mean())


@functools.lru_cache(maxsize=256)
def _drawn(n: int) -> tuple[Floats, Floats]:
    """Return of each draw the error of the difference of two means, and its estimated standard error, of spread 1."""
    chance = np.random.default_rng(SEED)
    noise = math.sqrt(2 / n) * chance.standard_normal(DRAWS)
    return noise, np.sqrt(2 / n * chance.chisquare(2 * n - 2, DRAWS) / (2 * n - 2))


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
        low, high = (
            (middle, high) if power(n, spread, middle, tests=tests, floor=floor) < wanted else (low, middle)
        )
    return high


@functools.lru_cache(maxsize=256)
def of_medians(n: int) -> float:
    """Return the standard deviation of the median of `n` normal values, in units of their standard deviation."""
    drawn = np.random.default_rng(SEED).standard_normal((DRAWS, n))
    return float(np.median(drawn, axis=1).std())
