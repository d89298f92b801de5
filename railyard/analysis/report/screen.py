"""Print the last screen of a command: the answer, the evidence, what it shows, and where the page is.

Models: at most `HEIGHT` lines of at most `WIDTH` columns; a longer path is not cut. The largest effects come first,
then the page's statements on cases that compare nothing. What has no room is counted.
Leaves out: tables (the page, `--format md`).
"""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence

from railyard.analysis.cases import cases, comparison
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.comparison import Statement
from railyard.analysis.cases.titles import ORIGIN_NOTES, title
from railyard.analysis.judge.judged import Judged
from railyard.analysis.report import answer, page
from railyard.analysis.report.effects import Cell
from railyard.analysis.text import DataTable, Format, counted
from railyard.records.units import Fom

WIDTH = 100
HEIGHT = 40
#: Lines for one answer, and for the statement of one case.
_ANSWER_LINES, _LINES = 3, 2
#: Lines for the launches that an event explains.
_MARK_LINES = 6
_INDENT = "    "


def lines(judged: Judged, written: Sequence[str]) -> list[str]:
    """Return the screen of judged records; `written` are the files that were written."""
    evidence = ["", *_evidence(judged.grouped)]
    chance = [f"  {judged.by_chance}"] if judged.by_chance else []
    tail = [*chance, "", "Files", *(f"  {path}" for path in written)] if written else chance
    room = HEIGHT - len(evidence) - len(tail) - 5
    answers = _first([_wrapped(text, _ANSWER_LINES, "  ", "    ") for text in answer.sentences(judged)], room // 3)
    head = ["Answer", *itertools.chain(*answers)] if answers else []
    drawn = [page.draw(one) for one in judged.cases]
    cells = page.cells(drawn, judged.grouped)
    effects = _effects(cells, (room - len(head)) * 2 // 3)
    compared = {cell.case for cell in cells}
    marks = _marks([one for number, one in enumerate(drawn, 1) if number in compared])
    others = [one for number, one in enumerate(drawn, 1) if number not in compared]
    findings = _findings(others, room - len(head) - len(effects) - len(marks))
    shown = [*head, *evidence[not head :], *effects, *marks, *findings]
    return [*(line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in shown), *tail]


def _evidence(grouped: Sequence[Case]) -> list[str]:
    records = sum(len(case.records) for case in grouped)
    launches = cases.tally_text(sum(map(cases.tally, grouped), Counter[str]()), zeros=False) or "none"
    origins = dict.fromkeys(case.origin for case in grouped)
    return [
        f"Evidence: {counted(len(grouped), 'case')} in {counted(records, 'record')}; launches: {launches}",
        *(f"  {origin}: {ORIGIN_NOTES[origin].partition('. ')[0].removesuffix('.')}" for origin in origins),
    ]


def _effects(cells: Sequence[Cell], room: int) -> list[str]:
    """Return the largest effects as rows, as many as fit; none if nothing is compared."""
    if not cells:
        return []
    ranked = sorted(cells, key=lambda cell: -cell.effect)
    shown = ranked[: room if len(ranked) <= room else room - 1]
    columns = ("times as fast", "95 %", "combination", "baseline", "case")
    rows = [(cell.text, cell.between, cell.combination, cell.baseline, cell.figure) for cell in shown]
    more = [f"  {len(ranked) - len(shown)} more: see the page"] if len(ranked) > len(shown) else []
    return ["", *(f"  {line}" for line in DataTable(columns=columns, rows=rows).lines()), *more]


def _marks(drawn: Sequence[page.DrawnCase]) -> list[str]:
    """Return the launches that an event explains, of the cases that compare something, as far as there is room."""
    stated = (one for case in drawn for one in comparison.of_marked(case.case, case.stated))
    blocks = [_wrapped(f"{one.title}: {one.text}") for one in stated]
    return _titled("Marked", blocks, _MARK_LINES, lambda count: f"{_INDENT}{count} more")


def _findings(drawn: Sequence[page.DrawnCase], room: int) -> list[str]:
    """Return statements on the cases that compare nothing, as `room` lines hold, and the number of cases left out."""
    blocks = [_case_lines(one.case, next(iter(page.findings(one)), None)) for one in drawn]
    return _titled("Found", blocks, room, lambda count: f"  {counted(count, 'more case')}")


def _titled(title: str, blocks: Sequence[list[str]], room: int, more: Callable[[int], str]) -> list[str]:
    """Return the blocks that fit into `room` lines below a title, and a line with the number of the others."""
    shown = _first(blocks, room)
    rest = [f"{more(len(blocks) - len(shown))}: see the page"] if len(shown) < len(blocks) else []
    return ["", title, *itertools.chain(*shown), *rest] if blocks else []


def _first(blocks: Sequence[list[str]], room: int) -> list[list[str]]:
    """Return as many blocks as fit into `room` lines, leaving one line for a note if some are left out."""
    for count in range(len(blocks), 0, -1):
        if sum(map(len, blocks[:count])) + (count < len(blocks)) <= room:
            return list(blocks[:count])
    return []


def _case_lines(case: Case, statement: Statement | None) -> list[str]:
    """Return a case's title and a statement that the page makes of it, or what was measured."""
    tally = cases.tally(case)
    ok, planned = tally["ok"], tally["planned"]
    launches = f"{ok} of {planned} launches" if ok < planned else counted(ok, "launch")
    name = f"{case.first.case.check} on {case.first.system.name}"
    head = f"  {name}: {title(case)} ({case.origin}, {launches})"
    return [head, *_wrapped(f"{statement.title}: {statement.text}" if statement else _values(case))]


def _values(case: Case) -> str:
    """Return the range of the case's first figure of merit, for a case on which the page makes no statement."""
    by_fom: dict[Fom, list[float]] = {}
    for (fom, _), of_combination in cases.observations(case).items():
        launches = itertools.chain.from_iterable(of_combination.values())
        by_fom.setdefault(fom, []).extend(launch.value for launch in launches)
    if not by_fom:
        return "No launch has a result."
    fom = min(by_fom, key=comparison.rank_of)
    values, unit = by_fom[fom], fom.unit.text
    form = Format.for_values([min(values), max(values)])
    more = f"; {counted(len(by_fom) - 1, 'more figure')} on the page" if len(by_fom) > 1 else ""
    span = f"{form.text(min(values))} to {form.text(max(values))} {unit}"
    return f"{fom.stem.capitalize()}: {span}, {counted(len(values), 'value')}{more}."


def _wrapped(text: str, lines: int = _LINES, first: str = _INDENT, others: str = _INDENT) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, max_lines=lines, placeholder=" ...", initial_indent=first, subsequent_indent=others
    )
