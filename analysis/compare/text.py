"""A comparison of sides as text: rows of cells, sentences, and one JSON document.

Leaves out: markup (the template) and the terminal (`analysis.compare.cli`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.cases import tables
from analysis.cases.comparison import label_text, p_text
from analysis.compare import compare as comparing
from analysis.compare.compare import Row, Versus
from analysis.compare.gather import Key
from analysis.stats import medians, ranktest, verdicts
from analysis.stats import score as scores
from analysis.stats.score import Ratio, Score
from analysis.stats.verdicts import Finding, Outcome
from analysis.text.numbers import NOTHING, Format, percent
from railyard.records import json_io, units
from railyard.records.json_io import Json
from railyard.records.units import Better

FORMAT = "railyard-comparison/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One side of one row as finished text."""

    what: str
    figure: str
    side: str
    median: str
    interval: str
    n: str
    change: str
    p_holm: str
    better: str
    verdict: str
    differs: str


def lines(versus: Versus) -> list[Line]:
    """Every side of every row that two sides or more have, those without a value too."""
    return [_line(versus, row, name) for row in versus.rows if len(row.cells) > 1 for name in versus.sides]


def alone(versus: Versus) -> list[tuple[str, str, int]]:
    """Return what only one side has: the side, the case, and how many rows; nothing of it can be compared."""
    found: dict[tuple[str, str], int] = {}
    for row in versus.rows:
        if len(row.cells) == 1:
            key = (next(iter(row.cells)), what(row.key))
            found[key] = found.get(key, 0) + 1
    return [(side, case, count) for (side, case), count in found.items()]


def terminal_lines(versus: Versus) -> Iterator[str]:
    """For a terminal: a heading for each row, below it a line for each side, columns aligned over the whole."""
    made = lines(versus)
    cells = [
        (each.side, each.median, each.n, each.change, each.p_holm, each.better, each.verdict) for each in made
    ]
    header = ("side", "median", "n", "change", "p (Holm)", "better in", "verdict")
    widths = [max(len(row[place]) for row in [header, *cells]) for place in range(len(header))]
    yield _aligned(header, widths)
    previous = ""
    for line, row in zip(made, cells, strict=True):
        heading = f"{line.what}: {line.figure}"
        if heading != previous:
            yield heading + (f"  (differs in {line.differs})" if line.differs else "")
        yield _aligned(row, widths)
        previous = heading


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first and the last to the left, numbers to the right."""
    middle = (cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1], strict=True))
    return "  " + "  ".join([cells[0].ljust(widths[0]), *middle, cells[-1]]).rstrip()


def what(key: Key) -> str:
    """A row's case for people: what the sides share."""
    parameters = ", ".join(
        f"{name} {_short(value)}" for name, value in json_io.loads(key.parameters, "").items()
    )
    parts = (key.system, key.check, key.placement, key.nic_policy, key.software, parameters)
    return ", ".join(part for part in parts if part and part not in {"library-default", "native"})


def _short(value: Json) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def figure(key: Key) -> str:
    """A row's figure of merit with its labels and unit."""
    unit = units.unit_of(key.fom).text
    return f"{' '.join(filter(None, [units.stem(key.fom), label_text(key.labels)]))}, {unit}"


def _line(versus: Versus, row: Row, name: str) -> Line:
    cell, form = row.cells.get(name), Format.for_values([each.summary.median for each in row.cells.values()])
    if cell is None:
        empty = dict.fromkeys(
            ("median", "interval", "change", "p_holm", "better", "verdict", "differs"), NOTHING
        )
        return Line(
            what=what(row.key), figure=figure(row.key), side=name, n="0", **{**empty, "verdict": "no value"}
        )
    change, p_holm, better = _against(versus, row, name)
    return Line(
        what=what(row.key),
        figure=figure(row.key),
        side=name,
        median=form.text(cell.summary.median),
        interval=tables.interval_text(cell.summary.interval, form),
        n=str(cell.summary.n),
        change=change,
        p_holm=p_holm,
        better=better,
        verdict=verdict_text(versus, row, name),
        differs=", ".join(row.differs),
    )


def _against(versus: Versus, row: Row, name: str) -> tuple[str, str, str]:
    """Change, p-value and effect size against the baseline."""
    pair = row.pairs.get((name, versus.baseline)) or row.pairs.get((versus.baseline, name))
    if name == versus.baseline:
        return "baseline", "", ""
    if pair is None:
        return NOTHING, NOTHING, NOTHING
    change = medians.change_percent(row.cells[name].summary.median, row.cells[versus.baseline].summary.median)
    better = units.unit_of(row.key.fom).better
    share = "" if better is Better.NEITHER else f"{100 * verdicts.better_share(name, pair, better):.0f} %"
    return NOTHING if change is None else percent(change), p_text(pair.p_holm).removeprefix("= "), share


def verdict_text(versus: Versus, row: Row, name: str) -> str:
    """Return what may be said of a side against the baseline on this row: better, worse, or why nothing."""
    if name == versus.baseline:
        return "best" if row.verdict.outcome is Outcome.BEST and row.verdict.best == name else ""
    finding = comparing.finding(row, name, versus.baseline)
    if finding is Finding.NO_VALUE:
        return "no baseline"
    if finding is Finding.TOO_FEW:
        return f"{finding} (needs {row.verdict.needed or ranktest.enough(row.tests)})"
    return str(finding)


def score_of(versus: Versus, name: str, origin: str) -> Score | None:
    """A side's score against the baseline over the rows of one origin that both have."""
    return scores.score(
        Ratio(
            case=row.key.case,
            fom=row.key.fom,
            values=row.cells[name].values,
            baseline=row.cells[versus.baseline].values,
            finding=comparing.finding(row, name, versus.baseline),
        )
        for row in versus.rows
        if row.key.origin == origin and name in row.cells and versus.baseline in row.cells
    )


def origins(versus: Versus) -> list[str]:
    """The origins of the rows, in order."""
    several = dict.fromkeys(row.key.origin for row in versus.rows if len(row.cells) > 1)
    return list(several or dict.fromkeys(row.key.origin for row in versus.rows))


def score_text(found: Score | None) -> str:
    """`1.032 (95 %: 1.021 to 1.043), 12 cases`"""
    if found is None:
        return "no case in common"
    interval = (
        "" if found.low is None or found.high is None else f" (95 %: {found.low:.3f} to {found.high:.3f})"
    )
    return f"{found.value:.3f}{interval}, {found.cases} case{'' if found.cases == 1 else 's'}"


def sentences(versus: Versus) -> list[str]:
    """The verdict on each side in words, then what was refused."""
    told = [
        _sentence(versus, name, origin)
        for origin in origins(versus)
        for name in versus.sides
        if name != versus.baseline
    ]
    return [*told, *versus.refused]


def _sentence(versus: Versus, name: str, origin: str) -> str:
    rows = [row for row in versus.rows if row.key.origin == origin and len(row.cells) > 1]
    verdicts = [verdict_text(versus, row, name) if name in row.cells else "no value" for row in rows]
    words = dict.fromkeys(verdicts)
    counts = ", ".join(f"{word} in {verdicts.count(word)}" for word in words) or "none"
    found = score_of(versus, name, origin)
    said = f"{overall(found)} Of {len(rows)} rows that several sides have: {counts}.{_flags(rows)}"
    return f"{name} against {versus.baseline} ({origin}): {said}"


def overall(found: Score | None) -> str:
    """Word a score's finding; a winner is named only if the findings of its rows allow it."""
    if found is None:
        return "no case in common, no score."
    if found.finding is Finding.TOO_FEW:
        return f"score {score_text(found)}; too few launches for an interval, no winner is named."
    if found.finding not in (Finding.BETTER, Finding.WORSE):
        return f"{found.finding} overall: score {score_text(found)}."
    word = str(found.finding)
    size = percent(abs(100 * (found.value - 1)), signed=False)
    return f"{size} {word} overall: score {score_text(found)}."


def _flags(rows: Sequence[Row]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row.differs))
    return f" Records differ in {', '.join(names)}." if names else ""


def document(versus: Versus) -> dict[str, Json]:
    """The whole comparison for programs; medians and intervals in the unit that the FOM's name says."""
    return {
        "format": FORMAT,
        "baseline": versus.baseline,
        "sides": [{"name": name, **_count(versus, name)} for name in versus.sides],
        "sentences": sentences(versus),
        "scores": [
            {"side": name, "origin": origin, **_score(score_of(versus, name, origin))}
            for origin in origins(versus)
            for name in versus.sides
            if name != versus.baseline
        ],
        "rows": [_row(versus, row) for row in versus.rows],
        "refused": list(versus.refused),
    }


def _count(versus: Versus, name: str) -> dict[str, Json]:
    found = versus.counts[name]
    launches = {
        "ok": found.ok,
        "void": found.void,
        "failed": found.failed,
        "not_measured": found.not_measured,
    }
    return {"records": found.records, "launches": launches}


def _score(found: Score | None) -> dict[str, Json]:
    if found is None:
        return {"score": None, "low": None, "high": None, "cases": 0, "finding": str(Finding.NO_VALUE)}
    return {
        "score": found.value,
        "low": found.low,
        "high": found.high,
        "cases": found.cases,
        "finding": str(found.finding),
    }


def _row(versus: Versus, row: Row) -> dict[str, Json]:
    key = row.key
    return {
        "origin": key.origin,
        "system": key.system,
        "check": key.check,
        "benchmark": key.benchmark,
        "parameters": json_io.loads(key.parameters, ""),
        "placement": key.placement,
        "nic_policy": key.nic_policy,
        "software": key.software,
        "fom": key.fom,
        "better": str(units.unit_of(key.fom).better),
        "labels": dict(key.labels),
        "tests": row.tests,
        "differs": list(row.differs),
        "outcome": str(row.verdict.outcome),
        "best": row.verdict.best,
        "sides": [_side(versus, row, name) for name in versus.sides],
    }


def _side(versus: Versus, row: Row, name: str) -> dict[str, Json]:
    cell = row.cells.get(name)
    if cell is None:
        return {"name": name, "n": 0, "median": None, "interval": None, "verdict": "no value"}
    pair = row.pairs.get((name, versus.baseline)) or row.pairs.get((versus.baseline, name))
    interval = cell.summary.interval
    base = row.cells.get(versus.baseline)
    better = units.unit_of(row.key.fom).better
    return {
        "name": name,
        "n": cell.summary.n,
        "median": cell.summary.median,
        "interval": interval and {"low": interval.low, "high": interval.high, "coverage": interval.coverage},
        "spread_percent": cell.summary.spread_percent,
        "change_percent": base and medians.change_percent(cell.summary.median, base.summary.median),
        "p_value": pair and pair.p_value,
        "p_holm": pair and pair.p_holm,
        "better_share": pair
        and (None if better is Better.NEITHER else verdicts.better_share(name, pair, better)),
        "verdict": verdict_text(versus, row, name),
    }
