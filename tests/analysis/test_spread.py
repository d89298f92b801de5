"""Results over the groups spanned, pairs of hosts by proximity on a network with groups, and outliers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from support import evidence, forgeries

from railyard.analysis.cases import cases, spread
from railyard.analysis.judge.judged import judge
from railyard.analysis.report import page
from railyard.records.assemble import LaunchRun

PLACEMENTS = ["plain", "plain@even-groups:4"]
FLY: dict[str, Any] = {
    "order": "contiguous",
    "origin": "measured",
    "topology": "dragonfly-72",
    "grid": [4, 4],
    "placements": PLACEMENTS,
}


def rows(record: Any, place: int) -> Sequence[Sequence[str]]:
    (case,) = cases.group([record])
    return list(spread.tables(case).values())[place].rows


def test_figures_over_the_groups_that_placements_span() -> None:
    found = [row for row in rows(evidence.good(**FLY), 0) if row[0].startswith("iteration")]
    assert [row[2] for row in found] == ["2", "4"]
    assert [row[5] for row in found] == ["6", "6"]


def test_one_number_of_groups_or_none_is_no_table() -> None:
    torus = evidence.good(origin="measured", topology="gemini-2x2x2", grid=[2, 2, 2], placements=["plain"])
    alone = evidence.good(**{**FLY, "placements": ["plain"]})
    for record in (torus, alone):
        (case,) = cases.group([record])
        assert spread.tables(case) == {}


#: dragonfly-72 has two nodes per router and four routers per group.
ENDS = {"n0-0-0": 1.0, "n0-0-1": 2.0, "n0-3-0": 3.0, "n1-0-0": 4.0}


def between_hosts(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    document["series"] += [
        {
            "fom": "latency_us",
            "labels": {"test": "latency", "from": "n0-0-0", "to": to, "size_bytes": size},
            "samples": [latency * size] * 3,
        }
        for to, latency in ENDS.items()
        for size in (8, 64)
    ]
    return dataclasses.replace(run)


def test_latency_by_relation_of_two_hosts_at_eight_bytes() -> None:
    found = rows(evidence.good(**FLY, change=between_hosts), 1)
    assert [(row[2], float(row[3])) for row in found] == [
        ("same node", 8.0),
        ("same switch", 16.0),
        ("same group", 24.0),
        ("other group", 32.0),
    ]


def test_the_page_shows_both_tables_and_records_without_a_spread_have_none() -> None:
    record = evidence.good(**FLY, change=between_hosts)
    text = page.html(judge([record]))
    assert "Over the groups" in text and "other group" in text
    without = forgeries.changed(record, lambda d: [each.update(spans=None) for each in d["launches"]])
    assert spread.tables(cases.group([without])[0]) == {}


def test_an_outlier_lies_beyond_tukeys_fence_and_a_wider_spread_has_a_small_p() -> None:
    assert spread.count_outliers([1.0, 1.01, 0.99, 1.02, 1.0, 3.0]) == 1
    assert spread.count_outliers([1.0, 1.1, 0.9, 1.2, 1.0, 1.05]) == 0
    narrow, wide = ([1.0 + step * k for k in range(12)] for step in (0.001, 0.3))
    assert spread.p_of_spreads(wide, narrow) < 0.01 < spread.p_of_spreads(narrow, narrow)
