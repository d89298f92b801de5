"""The report for other readers: Markdown for a job's summary page, CSV for spreadsheets, JSON, services, SVG files.

Models: one function per format, from judged cases to text. Text from a stranger's record is escaped for its format.
Services that watch figures over time get a gauge, or a measure, for each figure of merit, with the median over launches
and its interval: OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/), Bencher's JSON
(https://bencher.dev/docs/reference/bencher-metric-format). Leaves out: the HTML page
(`railyard.analysis.report.page`), the table of launches (`railyard.table`), and times of measurement, which the
services set on arrival.
"""

from __future__ import annotations

import csv
import io
import json
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from railyard.analysis.cases import cases, comparison, tables
from railyard.analysis.cases.cases import ENDINGS, Case, Combination
from railyard.analysis.cases.judgement import Group
from railyard.analysis.cases.titles import title
from railyard.analysis.figures import applications, by_extent, drawing
from railyard.analysis.judge import over
from railyard.analysis.judge import text as words
from railyard.analysis.judge.judged import Judged, JudgedCase, sections
from railyard.analysis.judge.versus import Versus
from railyard.analysis.report import page, screen
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import cell, plain
from railyard.records import json_io
from railyard.records.folded import slow
from railyard.records.json_io import Json
from railyard.records.units import Fom

#: Formats for programs, which get the numbers as they were recorded (`railyard.analysis.cases.modelled`).
DATA = frozenset({"csv", "json", "openmetrics", "bencher"})


def text(judged: Judged, form: str) -> str:
    """Return the report in a format of `railyard report --format`."""
    writers: dict[str, Callable[[], str]] = {
        "html": lambda: page.html(judged),
        "text": lambda: "".join(f"{line}\n" for line in screen.lines(judged, [])),
        "md": lambda: markdown(judged),
        "csv": lambda: csv_text(judged),
        "json": lambda: json_io.text(json_document(judged)),
        "openmetrics": lambda: openmetrics(rows(judged), judged.grouped),
        "bencher": lambda: bencher(rows(judged)),
    }
    return writers[form]()


# ---- JSON ----

SUMMARY_FORMAT = "railyard-summary/1"


def json_document(judged: Judged) -> dict[str, Json]:
    """Return statements and statistics, series over dates, and the comparison of sides if there is one.

    Medians and intervals are in the FOM's unit. Raw samples are left out, because the records have them.
    """
    sides = {} if judged.sides is None else {"sides": words.document(judged.sides)}
    series = [
        words.dates_document(judged.over.dated),
        words.sizes_document(judged.over.scaled),
        words.allocations_document(judged.over.spreads, over.LIMIT_PERCENT),
    ]
    cases = [_case_summary(case) for case in judged.cases]
    return {"format": SUMMARY_FORMAT, "cases": cases, "over": series, **sides}


def _case_summary(judged: JudgedCase) -> dict[str, Json]:
    case = judged.case
    return {
        "title": title(case),
        "origin": str(case.origin),
        "system": case.first.document["system"],
        "check": case.first.case.check,
        "records": [record.id for record in case.records],
        "statuses": {record.id: {"status": str(record.status), "reason": record.reason} for record in case.records},
        "launches": _endings(cases.tally(case)),
        "comparisons": [
            {
                **words.comparison_document(member),
                "baseline": member.baseline,
                "sentence": comparison.sentence(member),
                "combinations": [
                    {
                        **words.group_document(group),
                        **_combination(combination, group),
                        "launches": _endings(group.evidence.tally or Counter()),
                    }
                    for combination, group in zip(case.combinations, member.groups, strict=True)
                ],
            }
            for member in judged.comparisons
        ],
        "curves": [
            {
                "fom": panel.fom,
                "subject": panel.subject,
                "axis": panel.axis,
                "title": panel.title,
                "lines": [
                    {"name": name, "points": [{"x": x, **words.summary_document(one)} for x, one in line.items()]}
                    for name, line in panel.lines.items()
                ],
            }
            for panel in judged.panels
        ],
    }


def _endings(tally: Counter[str]) -> dict[str, int]:
    return {ending: tally[ending] for ending in ENDINGS}


def _combination(combination: Combination, group: Group) -> dict[str, Json]:
    """Return the parts of a combination, and the verdict on it, null for the baseline and without a value."""
    return {
        "placement": combination.placement,
        "nic_policy": combination.nic_policy,
        "software": str(combination.software),
        "verdict": None if group.finding is Finding.NO_VALUE else str(group.finding),
    }


# ---- Markdown ----


def markdown(judged: Judged) -> str:
    """Return verdicts in words, the sides compared, the score table, the comparisons, and what was not measured."""
    parts = ["# Interconnect benchmark report", *(_sides(judged.sides) if judged.sides else [])]
    if judged.standings:
        head = ("system", "combination", "baseline", "score", "95 % interval", "cases", "verdict", "origin")
        cells = operator.attrgetter(*head[:3], "value", "interval", *head[5:])
        parts += ["## Scores\n\n" + _table(head, map(cells, judged.standings))]
    for heading, sentence, data in sections(judged.over):
        parts += filter(None, [f"## {heading}", plain(sentence), _table(data.columns, data.rows)])
    parts += [part for case in judged.cases for part in _case(case)]
    if absent := page.not_measured(judged.grouped):
        parts += ["## What was not measured", _table(("what", "why"), absent)]
    return "\n\n".join(parts) + "\n"


def _sides(versus: Versus) -> Iterator[str]:
    """Yield the statements on the sides, and a table with every side of every row that two sides or more have."""
    yield _list(words.sentences(versus))
    head = ("case", "figure", "side", *_COLUMNS, "differs in")
    rows = [(line.case, line.figure, line.row.name, *_cells(line.row), line.differs) for line in words.lines(versus)]
    if rows:
        yield "## Sides compared\n\n" + _table(head, rows)


#: Columns of tables of comparisons; `_cells` are their contents.
_COLUMNS = ("median", "change", "95 % of the change", "p (Holm)", "verdict", "95 % of the median", "n")
_cells = operator.attrgetter("median", "change", "between", "p_holm", "verdict", "interval", "n")


def _case(judged: JudgedCase) -> Iterator[str]:
    case = judged.case
    yield f"## {plain(title(case))} ({case.origin})"
    yield f"Launches: {cases.tally_text(cases.tally(case))}."
    if judged.comparisons:
        yield _list([f"{heading}: {text}" for heading, text, _ in comparison.statements(judged.comparisons)])
        rows = [
            (f"{comparison.title(member)}, {member.unit.text}", row.name, *_cells(row), row.note)
            for member in judged.comparisons
            for row in tables.rows(member)
        ]
        yield _table(("figure", case.head, *_COLUMNS, "notes"), rows)
    if explained := comparison.of_marked(case, judged.comparisons):
        yield _list([f"{heading}: {text}" for heading, text, _ in explained])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first, *others = ("| " + " | ".join(map(plain, cells)) + " |" for cells in (head, *rows))
    return "\n".join([first, "|" + "---|" * len(head), *others])


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {plain(item)}" for item in items)


# ---- CSV ----

HEAD = (
    *("origin", "system", "check", "case", "fom", "unit", "labels", "placement", "nic_policy", "software"),
    *("n", "void", "failed", "not_measured", "median", "interval_low", "interval_high", "interval_of"),
    *("minimum", "maximum", "spread_percent", "change_percent", "change_low_percent", "change_high_percent"),
    *("p_value", "p_holm", "verdict", "outcome", "best", "faulty", "marked", "events"),
)


def csv_text(judged: Judged) -> str:
    """Return a row for each combination of each comparison and each point of each curve, numbers in full."""
    file = io.StringIO()
    writer = csv.DictWriter(file, HEAD, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows(judged):
        writer.writerow({name: cell(value) if isinstance(value, str) else value for name, value in row.items()})
    return file.getvalue()


def rows(judged: Judged) -> Iterator[dict[str, object]]:
    """Yield a row for each combination of each comparison and each point of each curve."""
    for of_case in judged.cases:
        case = of_case.case
        health = {combination: _health(case, combination) for combination in case.combinations}
        for member in of_case.comparisons:
            for combination, group in zip(case.combinations, member.groups, strict=True):
                yield {
                    **_head(case, member.fom),
                    **{name: n for name, n in _endings(group.evidence.tally or Counter()).items() if name in HEAD},
                    **_flat(words.group_document(group)),
                    "labels": comparison.label_text(member.labels),
                    **_combination(combination, group),
                    "outcome": str(member.verdict.outcome),
                    "best": member.verdict.best,
                    **health[combination],
                }
        for panel in of_case.panels:
            for name, line in panel.lines.items():
                for x, summary in line.items():
                    labels = ", ".join(filter(None, [panel.subject, panel.title, name, f"{panel.axis} {x}"]))
                    yield {**_head(case, panel.fom), "labels": labels, **_flat(words.summary_document(summary))}


def _head(case: Case, fom: Fom) -> dict[str, object]:
    return {
        "origin": str(case.origin),
        "system": case.first.system.name,
        "check": case.first.case.check,
        "case": title(case),
        "fom": fom,
        "unit": fom.unit.text,
    }


def _health(case: Case, combination: Combination) -> dict[str, object]:
    """Return how many launches had faults, how many of them these explain, and the events that do."""
    launches = [one for _, one in cases.launches(case) if cases.combination_of(one) == combination]
    marks = (one for record in case.records for one in slow.marked(record))
    explained = [one for one in marks if cases.combination_of(one.launch) == combination]
    return {
        "faulty": sum(bool(launch.health and launch.health.faults) for launch in launches),
        "marked": len(explained),
        "events": "; ".join(one.text() for one in explained),
    }


def _flat(document: Mapping[str, Json]) -> dict[str, object]:
    """Return statistics without name, and the ends of intervals by names of their own."""
    interval, change = document["interval"] or {}, document.get("change_interval_percent") or (None, None)
    nested = {"name", "interval", "change_interval_percent"}
    return {
        **{name: value for name, value in document.items() if name not in nested},
        **{f"interval_{name}": interval.get(name) for name in ("low", "high", "of")},
        "change_low_percent": change[0],
        "change_high_percent": change[1],
    }


# ---- services that watch figures ----

#: Columns that identify the figure of a row.
NAMES = ("origin", "system", "check", "case", "labels", "placement", "nic_policy", "software")
STATISTICS = ("median", "interval_low", "interval_high")
#: What Bencher takes as the name of a benchmark and of a measure.
MOST_OF_A_NAME, MOST_OF_A_MEASURE = 1024, 64


def openmetrics(rows: Iterable[Mapping[str, object]], grouped: Sequence[Case] = ()) -> str:
    """Return an exposition: a gauge for each figure of merit, with the statistic as a label, and one of faults."""
    families: dict[Fom, list[Mapping[str, object]]] = {}
    for row in _with_values(rows):
        fom = row["fom"]
        assert isinstance(fom, Fom)
        families.setdefault(fom, []).append(row)
    lines: list[str] = []
    for fom, members in sorted(families.items()):
        name, unit = f"railyard_{fom}", fom.unit
        lines += [f"# TYPE {name} gauge", f"# UNIT {name} {unit.name}"]
        lines.append(f"# HELP {name} {_quoted(fom.stem)} in {_quoted(unit.text)} over launches")
        metrics: dict[str, object] = {}  # a metric has each set of labels once
        for row in members:
            for statistic in STATISTICS:
                if row.get(statistic) is not None:
                    labels = {**{name: str(row.get(name) or "") for name in NAMES}, "statistic": statistic}
                    metrics.setdefault(_labels(labels), row[statistic])
        lines += [f"{name}{{{labels}}} {value!r}" for labels, value in metrics.items()]
    return "\n".join([*lines, *_faults(grouped), "# EOF"]) + "\n"


def _faults(grouped: Sequence[Case]) -> list[str]:
    """Return a gauge of the faults that NICs, links and nodes counted, added up over the launches of a case."""
    sums: Counter[str] = Counter()
    for case in grouped:
        for record, launch in cases.launches(case):
            for event in launch.health.faults if launch.health else ():
                labels = {"system": record.system.name, "check": record.case.check, "node": event.node}
                sums[_labels({**labels, "nic": event.nic, "event": event.event, "unit": event.unit})] += event.count
    name = "railyard_launch_faults"
    head = [f"# TYPE {name} gauge", f"# HELP {name} faults that were counted during launches"]
    return [*(head if sums else ()), *(f"{name}{{{text}}} {count}" for text, count in sorted(sums.items()))]


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items() if value)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def bencher(rows: Iterable[Mapping[str, object]]) -> str:
    """Return Bencher's JSON: a benchmark for each combination of a case, a measure for each figure of merit."""
    benchmarks: dict[str, dict[str, dict[str, object]]] = {}
    for row in _with_values(rows):
        name = ", ".join(filter(None, (str(row.get(column) or "") for column in NAMES)))[:MOST_OF_A_NAME]
        metric = {"value": row["median"]}
        if row.get("interval_low") is not None:
            metric |= {"lower_value": row["interval_low"], "upper_value": row["interval_high"]}
        benchmarks.setdefault(name, {}).setdefault(str(row["fom"])[:MOST_OF_A_MEASURE], metric)
    return json.dumps(benchmarks, indent=1, sort_keys=True) + "\n"


def _with_values(rows: Iterable[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    return (row for row in rows if row.get("median") is not None)


# ---- SVG files ----


def svg_files(judged: Judged) -> Iterator[tuple[str, str]]:
    """Yield every figure as (name, SVG): `applications-shares-emulated.svg`, `case-1-f0.svg`, in the page's order."""
    for figure in drawing.made("applications", lambda: applications.drawings_of_cases(judged.grouped)):
        yield f"applications-{figure.name}.svg", drawing.svg_file(figure)
    members = [(one.case, one.comparisons) for one in judged.cases]
    for figure in drawing.made("extents", lambda: by_extent.drawings_of_cases(members)):
        yield f"{figure.name}.svg", drawing.svg_file(figure)
    for number, judged_case in enumerate(judged.cases, 1):
        for figure in page.draw(judged_case).drawings:
            yield f"case-{number}-{figure.name}.svg", drawing.svg_file(figure)
