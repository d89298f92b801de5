"""Print comparisons of sides and series of records: rows of cells, sentences, and JSON documents.

Leaves out: markup (the template) and the terminal (`railyard.analysis.judge.cli`).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from railyard.analysis.cases import modelled, tables
from railyard.analysis.cases.cases import ENDINGS
from railyard.analysis.cases.comparison import listed, p_text, title, verdict_text
from railyard.analysis.cases.judgement import Comparison, Group
from railyard.analysis.cases.scoreboard import Score, faster
from railyard.analysis.cases.tables import Cells
from railyard.analysis.cases.titles import in_words
from railyard.analysis.judge.over import Dated, Scaled, Spread, Steadiness
from railyard.analysis.judge.rows import Row
from railyard.analysis.judge.versus import SideRow, Versus
from railyard.analysis.stats import change_points
from railyard.analysis.stats.contrast import FEWEST
from railyard.analysis.stats.medians import Summary
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import NOTHING, DataTable, Format, counted, percent
from railyard.records import programs
from railyard.records.json_io import Json

#: The formats of the documents of `railyard compare` and `railyard series`.
FORMAT, OVER_FORMAT = "railyard-comparison/1", "railyard-over/1"


# ---- sides ----


class SideLine(NamedTuple):
    """One side of one row as finished text, with the heading of the row."""

    case: str
    figure: str
    row: Cells
    differs: str


def lines(versus: Versus) -> list[SideLine]:
    """Return every side of every row that two sides or more have, those without a value too."""
    return [
        SideLine(case_text(row.row), figure(row), cells, ", ".join(row.differs))
        for row in versus.rows
        if row.is_shared
        for cells in tables.rows(row.comparison)
    ]


def alone(versus: Versus) -> list[tuple[str, str, int]]:
    """Return what only one side has, which cannot be compared: the side, the case, and the number of rows."""
    counts = Counter((row.comparison.measured[0].name, case_text(row.row)) for row in versus.rows if not row.is_shared)
    return [(side, case, count) for (side, case), count in counts.items()]


def terminal(versus: Versus) -> Iterator[str]:
    """Yield what `railyard compare` prints: the sides, all rows, what cannot be compared, and the verdicts in words."""
    yield from (_count_text(versus, name) for name in versus.sides)
    if any(modelled.is_converted(row.origin, row.row.shared["benchmark"]) for row in versus.rows):
        yield "Rates and times of links are those of the modelled machine; --json has the recorded ones."
    yield ""
    columns = ("side", "median", "n", "change", "95 %", "p (Holm)", "verdict")
    shown = lines(versus)
    cells = [(row.name, row.median, row.n, row.change, row.between, row.p_holm, row.verdict) for _, _, row, _ in shown]
    header, *aligned = DataTable(columns=columns, rows=cells, numbers=frozenset(columns[1:-1])).lines()
    yield f"  {header}"
    texts = zip(shown, aligned, strict=True)
    for (case, of), members in itertools.groupby(texts, key=lambda pair: pair[0][:2]):
        rows = list(members)
        yield f"{case}: {of}" + (f"  (differs in {rows[0][0].differs})" if rows[0][0].differs else "")
        yield from (f"  {text}" for _, text in rows)
    for side, case, count in alone(versus):
        yield f"only {side} has {case} ({counted(count, 'row')}): not compared"
    yield from ("", *sentences(versus))


def _count_text(versus: Versus, name: str) -> str:
    counts = versus.counts[name]
    others = [f"{counts[name]} {words}" for name, words in ENDINGS.items() if name != "ok" and name in counts]
    mark = " (baseline)" if name == versus.baseline else ""
    launches = ", ".join([f"{counts['ok']} results", *others])
    return f"{name}{mark}: {counted(counts['records'], 'record')}, launches: {launches}"


def case_text(row: Row) -> str:
    """Return what the sides of a row share, for people."""
    shared = row.shared
    values = {
        name: "x".join(map(str, value)) if isinstance(value, list) else value
        for name, value in sorted(shared["parameters"].items())
    }
    parts = (shared["system"], shared["check"], *row.key[:3], ", ".join(f"{name} {values[name]}" for name in values))
    return ", ".join(part for part in parts if part and part not in {"library-default", "native"})


def figure(row: SideRow) -> str:
    """Return a row's figure of merit with its labels and unit."""
    return f"{title(row.comparison)}, {row.comparison.unit.text}"


def sentences(versus: Versus) -> list[str]:
    """Return the verdict on each side in words and what it has in common with the baseline, then what was refused."""
    common = in_common(versus)
    return [*map(" ".join, zip(answers(versus), common, strict=False)), *common[len(versus.scores) :]]


def answers(versus: Versus) -> list[str]:
    """Return the verdict on each side alone, in one sentence."""
    return [overall(name, score, versus.baseline, origin) for (origin, name), score in versus.scores.items()]


def in_common(versus: Versus) -> list[str]:
    """Return what each side has in common with the baseline, then what was refused."""
    texts = []
    for origin, name in versus.scores:
        rows = [row for row in versus.rows if row.origin == origin and row.is_shared and not row.comparison.follows]
        counts = Counter(verdict_text(row.comparison, row.comparison.group(name)) for row in rows)
        verdicts = ", ".join(f"{word} in {count}" for word, count in counts.items()) or "none"
        fields = dict.fromkeys(name for row in rows for name in row.differs)
        differs = f" Records differ in {', '.join(fields)}." if fields else ""
        common = f"{shown(name)} has {counted(len(rows), 'row')} in common with {shown(versus.baseline)}"
        texts.append(f"{common}: {verdicts}.{differs}")
    return [*texts, *versus.marked, *versus.refused]


def overall(name: str, score: Score | None, baseline: str, origin: str) -> str:
    """Word a score's finding; a winner is named only if the findings of its rows allow it."""
    name, baseline = shown(name), shown(baseline)
    if score is None:
        return f"{name} against {baseline} ({origin}): no case in common, no score."
    ratio = faster(name, score, baseline)
    if score.finding in (Finding.BETTER, Finding.WORSE):
        return f"{ratio}; {origin}."
    if score.finding is Finding.TOO_FEW:
        few = f"A side needs at least {FEWEST} launches, so no winner is named."
        if score.by_job:
            few = f"A side needs at least {FEWEST} jobs: launches of one job cannot tell two machines from two jobs."
        return f"{baseline} and {name} ({origin}): cannot tell which is faster. {few} Without a test: {ratio}."
    return f"{name} against {baseline} ({origin}): {score.finding} overall; {ratio}."


def cost(versus: Versus) -> Iterator[str]:
    """Yield what `railyard placement-cost` prints: each placement against the baseline, then the answer in words."""
    columns = ("placement", "times as fast", "95 %", "node hours in place of 100", "verdict")
    yield _count_text(versus, versus.baseline)
    if not any(versus.scores.values()):
        yield f"No other placement has results that can be compared with {versus.baseline}."
        return
    for origin in dict.fromkeys(of for of, _ in versus.scores):
        scored = {name: score for (of, name), score in versus.scores.items() if of == origin and score}
        rows = [
            (
                name,
                f"{score.value:.2f}",
                NOTHING if score.low is None else f"{score.low:.2f} to {score.high:.2f}",
                f"{100 / score.value:.1f}",
                str(score.finding),
            )
            for name, score in scored.items()
        ]
        what = programs.what({row.row.shared["benchmark"] for row in versus.rows if row.origin == origin})
        yield ""
        yield from DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:-1])).lines()
        yield ""
        systems = listed(sorted({row.row.setting["system"] for row in versus.rows if row.origin == origin}))
        yield from _cost(scored, versus.baseline, f"{systems}, {origin}", what)


def _cost(scored: Mapping[str, Score], baseline: str, where: str, what: str) -> Iterator[str]:
    """Yield whether the baseline costs time, and the node hours that the better order saves; else each verdict."""
    shown_apart = [name for name, score in scored.items() if score.finding in (Finding.BETTER, Finding.WORSE)]
    if not shown_apart:
        yield from (overall(name, score, baseline, where) for name, score in scored.items())
        return
    name = max(shown_apart, key=lambda one: scored[one].value)
    costs = "costs time"
    if scored[name].finding is Finding.WORSE:
        name = min(shown_apart, key=lambda one: scored[one].value)
        costs = "costs no time that is shown, because no placement is shown to be faster"
    score, ours = scored[name], in_words(baseline)
    ratio = faster(in_words(name), score, ours, what)
    low, saved, high = sorted(
        100 - 100 * min(x, 1 / x) for x in (score.low or score.value, score.value, score.high or score.value)
    )
    between = "" if score.low is None else f" (95 %: {low:.1f} to {high:.1f})"
    yield f"{ours[:1].upper()}{ours[1:]} {costs} ({where})."
    yield f"{ratio[:1].upper()}{ratio[1:]}."
    yield f"Of 100 node hours in {what}, the faster of these two orders saves {saved:.1f}{between}."


def shown(side: str) -> str:
    """Return a side's name in a sentence: a system needs no key."""
    return side.removeprefix("system=")


def document(versus: Versus) -> dict[str, Json]:
    """Return the whole comparison for programs; medians and intervals are in the unit that the FOM's name contains."""
    return {
        "format": FORMAT,
        "baseline": versus.baseline,
        "sides": [
            {
                "name": name,
                "records": counts["records"],
                "launches": {ending: counts[ending] for ending in ENDINGS if ending in counts},
            }
            for name in versus.sides
            for counts in [versus.counts[name]]
        ],
        "sentences": sentences(versus),
        "scores": [
            {"side": name, "origin": origin, **_score(score)} for (origin, name), score in versus.scores.items()
        ],
        "rows": [
            {
                **row.row.shared,
                **_of_series(row.row),
                **comparison_document(row.comparison),
                "differs": list(row.differs),
                "sides": [_side(row.comparison, group) for group in row.comparison.groups],
            }
            for row in versus.rows
        ],
        "refused": list(versus.refused),
    }


def _score(score: Score | None) -> dict[str, Json]:
    fields = dict.fromkeys((field.name for field in dataclasses.fields(Score)), None)
    of_none = {**fields, "cases": 0, "finding": Finding.NO_VALUE}
    document = of_none if score is None else dataclasses.asdict(score)
    return {"score": document.pop("value"), **document, "finding": str(document["finding"])}


def comparison_document(comparison: Comparison) -> dict[str, Json]:
    """Return what the groups of a comparison show together; the same of a case's row and of a row of sides."""
    return {
        "fom": comparison.fom,
        "labels": dict(comparison.labels),
        "better": str(comparison.fom.better),
        "follows": comparison.follows,
        "tests": comparison.tests,
        "outcome": str(comparison.verdict.outcome),
        "best": comparison.verdict.best,
    }


def group_document(group: Group) -> dict[str, Json]:
    """Return a group's statistics and its change from the baseline, null where there is none."""
    interval, test = group.change_interval, group.test
    return {
        "name": group.name,
        **summary_document(group.summary),
        "change_percent": group.change_percent,
        "change_interval_percent": interval and list(interval),
        "p_value": test and test.estimate.p_value,
        "p_holm": test and test.p_holm,
    }


def summary_document(summary: Summary | None) -> dict[str, Json]:
    """Return the fields of a summary; of none, all are null but `n`, which is 0."""
    names = ("n", "median", "minimum", "maximum", "interval", "spread_percent")
    fields = {**dict.fromkeys(names), "n": 0} if summary is None else dataclasses.asdict(summary)
    return {name: fields[name] for name in names}


def _side(comparison: Comparison, group: Group) -> dict[str, Json]:
    """Return a side's document; the baseline's change is 0."""
    fields = group_document(group)
    if group.name == comparison.baseline and group.summary and group.summary.median:
        fields["change_percent"] = 0.0
    return {**fields, "value_of": "job" if comparison.by_job else "launch", "verdict": verdict_text(comparison, group)}


def _of_series(row: Row) -> dict[str, Json]:
    return {**row.key._asdict(), "labels": dict(row.key.labels)}


# ---- dates ----


def changes_table(series: Sequence[Dated]) -> DataTable:
    """Return a row for each change of level, in the order of the series."""
    numbers = ("before", "after", "change", "p")
    rows = [
        (
            member.row.what,
            member.row.figure,
            change.point.created[:10],
            str(change.point.entry.own["id"]),
            form.text(change.before),
            form.text(change.after),
            percent(change.percent),
            p_text(change.p_value).removeprefix("= "),
            "; ".join(change.differs) or "nothing that records name",
        )
        for member in series
        for change in member.changes
        for form in [Format.for_values((change.before, change.after))]
    ]
    columns = ("what", "figure", "since", "record", *numbers, "differs in")
    return DataTable(columns=columns, rows=rows, numbers=frozenset(numbers))


def changes_sentence(series: Sequence[Dated]) -> str:
    """Return how many series were examined, how many changed, and how many would change by chance alone."""
    able = [member for member in series if len(member.row.points) >= 2 * change_points.FEWEST]
    changed = sum(bool(member.changes) for member in able)
    few = len(series) - len(able)
    short = f" {few} have fewer than {2 * change_points.FEWEST} records: too few to tell." if few else ""
    expected = f"chance alone changes about {change_points.ALPHA * len(able):.2g} of them"
    return f"{changed} of {len(able)} series changed their level; {expected}.{short}"


# ---- sizes ----


def sizes_table(families: Sequence[Scaled]) -> DataTable:
    """Return a row for each number of ranks of each family."""
    columns = ("what", "scaling", "figure", "ranks", "nodes", "records", "median", "speedup", "efficiency")
    rows = []
    for family in families:
        form = Format.for_values([step.median for step in family.steps])
        for step in family.steps:
            counts = (str(step.ranks), str(step.nodes), str(step.records))
            speedup = NOTHING if step.speedup is None else f"{step.speedup:.3g}"
            efficiency = NOTHING if step.efficiency is None else f"{step.efficiency:.3f}"
            cells = (*counts, form.text(step.median), speedup, efficiency)
            rows.append((family.row.what, str(family.scaling), family.row.figure, *cells))
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[3:]))


# ---- allocations ----


def allocations_table(spreads: Sequence[Spread]) -> DataTable:
    """Return a row for each series that several allocations have."""
    numbers = ("allocations", "lowest", "highest", "between", "at most", "within", "p (Holm)")
    rows = []
    for spread in spreads:
        form = Format.for_values((spread.lowest, spread.highest))
        shares = (spread.between_percent, spread.upper_percent, spread.within_percent)
        cells = (
            str(spread.allocations),
            form.text(spread.lowest),
            form.text(spread.highest),
            *(percent(share, signed=False) for share in shares),
            NOTHING if spread.p_holm is None else p_text(spread.p_holm).removeprefix("= "),
        )
        rows.append((spread.row.what, spread.row.figure, *cells, str(spread.verdict)))
    return DataTable(columns=("what", "figure", *numbers, "verdict"), rows=rows, numbers=frozenset(numbers))


def allocations_sentence(spreads: Sequence[Spread], limit_percent: float) -> str:
    """Return how many rows are steady, variable, or neither."""
    counts = Counter(spread.verdict for spread in spreads)
    return (
        f"{counts[Steadiness.STEADY]} of {len(spreads)} series are steady: with 95 % confidence their "
        f"allocations spread by at most {limit_percent:g} %. {counts[Steadiness.VARIABLE]} are variable, of "
        f"{counts[Steadiness.CANNOT_TELL]} the launches cannot tell."
    )


def dates_document(dated: Sequence[Dated]) -> dict[str, Json]:
    """Return every series with its points and changes."""
    series = [
        {
            **_of_row(member.row),
            "points": [
                {
                    "created": point.created,
                    "record": point.entry.own["sha256"],
                    "value": point.value,
                    "launches": len(point.values),
                    "git_commit": point.setting["git_commit"],
                }
                for point in member.row.points
            ],
            "changes": [
                {
                    "record": change.point.entry.own["sha256"],
                    "created": change.point.created,
                    **{name: getattr(change, name) for name in ("before", "after", "p_value")},
                    "differs": list(change.differs),
                }
                for change in member.changes
            ],
        }
        for member in dated
    ]
    return {"format": OVER_FORMAT, "over": "dates", "alpha": change_points.ALPHA, "series": series}


def sizes_document(families: Sequence[Scaled]) -> dict[str, Json]:
    """Return every family with its steps."""
    series = [
        {
            **_of_row(family.row),
            "parameters": family.row.shared["parameters"],
            "scaling": str(family.scaling),
            "steps": [dataclasses.asdict(step) for step in family.steps],
        }
        for family in families
    ]
    return {"format": OVER_FORMAT, "over": "sizes", "series": series}


def allocations_document(spreads: Sequence[Spread], limit_percent: float) -> dict[str, Json]:
    """Return every series with its spread and verdict."""
    names = [field.name for field in dataclasses.fields(Spread) if field.name != "row"]
    series = [
        {**_of_row(spread.row), **{name: getattr(spread, name) for name in names}, "verdict": str(spread.verdict)}
        for spread in spreads
    ]
    return {"format": OVER_FORMAT, "over": "allocations", "limit_percent": limit_percent, "series": series}


def _of_row(row: Row) -> dict[str, Json]:
    names = ("system", "origin", "check", "parameters")
    return {**{name: row.setting[name] for name in names}, **_of_series(row)}
