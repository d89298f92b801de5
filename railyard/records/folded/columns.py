"""Write sequences of whole numbers ("columns") as short text: `0-127*10000` is 0 to 127, repeated 10,000 times.

Models: items separated by commas. An item is a number or a range such as `0-127` (each number once, ascending); `*N`
after it repeats it N times. `?` is a null, `.` a value that is absent. Leaves out the meaning of a column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from railyard.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.signedinteger]

#: Numbers that represent a null and an absent value in a sequence; the least real value is -1, "unknown".
NULL, ABSENT = -2, -3
_MARKS = {NULL: "?", ABSENT: "."}
_OF_MARK = {mark: number for number, mark in _MARKS.items()}
#: The most values of one column, more than any machine has ranks. A hostile text of a few bytes could expand to more.
MOST_VALUES = 1 << 25
_ITEM = re.compile(r"(-1|[?.]|[0-9]{1,18})(?:-([0-9]{1,18}))?(?:\*([0-9]{1,9}))?")
_PLAIN = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*")
#: Sequences of short texts, which many records have alike: at most so many, of at most so many letters and values.
MOST_SHORT = 1024
_SHORT: dict[str, Numbers] = {}
VALID = "numbers, ranges such as 0-127 and repeats such as 0*128, with commas between them"


def fold(values: Sequence[int] | Numbers) -> str:
    """Return a sequence as text, in the form that `unfold` reads.

    A plain list is written if folding leaves more than half as many items, because a plain list is read faster.
    """
    import numpy as np  # imported here and below: commands on small records do not need it

    numbers = np.asarray(values, dtype=np.int64)
    if not len(numbers):
        return ""
    begins, times = _begins(numbers[1:] != numbers[:-1], len(numbers))
    first = numbers[begins]
    alone = times == 1
    is_next = alone[1:] & alone[:-1] & (first[1:] == first[:-1] + 1) & (first[:-1] >= 0)
    begins, lengths = _begins(~is_next, len(first))
    first, times = first[begins], times[begins]
    is_again = (first[1:] == first[:-1]) & (lengths[1:] == lengths[:-1]) & (lengths[1:] > 1)
    begins, repeats = _begins(~is_again, len(first))
    first, times, lengths = first[begins], times[begins], lengths[begins]
    times = np.where(lengths > 1, repeats, times)
    if 2 * len(first) > len(numbers) and numbers.min() >= 0:
        return ",".join(map(str, numbers.tolist()))
    return ",".join(map(_item, first.tolist(), lengths.tolist(), times.tolist()))


def by_first(numbers: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Return the distinct numbers, all below `count`, by first position, and the index of each number in them."""
    import numpy as np

    used, first = np.unique(numbers, return_index=True)
    used = used[np.argsort(first)]
    new = np.zeros(count, dtype=np.int32)
    new[used] = np.arange(len(used))
    return used, new[numbers]


def _begins(is_new: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Return the index at which each group of neighbours begins, and the length of each group.

    `is_new` has `count` - 1 booleans: whether element i + 1 begins a new group.
    """
    import numpy as np

    begins = np.flatnonzero(np.concatenate(([True], is_new)))
    return begins, np.diff(np.append(begins, count))


def _item(first: int, length: int, times: int) -> str:
    text = _MARKS.get(first) or str(first)
    text = f"{text}-{first + length - 1}" if length > 1 else text
    return f"{text}*{times}" if times > 1 else text


def unfold(text: str, source: str, field: str) -> Numbers:
    """Return the sequence that a text describes, as an array of int16, int32 or int64, the smallest that fits.

    Raises InputError for text of another form, and for more than `MOST_VALUES` values.
    """
    import numpy as np

    if not text:
        return np.empty(0, dtype=np.int16)
    if text not in _SHORT:
        numbers = _unfolded(text, source, field)
        least, most = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
        fitting = (np.int16, np.int32, np.int64)
        kind = next(dtype for dtype in fitting if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max)
        numbers = numbers.astype(kind)
        if len(text) > MOST_SHORT or len(numbers) > MOST_SHORT or len(_SHORT) >= MOST_SHORT:
            return numbers
        numbers.flags.writeable = False
        _SHORT[text] = numbers
    return _SHORT[text]


def _unfolded(text: str, source: str, field: str) -> Numbers:
    """Return the sequence that a text describes; NumPy reads plain numbers, and other items are read one by one."""
    import numpy as np

    if _PLAIN.fullmatch(text) and text.count(",") < MOST_VALUES:
        return np.fromstring(text, dtype=np.int64, sep=",")
    read = (_read(item, source, field) for item in text.split(","))
    items = list(read) if len(text) <= MOST_SHORT else np.fromiter(read, dtype=np.dtype((np.int64, 3)))
    total = sum(float(count) * float(times) for _, count, times in items)
    if total > MOST_VALUES:
        raise InputError(source, field, problem="more values", valid=f"at most {MOST_VALUES:,}")
    if total <= MOST_SHORT:
        listed = [number for first, count, times in items for number in [*range(first, first + count)] * times]
        return np.array(listed, dtype=np.int64)
    first, counts, times = np.array(items, dtype=np.int64).T
    first, counts = np.repeat(first, times), np.repeat(counts, times)
    offsets = np.arange(counts.sum(), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers: Numbers = np.repeat(first, counts) + offsets
    return numbers


def _read(item: str, source: str, field: str) -> tuple[int, int, int]:
    """Return the first number of an item, the length of its range, and its number of repeats."""
    match = _ITEM.fullmatch(item)
    if match is not None:
        word, last, times = match.groups()
        first = _OF_MARK[word] if word in _OF_MARK else int(word)
        length = 1 if last is None else int(last) - first + 1
        if length >= 1 and (last is None or first >= 0):
            return first, length, 1 if times is None else int(times)
    raise InputError(source, field, item[:40], VALID)
