"""The page's tables over dates, sizes and allocations: those that have something to show.

Leaves out: what the tables are made of (`analysis.over`), markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.cases.judgement import JudgedCase
from analysis.over import allocations, dates, sizes, text
from analysis.text.datatable import DataTable
from railyard.records.json_io import Json
from railyard.records.store import entries
from railyard.records.store.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table with the sentence that sums it up."""

    title: str
    sentence: str
    table: DataTable


def sections(judged: Sequence[JudgedCase]) -> list[Section]:
    """Return the tables that have rows: changes of level, scaling, spread over allocations."""
    found = _entries(judged)
    dated, scaled = dates.dated(found), sizes.scaled(found)
    spread = allocations.spreads(found)
    made = (
        ("Changes of level over dates", text.changes_sentence(dated), text.changes_table(dated)),
        ("Weak and strong scaling", "", text.sizes_table(scaled)),
        (
            "Spread over allocations",
            text.allocations_sentence(spread, allocations.LIMIT_PERCENT),
            text.allocations_table(spread),
        ),
    )
    return [
        Section(title=title, sentence=sentence, table=table) for title, sentence, table in made if table.rows
    ]


def document(judged: Sequence[JudgedCase]) -> list[Json]:
    """Return the documents of `railyard over` of a report's records."""
    found = _entries(judged)
    return [
        text.dates_document(dates.dated(found)),
        text.sizes_document(sizes.scaled(found)),
        text.allocations_document(allocations.spreads(found), allocations.LIMIT_PERCENT),
    ]


def _entries(judged: Sequence[JudgedCase]) -> list[Entry]:
    return [entries.of_record(record) for each in judged for record in each.case.records]
