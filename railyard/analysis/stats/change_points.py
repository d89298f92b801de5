"""Find where a series of values changes its level: circular binary segmentation against autocorrelated noise.

Models: values in order of time. A stretch stands out if its sum deviates more from its expectation than that of any
stretch in all but a few random series. The ends of such a stretch are changes, and the parts are searched again (Olshen
et al., Biostatistics 5, 2004). The random series are autoregressive (AR(1)), because daily records of a machine
resemble their predecessors. They consist of the innovations that remain when the best stretch is subtracted, in random
order, with the upper limit of their correlation. A stretch may reach the end of the series, so that a single change is
found as well as a level that changes back. Outliers are limited, so that one slow run is not a change. The newest
values are also compared with the prediction interval of those before them, because one or two are too few for a
stretch. Leaves out: trends, seasons, causes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from railyard.analysis.stats.contrast import LEAST_SHARE, MOST_CORRELATION, of_serial_mean
from railyard.analysis.stats.samples import OF_A_NORMAL

#: The share of series without any change in which one is found.
ALPHA = 0.01
#: The fewest values on either side of a change.
FEWEST = 3
#: The most of the newest values that are held against those before; the fewest before; the share of false alarms.
NEWEST = 3
_FEWEST_BEFORE = 4
_NEWEST_ALPHA = 0.002
#: The standard errors from an autocorrelation to its upper limit. With 2.0 up to 2.6 % of 20 records with a correlation
#: of 0.6 change; with 2.5 a step of 5 % is found in 47 % and not 61 %.
_UPPER = 2.25
#: The share of a value below which a difference is one of rounding.
_ROUNDING = 1e-12
#: Where a value is drawn in to, in standard deviations about the median.
_MOST_DEVIATIONS = 4.0
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
    """A change of the level before the value at index `position`; the p-value is that of the search that found it."""

    position: int
    p_value: float


def changes(values: Sequence[float], alpha: float = ALPHA) -> list[Change]:
    """Return the changes of a series in order; the same values give the same changes."""
    series = np.asarray(values, dtype=float)
    ends = _ends(series, 0, alpha, np.random.default_rng(_SEED))
    inside = [Change(position=end, p_value=ends[end]) for end in sorted(ends)]
    newest = series[inside[-1].position if inside else 0 :]
    if newest.size < 2 * FEWEST:
        return inside
    sizes = range(1, min(NEWEST, newest.size - _FEWEST_BEFORE) + 1)
    log_p, size = min((_log_p(newest, size), size) for size in sizes)
    p_value = min(1.0, NEWEST * math.exp(log_p))  # counts the sizes tried (Bonferroni)
    return [*inside, Change(position=series.size - size, p_value=p_value)] if p_value <= _NEWEST_ALPHA else inside


def _log_p(values: Array, size: int) -> float:
    """Return the logarithm of the p-value of the mean of the last `size` values, predicted from those before them.

    The prediction interval is Student's, with the variances of means of AR(1) values.
    """
    before, newest = values[:-size], values[-size:]
    residual = before - before.mean()
    distance = abs(float(newest.mean() - before.mean()))
    if distance <= _ROUNDING * abs(float(newest.mean())):
        return 0.0
    if np.ptp(before) == 0:
        return -math.inf
    squares = float(residual @ residual)
    correlation = _correlation(residual, parts=1)
    of_before, of_newest = (of_serial_mean(n, correlation) / n for n in (before.size, size))
    variance = squares / before.size / max(LEAST_SHARE, 1 - of_before)
    statistic = distance / math.sqrt(variance * (of_newest + of_before))
    import scipy.special  # imported here: `railyard compare` does not need it

    return math.log(2) + float(np.log(scipy.special.stdtr(before.size - 2, -statistic)))


def _correlation(residual: Array, parts: int) -> float:
    """Return the lag-1 autocorrelation of residuals about the means of `parts` parts, corrected for its bias.

    The bias is that of Marriott and Pope (Biometrika 41, 1954), once for each part; not below 0.
    """
    raw = float(residual[1:] @ residual[:-1] / (residual @ residual))
    return min(max(raw + parts * (1 + 3 * max(raw, 0.0)) / residual.size, 0.0), MOST_CORRELATION)


def _ends(values: Array, since: int, alpha: float, chance: np.random.Generator) -> dict[int, float]:
    """Return the ends of stretches that stand out, each with the p-value of its stretch."""
    if values.size < 2 * FEWEST or np.ptp(values) <= _ROUNDING * np.abs(values).max():
        return {}
    scores = _scores(values)
    n, ends = values.size, np.arange(values.size + 1)
    if n > _MOST_ENDS:
        ends = np.unique(np.linspace(0, n, _MOST_ENDS + 1).round().astype(np.int64))
    starts, stops = _stretches(ends, n)
    distances = _distances(scores[None, :], starts, stops)[0]
    best = int(np.argmax(distances))
    p_value = _p_value(scores, starts, stops, best=best, chance=chance)
    if p_value > alpha:
        return {}
    start, stop = _refined(scores, int(starts[best]), int(stops[best]))
    edges = [0, *(end for end in (start, stop) if 0 < end < n), n]
    by_end = {since + end: p_value for end in edges[1:-1]}
    for first, last in itertools.pairwise(edges):
        by_end |= _ends(values[first:last], since + first, alpha, chance)
    return by_end


def _scores(values: Array) -> Array:
    """Return the values with outliers drawn in; ranks where most values are equal."""
    middle = np.median(values)
    deviation = OF_A_NORMAL * float(np.median(np.abs(values - middle)))
    if deviation == 0:
        import scipy.stats  # imported here: takes 1 s

        return np.asarray(scipy.stats.rankdata(values), dtype=float)
    return np.clip(values, middle - _MOST_DEVIATIONS * deviation, middle + _MOST_DEVIATIONS * deviation)


def _stretches(ends: Places, n: int) -> tuple[Places, Places]:
    """Return starts and stops of all stretches that leave nothing, or enough values, outside at either side."""
    starts, stops = (grid.ravel() for grid in np.meshgrid(ends, ends, indexing="ij"))
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


def _p_value(scores: Array, starts: Places, stops: Places, *, best: int, chance: np.random.Generator) -> float:
    """Return the share of series of chance, this one among them, with a stretch as far from chance's."""
    farthest = float(_distances(scores[None, :], starts, stops)[0, best])
    innovations, correlation = _noise(scores, int(starts[best]), int(stops[best]))
    as_far, left = 1, _ORDERS
    rows = max(1, _AT_ONCE // starts.size)
    while left:
        count = min(left, rows)
        series = chance.permuted(np.tile(innovations, (count, 1)), axis=1)
        series[:, 0] /= math.sqrt(1 - correlation**2)
        for at in range(1, series.shape[1]):
            series[:, at] += correlation * series[:, at - 1]
        as_far += int((_distances(series, starts, stops).max(axis=1) >= farthest * (1 - 1e-12)).sum())
        left -= count
    return as_far / (_ORDERS + 1)


def _noise(scores: Array, start: int, stop: int) -> tuple[Array, float]:
    """Return the innovations of the scores without their best stretch, and the upper limit of their correlation.

    Scores without any residual are their own innovations: equal values on both sides of a step.
    """
    residual = scores.copy()
    residual[start:stop] -= scores[start:stop].mean()
    outside = np.r_[0:start, stop : scores.size]
    residual[outside] -= scores[outside].mean()
    if not residual.any():
        return scores, 0.0
    parts = 2 if start == 0 or stop == scores.size else 3
    estimate = _correlation(residual, parts)
    limit = estimate + _UPPER * math.sqrt((1 - estimate**2) / scores.size)
    correlation = min(limit, MOST_CORRELATION)
    first = residual[:1] * math.sqrt(1 - correlation**2)
    return np.concatenate((first, residual[1:] - correlation * residual[:-1])), correlation


def _refined(scores: Array, start: int, stop: int) -> tuple[int, int]:
    """Return the best stretch whose ends are near the ones found, where not every end was tried."""
    n = scores.size
    if n <= _MOST_ENDS:
        return start, stop
    step = n // _MOST_ENDS + 1
    near = [
        np.arange(max(0, end - step), min(n, end + step) + 1) if 0 < end < n else np.array([end])
        for end in (start, stop)
    ]
    starts, stops = _stretches(np.unique(np.concatenate(near)), n)
    fits = np.isin(starts, near[0]) & np.isin(stops, near[1])
    starts, stops = starts[fits], stops[fits]
    best = int(np.argmax(_distances(scores[None, :], starts, stops)[0]))
    return int(starts[best]), int(stops[best])
