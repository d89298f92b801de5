"""Find launches, series and records that are copies of others: exact, scaled, shifted, or in another order.

Models: each series gets marks of 64 bits, which survive what a copier does. One is the order of its samples by size,
which any scale, shift, mirror or small noise leaves alone. The others are their sorted distances from a quartile, fine
and coarse, which a scale or a new order leaves alone; the coarse ones survive some noise, too. Rates are inverted
first, so that a rate and its time have one mark. Equal marks are found by sorting, not in pairs. A mark is made only of
series whose equality cannot be chance: it must determine `BITS` bits after ties, which coarse clocks leave, and after a
trend or a beat, which make one order likely. Short series are marked by their exact samples, and together over the
launches of a combination, if the clock's tick is small enough.

Leaves out: copies with noise above the distances of samples, and single launches of one sample.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from railyard.placements.arrays import Floats, Ints, NDArray, np
from railyard.records import units
from railyard.records.record import Record
from railyard.records.rules import figures

if TYPE_CHECKING:
    from railyard.records.units import Fom
    from railyard.tender.judged import Judged

    Marks = NDArray[np.uint64]

#: Least information of a mark. 10,000 records have about 2^40 pairs of series, so that 1 in 2^16 such tenders has a
#: coincidence.
BITS = 56.0
#: Steps between the quartiles of a series: of short series, and those of coarse marks.
STEPS, COARSE = 1 << 12, (1 << 9, 1 << 6)
#: Least number of samples that can have `BITS` bits, and of those whose coarse marks can.
LEAST, LEAST_COARSE = 12, 16
#: A launch of a record, both as one number; whether its series is a rate; the samples of the series.
_Row = tuple[int, bool, Sequence[float]]
#: Number of the "launch" of all launches of a record.
ALL = 0xFFFF


class Copy(NamedTuple):
    """A launch of a record, and the launch of another or of the same record that it equals; `ALL` for all launches."""

    read: Judged
    launch: int
    original: Judged
    original_launch: int


def marks_of(reads: Sequence[Record]) -> list[bytes]:
    """Return the marks of each record of a run: pairs of 64 bits, a launch and its mark. Other records have none."""
    rows: dict[int, list[_Row]] = {}
    short: dict[Hashable, list[_Row]] = {}
    for number, read in enumerate(reads):
        for launch in read.launches if read.origin in figures.RAN else ():
            of = number, *launch.combination
            for series in launch.series if launch.is_result else ():
                is_counted, is_rate = _kind(series.fom)
                if is_counted:
                    continue
                row = (number << 16) + min(launch.index, ALL), is_rate, series.samples
                if len(series.samples) >= LEAST:
                    rows.setdefault(len(series.samples), []).append(row)
                else:
                    short.setdefault((of, series.fom, frozenset(series.labels.items())), []).append(row)
    alike: dict[tuple[int, ...], list[list[_Row]]] = {}
    for group in short.values():
        alike.setdefault(tuple(len(samples) for _, _, samples in group), []).append(group)
    with np.errstate(all="ignore"):  # a sample such as 5e-324 has no ratio
        marks = [*map(_marks, rows.values()), *map(_marks_of_short, alike.values(), alike)]
    joined = np.concatenate([np.empty((0, 2), dtype=np.uint64), *marks])
    joined = joined[np.argsort(joined[:, 0], kind="stable")]
    ends = np.searchsorted(joined[:, 0], np.arange(1, len(reads), dtype=np.uint64) << np.uint64(16))
    joined[:, 0] &= np.uint64(ALL)
    return [part.tobytes() for part in np.split(joined, ends)][: len(reads)]


@functools.lru_cache(maxsize=4096)
def _kind(fom: Fom) -> tuple[bool, bool]:
    """Return whether nodes counted a figure, and whether it is a rate."""
    return units.is_counted(fom), fom.unit.measures in figures.RATES


def _marks(series: Sequence[_Row]) -> Marks:
    """Return (launch, mark) of series of one length that have enough information, by order and by distances."""
    rows = np.array([samples for _, _, samples in series])
    rates = np.array([is_rate for _, is_rate, _ in series])
    np.divide(1, rows, out=rows, where=rates[:, None] & (rows != 0))
    count = rows.shape[1]
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(count)[None], axis=1)
    ties = (ordered[:, 1:] == ordered[:, :-1]).sum(axis=1)
    factorials = _factorials(count)
    of_order = factorials[count] - factorials[ties + 1] - _foreseen(ranks) - 1
    order = np.where(order[:, :1] < order[:, -1:], order, order[:, ::-1])  # of a series and its mirror one
    whose = np.array([launch for launch, _, _ in series], dtype=np.uint64)
    sizes = (STEPS, *COARSE) if count >= LEAST_COARSE else (STEPS,)
    kinds = [(order, of_order), *_steps(ordered, *sizes)]
    marks = [
        np.stack([whose, _hashed(cells, salt)], axis=1)[bits >= BITS] for salt, (cells, bits) in enumerate(kinds, 4)
    ]
    return np.concatenate(marks)


@functools.cache
def _factorials(count: int) -> Floats:
    """Return the logarithms to base 2 of the factorials of 0 to a number."""
    return np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, count + 1)))])


def _steps(ordered: Floats, *sizes: int) -> Iterator[tuple[Ints, Floats]]:
    """Yield, for each number of steps between the quartiles, the distances of sorted samples from a quartile in steps.

    With them come the bits of each row that they determine. As many equal pairs as are seen come from `levels` values
    that are equally likely. Even distances, as of a sweep, determine little.
    """
    count = ordered.shape[1]
    low, high = ordered[:, count // 4, None], ordered[:, 3 * count // 4, None]
    distances, gaps = (ordered - low) / np.where(high > low, high - low, np.inf), np.diff(ordered)
    uneven = (gaps.std(axis=1) / gaps.mean(axis=1).clip(5e-324)).clip(1e-9, 1)
    for most in sizes:
        steps = np.floor(distances * most).clip(-(2**62), 2**62).astype(np.int64)
        levels = count * count / 2 / np.maximum((steps[:, 1:] == steps[:, :-1]).sum(axis=1), 0.5)
        levels = np.minimum(levels, steps[:, -1] - steps[:, 0] + 1)
        yield steps, count * np.log2(levels * uneven) - _factorials(count)[count]


def _marks_of_short(groups: Sequence[Sequence[_Row]], lengths: Sequence[int]) -> Marks:
    """Return the marks of short series: of each launch's exact samples, and of all distances of a combination.

    Each group has the series of one combination, and each of its launches the length that `lengths` has.
    """
    rows = np.array([[sample for _, _, samples in group for sample in samples] for group in groups])
    rates = np.array([group[0][1] for group in groups])
    np.divide(1, rows, out=rows, where=rates[:, None] & (rows != 0))
    whose = np.array([[owner for owner, _, _ in group] for group in groups], dtype=np.uint64)
    ordered, count = np.sort(rows, axis=1), rows.shape[1]
    spread = 2 * (ordered[:, 3 * count // 4] - ordered[:, count // 4])
    bits = np.log2(np.maximum(1.0, spread / _ticks(ordered)))
    marks, exact = [], np.split(rows.view(np.int64), np.cumsum(lengths)[:-1], axis=1)
    for number, samples in enumerate(exact):
        pairs = np.stack([whose[:, number], _hashed(samples, 3)], axis=1)
        marks.append(pairs[lengths[number] * bits >= BITS])
    ((steps, _),) = _steps(ordered, STEPS)
    of_all = count * np.minimum(bits, math.log2(STEPS)) - _factorials(count)[count]
    pairs = np.stack([whose[:, 0] | np.uint64(ALL), _hashed(steps, 2)], axis=1)
    return np.concatenate([*marks, pairs[(of_all >= BITS) & np.diff(steps).all(axis=1)]])


def _ticks(ordered: Floats) -> Floats:
    """Return for each row the largest step that divides all differences: a clock's tick, or a digit."""
    finest = 1e-11 * np.abs(ordered).max(axis=1).clip(1e-300)
    ticks = np.zeros(len(ordered))
    for gaps in np.diff(ordered).T:
        gaps = np.where((ticks > 0) & (ticks <= 2 * finest), 0, gaps)
        while len(left := np.flatnonzero(gaps > finest)):
            ticks[left], gaps[left] = gaps[left], np.fmod(ticks[left], gaps[left])
    largest: Floats = np.maximum(ticks, finest)
    return largest


def _foreseen(ranks: Ints) -> Floats:
    """Return the bits of each row that a trend, or the sample before or two before, explains."""
    count = ranks.shape[1]
    position = np.arange(count) - (count - 1) / 2
    centered = ranks - (count - 1) / 2
    variance = (count * count - 1) / 12
    beat = [np.mean(centered[:, lag:] * centered[:, :-lag], axis=1) for lag in (1, 2)]
    strongest = np.max(np.abs([np.mean(centered * position, axis=1), *beat]), axis=0) / variance
    bits: Floats = -count / 2 * np.log2(1 - np.minimum(strongest, 1 - 1e-9) ** 2)
    return bits


def _hashed(cells: Ints, salt: int) -> Marks:
    """Return 64 bits of each row: a sum with random weights, all of them odd."""
    marks: Marks = (cells.astype(np.uint64) * _weights(cells.shape[1], salt)).sum(axis=1)
    return marks


@functools.cache
def _weights(count: int, salt: int) -> Marks:
    return np.random.default_rng([salt, count]).integers(1 << 63, size=count, dtype=np.uint64) * 2 + 1


def within(records: Sequence[Judged]) -> Iterator[Copy]:
    """Yield each launch that equals an earlier one of the same records, once."""
    records = sorted(records, key=lambda read: read.created)
    marks, owners = _all(records)
    order = np.argsort(marks, kind="stable")
    marks, owners = marks[order], owners[order]
    seen = set()
    for at in np.flatnonzero((marks[1:] == marks[:-1]) & (owners[1:] != owners[:-1])):
        if (owner := int(owners[at + 1])) not in seen:
            seen.add(owner)
            yield _copy((records, owner), (records, int(owners[at])))


def between(records: Sequence[Judged], others: Sequence[Judged]) -> Iterator[Copy]:
    """Yield a launch of each record that equals one of the others, once."""
    marks, owners = _all(records)
    other_marks, other_owners = _all(others)
    if not len(marks) or not len(other_marks):
        return
    likely = np.flatnonzero(_among(other_marks, marks))
    if not len(likely):
        return
    others_likely = np.flatnonzero(_among(marks[likely], other_marks))
    order = others_likely[np.argsort(other_marks[others_likely], kind="stable")]
    where = np.searchsorted(other_marks[order], marks[likely]).clip(max=len(order) - 1)
    seen = set()
    for at in np.flatnonzero(other_marks[order[where]] == marks[likely]):
        if (owner := int(owners[likely[at]])) >> 16 not in seen:
            seen.add(owner >> 16)
            yield _copy((records, owner), (others, int(other_owners[order[where[at]]])))


def _among(marks: Marks, others: Marks) -> NDArray[np.bool_]:
    """Return which of the others may be among the marks, by their first 22 bits, because few are."""
    table = np.zeros(1 << 22, dtype=np.bool_)
    table[marks >> np.uint64(42)] = True
    among: NDArray[np.bool_] = table[others >> np.uint64(42)]
    return among


def _copy(copy: tuple[Sequence[Judged], int], original: tuple[Sequence[Judged], int]) -> Copy:
    (records, owner), (others, other) = copy, original
    return Copy(records[owner >> 16], owner & ALL, others[other >> 16], other & ALL)


def _all(records: Sequence[Judged]) -> tuple[Marks, Ints]:
    """Return the marks of all records, and of each the number of its record and its launch, in 16 bits."""
    pairs = np.frombuffer(b"".join(read.marks for read in records), dtype=np.uint64).reshape(-1, 2)
    number = np.repeat(np.arange(len(records)) << 16, [len(read.marks) // 16 for read in records])
    return pairs[:, 1].copy(), pairs[:, 0].astype(np.int64) + number
