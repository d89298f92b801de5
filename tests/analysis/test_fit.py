"""`railyard fit` without its runs: predictions from a record and a matrix, and the words on a measurement."""

from __future__ import annotations

import dataclasses
import fcntl
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import numpy as np
import pytest
from click.testing import CliRunner
from support import evidence
from support.topology.topologies import renumbered

from railyard.base.checkout import TOPOLOGIES
from railyard.base.errors import InputError, RunError
from railyard.fit import cli, fitting
from railyard.placements.linkload import traffic
from railyard.placements.linkload.traffic import Traffic
from railyard.records import record as records
from railyard.records.assemble import LaunchRun
from railyard.records.record import Guarded, Record
from railyard.torus.native.messages import exchanges_s

pytestmark = pytest.mark.built  # the compiled optimiser


def messages(*pairs: tuple[int, int]) -> Traffic:
    """Return a megabyte for each pair of eight ranks."""
    source, target = np.array(pairs, dtype=np.int32).T
    return Traffic(ranks=8, source=source, target=target, size_bytes=np.full(len(pairs), 1e6), is_measured=True)


def record(placements: list[str]) -> Record:
    return evidence.good(topology="gemini-2x2x2", grid=[2, 2, 2], placements=placements)


def void(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    """Have load disturb every launch."""
    return dataclasses.replace(run, guard={**(run.guard or {}), "verdict": str(Guarded.VOID), "reasons": ["late"]})


def test_the_fitted_placement_is_predicted_to_load_the_slowest_link_less_than_any_named_order() -> None:
    sent = renumbered(traffic.stencil((2, 2, 2), (1e6,)), seed=1)
    predicted = fitting.predicted(record(["scheduler"]), sent)
    rows = {row.name: row.slowest_s for row in predicted}
    assert {"scheduler", "plain", "optimised"} <= rows.keys()
    assert "cart-create" not in rows, "as the scheduler has it"
    assert rows["optimised"] < 0.85 * min(seconds for name, seconds in rows.items() if name != "optimised")
    for row in predicted:  # a cell's headers, and the time of a way
        assert row.simulated_s is not None
        assert max(row.slowest_s, row.host_s) < row.simulated_s < 1.5 * max(row.slowest_s, row.host_s)
    assert len({len(line) for line in fitting.table(predicted)}) == 1, "columns"


def test_of_fitted_placements_with_equal_slowest_links_the_one_that_simulates_fastest_is_taken() -> None:
    job = evidence.good(topology="dragonfly-72", grid=[3, 3, 3], order="contiguous", block=[], placements=["scheduler"])
    sent = renumbered(traffic.stencil((3, 3, 3), (1e6, 1e3, 1e3)), seed=4)
    own, *others = [row for row in fitting.predicted(job, sent) if fitting.is_fitted(row.name)]
    assert not others
    first = fitting.placed(fitting.FITTED, job, sent)
    chosen = fitting.placed(own.name, job, sent)
    times = exchanges_s(first.allocation.topology, [first.indices, chosen.indices], sent)
    assert times[1] == own.simulated_s and times[1] < times[0]
    assert fitting.fitted(["scheduler", own.name]) == own.name


def test_a_topology_of_ones_own_is_read_from_its_file(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text((TOPOLOGIES / "gemini-2x2x2.yml").read_text().replace("gemini-2x2x2", "own"))
    job = evidence.good(topology=str(own), grid=[2, 2, 2], placements=["scheduler"])
    sent = renumbered(traffic.stencil((2, 2, 2), (1e6,)), seed=1)
    known = {row.name: row.steps_s for row in fitting.predicted(record(["scheduler"]), sent)}
    assert {row.name: row.steps_s for row in fitting.predicted(job, sent, file=str(own))} == known


def test_steps_are_summed_and_not_merged() -> None:
    """Two steps over one link of a node take twice as long as two nodes' messages at once."""
    one, other, both = messages((0, 7)), messages((6, 7)), messages((0, 7), (6, 7))
    job = record(["scheduler"])
    summed = {row.name: row for row in fitting.predicted(job, both, [one, other])}["scheduler"]
    merged = {row.name: row for row in fitting.predicted(job, both)}["scheduler"]
    alone = [{row.name: row for row in fitting.predicted(job, step)}["scheduler"].steps_s for step in (one, other)]
    assert summed.steps_s == pytest.approx(sum(alone)) and summed.slowest_s == merged.slowest_s
    assert summed.steps_s > merged.slowest_s


def test_nothing_to_gain_is_one_line_and_a_gain_of_any_time_is_none() -> None:
    """A master with seven workers: its own link takes the time wherever it is."""
    sent = messages(*((0, worker) for worker in range(1, 8)), *((worker, 0) for worker in range(1, 8)))
    line = fitting.no_gain(fitting.predicted(record(["scheduler"]), sent))
    assert line.startswith("nothing to gain: a node's own link takes ") and "\n" not in line
    shuffled = renumbered(traffic.stencil((2, 2, 2), (1e6,)), seed=1)
    assert fitting.no_gain(fitting.predicted(record(["scheduler"]), shuffled)) == ""


def test_a_large_matrix_is_simulated_in_proportion_and_a_huge_one_not(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, job = renumbered(traffic.stencil((2, 2, 2), (1e6,)), seed=1), record(["scheduler"])
    whole, tenth = (
        fitting.predicted(job, dataclasses.replace(sent, size_bytes=share * sent.size_bytes))[0].simulated_s
        for share in (1.0, 0.1)
    )
    assert whole is not None and tenth is not None and whole == pytest.approx(10 * tenth, rel=0.05)
    for limit, value in (("SIMULATED_PAIRS", 10), ("SIMULATED_NODES", 7)):
        with monkeypatch.context() as patch:
            patch.setattr(fitting, limit, value)
            assert {row.simulated_s for row in fitting.predicted(job, sent)} == {None}


def test_the_placement_for_the_launcher_is_the_one_that_the_job_measured() -> None:
    """It has the job's seed and nodes."""
    sent, job = renumbered(traffic.stencil((2, 2, 2), (1e6,)), seed=1), record(["scheduler"])
    placed = fitting.placed("optimised:1", job, sent)
    assert job.case.seed == 1
    assert fitting.placed("optimised", job, sent).nodes == placed.nodes


def test_only_what_was_measured_is_stated() -> None:
    """A user may choose other placements than the default and the best named order."""
    fitted = record(["scheduler", "optimised"])
    (text,) = fitting.measured_text(fitted)
    assert "optimised" in text and "scheduler" in text
    (text,) = fitting.measured_text(record(["custom", "optimised"]))
    assert "optimised" in text and "custom" in text


@pytest.mark.parametrize(
    ("slow", "advised"),
    [
        ({"scheduler": 1.6, "plain": 1.3}, "optimised"),
        ({"scheduler": 1.6, "optimised": 1.3}, "plain"),
        ({"optimised": 1.3, "plain": 1.3}, "scheduler"),
        ({}, "scheduler"),
    ],
    ids=["fitted", "named", "default", "none-shown"],
)
def test_the_advice_follows_what_was_measured(slow: dict[str, float], advised: str) -> None:
    """The model knows bytes alone, and a program of small messages waits for hops."""
    placements = ["scheduler", "plain", "optimised"]
    assert fitting.advised(evidence.good(placements=placements, slow=slow)) == advised


def test_the_best_named_order_is_the_one_that_measures_best() -> None:
    placements = ["scheduler", "plain", "optimised"]
    measured = evidence.good(placements=placements, slow={"plain": 1.3})
    assert fitting.fastest_named(measured) == "scheduler"
    assert len(fitting.measured_text(measured)) == 1


def counted(*, fast_bytes: int, slow_bytes: int) -> dict[str, Any]:
    """Return what a torus counted in a launch: a fast link, a slow one, a node's and one that is down."""
    links = [("X", 8.0, fast_bytes), ("Y", 4.0, slow_bytes), ("H", 1.0, 10**9), ("Z", 0.0, 0)]
    return {"links": [{"dimension": name, "rate_mbit_s": rate, "bytes": size} for name, rate, size in links]}


def test_the_slowest_link_is_shown_as_predicted_and_as_counted() -> None:
    """Counted on links between routers alone, in seconds of the real machine: the torus is slower by its scale."""
    measured = record(["plain", "optimised"])
    scale = measured.provenance["torus"]["rate_scale"]
    evidence = {
        launch.index: counted(fast_bytes=1_000_000, slow_bytes=2_000_000 if launch.placement == "plain" else 100_000)
        for launch in measured.launches
    }
    rows = [fitting.Predicted(name="plain", slowest_s=0.003, host_s=0.001, steps_s=0.003)]
    plain, fitted = fitting.outcomes(measured, evidence)
    assert plain.counted_s == pytest.approx(4 * scale)
    assert fitted.counted_s == pytest.approx(1 * scale)
    head, first, second = fitting.table(rows, [plain, dataclasses.replace(fitted, counted_s=None)])[:3]
    assert plain.elapsed_s is not None and f"{plain.elapsed_s:.4g}" in first and first.startswith("  plain ")
    assert second.startswith("  optimised ") and head.index("counted ms") == first.index(f"{4e3 * scale:.4g}".rjust(10))
    (line,) = fitting.table(rows, [dataclasses.replace(plain, counted_s=0.015)])[2:]
    assert line.startswith("warning: plain: the slowest link counted 5.0 times the predicted bytes")
    assert len(fitting.table(rows, [dataclasses.replace(plain, counted_s=0.004)])) == 2


def test_a_capture_whose_times_are_void_is_a_warning() -> None:
    """The measurement would be void for the same reason, after many launches."""
    launches = evidence.good(placements=["plain"], launches=1, change=void)
    assert fitting.captured_text(launches) == ["warning: as a measurement this launch would be void: late"]
    assert fitting.captured_text(evidence.good(placements=["plain"], launches=1)) == []


def test_one_void_launch_leaves_a_measurement() -> None:
    """The others count, and are enough."""

    def void_first(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
        return void(run, document) if run.index == 0 else run

    measured = evidence.good(placements=["scheduler", "optimised"], launches=4, change=void_first)
    assert measured.launches[0].is_void and cli._is_enough(measured, needs_times=True)
    (text,) = fitting.measured_text(measured)
    assert "optimised" in text and "scheduler" in text


@pytest.mark.parametrize(
    ("change", "needs_times", "good"),
    [(void, False, True), (void, True, False), (evidence.failing(0), False, False)],
    ids=["disturbed-capture", "disturbed-times", "failed-capture"],
)
def test_load_voids_a_measurement_and_no_capture(
    *, change: evidence.Change, needs_times: bool, good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch whose times load disturbed sent what it sends."""

    text = records.text(evidence.good(placements=["plain"], launches=1, change=change))

    def reframe(_: list[str], *, stdout: TextIO, env: dict[str, str], **__: object) -> SimpleNamespace:
        assert env["RAILYARD_RATE_SCALE"] == "0.00003"
        stdout.write("  * Reason: launch 0 is void\n")
        (tmp_path / "results").mkdir()
        (tmp_path / "results/record.json").write_text(text)
        return SimpleNamespace(wait=lambda: 1)

    monkeypatch.setattr(subprocess, "Popen", reframe)
    runs = cli._Runs(system="s:p", config="", output=tmp_path, rate_scale="0.00003", variables={})
    if good:
        assert runs.reframe("capture", 1, needs_times=needs_times).launches[0].is_void
        return
    with pytest.raises(RunError, match=r"capture: launch 0 is void; see .*capture\.log"):
        runs.reframe("capture", 1, needs_times=needs_times)


@pytest.mark.parametrize(
    ("options", "valid"),
    [
        (["--placements", "scheduler,shuffled"], "'shuffled' is not valid; expected blocks"),
        (["--ranks", "16", "--grid", "2x2x2"], "'2x2x2' is not valid; expected a grid of 16 ranks"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_the_capture(options: list[str], valid: str, tmp_path: Path) -> None:
    output = tmp_path / "fit"
    done = CliRunner().invoke(cli.fit, [*options, "--output", str(output), "--", "true"])
    assert isinstance(done.exception, InputError) and valid in str(done.exception)
    assert not output.exists()


def test_a_second_fit_in_the_same_folder_is_refused_and_names_its_own_command(tmp_path: Path) -> None:
    with (tmp_path / "fit.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = CliRunner().invoke(cli.fit, ["--output", str(tmp_path), "--", "true"])
    assert isinstance(done.exception, RunError)
    assert "another fit runs there" in str(done.exception) and "--output ANOTHER" in str(done.exception)
