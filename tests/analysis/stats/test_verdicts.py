"""One verdict per comparison: sentence, table, score and exports say the same of the same launches."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from support import synthetic
from support.records import figures

from railyard.analysis.cases import cases, comparison, judgement, scoreboard, tables
from railyard.analysis.figures import rowcol
from railyard.analysis.judge import versus
from railyard.analysis.judge.judged import judge
from railyard.analysis.report import exports
from railyard.analysis.stats import contrast, verdicts
from railyard.analysis.stats.contrast import Estimate
from railyard.analysis.stats.samples import Values
from railyard.analysis.stats.verdicts import Finding
from railyard.records import noise
from railyard.records.record import Guard, Guarded, Origin, Record
from railyard.records.store import entries

WON = (Finding.BETTER, Finding.WORSE)
VALUES = st.lists(st.floats(90, 110), min_size=8, max_size=8)


@functools.cache
def eight_launches() -> Record:
    return synthetic.halo(launches=8)


def record(groups: list[list[float]]) -> Record:
    """Return a record of a halo exchange whose iteration takes the times of each placement, launch by launch."""
    made = eight_launches()
    placements = list(made.case.placements)
    taken = dict.fromkeys(placements, 0)
    launches = []
    for launch in made.launches:
        place = placements.index(launch.placement)
        value = groups[place][taken[launch.placement]]
        taken[launch.placement] += 1
        series = [structs.replace(each, samples=(value,)) for each in launch.series if each.fom == "iteration_us"]
        launches.append(structs.replace(launch, series=tuple(series)))
    return dataclasses.replace(made, launches=tuple(launches))


@settings(max_examples=40)
@given(st.lists(VALUES, min_size=3, max_size=3), st.integers(0, 2), st.sampled_from([1.0, 1.1, 1.4]))
def test_sentence_table_score_and_exports_never_disagree(groups: list[list[float]], slow: int, factor: float) -> None:
    groups[slow] = [factor * value for value in groups[slow]]
    made = record(groups)
    (case,) = cases.group([made])
    (found,) = comparison.comparisons(case)
    best, sentence = found.verdict.best, comparison.sentence(found)
    assert best is not None
    findings = {group.name: group.finding for group in found.groups if group.name != found.baseline}
    intervals = {group.name: group.change_interval for group in found.groups if group.name != found.baseline}
    excludes = {name: bounds is not None and not bounds[0] <= 0 <= bounds[1] for name, bounds in intervals.items()}
    assert {name: finding in WON for name, finding in findings.items()} == excludes
    printed = {row.name: row.verdict for row in tables.rows(found) if row.name != found.baseline}
    assert printed == {name: str(finding) for name, finding in findings.items()}
    scores = {each.combination: each.score for each in scoreboard.standings([(case, [found])])}
    assert {name.split(" + ")[0]: score.finding for name, score in scores.items() if score} == findings
    for score in scores.values():
        assert score is not None
        bounds = (score.low, score.high) if score.low is not None and score.high is not None else None
        assert (score.finding in WON) is (bounds is not None and not bounds[0] <= 1 <= bounds[1])
    judged = judge([made])
    exported = exports.json_document(judged)["cases"][0]["comparisons"][0]["combinations"]
    assert {one["name"]: one["verdict"] for one in exported} == {**findings, found.baseline: None}
    rows = {row["placement"]: row for row in csv.DictReader(io.StringIO(exports.csv_text(judged)))}
    assert {name: rows[name]["verdict"] for name in findings} == findings
    lows = {name: "" if bounds is None else str(bounds[0]) for name, bounds in intervals.items()}
    assert {name: rows[name]["change_low_percent"] for name in findings} == lows
    assert all(str(finding) in exports.markdown(judged) for finding in findings.values())
    known = [entries.of_record(made)]
    names = [f"placement={found.baseline}", *(f"placement={name}" for name in findings)]
    versus_of_sides = versus.of_texts(names, lambda **_: known)
    (row,) = versus_of_sides.rows
    assert {name: row.comparison.group(f"placement={name}").finding for name in findings} == findings
    assert {side: score and score.finding for (_, side), score in versus_of_sides.scores.items()} == {
        f"placement={name}": finding for name, finding in findings.items()
    }
    # The sentence ranks against the best group, the table against the baseline: the two agree where both speak.
    if best == found.baseline:
        assert {name for name, each in findings.items() if each is Finding.WORSE} == set(found.verdict.apart)
    elif found.baseline in found.verdict.apart:
        assert findings[best] is Finding.BETTER and "significant" in sentence
    else:
        assert findings[best] is Finding.NO_DIFFERENCE and "No difference is shown" in sentence


def test_six_launches_of_twelve_combinations_decide_against_the_baseline() -> None:
    """Equal ones have a winner as seldom as tests/analysis/test_bench.py shows."""
    chance = np.random.default_rng(1)
    values = {f"p{number}": chance.lognormal(0, 0.025, 6) for number in range(12)}
    values["p11"] *= 3.8
    evidence = {name: judgement.Evidence(values=list(launches)) for name, launches in values.items()}
    series = judgement.Series(fom=figures.fom("iteration_us"), labels=(), evidence=evidence, deterministic=False)
    (judged,) = judgement.compare([series], "p0")
    assert comparison.verdict_text(judged, judged.group("p11")) == "worse"
    others = {group.finding for group in judged.groups if group.name not in {"p0", "p11"}}
    assert others == {Finding.NO_DIFFERENCE}
    text = comparison.sentence(judged)
    assert text.startswith("No difference is shown between ") and "p11 (95 %: " in text


def test_figures_of_one_combination_alone_are_stated_in_one_line() -> None:
    made = synthetic.halo({"plain": 1.0}, launches=8)
    (case,) = cases.group([made])
    found = comparison.comparisons(case)
    assert len(found) > comparison.MANY_ALONE
    ((title, text, outcome),) = comparison.statements(found)
    assert title == f"{len(found)} figures" and "nothing is compared" in text and outcome == "alone"
    few = comparison.statements(found[: comparison.MANY_ALONE])
    assert all("median" in sentence for _, sentence, _ in few)


def test_a_rate_and_a_time_of_one_name_are_told_apart() -> None:
    """The terminal said "cg, cg: No difference is stated"."""
    (case,) = cases.group([synthetic.halo({"plain": 1.0}, launches=8)])
    first = comparison.comparisons(case)[0]
    both = [dataclasses.replace(first, fom=figures.fom(fom), labels=()) for fom in ("cg_mflop_s", "cg_s")]
    titles = ", ".join(title for title, _, _ in comparison.statements(both))
    assert titles == "cg (Mflop/s), cg (s)"


def test_a_score_is_decided_by_its_interval_and_is_mixed_only_without_a_winner() -> None:
    def found(value: float, findings: list[Finding], noise_percent: float = 0.0) -> Finding:
        estimate = Estimate(value=value, error=0.01, freedom=20, median=value)
        return verdicts.of_score(contrast.decide([estimate])[0], findings, noise_percent)

    assert found(0.1, [Finding.BETTER, Finding.NO_DIFFERENCE]) is Finding.BETTER
    assert found(0.1, [Finding.NO_DIFFERENCE] * 2) is Finding.BETTER
    assert found(-0.1, [Finding.BETTER, Finding.WORSE]) is Finding.WORSE
    assert found(0.01, [Finding.BETTER, Finding.WORSE]) is Finding.MIXED
    assert found(0.03, [Finding.BETTER], 5.0) is Finding.NO_DIFFERENCE
    assert verdicts.of_score(None, [Finding.BETTER, Finding.BETTER]) is Finding.TOO_FEW


def test_a_p_value_above_the_level_is_never_rounded_to_it() -> None:
    assert comparison.p_text(contrast.ALPHA - 0.0003) == "= 0.0497"
    assert comparison.p_text(0.0124) == "= 0.012"


def close(origin: Origin, torus: Mapping[str, Any] | None = None, bound: float | None = None) -> Record:
    """Return a record in which custom is 1.3 % below plain in every launch, and cart-create 10 % above."""
    steps = [0.01 * number for number in range(8)]
    made = record([[place + step for step in steps] for place in (100.0, 110.0, 98.7)])
    guard = None if bound is None else Guard(verdict=Guarded.OK, reasons=(), figures={"error_bound_percent": bound})
    launches = tuple(structs.replace(each, guard=guard) for each in made.launches)
    provenance = {**made.provenance, "torus": torus}
    return dataclasses.replace(made, launches=launches, origin=origin, provenance=provenance)


ROUTER = {**synthetic.TORUS, "network": "router"}


@pytest.mark.parametrize(
    ("made", "finding"),
    [
        (close(Origin.EMULATED, synthetic.TORUS), Finding.NO_DIFFERENCE),
        (close(Origin.EMULATED, synthetic.TORUS, bound=80.0), Finding.NO_DIFFERENCE),
        (close(Origin.MEASURED), Finding.BETTER),
    ],
)
def test_a_significant_difference_below_the_noise_floor_is_claimed_nowhere(made: Record, finding: Finding) -> None:
    (case,) = cases.group([made])
    (found,) = comparison.comparisons(case)
    custom = next(group for group in found.groups if group.name == "custom")
    assert custom.finding is finding and custom.test is not None and custom.test.is_significant
    sentence = comparison.sentence(found)
    within = r"custom is 1\.3 % below plain \(95 %: [^)]*\), which is within the noise floor of 2\.0 %"
    assert bool(re.search(within, sentence)) is (finding is Finding.NO_DIFFERENCE)
    assert "cart-create" in sentence and "significant" in sentence  # 10 % is above the floor
    assert {row.name: row.verdict for row in tables.rows(found)}["custom"] == str(finding)
    exported = str(exports.json_document(judge([made]))["cases"]).replace("'", '"')
    assert (f'"verdict": "{Finding.BETTER}"' in exported) is (finding is Finding.BETTER)
    (score,) = (each.score for each in scoreboard.standings([(case, [found])]) if each.combination.startswith("custom"))
    assert score is not None and score.finding is finding
    known = [entries.of_record(made)]
    names = ["placement=plain", "placement=custom"]
    (row,) = versus.of_texts(names, lambda **_: known).rows
    assert row.comparison.group(names[1]).finding is finding


def test_on_the_router_the_floor_is_the_middle_error_bound_where_that_is_larger() -> None:
    for bound, floor in ((0.4, 2.0), (4.1, 4.1)):
        assert noise.floor_percent(close(Origin.EMULATED, ROUTER, bound)) == floor
    assert noise.floor_percent(close(Origin.EMULATED, ROUTER)) == 2.0
    assert noise.floor_percent(close(Origin.SIMULATED)) == 0.0


def test_the_figure_of_rows_states_a_difference_only_where_its_test_finds_one() -> None:
    def stated(launches: int, noise_percent: float = 2.0) -> str:
        times = {"X": 100.0, "Y": 90.0, "XZ": 100.0, "XY": 97.0, "YZ": 99.0}
        noise = np.linspace(0.999, 1.001, launches)
        values = {way: Values(values=(time * noise).tolist()) for way, time in times.items()}
        return rowcol.statement(values, noise_percent)

    assert "Y takes 10.0 % less time than X (n too small to tell)" in stated(3)
    assert "Y takes 10.0 % less time than X; XY takes 3.0 % less time than XZ" in stated(6)
    assert "YZ and XZ show no difference" in stated(6)
    assert "YZ takes 1.00 % less time than XZ" in stated(6, 0.0)
