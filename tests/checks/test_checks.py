"""The checks under ReFrame, on real tori: records, evidence, disobedience, interruption, other people's checks.

The small torus (2x2x2) stands for the large one: the path is the same. It has the default network.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import CHECKOUT, environment, executable
from support.reframe import (
    QUICK,
    VOID,
    ReFrame,
    assert_passed,
    command,
    into,
    records,
    reframe_in,
    settings,
    third_launch_waits,
)
from support.waiting import wait_until

from railyard.base.checkout import TORUS_BIN
from railyard.records import references
from railyard.records.record import Record
from railyard.records.store import entries
from railyard.records.units import Better
from railyard.torus.engines import router
from railyard.torus.virtual import lifecycle

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")

#: Studies take minutes, smokes seconds.
PENA = {"halo_3d", "halo_folded", "hops_curve", "paths_parallel", "rowcol_cube"}
POSTER = {"osu_all_multirail", "multirail_contention", "umt_multirail", "mcb_mpi_time", "amg_hybrid"}
FAMILIES = ("congestion", "contention", "halo", "hops", "multirail", "noise", "paths", "rowcol", "sonar", "topobw")
SMOKE = {f"{family}_smoke" for family in FAMILIES}


@pytest.fixture
def reframe(tmp_path: Path) -> ReFrame:
    return reframe_in(tmp_path)


def test_every_check_is_listed_and_every_work_and_study_is_a_tag(reframe: ReFrame) -> None:
    described = json.loads(reframe("--describe").stdout)
    tags = {check["name"].partition(" ")[0]: set(check["tags"]) for check in described}
    assert {name for name, own in tags.items() if "pena2013" in own} == PENA
    assert {name for name, own in tags.items() if "poster" in own} >= POSTER
    assert "poster" not in tags["lulesh_weak"]
    assert tags.keys() >= PENA | SMOKE


def test_every_check_survives_a_dry_run(reframe: ReFrame, tmp_path: Path) -> None:
    """Those of third-party programs are in tests/checks/test_application_checks.py, with the programs."""
    done = reframe("--dry-run", "-T", "coral$|osu", *into(tmp_path))
    assert_passed(done)
    assert records(tmp_path) == []


def logged(tmp_path: Path, record: Record) -> Iterator[dict[str, str]]:
    """Yield the lines of a check's perflogs; ReFrame begins another where a run that failed has other columns."""
    for perflog in tmp_path.glob(f"perflogs/**/{record.case.check}.log*"):
        header, *lines = perflog.read_text().splitlines()
        yield from (dict(zip(header.split("|"), line.split("|"), strict=True)) for line in lines)


def perfvars(row: dict[str, str]) -> dict[str, tuple[float, str]]:
    """Return value and unit of each performance variable of a line, by ReFrame's names of columns."""
    names = [column.removesuffix("_value") for column in row if column.endswith("_value")]
    return {name: (float(row[f"{name}_value"]), row[f"{name}_unit"]) for name in names}


def test_smoke_passes_and_leaves_no_torus_behind(reframe: ReFrame, tmp_path: Path) -> None:
    """That one run leaves nothing in the way of the next, the tests of a kill and of a regression show."""
    done = reframe("-r", "-t", "smoke", *into(tmp_path))
    assert_passed(done)
    found = records(tmp_path)
    assert {record.case.check for record in found} == SMOKE and len(found) == len(SMOKE)
    guards = [launch.guard for record in found for launch in record.launches if launch.is_void]
    assert all(guard and guard.figures["by_load"] for guard in guards), "void, but not by load on this machine"
    used = {record.provenance["torus"]["name"] for record in found}
    assert used and not used & set(lifecycle.names()), "a job left its torus behind"
    on_kernel = {"noise_smoke", "sonar_smoke"}  # they name that network themselves
    for record in found:
        assert (record.origin, record.status, record.system.name) == ("emulated", "ok", "vtorus")
        assert record.provenance["torus"]["rate_scale"] == float(QUICK["RAILYARD_RATE_SCALE"])
        carrier = "kernel" if router.missing() or record.case.check in on_kernel else "router"
        assert record.provenance["torus"]["network"] == carrier
        assert all(launch.placement_verdict == "obeyed" for launch in record.launches)
        assert all(series.samples for launch in record.launches for series in launch.series)
        if not any(launch.is_void for launch in record.launches):
            (row,) = [row for row in logged(tmp_path, record) if row["record_sha256"] == record.sha256]
            values = references.medians(entries.of_record(record))
            assert perfvars(row) == {name: (value, name.unit.text) for name, value in values.items()}


def test_launches_are_plain_lines_in_a_seeded_random_order_and_the_record_says_how_to_do_it_again(
    reframe: ReFrame, tmp_path: Path
) -> None:
    choose = ["-n", "halo_3d", *settings(launches=2, cells=4, repeats=1, seed=7)]
    done = reframe("-r", "--keep-stage-files", *choose, *into(tmp_path), RAILYARD_NETWORK="kernel")
    assert_passed(done)
    script = next(tmp_path.rglob("rfm_job.sh")).read_text()
    lines = re.findall(
        r"^RAILYARD_LIMIT_S=\d+ mpirun -np 8 --map-by seq --hostfile (\S+)\.hostfile --bind-to none halo .*$",
        script,
        re.M,
    )
    rounds = [lines[i : i + 3] for i in range(0, 6, 3)]
    assert all(sorted(r) == ["cart-create", "custom", "plain"] for r in rounds)
    assert len({tuple(r) for r in rounds}) > 1, "every round in the same order is no random order"
    (record,) = records(tmp_path)
    assert [launch.placement for launch in record.launches] == lines
    provenance = record.provenance
    assert provenance["torus"]["network"] == "kernel", "as the variable names it"
    assert provenance["reframe"]["check"] == "halo_3d" and provenance["reframe"]["session"]
    assert re.fullmatch(r"[0-9a-f]{40}", provenance["railyard"]["git_commit"] or "0" * 40)
    assert "Open MPI" in provenance["mpi"]["library"]
    assert len(record.case.allocation["nodes"]) == 8
    assert record.launches[0].ranks[3].host.startswith("n")


def test_a_placement_that_was_not_obeyed_fails_and_names_the_first_rank(reframe: ReFrame, tmp_path: Path) -> None:
    """A launcher that ignores the host file: first on the job's PATH, it drops what says where."""
    executable(tmp_path / "bin/mpirun", f'#!/bin/bash\nexec "{TORUS_BIN}/mpirun" -np 8 $(shift 8; echo "$@")\n')
    wrong = settings(placements="random", preparations=f"export PATH={tmp_path}/bin:$PATH")
    done = reframe("-r", "-n", "halo_smoke", *wrong, *into(tmp_path))
    assert done.returncode != 0
    (record,) = records(tmp_path)
    assert record.status == "failed" and record.launches[0].placement_verdict == "not-obeyed"
    assert re.search(r"rank \d+ ran on n\d-\d-\d, asked n\d-\d-\d", done.stdout), done.stdout


def test_each_mistake_is_one_clear_reason_and_those_of_the_program_are_recorded(
    reframe: ReFrame, tmp_path: Path
) -> None:
    """Nothing to launch, a grid of too many ranks, a program's wrong option, a fault that cannot be injected."""
    mistakes = {
        "halo_smoke": "launches=0",
        "halo_3d": "grid=3,3,3",
        "hops_smoke": "window=-1",
        "topobw_links": "fault='X+ 9,1,0>1,1,0' --down",
    }
    words = [word for name, value in mistakes.items() for word in ("-n", f"^{name}$", "-S", f"{name}.{value}")]
    done = reframe("-r", *words, *into(tmp_path))
    assert done.returncode != 0
    assert "0 launches" in done.stdout, done.stdout
    assert "3x3x3" in done.stdout and "at most 8 ranks" in done.stdout
    assert "placement.py" not in done.stdout, "a message for users, not our source code"
    of_check = {record.case.check: record for record in records(tmp_path)}
    assert sorted(of_check) == ["hops_smoke", "topobw_links"]
    refused = of_check["hops_smoke"]
    assert refused.status == "failed"
    assert "exit status 2" in refused.reason and "--window -1" in refused.reason
    assert refused.reason.splitlines()[0] in done.stdout
    assert "9,1,0>1,1,0" in of_check["topobw_links"].reason


def processes_in(folder: Path) -> list[str]:
    """Return the processes whose working directory is below a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (each / "cwd").readlink().is_relative_to(folder):
                found.append(each.name)
    return found


def test_kill_9_in_the_middle_then_again(reframe: ReFrame, tmp_path: Path) -> None:
    """The first check has its record, and the second one's job runs."""
    some = ["-r", "-n", "halo_smoke", "-n", "rowcol_smoke", *into(tmp_path)]
    running = subprocess.Popen(
        command(tmp_path, *some),
        cwd=CHECKOUT,
        env=environment(**QUICK),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def is_in_the_middle() -> bool:
        if not any((tmp_path / "archive").rglob("*.json")):
            return False
        done = {record.case.check for record in records(tmp_path)}
        with contextlib.suppress(FileNotFoundError):  # of a job that ended meanwhile
            return any(done.isdisjoint(path.parts) for path in tmp_path.rglob("launch-*.begun"))
        return False

    wait_until(is_in_the_middle, "one check has its record, and the other one is launching")
    running.send_signal(signal.SIGKILL)
    running.wait()
    wait_until(lambda: not processes_in(tmp_path), "the jobs of the killed ReFrame have ended")
    (before,) = records(tmp_path)
    done = reframe(*some)
    assert_passed(done)
    sessions = Counter(record.provenance["reframe"]["session"] for record in records(tmp_path))
    assert max(sessions) != before.provenance["reframe"]["session"]
    assert sessions[max(sessions)] == 2, "the rerun adds its own records"
    assert before.id in {record.id for record in records(tmp_path)}, "and keeps the others"


def test_a_job_that_times_out_keeps_the_launches_that_ended(reframe: ReFrame, tmp_path: Path) -> None:
    """ReFrame's limit is the job's, waits included: on a busy machine a longer one is tried."""
    waits = third_launch_waits(tmp_path / "never")
    for limit_s in (15, 60, 240, 960):
        own = tmp_path / str(limit_s)
        long = settings(launches=2, cells=4, repeats=1, time_limit=f"{limit_s}s")
        done = reframe("-r", "-n", "halo_smoke", *long, "-S", waits, *into(own))
        assert done.returncode != 0 and "job timed out" in done.stdout
        (record,) = records(own)
        assert record.source in done.stderr, "the record is named"
        if good := [launch for launch in record.launches if launch.status == "ok"]:
            break
    assert good and all(launch.series for launch in good) and len(good) < len(record.launches) == 4
    assert "the job ended as TIMEOUT" in record.reason


def test_a_regression_fails_and_names_the_commit_it_last_passed_at(reframe: ReFrame, tmp_path: Path) -> None:
    choose = ["-r", "-n", "halo_smoke", "-S", "placements=custom", *into(tmp_path)]
    assert_passed(reframe(*choose))
    (record,) = records(tmp_path)
    samples = next(s.samples for s in record.launches[0].series if s.fom == "iteration_us")
    about = references.About(commit="ab" * 20, date="2026-11-01", launches=6, records=1)
    file = tmp_path / "references" / "archive.yaml"
    file.parent.mkdir()

    def expect(median_us: float) -> subprocess.CompletedProcess[str]:
        wanted = references.Reference(median=median_us, tolerance=0.3, unit="µs", better=Better.LOWER)
        entry = references.Entry(about=about, references={"custom/iteration_us": wanted})
        file.write_text(references.text({"halo_smoke": {references.case_name(record): entry}}))
        return reframe(*choose, RFM_REFERENCE_PREFIX=str(tmp_path))

    failed = expect(min(samples) / 4)
    assert failed.returncode != 0
    if VOID not in failed.stdout:  # no void launch is compared
        assert "above the reference" in failed.stdout
        assert "last passed at commit abababababab of 2026-11-01" in failed.stdout
    passed = expect(max(samples) * 10)
    assert_passed(passed)
    if passed.returncode == 0:
        assert re.search(r"custom/iteration_us: [\d.]+ µs \(r:", passed.stdout), "ReFrame itself knows the reference"


def test_somebody_elses_check_runs_on_the_torus_as_it_is(reframe: ReFrame) -> None:
    done = reframe("-r", checks=CHECKOUT / "tests/data/third_party")
    assert_passed(done)


def test_an_injected_fault_fails_the_check_and_names_the_link(reframe: ReFrame, tmp_path: Path) -> None:
    """All faults are in bench and, of the program, in test_topobw; this is ReFrame's part of the way."""
    fault = "fault='X+ 0,1,0>1,1,0' --lanes-lost 2"
    done = reframe("-r", "-n", "topobw_links", "-S", fault, "-S", "tolerance_percent=25", *into(tmp_path))
    assert done.returncode != 0
    assert "exit status 5; topobw: link X+ 0,1,0>1,1,0 (cable): slow" in done.stdout, done.stdout
    (record,) = records(tmp_path)
    assert record.status == "failed" and record.launches[0].series, "a failed launch keeps its evidence"
