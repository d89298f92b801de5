"""The summary for programs: the same statistics and sentences as the page, as one JSON document.

Medians and intervals are in the FOM's unit. Leaves out: raw samples (the records have them) and figures.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.cases import cases, comparison
from analysis.cases.comparison import Comparison
from analysis.cases.curves import Panel
from analysis.cases.judgement import JudgedCase
from analysis.cases.titles import title
from analysis.stats import medians
from railyard.records.json_io import Json

SUMMARY_FORMAT = "railyard-summary/1"


def summary(judged: Iterable[JudgedCase]) -> dict[str, Json]:
    """Return the statements and statistics for programs; medians and intervals are in the FOM's unit."""
    return {"format": SUMMARY_FORMAT, "cases": [_case_summary(each) for each in judged]}


def _case_summary(judged: JudgedCase) -> dict[str, Json]:
    case = judged.case
    tally = cases.tally(case)
    return {
        "title": title(case),
        "origin": str(case.origin),
        "system": case.first.document["system"],
        "check": case.first.case.check,
        "records": [record.id for record in case.records],
        "statuses": {
            record.id: {"status": str(record.status), "reason": record.reason} for record in case.records
        },
        "launches": {
            "ok": tally.ok,
            "failed": tally.failed,
            "not_measured": tally.not_measured,
            "void": tally.void,
        },
        "comparisons": [_comparison_summary(each) for each in judged.comparisons],
        "curves": [_panel_summary(panel) for panel in judged.panels],
    }


def _comparison_summary(found: Comparison) -> dict[str, Json]:
    return {
        "fom": found.fom,
        "labels": dict(found.labels),
        "better": str(found.unit.better),
        "baseline": found.baseline,
        "outcome": str(found.verdict.outcome),
        "tests": found.tests,
        "best": found.verdict.best,
        "sentence": comparison.sentence(found),
        "combinations": [
            {
                "name": group.name,
                "placement": group.combination.placement,
                "nic_policy": group.combination.nic_policy,
                "software": str(group.combination.software),
                "launches": {
                    "ok": group.tally.ok,
                    "failed": group.tally.failed,
                    "not_measured": group.tally.not_measured,
                    "void": group.tally.void,
                },
                "change_percent": group.change_percent,
                "p_value": group.pair and group.pair.p_value,
                "p_holm": group.pair and group.pair.p_holm,
                "better_share": group.better_share,
                "verdict": group.pair and str(group.finding),
                **_statistics(group.summary),
            }
            for group in found.groups
        ],
    }


def _statistics(found: medians.Summary | None) -> dict[str, Json]:
    if found is None:
        return {
            "n": 0,
            "median": None,
            "minimum": None,
            "maximum": None,
            "interval": None,
            "spread_percent": None,
        }
    interval = found.interval and {
        "low": found.interval.low,
        "high": found.interval.high,
        "coverage": found.interval.coverage,
    }
    return {
        "n": found.n,
        "median": found.median,
        "minimum": found.minimum,
        "maximum": found.maximum,
        "interval": interval,
        "spread_percent": found.spread_percent,
    }


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
