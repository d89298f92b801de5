"""Figures for services that watch them: the text follows OpenMetrics 1.0, the JSON Bencher's format."""

from __future__ import annotations

import json
import re

import pytest
from support import synthetic
from support.commands import CHECKOUT
from support.records import figures

from railyard.analysis.judge import judged
from railyard.analysis.report import exports
from railyard.analysis.stats.medians import median_interval

#: A line of an exposition, as the ABNF of OpenMetrics 1.0 has it for a gauge without a time.
SAMPLE = re.compile(r'([a-z_][a-z0-9_]*)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (-?[0-9.e+-]+)')
JUDGED = judged.judge([synthetic.halo(seed=1)])
DASHBOARD = (CHECKOUT / "docs/howto/grafana-dashboard.json").read_text()


def test_openmetrics_has_a_family_for_each_figure_with_its_unit_in_its_name_and_ends() -> None:
    lines = exports.text(JUDGED, "openmetrics").splitlines()
    assert lines[-1] == "# EOF"
    family, seen = "", set()
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert kind == "gauge"
        elif line.startswith("# UNIT "):
            assert line.split(" ")[2] == family and family.endswith(f"_{line.split(' ')[3]}")
        elif not line.startswith("# HELP "):
            found = SAMPLE.fullmatch(line)
            assert found and found[1] == family, line
            assert (found[1], found[2]) not in seen, "each set of labels once"
            seen.add((found[1], found[2]))
    assert {name for name, _ in seen} >= {"railyard_iteration_us", "railyard_bandwidth_gbyte_s"}


def test_the_dashboard_selects_figures_and_labels_of_the_export() -> None:
    samples = [
        {"__name__": name, **dict(re.findall(r'(\w+)="([^"]*)"', labels))}
        for name, labels, _ in SAMPLE.findall(exports.text(JUDGED, "openmetrics"))
    ]
    chosen = {"figure": "railyard_iteration_us", "system": samples[0]["system"], "check": samples[0]["check"]}
    dashboard = json.loads(DASHBOARD)
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    queries = [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    selectors = re.findall(r"\{(__name__=[^}]*)\}", " ".join([*(one["expr"] for one in targets), *queries]))
    assert len(selectors) >= len(targets) + len(queries) - 1, "the first query has no selector"
    for selector in selectors:
        text = re.sub(r"\$(\w+)", lambda variable: chosen[variable[1]], selector)
        matchers = re.findall(r'(\w+)=~?"([^"]*)"', text)
        assert any(all(re.fullmatch(value, one.get(name, "")) for name, value in matchers) for one in samples), selector
    shown = set(re.findall(r"\{\{(\w+)\}\}", DASHBOARD)) | set(re.findall(r"\}, (\w+)\)", " ".join(queries)))
    assert shown <= {*exports.NAMES, "statistic"}
    (figures,) = [re.fullmatch(r"metrics\((.+)\)", query) for query in queries if "__name__" not in query]
    assert figures and all(re.fullmatch(figures[1], one["__name__"]) for one in samples)


def test_bencher_has_the_median_and_its_interval() -> None:
    document = json.loads(exports.text(JUDGED, "bencher"))
    (name,) = [each for each in document if ", custom," in each]
    metric = document[name]["iteration_us"]
    assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]
    assert median_interval([1, 2, 3, 4, 5, 6]) is not None, "six launches give an interval"
    assert all(0 < len(each) <= exports.MOST_OF_A_NAME for each in document)


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb"])
def test_a_label_cannot_end_its_line(text: str) -> None:
    row = {"fom": figures.fom("latency_us"), "median": 1.0, "system": text}
    (line,) = [each for each in exports.openmetrics([row]).splitlines() if not each.startswith("#")]
    assert SAMPLE.fullmatch(line)
