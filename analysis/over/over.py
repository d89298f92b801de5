"""Judge series of records over dates, sizes and allocations together, as the page and its exports show them.

Leaves out: what a series is (`analysis.over.series`), markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.over import allocations, dates, sizes, text
from analysis.over.allocations import Spread
from analysis.over.dates import Dated
from analysis.over.sizes import Scaled
from analysis.text.datatable import DataTable
from railyard.records.json_io import Json
from railyard.records.store.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """Series over dates with their changes, families over sizes, spreads over allocations."""

    dated: Sequence[Dated]
    scaled: Sequence[Scaled]
    spreads: Sequence[Spread]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table with the sentence that sums it up."""

    title: str
    sentence: str
    table: DataTable


def over(entries: Sequence[Entry]) -> Over:
    """Return what records show over dates, sizes and allocations."""
    return Over(
        dated=dates.dated(entries), scaled=sizes.scaled(entries), spreads=allocations.spreads(entries)
    )


def sections(judged: Over) -> list[Section]:
    """Return the tables that have rows: changes of level, scaling, spread over allocations."""
    steady = text.allocations_sentence(judged.spreads, allocations.LIMIT_PERCENT)
    parts = (
        (
            "Changes of level over dates",
            text.changes_sentence(judged.dated),
            text.changes_table(judged.dated),
        ),
        ("Weak and strong scaling", "", text.sizes_table(judged.scaled)),
        ("Spread over allocations", steady, text.allocations_table(judged.spreads)),
    )
    return [
        Section(title=title, sentence=sentence, table=table) for title, sentence, table in parts if table.rows
    ]


def documents(judged: Over) -> list[Json]:
    """Return the documents of the three commands of `railyard over`."""
    return [
        text.dates_document(judged.dated),
        text.sizes_document(judged.scaled),
        text.allocations_document(judged.spreads, allocations.LIMIT_PERCENT),
    ]
