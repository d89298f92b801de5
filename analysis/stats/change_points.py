"""Where a series of values changes its level: circular binary segmentation with a permutation test.

Models: values in order of time, each independent of the one before once the level is known. A stretch stands out if
its sum is farther from what chance gives than that of any stretch in all but a few random orders (Olshen et al.,
Biostatistics 5, 2004); its ends are changes, and its parts are searched again. A stretch may reach the series' end, so
that one change is found as well as a level that comes and goes. A change stays only if the values on its two sides
differ by the Mann-Whitney test. Values far out are drawn in, so that one slow run is no change. Leaves out: trends,
seasons, causes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.stats

from analysis.stats import ranktest

#: The share of series without any change in which one is found.
ALPHA = 0.01
#: The fewest values on either side of a change.
FEWEST = 3
#: Where a value is drawn in to, in standard deviations about the median; and what the median deviation is one of.
_MOST_DEVIATIONS = 4.0
_OF_A_NORMAL = 1.4826
_ORDERS = 1999
_SEED = 1
#: The most ends of stretches that are tried; longer series try evenly spaced ones first.
_MOST_ENDS = 100
#: Sums that are worked out at once.
_AT_ONCE = 1 << 22

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the level before the value at `place`; the p-value is that of the search that found it."""

    place: int
    p_value: float


def found(values: Sequence[float], alpha: float = ALPHA) -> list[Change]:
    """Return the changes of a series in order; the same values give the same changes."""
    taken = np.asarray(values, dtype=float)
    ends = _ends(taken, 0, alpha, np.random.default_rng(_SEED))
    return [Change(place=place, p_value=ends[place]) for place in _that_differ(taken, sorted(ends), alpha)]


def _ends(values: Array, since: int, alpha: float, chance: np.random.Generator) -> dict[int, float]:
    """Return the ends of stretches that stand out, each with the p-value of its stretch."""
    if values.size < 2 * FEWEST or np.unique(values).size < 2:
        return {}
    scores = _scores(values)
    starts, stops = _stretches(_candidates(values.size), values.size)
    distances = _distances(scores[None, :], starts, stops)[0]
    best = int(np.argmax(distances))
    p_value = _p_value(scores, starts, stops, farthest=float(distances[best]), chance=chance)
    if p_value > alpha:
        return {}
    start, stop = _refined(scores, int(starts[best]), int(stops[best]))
    edges = [0, *(each for each in (start, stop) if 0 < each < values.size), values.size]
    made = {since + each: p_value for each in edges[1:-1]}
    for first, last in itertools.pairwise(edges):
        made |= _ends(values[first:last], since + first, alpha, chance)
    return made


def _scores(values: Array) -> Array:
    """Return the values with outliers drawn in; ranks where most values are equal."""
    middle = np.median(values)
    deviation = _OF_A_NORMAL * float(np.median(np.abs(values - middle)))
    if deviation == 0:
        return np.asarray(scipy.stats.rankdata(values), dtype=float)
    return np.clip(values, middle - _MOST_DEVIATIONS * deviation, middle + _MOST_DEVIATIONS * deviation)


def _candidates(n: int) -> Places:
    if n <= _MOST_ENDS:
        return np.arange(n + 1)
    return np.unique(np.linspace(0, n, _MOST_ENDS + 1).round().astype(np.int64))


def _stretches(ends: Places, n: int) -> tuple[Places, Places]:
    """Return starts and stops of all stretches that leave nothing, or enough values, outside at either side."""
    starts, stops = (each.ravel() for each in np.meshgrid(ends, ends, indexing="ij"))
    long = (stops - starts >= FEWEST) & (n - (stops - starts) >= FEWEST)
    fits = long & ((starts == 0) | (starts >= FEWEST)) & ((stops == n) | (n - stops >= FEWEST))
    return starts[fits], stops[fits]


def _distances(scores: Array, starts: Places, stops: Places) -> Array:
    """Return for each row and stretch how far its sum is from chance's, in standard deviations of the row."""
    n = scores.shape[1]
    centred = scores - scores.mean(axis=1, keepdims=True)
    sums = np.concatenate((np.zeros((scores.shape[0], 1)), np.cumsum(centred, axis=1)), axis=1)
    inside = stops - starts
    spread = np.sqrt(inside * (n - inside) / n) * centred.std(axis=1, keepdims=True)
    return np.asarray(np.abs(sums[:, stops] - sums[:, starts]) / spread)


def _p_value(
    scores: Array, starts: Places, stops: Places, *, farthest: float, chance: np.random.Generator
) -> float:
    """Return the share of random orders, this one among them, with a stretch as far from chance's."""
    as_far, left = 1, _ORDERS
    rows = max(1, _AT_ONCE // starts.size)
    while left:
        count = min(left, rows)
        orders = chance.permuted(np.tile(scores, (count, 1)), axis=1)
        farthest_of = _distances(orders, starts, stops).max(axis=1)
        as_far += int((farthest_of >= farthest * (1 - 1e-12)).sum())
        left -= count
    return as_far / (_ORDERS + 1)


def _refined(scores: Array, start: int, stop: int) -> tuple[int, int]:
    """Return the best stretch whose ends are near the ones found, where not every end was tried."""
    n = scores.size
    if n <= _MOST_ENDS:
        return start, stop
    step = n // _MOST_ENDS + 1
    near = [
        np.arange(max(0, each - step), min(n, each + step) + 1) if 0 < each < n else np.array([each])
        for each in (start, stop)
    ]
    starts, stops = _stretches(np.unique(np.concatenate(near)), n)
    fits = np.isin(starts, near[0]) & np.isin(stops, near[1])
    starts, stops = starts[fits], stops[fits]
    best = int(np.argmax(_distances(scores[None, :], starts, stops)[0]))
    return int(starts[best]), int(stops[best])


def _that_differ(values: Array, places: Sequence[int], alpha: float) -> list[int]:
    """Return the places whose two sides differ, the least different left out one after another."""
    left = list(places)
    while left:
        edges = [0, *left, values.size]
        sides = [
            (values[edges[at - 1] : edges[at]].tolist(), values[edges[at] : edges[at + 1]].tolist())
            for at in range(1, len(edges) - 1)
        ]
        p_values = ranktest.mann_whitney(sides)
        least = int(np.argmax(p_values))
        if p_values[least] <= alpha:
            break
        del left[least]
    return left
