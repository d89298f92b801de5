"""Write the tables of docs/coverage.md: every row of the four works, from the files of their studies.

Models: a number is compared as a factor, a change of -74 % as 0.26. Beyond FACTOR the row has the reason that its
study gives, or "not explained". Leaves out: what a record answers (`railyard.analysis.cases.published`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

from railyard.records import studies
from railyard.records.studies import Published, Row, Shown
from railyard.reference.markdown import code, table

#: The studies of the four works, in the order of the page.
WORKS = ("llnl-multirail", "pena2013", "pedretti2013", "ezell2013")
#: Numbers that are further apart than this are explained, or the page has "not explained".
FACTOR = 1.5
#: Numbers that are no further apart than this agree.
NEAR = 1.1
#: How the quantity of a limit ends.
MOST, LEAST = ("up to", "at most", "below"), ("more than", "at least", "over")
HEAD = ("row", "of the work", "published", "here", "verdict", "check and system, or place")


def _table(name: str) -> str:
    """Return a work's rows, by their names: first the numbers of a name, in the study's order."""
    study = studies.all_studies()[name]
    lines = [(number.row, _number(number)) for number in study.published if number.row]
    lines += [(row.row, _other(row)) for row in study.rows]
    return table(HEAD, [line for _, line in sorted(lines, key=lambda pair: int(pair[0][1:]))])


def _number(number: Published) -> tuple[str, ...]:
    published = f"{number.value:g} {number.unit}"
    system, _, check = number.by.partition(" ")
    place = f"{code(check)} on {system}" if check else "-"
    item = f"{number.figure}: {number.quantity}"
    return number.row, item, published, number.ours or "-", verdict(number), place


def _other(row: Row) -> tuple[str, ...]:
    place = ": ".join(filter(None, [row.run and code(row.run), row.where]))
    return row.row, row.item, row.published, row.ours, row.state, place


def verdict(number: Published) -> str:
    """Return whether our answer agrees with a published number, or why not."""
    times = apart(number)
    if times is None:
        return number.differs or "no record of this version"
    if times > FACTOR:
        return f"{times:.2f} times apart: {number.differs or 'not explained'}"
    text = "agrees" if times < NEAR else f"{times:.2f} times apart"
    if number.quantity.endswith((*MOST, *LEAST)):
        text = "within the limit" if _is_within(number) else f"{times:.2f} times beyond the limit"
    return ": ".join(filter(None, [text, number.differs]))


def apart(number: Published) -> float | None:
    """Return by which factor our answer misses a published number; 1 within its limit, None without an answer."""
    if not number.ours:
        return None
    ratio = _factor(number, _value(number.ours)) / _factor(number, number.value)
    return 1.0 if _is_within(number) else max(ratio, 1 / ratio)


def _is_within(number: Published) -> bool:
    """Return whether the published number is a limit, and ours is within it."""
    ours, published = _value(number.ours), number.value
    is_below = number.quantity.endswith(MOST) and abs(ours) <= abs(published)
    return is_below or (number.quantity.endswith(LEAST) and ours > published)


def _value(text: str) -> float:
    """Return the number of an answer: `29.6 % better (exchange)` is 29.6, `no difference` 0."""
    match = re.search(r"[-+]?\d+\.?\d*", text)
    return (-1 if "worse" in text else 1) * float(match[0] if match else 0)


def _factor(number: Published, value: float) -> float:
    """Return a number as a factor, so that it can be divided."""
    is_share = number.compare is not None and number.compare.shown in (Shown.SHARE, Shown.VALUE)
    return 1 + value / 100 if number.unit == "%" and not is_share else value


TABLES: Mapping[str, Callable[[], str]] = {
    f"coverage-{name}": functools.partial(_table, name) for name in WORKS
}
