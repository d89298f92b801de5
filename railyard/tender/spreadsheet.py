"""Write an evaluation as a spreadsheet in Office Open XML, which Excel and LibreOffice open.

Models: one sheet of scores, one of cases, one of faults. A number is a number whatever decimal mark the reader's
language has, which a CSV file cannot give; a text is an inline string and never a formula. Leaves out: formulas,
styles, charts. It is written without a library, because a workbook of plain cells is six small files in an archive.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from railyard.tender.evaluation import SCENARIOS, Evaluation, Interval, Line
from railyard.tender.metrics import FORMULAS

Cell = str | float | None
Row = Sequence[Cell]
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
#: The archive's files have one date, so that the same evaluation gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


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
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _files(sheets).items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), _HEAD + text, zipfile.ZIP_DEFLATED)
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
        yield from _faults_of(line)


def _faults_of(line: Line) -> Iterator[Row]:
    for rule in line.rules:
        for fault in rule.faults:
            yield [line.bidder, rule.name, fault.field, fault.text]


def _notes(result: Evaluation) -> Iterator[Row]:
    yield ["bid", "rule", "field", "note"]
    for line in result.lines:
        for rule in line.rules:
            yield from ([line.bidder, rule.name, note.field, note.text] for note in rule.notes)
        yield [line.bidder, "", "sha256", line.digest]
    yield [result.made]


def _numbers(interval: Interval | None) -> list[Cell]:
    return [interval.value, interval.low, interval.high] if interval else [None, None, None]


def _files(sheets: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    numbered = list(enumerate(sheets, 1))
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        for number, _ in numbered
    )
    named = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"/>' for number, name in numbered
    )
    related = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number, _ in numbered
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>{overrides}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{related}</Relationships>',
    }
    for number, name in numbered:
        rows = "".join(_row(number, row) for number, row in enumerate(sheets[name], 1))
        files[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return files


def _row(number: int, row: Row) -> str:
    cells = "".join(_cell(f"{_column(index)}{number}", cell) for index, cell in enumerate(row))
    return f'<row r="{number}">{cells}</row>'


def _column(place: int) -> str:
    assert place < 26  # the sheets here have fewer columns
    return chr(ord("A") + place)


def _cell(where: str, cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return f'<c r="{where}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
    return f'<c r="{where}"><v>{cell!r}</v></c>'
