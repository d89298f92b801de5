"""Estimate how probably launches or jobs find a difference, by drawing them and applying the rank test that decides.

Models: logarithms of values with normal noise; `tests` tests of one family, of which the first must pass Holm's
correction; medians further apart than the noise floor. The draws have a fixed seed. Leaves out: other shapes of noise,
whose effect `python -m perf statistics` prints.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from analysis.stats import equivalence
from analysis.stats.ranktest import ALPHA
from placements.arrays import Floats, np

DRAWS = 4000
SEED = 51
#: The most launches, or jobs, that are tried.
MOST = 400
#: The most memory of one comparison of draws, in pairs of values.
_CHUNK = 4_000_000


def power(n: int, spread: float, change: float, *, tests: int = 1, floor: float = 0.0) -> float:
    """Return how probably `n` values per side show a change of a share `change` between sides of relative `spread`.

    `floor` is the noise floor as a share of the larger median.
    """
    fewest = equivalence.rank(n, n, ALPHA / tests)
    if fewest == 0:
        return 0.0
    shift = math.log1p(change)
    lower, medians = _drawn(n, shift / spread if spread else math.inf)
    differs = np.minimum(lower, n * n - lower) < fewest
    log_ratios = shift if not spread else medians * spread
    return float((differs & (-np.expm1(-np.abs(log_ratios)) > floor)).mean())


@functools.lru_cache(maxsize=256)
def _drawn(n: int, shift: float) -> tuple[Floats, Floats]:
    """Return of each draw the U statistic, and the difference of the medians in units of the spread."""
    chance = np.random.default_rng(SEED)
    base = chance.standard_normal((DRAWS, n))
    side = chance.standard_normal((DRAWS, n))
    if math.isinf(shift):
        return np.full(DRAWS, float(n * n)), np.full(DRAWS, shift)
    parts = DRAWS * n * n // _CHUNK + 1
    lower = [
        (one[:, :, None] > other[:, None, :]).sum(axis=(1, 2)).astype(float)
        for one, other in zip(np.array_split(side + shift, parts), np.array_split(base, parts), strict=True)
    ]
    return np.concatenate(lower), np.median(side, axis=1) + shift - np.median(base, axis=1)


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
    if equivalence.rank(n, n, ALPHA / tests) == 0:
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
