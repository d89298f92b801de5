"""The scores of public procurements, each against numbers that were published or worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from support import evidence
from support.commands import CHECKOUT
from support.records import figures
from support.records.played_tender import packed, run

from railyard.base.errors import InputError
from railyard.records.record import Origin, Record
from railyard.tender import judged, metrics, presets, request
from railyard.tender.metrics import Given
from railyard.tender.request import Case, Metric, Tender

PAGE = (CHECKOUT / "docs" / "tender.md").read_text()
#: NERSC's reference calculation of SSP on Hopper (6,384 nodes): nodes, operations in Tflop, seconds, Tflop/s per node.
HOPPER = {
    "MiniFE": (2048, 1065, 92.4, "0.00563"),
    "MiniGhost": (2048, 3350, 96.0, "0.0170"),
    "AMG": (2048, 1365, 151, "0.00441"),
    "UMT": (2048, 18409, 1263, "0.00712"),
}


def case(name: str, **changes: Any) -> Case:
    given = {"check": "c", "nodes": 2048, "placement": "plain", "fom": "run_s", "reference": 1.0}
    whole = {**given, **changes}
    return Case(name=name, **{**whole, "fom": figures.fom(whole["fom"])})


def tender_of(metric: Metric, *cases: Case, **changes: Any) -> Tender:
    return Tender(title="t", challenge="12345678", origins=(Origin.MEASURED,), cases=cases, metric=metric, **changes)


def score(wanted: Tender, medians: dict[str, float], *, nodes: int, **weights: float) -> float:
    given = Given(
        tender=wanted,
        medians={name: np.array([value]) for name, value in medians.items()},
        nodes={each.name: each.nodes for each in wanted.cases},
        system_nodes=nodes,
        weights={each.name: weights.get(each.name, each.weight) for each in wanted.cases},
    )
    return float(metrics.score(given)[0])


@pytest.mark.parametrize("name", HOPPER)
def test_ssp_of_one_program_is_the_rate_that_nersc_printed_for_hopper(name: str) -> None:
    nodes, work, time_s, printed = HOPPER[name]
    one = tender_of(Metric.SSP, case(name, nodes=nodes, work=work))
    assert score(one, {name: time_s}, nodes=1) == pytest.approx(float(printed), rel=0.005)


def test_ssp_is_the_systems_nodes_times_the_geometric_mean() -> None:
    wanted = tender_of(Metric.SSP, *(case(name, nodes=n, work=w) for name, (n, w, _, _) in HOPPER.items()))
    rates = [work / (time_s * nodes) for nodes, work, time_s, _ in HOPPER.values()]
    found = score(wanted, {name: each[2] for name, each in HOPPER.items()}, nodes=6384)
    assert found == pytest.approx(6384 * math.prod(rates) ** 0.25)
    assert found == pytest.approx(47.3, abs=0.05)


def test_ssi_is_the_product_of_capability_utilisation_and_speedup() -> None:
    """By hand: c U S is 2 (0.5 x 3) 4 = 12 with weight 1, and 1 (1 x 3) 1 = 3 with weight 3: (12 x 27)^(1/4)."""
    wanted = tender_of(
        Metric.SSI,
        case("a", reference=8.0, capability=2.0, reference_nodes=1024, weight=1.0),
        case("b", reference=5.0, weight=3.0),
        reference_nodes=1000,
    )
    found = score(wanted, {"a": 2.0, "b": 5.0}, nodes=3000)
    assert found == pytest.approx((12 * 3**3) ** 0.25)


def test_ssni_is_the_ratio_of_nodes_times_the_mean_speedup() -> None:
    wanted = tender_of(
        Metric.SSNI, case("a", fom="updates_per_s", reference=10.0), case("b", reference=9.0), reference_nodes=6000
    )
    assert score(wanted, {"a": 40.0, "b": 1.0}, nodes=1500) == pytest.approx(0.25 * 6)


def test_p_tot_is_how_often_an_hour_the_suite_runs() -> None:
    """As Arrhenius's README has it: 3600 / sum of (w t n / N), and a rate becomes a time by the work of one run."""
    navm = case("navm", fom="simulated_per_s", work=172801.6, nodes=4, weight=2.0)
    chem = case("chem", fom="run_us", nodes=10)
    wanted = tender_of(Metric.P_TOT, navm, chem)
    found = score(wanted, {"navm": 432.004, "chem": 100e6}, nodes=100)
    assert found == pytest.approx(3600 / (2 * 400 * 4 / 100 + 100 * 10 / 100))


def test_a_weight_of_0_leaves_a_case_out_of_every_metric() -> None:
    for metric in Metric:
        cases = (case("a", reference=2.0, work=4.0), case("b", reference=3.0, work=4.0))
        both = tender_of(metric, *cases, reference_nodes=10)
        alone = tender_of(metric, cases[0], reference_nodes=10)
        assert score(both, {"a": 1.0, "b": 1.5}, nodes=20, b=0.0) == score(alone, {"a": 1.0}, nodes=20)


def test_every_formula_names_a_public_source() -> None:
    named = {metric for metric, formula in metrics.FORMULAS.items() if formula.source.startswith("http")}
    assert named == set(Metric) - {Metric.GEOMETRIC_MEAN}


# ---- the whole way with a metric, pledges and presets ----


def document(**changes: Any) -> dict[str, Any]:
    halo = {"check": "halo_3d", "nodes": 16, "fom": "iteration_us", "reference": 9200}
    return {
        "format": "railyard-tender/1",
        "title": "t",
        "challenge": "12345678",
        "origins": ["measured"],
        "cases": [
            {"name": "plain", "placement": "plain", "parameters": {"grid": [4, 4], "cells": [2048, 2048]}, **halo},
            {"name": "random", "placement": "random", **halo},
        ],
        **changes,
    }


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "tender.yml"
    path.write_text(yaml.safe_dump(document(**changes)))
    return path


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """Two honest records: fast and slow, of two bidders."""
    common: dict[str, Any] = {"origin": "measured", "challenge": "12345678"}
    return {name: evidence.good(speed=speed, system=name, **common) for name, speed in (("fast", 1.5), ("slow", 1.2))}


def test_a_metric_of_systems_needs_their_nodes(records: dict[str, Record], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reference_nodes"):
        request.load(written(tmp_path, metric="ssi"))
    with pytest.raises(InputError, match=r"cases\[0\]\.work"):
        request.load(written(tmp_path, metric="ssp"))
    wanted = written(tmp_path, metric="ssi", reference_nodes=1000)
    without = packed(tmp_path, "without", records["fast"])
    small = packed(tmp_path, "small", records["fast"], options=("--nodes", 8))
    assert "nodes: not stated; ssi counts the nodes" in run("check", without, "--request", wanted).output
    assert "on 16 nodes; the offered system has 8" in run("check", small, "--request", wanted).output
    more = packed(tmp_path, "more", records["slow"], options=("--nodes", 4000))
    fewer = packed(tmp_path, "fewer", records["fast"], options=("--nodes", 2000))
    done = run("evaluate", fewer, more, "--request", wanted)
    assert "more has the best score" in done.output, "twice the nodes outweigh a quarter of the speed"
    assert "Scalable System Improvement" in done.output


def test_ssi_refuses_a_case_slower_than_the_reference(records: dict[str, Record], tmp_path: Path) -> None:
    cases = document()["cases"]
    cases[0]["reference"] = 4000
    wanted = written(tmp_path, metric="ssni", reference_nodes=16, cases=cases)
    bag = packed(tmp_path, "swift", records["fast"], options=("--nodes", 16))
    done = run("check", bag, "--request", wanted)
    assert done.exit_code == 1 and "missing  speedups:" in done.output and "the reference is 4000" in done.output


def test_pledges_are_demonstrated_or_scored(records: dict[str, Record], tmp_path: Path) -> None:
    bold = packed(tmp_path, "bold", records["fast"], options=("--pledge", "plain=3000", "--pledge", "other=1"))
    done = run("check", bold, "--request", written(tmp_path))
    assert "the pledge is 3000" in done.output and "'other' is no case of the tender" in done.output
    bid = packed(tmp_path, "bid", records["slow"], options=("--pledge", "plain=3000", "--pledge", "random=3000"))
    rival = packed(tmp_path, "rival", records["fast"])
    scored = run("evaluate", bid, rival, "--request", written(tmp_path, scored="pledged"), "--format", "json")
    best = json.loads(scored.output)["bids"][0]
    assert best["bidder"] == "bid" and best["score"]["value"] == pytest.approx(9200 / 3000)
    assert best["pledges"] == {"plain": 3000.0, "random": 3000.0}
    wrong = run("pack", rival.parent / "archive", "-o", tmp_path / "x", "--bidder", "b", "--pledge", "a=-1")
    assert isinstance(wrong.exception, InputError) and "CASE=VALUE" in str(wrong.exception)


@pytest.mark.parametrize("name", presets.names())
def test_a_preset_runs_and_each_of_its_rules_has_a_public_source_and_a_line(
    name: str, records: dict[str, Record], tmp_path: Path
) -> None:
    rules = presets.load(name).rules
    assert all(rule.source.startswith("http") and (rule.test or rule.by_hand) for rule in rules)
    assert f"`{name}`" in PAGE
    wanted = written(tmp_path, presets=[name], metric="geometric-mean")
    bag = packed(tmp_path, "swift", records["fast"], options=("--nodes", 16))
    done = run("check", bag, "--request", wanted)
    assert done.exit_code == 1 and f"{name}, " in done.output and "by hand  " in done.output
    assert "no record of osu_" in done.output or name == "coral2"
    for line, rule in zip(run("preset", name, "--nodes", 128).output.splitlines(), rules, strict=True):
        assert rule.text in line
        assert line.startswith("applies") or len(line) > len(f"not here  {rule.name}: {rule.text}; "), "no reason"
        assert line.startswith("by hand") == bool(rule.by_hand)


@pytest.mark.parametrize("field", ["reference", "limit", "work", "capability"])
def test_a_number_that_no_machine_reaches_is_refused_before_it_overflows_a_score(field: str, tmp_path: Path) -> None:
    cases = document()["cases"]
    cases[0][field] = 1e300
    with pytest.raises(InputError, match=field):
        request.load(written(tmp_path, cases=cases))


def test_presets_are_listed_and_one_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    assert [line.split()[0] for line in run("preset").output.splitlines()] == presets.names()
    with pytest.raises(InputError, match="one of ats5, coral2, jupiter, n10, nnss"):
        request.load(written(tmp_path, presets=["apex"]))


def test_a_machine_of_one_node_answers_no_rule_of_two() -> None:
    lines = run("preset", "ats5", "--nodes", 1).output.splitlines()
    (latency,) = (line for line in lines if " latency: osu_latency" in line)
    assert latency.startswith("not here") and "needs 2 nodes; the machine has 1" in latency


def test_a_rule_of_a_preset_is_answered_by_the_right_record_alone() -> None:
    read = judged.of_record(evidence.good(origin="measured"))
    right = presets.Test(program="halo", nodes=16, ranks_per_node=1)
    assert right.problem([read], None) == ""
    wrong = {
        "8 are required": presets.Test(program="halo", nodes=8),
        "does not say how many nodes": presets.Test(program="halo", nodes="system"),
        "4 are required": presets.Test(program="halo", ranks_per_node=4),
        "an odd number": presets.Test(program="halo", odd_ranks=True),
        "not allowed": presets.Test(program="halo", forbidden_options=("--repeats",)),
        "without the size of 8 bytes": presets.Test(program="halo", sizes_bytes=(8,)),
    }
    for words, test in wrong.items():
        assert words in test.problem([read], None), words
