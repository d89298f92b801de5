"""Write the tables of docs/coverage.md: every row of the four works, from the files of their studies.

Models: a number is compared as a factor, a change of -74 % as 0.26. Beyond FACTOR the row has the reason that its
study gives, or "not explained". Leaves out: what a record answers (`railyard.analysis.cases.published`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from railyard.analysis.cases import published
from railyard.records import studies
from railyard.records.studies import Published
from railyard.reference.markdown import code, table

#: The studies of the four works, in the order of the page.
WORKS = ("llnl-multirail", "pena2013", "pedretti2013", "ezell2013")
#: Numbers that are no further apart than this agree.
NEAR = 1.1
HEAD = ("row", "of the work", "published", "here", "verdict", "check and system, or place")


def _table(name: str) -> str:
    """Return a work's rows, by their names: first the numbers of a name, in the study's order."""
    study = studies.all_studies()[name]
    lines = [(number.row, _number(number)) for number in study.published if number.row]
    for row in study.rows:
        place = ": ".join(filter(None, [row.run and code(row.run), row.where]))
        lines.append((row.row, (row.row, row.item, row.published, row.ours, row.state, place)))
    return table(HEAD, [line for _, line in sorted(lines, key=lambda pair: int(pair[0][1:]))])


def _number(number: Published) -> tuple[str, ...]:
    system, _, check = number.by.partition(" ")
    place = f"{code(check)} on {system}" if check else "-"
    item = f"{number.figure}: {number.quantity}"
    return number.row, item, f"{number.value:g} {number.unit}", number.ours or "-", verdict(number), place


def verdict(number: Published) -> str:
    """Return whether our answer agrees with a published number, or why not."""
    times = published.apart(number, number.ours)
    if times is None:
        return number.differs or "no record of this version"
    if times > published.FACTOR:
        return f"{times:.2f} times apart: {number.differs or 'not explained'}"
    text = "agrees" if times < NEAR else f"{times:.2f} times apart"
    if number.quantity.endswith((*published.MOST, *published.LEAST)):
        text = "within the limit" if published.is_within(number, number.ours) else f"{times:.2f} times beyond the limit"
    return ": ".join(filter(None, [text, number.differs]))


TABLES: Mapping[str, Callable[[], str]] = {f"coverage-{name}": functools.partial(_table, name) for name in WORKS}
