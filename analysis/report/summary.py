"""Print statistics and sentences, the same as on the page, as one JSON document.

Medians and intervals are in the FOM's unit. Leaves out: raw samples (the records have them) and figures.
"""

from __future__ import annotations

import dataclasses

from analysis.cases import cases, comparison
from analysis.cases.cases import Case, Tally
from analysis.cases.curves import Panel
from analysis.cases.judgement import Comparison
from analysis.cases.titles import title
from analysis.judge.judged import Judged, JudgedCase
from analysis.stats.medians import Summary
from railyard.records.json_io import Json

SUMMARY_FORMAT = "railyard-summary/1"


def summary(judged: Judged) -> dict[str, Json]:
    """Return the statements and statistics for programs; medians and intervals are in the FOM's unit."""
    return {"format": SUMMARY_FORMAT, "cases": [_case_summary(case) for case in judged.cases]}


def _case_summary(judged: JudgedCase) -> dict[str, Json]:
    case = judged.case
    return {
        "title": title(case),
        "origin": str(case.origin),
        "system": case.first.document["system"],
        "check": case.first.case.check,
        "records": [record.id for record in case.records],
        "statuses": {
            record.id: {"status": str(record.status), "reason": record.reason} for record in case.records
        },
        "launches": cases.tally(case).endings,
        "comparisons": [_comparison_summary(case, member) for member in judged.comparisons],
        "curves": [_panel_summary(panel) for panel in judged.panels],
    }


def _comparison_summary(case: Case, judged: Comparison) -> dict[str, Json]:
    return {
        "fom": judged.fom,
        "labels": dict(judged.labels),
        "better": str(judged.unit.better),
        "baseline": judged.baseline,
        "outcome": str(judged.verdict.outcome),
        "tests": judged.tests,
        "best": judged.verdict.best,
        "sentence": comparison.sentence(judged),
        "combinations": [
            {
                "name": group.name,
                "placement": combination.placement,
                "nic_policy": combination.nic_policy,
                "software": str(combination.software),
                "launches": (group.evidence.tally or Tally()).endings,
                "change_percent": group.change_percent,
                "p_value": group.pair and group.pair.p_value,
                "p_holm": group.pair and group.pair.p_holm,
                "better_share": group.better_share,
                "verdict": group.pair and str(group.finding),
                **_statistics(group.summary),
            }
            for combination, group in zip(case.combinations, judged.groups, strict=True)
        ],
    }


def _statistics(summary: Summary | None) -> dict[str, Json]:
    """Return the fields of a summary; of none, all are null but `n`, which is 0."""
    names = ("n", "median", "minimum", "maximum", "interval", "spread_percent")
    fields = dict.fromkeys(names) if summary is None else dataclasses.asdict(summary)
    return {name: fields[name] for name in names} | ({"n": 0} if summary is None else {})


def _panel_summary(panel: Panel) -> dict[str, Json]:
    return {
        "fom": panel.fom,
        "subject": panel.subject,
        "axis": panel.axis,
        "title": panel.title,
        "lines": [
            {
                "name": line.name,
                "points": [{"x": point.x, **_statistics(point.summary)} for point in line.points],
            }
            for line in panel.lines
        ],
    }
