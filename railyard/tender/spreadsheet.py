"""Write an evaluation as a spreadsheet in Office Open XML, which Excel and LibreOffice open.

Models: one sheet of scores, one of cases, one of faults. A number is a number whatever decimal mark the reader's
language has, which a CSV file cannot give; a text is never a formula or a link. Leaves out: formulas, styles, charts.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import datetime

import xlsxwriter

from railyard.tender.evaluation import SCENARIOS, Evaluation, Interval
from railyard.tender.metrics import FORMULAS

Cell = str | float | None
Row = Sequence[Cell]
#: The workbook has one date, so that the same evaluation gives the same bytes.
_DATE = datetime(1980, 1, 1)
#: Most characters of a cell. Of a longer text XlsxWriter would write nothing.
_MOST = 32_767


def workbook(result: Evaluation) -> bytes:
    """Return the bytes of an .xlsx file."""
    sheets: dict[str, Sequence[Row]] = {
        "Scores": list(_scores(result)),
        "Cases": list(_cases(result)),
        "Faults": list(_faults(result)),
        "Notes": list(_notes(result)),
        "Trust": [["case", "how far it is determined"], *result.trust],
    }
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        book.set_properties({"created": _DATE})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for column, cell in enumerate(row):
                    if isinstance(cell, str):
                        sheet.write_string(number, column, cell[:_MOST])
                    elif cell is not None:
                        sheet.write_number(number, column, cell)
    return out.getvalue()


def _scores(result: Evaluation) -> Iterator[Row]:
    metric = FORMULAS[result.tender.metric]
    yield [result.tender.title]
    yield [result.sentence]
    yield [f"{metric.name}: {metric.formula}"]
    shares = ["wins when drawn again", *SCENARIOS]
    yield ["bid", "complete", "score", "low", "high", *shares, "tier", "signature", "faults"]
    for line in result.lines:
        wins: list[Cell] = [line.wins, *(line.wins_by.get(name) for name in SCENARIOS)]
        yield [
            line.bidder,
            "yes" if line.score else "no",
            *_numbers(line.score),
            *(wins if line.score else [None] * len(wins)),
            line.tier,
            line.signed,
            float(line.faults),
        ]


def _cases(result: Evaluation) -> Iterator[Row]:
    yield ["case", "figure of merit", "reference", "weight", "bid", "speedup", "low", "high", "pledge"]
    for case in result.tender.cases:
        for line in result.lines:
            numbers = _numbers(line.cases.get(case.name))
            pledge = line.pledges.get(case.name)
            yield [case.name, case.fom, case.reference, case.weight, line.bidder, *numbers, pledge]


def _faults(result: Evaluation) -> Iterator[Row]:
    yield ["bid", "rule", "field", "fault"]
    for line in result.lines:
        for rule in line.rules:
            yield from ([line.bidder, rule.name, fault.field, fault.text] for fault in rule.faults)


def _notes(result: Evaluation) -> Iterator[Row]:
    yield ["bid", "rule", "field", "note"]
    for line in result.lines:
        for rule in line.rules:
            yield from ([line.bidder, rule.name, note.field, note.text] for note in rule.notes)
        yield from [[line.bidder, "", "sha256", line.digest]] if line.digest else []
    yield [result.made]


def _numbers(interval: Interval | None) -> list[Cell]:
    return [interval.value, interval.low, interval.high] if interval else [None, None, None]
