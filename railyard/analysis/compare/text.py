"""Print a comparison of sides as rows of cells, sentences, or one JSON document.

Leaves out: markup (the template) and the terminal (`railyard.analysis.compare.cli`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from railyard.analysis.cases import modelled, tables
from railyard.analysis.cases.comparison import title, verdict_text
from railyard.analysis.cases.judgement import Group
from railyard.analysis.cases.scoreboard import faster
from railyard.analysis.cases.tables import Row
from railyard.analysis.compare.compare import SideRow, Versus
from railyard.analysis.compare.gather import ENDINGS, Key
from railyard.analysis.stats.contrast import FEWEST
from railyard.analysis.stats.score import Score
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text.datatable import DataTable
from railyard.analysis.text.numbers import counted
from railyard.records import json_io
from railyard.records.json_io import Json

FORMAT = "railyard-comparison/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One side of one row as finished text, with the heading of the row."""

    case: str
    figure: str
    row: Row
    differs: str


def lines(versus: Versus) -> list[Line]:
    """Return every side of every row that two sides or more have, those without a value too."""
    return [
        Line(case=case_text(row.key), figure=figure(row), row=cells, differs=", ".join(row.differs))
        for row in versus.rows
        if row.is_shared
        for cells in tables.rows(row.comparison)
    ]


def alone(versus: Versus) -> list[tuple[str, str, int]]:
    """Return what only one side has, which cannot be compared: the side, the case, and the number of rows."""
    counts = Counter(
        (row.comparison.measured[0].name, case_text(row.key)) for row in versus.rows if not row.is_shared
    )
    return [(side, case, count) for (side, case), count in counts.items()]


def terminal_lines(versus: Versus) -> Iterator[str]:
    """Yield a heading for each row, below it a line for each side, with columns aligned over the whole."""
    columns = ("side", "median", "n", "change", "95 %", "p (Holm)", "verdict")
    shown = lines(versus)
    cells = [
        (row.name, row.median, row.n, row.change, row.between, row.p_holm, row.verdict)
        for row in (line.row for line in shown)
    ]
    header, *aligned = DataTable(columns=columns, rows=cells, numbers=frozenset(columns[1:-1])).lines()
    yield f"  {header}"
    previous = ""
    for line, text in zip(shown, aligned, strict=True):
        heading = f"{line.case}: {line.figure}"
        if heading != previous:
            yield heading + (f"  (differs in {line.differs})" if line.differs else "")
        yield f"  {text}"
        previous = heading


def is_converted(versus: Versus) -> bool:
    """Return whether some values are printed for the machine that a virtual torus models."""
    return any(modelled.is_converted(row.key.origin, row.key.benchmark) for row in versus.rows)


def case_text(key: Key) -> str:
    """Return what the sides of a row share, for people."""
    parameters = ", ".join(
        f"{name} {_short(value)}" for name, value in json_io.loads(key.parameters, "").items()
    )
    parts = (key.system, key.check, key.placement, key.nic_policy, key.software, parameters)
    return ", ".join(part for part in parts if part and part not in {"library-default", "native"})


def _short(value: Json) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def figure(row: SideRow) -> str:
    """Return a row's figure of merit with its labels and unit."""
    return f"{title(row.comparison)}, {row.comparison.unit.text}"


def sentences(versus: Versus) -> list[str]:
    """Return the verdict on each side in words, then what was refused."""
    return [*(_sentence(versus, name, origin) for origin, name in versus.scores), *versus.refused]


def answers(versus: Versus) -> list[str]:
    """Return the verdict on each side alone, in one sentence."""
    return [overall(name, score, versus.baseline, origin) for (origin, name), score in versus.scores.items()]


def _sentence(versus: Versus, name: str, origin: str) -> str:
    text = overall(name, versus.scores[origin, name], versus.baseline, origin)
    return f"{text} {_in_common(versus, name, origin)}"


def in_common(versus: Versus) -> list[str]:
    """Return what each side has in common with the baseline, then what was refused."""
    return [*(_in_common(versus, name, origin) for origin, name in versus.scores), *versus.refused]


def _in_common(versus: Versus, name: str, origin: str) -> str:
    rows = [
        row
        for row in versus.rows
        if row.key.origin == origin and row.is_shared and not row.comparison.follows
    ]
    counts = Counter(verdict_text(row.comparison, row.comparison.group(name)) for row in rows)
    listed = ", ".join(f"{word} in {count}" for word, count in counts.items()) or "none"
    fields = list(dict.fromkeys(name for row in rows for name in row.differs))
    differs = f" Records differ in {', '.join(fields)}." if fields else ""
    return f"{shown(name)} has {counted(len(rows), 'row')} in common with {shown(versus.baseline)}: {listed}.{differs}"


def overall(name: str, score: Score | None, baseline: str, origin: str) -> str:
    """Word a score's finding; a winner is named only if the findings of its rows allow it."""
    name, baseline = shown(name), shown(baseline)
    if score is None:
        return f"{name} against {baseline} ({origin}): no case in common, no score."
    ratio = faster(name, score, baseline)
    if score.finding in (Finding.BETTER, Finding.WORSE):
        return f"{ratio}; {origin}."
    if score.finding is Finding.TOO_FEW:
        unknown = f"{baseline} and {name} ({origin}): cannot tell which is faster."
        return f"{unknown} {_too_few(score)} Without a test: {ratio}."
    return f"{name} against {baseline} ({origin}): {score.finding} overall; {ratio}."


def shown(side: str) -> str:
    """Return a side's name in a sentence: a system needs no key."""
    return side.removeprefix("system=")


def _too_few(score: Score) -> str:
    if not score.by_job:
        return f"A side needs at least {FEWEST} launches, so no winner is named."
    return f"A side needs at least {FEWEST} jobs: launches of one job cannot tell two machines from two jobs."


def document(versus: Versus) -> dict[str, Json]:
    """Return the whole comparison for programs; medians and intervals are in the unit that the FOM's name contains."""
    return {
        "format": FORMAT,
        "baseline": versus.baseline,
        "sides": [
            {
                "name": name,
                "records": versus.counts[name]["records"],
                "launches": {
                    ending: versus.counts[name][ending] for ending in ENDINGS if ending in versus.counts[name]
                },
            }
            for name in versus.sides
        ],
        "sentences": sentences(versus),
        "scores": [
            {"side": name, "origin": origin, **_score(score)}
            for (origin, name), score in versus.scores.items()
        ],
        "rows": [_row(row) for row in versus.rows],
        "refused": list(versus.refused),
    }


def _score(score: Score | None) -> dict[str, Json]:
    if score is None:
        return {
            "score": None,
            "low": None,
            "high": None,
            "cases": 0,
            "finding": str(Finding.NO_VALUE),
            "jobs": None,
            "by_job": None,
            "is_shared": None,
        }
    fields = dataclasses.asdict(score)
    return {"score": fields.pop("value"), **fields, "finding": str(score.finding)}


def _row(row: SideRow) -> dict[str, Json]:
    key, comparison = row.key, row.comparison
    fields = (
        "origin",
        "system",
        "check",
        "benchmark",
        "parameters",
        "placement",
        "nic_policy",
        "software",
        "fom",
    )
    return {
        **{name: getattr(key, name) for name in fields},
        "parameters": json_io.loads(key.parameters, ""),
        "better": str(comparison.fom.better),
        "follows": comparison.follows,
        "labels": dict(key.labels),
        "tests": comparison.tests,
        "differs": list(row.differs),
        "outcome": str(comparison.verdict.outcome),
        "best": comparison.verdict.best,
        "sides": [_side(row, group) for group in comparison.groups],
    }


def _side(row: SideRow, group: Group) -> dict[str, Json]:
    verdict = verdict_text(row.comparison, group)
    summary = group.summary
    if summary is None:
        return {"name": group.name, "n": 0, "median": None, "interval": None, "verdict": verdict}
    is_baseline = group.name == row.comparison.baseline
    return {
        "name": group.name,
        "n": summary.n,
        "value_of": "job" if row.comparison.by_job else "launch",
        "median": summary.median,
        "interval": summary.interval and dataclasses.asdict(summary.interval),
        "spread_percent": summary.spread_percent,
        "change_percent": (0.0 if summary.median else None) if is_baseline else group.change_percent,
        "change_interval_percent": group.change_interval and list(group.change_interval),
        "p_value": group.test and group.test.estimate.p_value,
        "p_holm": group.test and group.test.p_holm,
        "verdict": verdict,
    }
