"""Series over dates, sizes and allocations: changes that are there are found, and none where there are none."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import evidence
from support.entries import KEY, entry
from support.records import figures

from railyard.analysis.judge import over, text
from railyard.analysis.judge.cli import series as series_command
from railyard.analysis.judge.judged import judge
from railyard.analysis.judge.over import Steadiness
from railyard.analysis.report import history, page
from railyard.analysis.stats import change_points
from railyard.records.store import archive
from railyard.records.store.entries import Entry, SeriesKey, of_record

RATE = SeriesKey("plain", "library-default", "native", figures.fom("rate_gflop_s"), ())


def noisy(chance: random.Random, level: float = 100.0, n: int = 3) -> list[float]:
    return [level * chance.lognormvariate(0, 0.02) for _ in range(n)]


# ---- change points ----


@pytest.mark.parametrize(
    ("n", "spread", "times", "first", "last", "wanted"),
    [
        *((25, 0.02, 1.1, place, 25, [place]) for place in (5, 12, 20)),
        (34, 0.01, 1.1, 10, 22, [10, 22]),
        *((9, 0.01, 3, 9 - newest, 9, [9 - newest]) for newest in (1, 2, 3, 4)),  # the newest against those before
        (20, 0.02, 5, 11, 12, []),  # one slow run
    ],
)
def test_a_change_of_level_is_found_where_it_is_and_one_slow_run_is_none(
    *, n: int, spread: float, times: float, first: int, last: int, wanted: list[int]
) -> None:
    chance = random.Random(first)
    values = [100 * chance.lognormvariate(0, spread) * (times if first <= at < last else 1) for at in range(n)]
    found = change_points.changes(values)
    assert [change.position for change in found] == wanted
    assert all(change.p_value <= change_points.ALPHA for change in found)


@pytest.mark.parametrize("level", [0.011, 0.044, 15.77, 1 / 3])
def test_values_that_differ_by_rounding_alone_never_change_and_one_that_differs_does(level: float) -> None:
    """The mean of 1,250 equal numbers is not exactly that number."""
    assert change_points.changes([level] * 1250) == []
    assert change_points.changes([level] * 20 + [level * (1 + 4e-16)] * 20) == []
    (changed,) = change_points.changes([level] * 20 + [level * 1.01])
    assert changed.position == 20


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 40, [1, 2, 3, 9, 9]])
def test_too_few_values_or_equal_ones_have_no_change(values: Sequence[float]) -> None:
    assert change_points.changes(values) == []


# ---- dates ----


def job(modules: Sequence[str]) -> str:
    return json.dumps({"modules": list(modules), "variables": {"OMPI_MCA_btl": "tcp,self"}})


def test_a_change_names_the_commit_and_the_modules_that_came_with_it() -> None:
    chance = random.Random(5)
    old: dict[str, Any] = {"job_environment": job(["gcc/12", "openmpi/4.1.4"])}
    new: dict[str, Any] = {"job_environment": job(["gcc/12", "openmpi/5.0.1"]), "git_commit": "2a" * 20}
    found = [entry(each, noisy(chance), **old) for each in range(10)]
    found += [entry(each, noisy(chance, 112), **new) for each in range(10, 20)]
    (dated,) = over.dated(found)
    (change,) = dated.changes
    assert change.point.entry.own["id"] == f"{10:012x}"
    assert change.percent == pytest.approx(12, abs=3)
    assert set(change.differs) == {f"commit {'1f' * 6} -> {'2a' * 6}", "modules -openmpi/4.1.4 +openmpi/5.0.1"}
    assert "1 of 1 series changed" in text.changes_sentence([dated])


def test_a_change_without_a_reason_is_said_to_have_none() -> None:
    chance = random.Random(6)
    found = [entry(each, noisy(chance, 100 if each < 8 else 130)) for each in range(16)]
    table = text.changes_table(over.dated(found))
    assert table.rows[0][-1] == "nothing that records name"


def test_other_sizes_and_systems_are_other_series() -> None:
    found = [entry(1, [1.0]), entry(2, [1.0], system="other"), entry(3, [1.0], nodes=8), entry(4, [1.0])]
    (dated,) = over.dated(found)
    assert [each.entry.own["id"] for each in dated.row.points] == [f"{1:012x}", f"{4:012x}"]
    assert "too few to tell" in text.changes_sentence([dated])


def test_a_figure_that_follows_another_is_a_series_only_where_it_is_asked_for() -> None:
    rate = KEY._replace(fom=figures.fom("bandwidth_gbyte_s"))
    both = [dataclasses.replace(one, values=[*one.values, (rate, [2.0])]) for one in (entry(1, [1.0]), entry(2, [1.0]))]
    assert [one.row.key for one in over.dated(both)] == [KEY]
    assert [one.row.key for one in over.dated(both, foms=["bandwidth_gbyte_s"])] == [rate]


def test_the_page_has_the_history_with_what_the_gate_allowed_each_record() -> None:
    jobs = evidence.jobs(7, origin="measured")
    jobs += evidence.jobs(1, speed=0.8, first=7, origin="measured", created=evidence.CREATED.replace(day=28))
    (drawn,) = history.drawings(map(of_record, jobs))
    assert [row[3] for row in drawn.data.rows if row[2] != "none yet"] == 6 * ["passed"] + ["refused"]
    assert "The gate refuses 1 of them." in drawn.statement and drawn.statement in page.html(judge(jobs))


# ---- sizes ----


def run(number: int, ranks: int, value: float, *, key: SeriesKey = KEY, **parameters: Any) -> Entry:
    return entry(number, [value], key=key, ranks=ranks, nodes=ranks, parameters=parameters)


STRONG = [run(1, 8, 90.0, scaling="strong", size=12), run(2, 27, 40.0, scaling="strong", size=8)]


@pytest.mark.parametrize(
    ("found", "scaling", "speedup", "efficiency"),
    [
        ([run(1, 4, 100.0, grid=[2, 2], cells=[64]), run(2, 64, 125.0, grid=[8, 8], cells=[64])], "weak", None, 0.8),
        (STRONG, "strong", 2.25, 2 / 3),
        ([run(n, n, rate, key=RATE, scaling="weak", size=8) for n, rate in ((8, 10.0), (27, 27.0))], "weak", 2.7, 0.8),
    ],
    ids=["time", "strong", "rate of the program"],
)
def test_weak_scaling_has_the_first_time_over_each_and_others_divide_the_speedup_by_the_ranks(
    found: Sequence[Entry], scaling: str, speedup: float | None, efficiency: float
) -> None:
    (scaled,) = over.scaled(found)
    assert scaled.scaling == scaling and scaled.steps[0].efficiency == 1
    assert scaled.steps[1].speedup == (speedup and pytest.approx(speedup))
    assert scaled.steps[1].efficiency == pytest.approx(efficiency)


def test_other_amounts_of_work_and_programs_whose_work_nobody_knows_have_no_table() -> None:
    assert over.scaled([run(1, 8, 90.0, scaling="strong", size=12), run(2, 27, 40.0, scaling="strong", size=12)]) == []
    assert over.scaled([run(1, 8, 1.0), run(2, 27, 1.0)]) == []


# ---- allocations ----


def test_allocations_are_variable_with_a_slow_node_and_steady_if_they_differ_by_less_than_the_limit() -> None:
    chance = random.Random(8)

    def jobs(slowest: float) -> list[Entry]:
        levels = [slowest if each == 2 else 100.0 for each in range(5)]
        return [entry(each, noisy(chance, level, n=6), allocation=str(each)) for each, level in enumerate(levels)]

    (spread,) = over.spreads(jobs(130))
    assert (spread.verdict, spread.allocations) == (Steadiness.VARIABLE, 5)
    assert spread.highest > 125 > 105 > spread.lowest
    alike = jobs(100)
    (steady,), (strict,) = over.spreads(alike), over.spreads(alike, limit_percent=0.01)
    assert (steady.verdict, strict.verdict) == (Steadiness.STEADY, Steadiness.CANNOT_TELL)


def test_one_allocation_used_twice_is_no_spread() -> None:
    assert over.spreads([entry(1, [1.0, 1.1, 1.2]), entry(2, [2.0, 2.1, 2.2])]) == []


# ---- the command ----


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "archive"
    for number in range(4):
        nodes = [{"name": f"c{number % 2}-{each}", "coordinate": None} for each in range(16)]
        allocation = {"order": "scheduler", "seed": None, "nodes": nodes}
        archive.add(evidence.good(seed=number, case_changes={"allocation": allocation}), folder)
    return folder


@pytest.mark.parametrize(("name", "named"), [("dates", "changes"), ("sizes", "steps"), ("allocations", "verdict")])
def test_the_command_prints_a_table_and_json(root: Path, name: str, named: str) -> None:
    shown = CliRunner().invoke(series_command, [name, "--archive", str(root)], catch_exceptions=False)
    assert shown.exit_code == 0
    assert "series" in shown.output.splitlines()[-1]
    written = CliRunner().invoke(series_command, [name, "--archive", str(root), "--json"], catch_exceptions=False)
    document = json.loads(written.output)
    assert (document["format"], document["over"]) == (text.OVER_FORMAT, name)
    assert all(named in each for each in document["series"])


def test_the_command_reads_records_whose_nodes_differ(root: Path) -> None:
    shown = CliRunner().invoke(
        series_command, ["allocations", "check=halo_3d", "--archive", str(root)], catch_exceptions=False
    )
    assert "iteration" in shown.output
    nothing = CliRunner().invoke(series_command, ["allocations", "system=nowhere", "--archive", str(root)])
    assert str(nothing.exception) == "SIDE: no record has system=nowhere; expected system=vtorus"


@pytest.mark.parametrize(
    ("words", "named"), [(["x"], "KEY=VALUE"), (["colour=red"], "keys"), (["--archive", "/nowhere"], "exists")]
)
def test_wrong_words_are_refused_in_one_line(words: Sequence[str], named: str) -> None:
    error = CliRunner().invoke(series_command, ["dates", *words]).exception
    assert named in str(error) and "\n" not in str(error)
