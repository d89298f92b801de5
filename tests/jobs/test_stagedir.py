"""Records of jobs that did not end well, made of what they left: a real benchmark's output, whole and cut off."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support import synthetic
from support.commands import CHECKOUT, Run, refused

from railyard.base.errors import RunError
from railyard.jobs import complaints, interrupted, job_lock, placing, schedule, stagedir
from railyard.jobs.job import job_folder, launched, submitted
from railyard.jobs.job.spec import PARAMETER, JobSpec
from railyard.jobs.job.submitted import Placed, Planned, Site, Submitted
from railyard.jobs.nodes import counted
from railyard.records import provenance
from railyard.records.record import Record
from railyard.records.store import archive, entries

GRID = [2, 1, 1]
NODE = platform.node()
PROGRAM = CHECKOUT / "build/benchmarks-openmpi/bin/halo"
KILLED = "slurmstepd: error: *** JOB 7 ON n0 CANCELLED AT 2026-11-21T09:00:00 DUE TO TIME LIMIT ***"
LAUNCH = Planned(index=0, placement="plain", nic_policy="library-default", repeat=0, command="true")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The JSON of two ranks of halo on this machine."""
    path = tmp_path_factory.mktemp("halo") / "out.json"
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2"]
    options = ["--grid", "2x1x1", "--cells", "4x4x4", "--repeats", "2", "--warmups", "0", "--json", str(path)]
    subprocess.run([*mpirun, str(PROGRAM), *options], check=True, capture_output=True)
    return path


def job(folder: Path) -> Submitted:
    launches = [
        Planned(index=k, placement=p, nic_policy="library-default", repeat=k // 2, command=f"mpirun {p}")
        for k, p in enumerate(["plain", "random", "random", "plain"])
    ]
    return Submitted(
        spec=JobSpec(
            name="halo_smoke",
            benchmark="halo",
            parameters={"grid": GRID},
            placements=("plain", "random"),
            software=("native",),
            launches=2,
            launch_limit_s=0,
            allocation="contiguous",
            grid=tuple(GRID),
            ranks_per_node=2,
            archive=str(folder / "archive"),
        ),
        site=Site(
            fullname="here:compute",
            scheduler="local",
            origin="measured",
            topology="",
            coordinates="",
            devices=None,
            environment="openmpi",
            features=["mpi", "openmpi"],
            launcher="openmpi4",
        ),
        reframe={"version": "4.10.4", "session": "s", "check": "halo_smoke"},
        stderr="rfm_job.err",
        owner={"host": NODE, "pid": 0, "started": ""},
        launches=launches,
    )


@pytest.fixture
def folder(tmp_path: Path, output: Path) -> Path:
    """A stage directory: the first launch ended, the second was running, the others never began."""
    left, made = tmp_path / "stage", job(tmp_path)
    left.mkdir()
    submitted.write(left, made)
    assert ((read := submitted.read(left)).spec, read.site) == (made.spec, made.site)
    placed = Placed(
        allocation={"order": "scheduler", "seed": None, "nodes": [{"name": NODE, "coordinate": None}]},
        topology=None,
        hosts=dict.fromkeys(("plain", "random"), (NODE, NODE)),
        local_ranks=dict.fromkeys(("plain", "random"), (0, 1)),
        nics={"library-default": [[], []]},
    )
    submitted.write(left, placed)
    now = time.time()
    shutil.copy(output, left / "launch-000.json")
    (left / "launch-000.begun").write_text(f"{now - 9} 91\n")
    (left / "launch-000.ended").write_text(f"0 {now - 6} 94\n")
    (left / "launch-001.begun").write_text(f"{now - 5} 95\n")
    (left / "rfm_job.err").write_text(f"some warning\n{KILLED}\n")
    return left


def record_of(folder: Path) -> Record:
    return stagedir.record_of(job_folder.read(folder))


def test_what_ended_is_kept_and_what_is_missing_is_said(folder: Path) -> None:
    record = stagedir.keep(folder)
    first, running, *never = record.launches
    assert (record.status, first.status, first.placement_verdict) == ("not-measured", "ok", "obeyed")
    assert first.series and first.elapsed_s == pytest.approx(3, abs=0.01)
    assert running.status == "not-measured" and running.started
    assert running.reason == f"the job ended while it ran: {KILLED}"
    assert [launch.reason for launch in never] == [KILLED, KILLED]
    assert record.reason.startswith("3 of 4 launches not measured")


@pytest.mark.parametrize("ended", ["5a", "6b"])
def test_an_image_that_is_replaced_while_the_job_runs_fails_its_launches(ended: str, folder: Path) -> None:
    """Before, one median was of two programs, and ReFrame said ok."""
    made = job(folder)
    image = {**synthetic.IMAGE, "file": "a.sif", "sha256": "5a" * 32}
    launches = [dataclasses.replace(launch, software="image") for launch in made.launches]
    spec = dataclasses.replace(made.spec, software=("image",))
    submitted.write(folder, dataclasses.replace(made, spec=spec, launches=launches, image=image))
    (folder / "code.begun").write_text(f"{'5a' * 32}  /images/a.sif\n")
    (folder / "code.ended").write_text(f"{ended * 32}  /images/a.sif\n")
    first = stagedir.keep(folder).launches[0]
    if ended == "5a":
        assert first.status == "ok"
    else:
        assert first.status == "failed" and "the image a.sif was replaced while the job ran" in first.reason


@pytest.mark.parametrize(("enough_after", "launched"), [(6, 6), (8, 8), (99, 9)])
def test_rounds_go_on_until_a_look_is_enough(tmp_path: Path, enough_after: int, launched: int) -> None:
    """The script's lines run in a shell, with a `railyard enough` that has enough after some number of rounds."""
    planned = [dataclasses.replace(LAUNCH, index=k, repeat=k) for k in range(9)]
    lines = schedule.rounds(planned, lambda launch: [f"echo {launch.repeat} >> launched"], [6, 8])
    script = [f"railyard() {{ [ $2 -ge {enough_after} ]; }}", *lines]
    subprocess.run(["bash", "-c", "\n".join(script)], cwd=tmp_path, check=True)
    assert (tmp_path / "launched").read_text().split() == [str(k) for k in range(launched)]
    assert (tmp_path / job_folder.ENOUGH).exists() is (launched < 9)


def test_all_launches_begin_again_where_load_made_one_void_and_the_torus_became_slower(tmp_path: Path) -> None:
    """The script's lines run in a shell, with a `railyard torus up --slower` that is possible once."""
    void = 'echo \'{"guard": {"by_load": true}}\' > launch-001.evidence'
    planned = [dataclasses.replace(LAUNCH, index=k, repeat=k) for k in range(3)]
    ran = "echo {} >> done; status=0"
    repeated = schedule.rounds_again(planned, lambda one: [ran.format(one.repeat), void], ())
    possible_once = "railyard() { [ ! -e slowed ] && touch slowed; }"
    script = "\n".join([possible_once, *repeated])
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "done").read_text().split() == ["0", "1", "0", "1", "2"]


def test_rounds_that_were_not_needed_are_no_launches_of_the_record(folder: Path) -> None:
    assert len(stagedir.first_rounds(folder, 1).launches) == 2
    (folder / job_folder.ENOUGH).write_text("1\n")
    record = record_of(folder)
    assert (len(record.launches), record.case.launches_per_combination) == (2, 1)


def test_a_host_with_a_name_of_its_own_ran_what_its_node_was_asked_for(folder: Path) -> None:
    placed = submitted.read_placed(folder)
    of_slurm = dataclasses.replace(
        placed,
        allocation={**placed.allocation, "nodes": [{"name": "cpu-1", "coordinate": None}]},
        hosts=dict.fromkeys(placed.hosts, ("cpu-1", "cpu-1")),
    )
    submitted.write(folder, of_slurm)
    assert record_of(folder).launches[0].reason == f"rank 0 ran on {NODE}, asked cpu-1"
    submitted.write(folder, dataclasses.replace(of_slurm, described=1, kinds=1, own_names={NODE: "cpu-1"}))
    record = record_of(folder)
    assert (record.launches[0].status, record.launches[0].ranks[0].host) == ("ok", "cpu-1")
    assert record.provenance["nodes"]["own_names"] == {NODE: "cpu-1"}


def test_the_commit_that_ci_tests_is_the_subject_and_no_other_case(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job on a virtual torus notes no environment; the commit is that of ReFrame's own."""
    for name in entries.SUBJECT:
        monkeypatch.delenv(name, raising=False)
    without = entries.of_record(record_of(folder)).setting
    monkeypatch.setenv("GITHUB_SHA", "3c" * 20)
    setting = entries.of_record(record_of(folder)).setting
    assert setting == {**without, "subject": "3c" * 20}


@pytest.mark.parametrize("word", ["Terminated", "rfm_job.sh: line 12:  4711 Killed    railyard torus mpirun"])
def test_what_the_shell_says_of_a_signal_is_no_reason(tmp_path: Path, word: str) -> None:
    said = tmp_path / "rfm_job.err"
    said.write_text(f"{word}\n")
    assert complaints.last(said) == ""
    said.write_text(f"railyard: error: no such torus\n{word}\n")
    assert complaints.last(said) == "railyard: error: no such torus"


def test_the_record_is_made_once_and_a_rerun_adds(folder: Path, railyard: Run) -> None:
    done = railyard("recover", str(folder))
    assert done.returncode == 0 and "not-measured" in done.stdout, done.stderr
    again = railyard("recover", str(folder))
    assert again.returncode == 0 and "recorded in" in again.stdout
    root = folder.parent / "archive"
    (before,) = archive.load_all(root)
    (folder / "recorded").unlink()
    (folder / "launch-001.ended").write_text(f"9 {time.time()} 99\n")
    railyard("recover", str(folder))
    assert {r.id for r in archive.load_all(root)} > {before.id}


def with_id(folder: Path, **changes: Any) -> None:
    """Give the folder's job an id, as every job of a check has."""
    changed = {"id": "ab" * 16, "written": provenance.state(), **changes}
    submitted.write(folder, dataclasses.replace(submitted.read(folder), **changed))


def test_a_record_made_again_is_the_same_record(folder: Path) -> None:
    """A kill between the archive and the note must not count any launch twice."""
    with_id(folder)
    first = stagedir.keep(folder)
    (folder / "recorded").unlink()
    time.sleep(1.1)  # `created` has whole seconds
    assert stagedir.keep(folder).sha256 == first.sha256
    assert len(archive.load_all(folder.parent / "archive")) == 1


def test_a_folder_in_which_a_job_runs_is_neither_emptied_nor_recorded(folder: Path, railyard: Run) -> None:
    """ReFrame empties a check's stage directory before it runs the check again, whoever else is at work there."""
    script = f"{job_lock.LINE}; echo running; sleep 6000 & read line; kill $!; wait"
    job = subprocess.Popen(["bash", "-c", script], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None and job.stdout.readline() == "running\n"
    with pytest.raises(RunError, match="its job still runs"):
        interrupted.keep_left_behind([folder])
    done = railyard("recover", str(folder))
    assert done.returncode == 2 and "its job still runs" in done.stderr
    second = subprocess.run(["bash", "-c", f"{job_lock.LINE}; echo on"], cwd=folder, capture_output=True, text=True)
    assert (second.returncode, second.stdout) == (1, "") and "another job runs in" in second.stderr
    job.communicate("end\n")
    interrupted.keep_left_behind([folder])
    assert stagedir.record_path(folder) is not None


def test_a_folder_whose_reframe_lives_is_refused_to_another_but_not_to_itself(folder: Path, railyard: Run) -> None:
    with_id(folder, owner=interrupted.owner())
    refused(railyard("recover", str(folder)), f"process {os.getpid()}, still waits for")
    interrupted.keep_left_behind([folder])
    assert stagedir.record_path(folder) is None
    other = subprocess.Popen(["sleep", "6000"])
    stat = Path(f"/proc/{other.pid}/stat").read_text().split()
    with_id(folder, owner={**interrupted.owner(), "pid": other.pid, "started": stat[21]})
    named = f"another ReFrame, process {other.pid}, still waits for its job; expected .*; run: reframe --prefix"
    with pytest.raises(RunError, match=named.replace("; run", ".*run")):
        interrupted.keep_left_behind([folder])
    other.kill()
    other.wait()
    interrupted.keep_left_behind([folder])
    assert stagedir.record_path(folder) is not None


@pytest.mark.parametrize("lacking", ["program", "locks"])
def test_a_job_runs_without_a_lock_where_there_is_none(tmp_path: Path, lacking: str) -> None:
    """A node without flock, and a file system that knows no locks."""
    stand_in = tmp_path / "bin" / "flock"
    stand_in.parent.mkdir()
    stand_in.write_text("#!/bin/sh\nexit 71\n" if lacking == "locks" else "")
    stand_in.chmod(0o755 if lacking == "locks" else 0o644)
    path = f"{stand_in.parent}:{os.environ['PATH']}" if lacking == "locks" else str(stand_in.parent)
    done = subprocess.run(
        ["/bin/bash", "-c", f"{job_lock.LINE}; echo on"], cwd=tmp_path, env={"PATH": path}, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"on\n", b"")


@pytest.mark.parametrize(("ended_s", "elapsed_s"), [(1.0, None), (103.5, 3.25)])
def test_elapsed_time_is_that_of_the_clock_which_nobody_sets(
    folder: Path, ended_s: float, elapsed_s: float | None
) -> None:
    """A clock that goes back costs no record."""
    (folder / "launch-000.begun").write_text(f"{time.time()} 100.25\n")
    (folder / "launch-000.ended").write_text(f"0 {time.time() - 99} {ended_s}\n")
    launch = stagedir.keep(folder).launches[0]
    assert (launch.begun_monotonic_s, launch.ended_monotonic_s, launch.elapsed_s) == (100.25, ended_s, elapsed_s)


def test_records_of_a_session_name_the_one_before(folder: Path) -> None:
    made = []
    for number in range(3):
        with_id(folder, id=f"{number:032x}")
        (folder / "recorded").unlink(missing_ok=True)
        made.append(stagedir.keep(folder))
    runs = [each.run or {} for each in made]
    assert [run["number"] for run in runs] == [0, 1, 2]
    assert [run["previous"] for run in runs] == [None, made[0].sha256, made[1].sha256]


def test_the_job_itself_notes_the_programs_and_libraries_that_its_names_mean(folder: Path) -> None:
    """The same name means another program where another PATH is set."""
    with_id(folder)
    command = f"mpirun -np 2 --hostfile plain.hostfile {PROGRAM.name} --grid 2x1x1"
    launch = dataclasses.replace(LAUNCH, command=command)
    for when in ("begun", "ended"):
        script = "\n".join(schedule.digests([launch], when))
        path = f"{PROGRAM.parent}:{os.environ['PATH']}"
        subprocess.run(["bash", "-c", script], cwd=folder, env={**os.environ, "PATH": path}, check=True)
    run = stagedir.keep(folder).run or {}
    digest = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()
    assert run["written"]["files"]["halo"] == run["ended"]["files"]["halo"] == digest
    assert any(name.startswith("libmpi.so") for name in run["ended"]["files"])
    assert run["boot"] and run["written"]["git_commit"] == run["ended"]["git_commit"]


@pytest.mark.parametrize("name", ["launch-000.json", "launch-000.ended", "launch-000.begun", "placed.json"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_file_that_a_full_disk_cut_off_is_no_result(folder: Path, name: str, share: float) -> None:
    path = folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    record = stagedir.keep(folder)
    if name == "launch-000.json":
        assert record.launches[0].status == "failed" and "launch-000.json" in record.launches[0].reason
    elif name == "launch-000.ended":
        assert record.launches[0].status == "not-measured" and not record.launches[0].series
    else:
        assert record.launches[0].status == "ok", "only what the file itself said is lost"


def test_the_machine_is_the_one_that_the_job_ran_on_and_files_that_are_cut_off_count_as_not_there(folder: Path) -> None:
    there = {"kernel": "Linux 5", "os": "SLES", "cpu": "EPYC", "cpus": 128, "memory_bytes": 1, "hostname": "nid1"}
    (folder / "machine.json").write_text(json.dumps(there))
    assert record_of(folder).provenance["machine"] == there
    (folder / "launch-000.evidence").write_text('{"guard": {"verd')
    (folder / "machine.json").write_text("{")
    record = record_of(folder)
    assert record.launches[0].guard is None and record.launches[0].status == "ok"
    assert record.provenance["machine"]["hostname"] == NODE


def test_a_folder_without_a_job_or_without_a_launch_is_one_line(folder: Path, railyard: Run) -> None:
    for path in folder.glob("launch-*"):
        path.unlink()
    for where, told in ((folder, "no launch that began"), (folder.parent, "railyard-job/2")):
        refused(railyard("recover", str(where)), told)


def test_placements_that_these_nodes_do_not_allow_say_why_and_others_have_a_mark(folder: Path) -> None:
    placed = submitted.read_placed(folder)
    submitted.write(folder, dataclasses.replace(placed, cannot={"random": "no coordinates: nowhere"}))
    reasons = [launch.reason for launch in stagedir.keep(folder).launches[2:]]
    assert reasons == ["no coordinates: nowhere", KILLED]
    assert placing.mark(folder, "random:7@scattered/core").name == "random-7-scattered-core.placed"


# ---- NICs that the ranks counted ----


def counted_nics(
    folder: Path,
    nics: list[dict[str, Any]],
    reason: str | None = None,
    *,
    devices: list[str] | None,
    assigned: str,
    ranks: Sequence[dict[str, Any]] = (),
) -> Any:
    """The first launch of the record of a job whose ranks wrote these bytes of their NICs."""
    asked = submitted.read(folder)
    nic = assigned or "library-default"
    launches = [dataclasses.replace(asked.launches[0], nic_policy="nic-1")]
    spec = dataclasses.replace(asked.spec, nics=("nic-1",), placements=("plain",), launches=1)
    site = dataclasses.replace(asked.site, devices=devices)
    submitted.write(folder, dataclasses.replace(asked, spec=spec, site=site, launches=launches))
    placed = submitted.read_placed(folder)
    submitted.write(folder, dataclasses.replace(placed, nics={"nic-1": [[nic], [nic]]}))
    document = {"format": "railyard-nics/1", "groups": "auto", "nics": nics, "reason": reason}
    document |= {"ranks": list(ranks)} if ranks else {}
    (folder / "launch-000.nics").write_text(json.dumps(document))
    return record_of(folder).launches[0]


def sent(nic: str, size: int, group: str, node: str = NODE) -> dict[str, Any]:
    return {"node": node, "nic": nic, "group": group, "tx_bytes": size, "rx_bytes": 0}


@pytest.mark.parametrize(
    ("devices", "used", "other", "group"),
    [
        (["mlx5_0:1", "mlx5_1:1"], "mlx5_1:1", "mlx5_0:1", "infiniband"),
        (["mlx5_0", "mlx5_1"], "mlx5_1:1", "mlx5_0:1", "infiniband"),
        (["hfi1_0", "hfi1_1"], "hfi1_1:1", "hfi1_0:1", "omni-path"),
        (["cxi0", "cxi1"], "cxi1", "cxi0", "slingshot"),
        (["hsn0", "hsn1"], "cxi1", "cxi0", "slingshot"),
        (None, "nic1", "nic0", "linux-net"),
    ],
)
def test_bytes_of_nics_that_the_ranks_counted_prove_a_policy(
    *, folder: Path, devices: list[str] | None, used: str, other: str, group: str
) -> None:
    """Storage and management count for nothing; a host may have its domain."""
    own = devices[1] if devices else "nic1"
    rest = [sent("mlx5_9:1", 10**9, "roce"), sent("eth0", 10**9, "linux-net")]
    good = [sent(other, 900, group), sent(used, 10**6, group, f"{NODE}.site.example"), *rest]
    good = [row | {"node": good[1]["node"]} for row in good]
    launch = counted_nics(folder, good, devices=devices, assigned=own)
    assert (launch.status, launch.nic_verdict, launch.nic_reason) == ("ok", "obeyed", None)
    assert [(each.node, each.nic) for each in launch.nics][1] == (NODE, own) and len(launch.nics) == 2
    bad = [sent(other, 10**6, group), sent(used, 900, group), *rest]
    launch = counted_nics(folder, bad, devices=devices, assigned=own)
    assert (launch.status, launch.nic_verdict) == ("failed", "not-obeyed")
    assert "99.9 % of the node's bytes left by" in launch.reason


def test_the_nics_of_each_rank_s_connections_are_in_the_record(folder: Path) -> None:
    rows = [{"rank": rank, **sent("nic1", 10**6, "")} for rank in (0, 1)]
    nics = [sent("nic1", 2_100_000, "linux-net")]
    launch = counted_nics(folder, nics, devices=None, assigned="nic1", ranks=rows)
    (series,) = [each for each in launch.series if each.fom == counted.RANK_SENT]
    assert (series.labels, series.samples) == ({"nic": "nic1", "ranks": "0-1"}, (pytest.approx(95.238, abs=1e-3),))


def test_a_fabric_without_readable_counters_says_why_and_nics_without_a_name_prove_nothing(folder: Path) -> None:
    reason = "counter /sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets: cannot be read: Permission denied"
    launch = counted_nics(folder, [], reason, devices=["cxi0", "cxi1"], assigned="cxi1")
    assert (launch.nics, launch.nic_verdict, launch.nic_reason) == (None, "cannot-tell", reason)
    launch = counted_nics(folder, [sent("mlx5_0:1", 10**6, "infiniband")], devices=None, assigned="nic1")
    assert launch.nic_verdict == "cannot-tell" and "extras: nics" in launch.nic_reason
    launch = counted_nics(folder, [sent("eth0", 5, "linux-net")], devices=["mlx5_0", "mlx5_1"], assigned="mlx5_1")
    assert launch.nics is None and "eth0" in launch.nic_reason


def test_the_words_of_a_load_are_files_of_the_launch_and_no_programs() -> None:
    """Before, the strict check refused every record with a load: its files came while the job ran."""
    command = "mpirun -np 2 --hostfile plain+incast.incast.hostfile congestor --pattern incast"
    files = "--ready launch-000.incast.ready --stop launch-000.stop --json launch-000.incast.json"
    role = {"name": "incast", "role": "congestor", "again": False, "command": f"{command} {files}"}
    launch = dataclasses.replace(LAUNCH, command="mpirun halo", roles=[role])
    (line,) = (line for line in schedule.digests([launch], "begun") if line.startswith("for w in "))
    assert line.startswith("for w in mpirun halo congestor incast; do ")


def test_a_launch_that_began_before_its_job_was_written_is_another_jobs(folder: Path) -> None:
    """ReFrame keeps the files of the job before with `--dont-restage`, and a record took them for its own."""
    with_id(folder)
    assert record_of(folder).launches[0].status == "ok"
    begun = time.time() - 3600
    (folder / "launch-000.begun").write_text(f"{begun} 1\n")
    (folder / "launch-000.ended").write_text(f"0 {begun + 3} 4\n")
    launch = record_of(folder).launches[0]
    assert launch.status == "not-measured" and not launch.series
    assert "another job left its files" in launch.reason


def test_a_knob_that_changes_the_work_is_a_parameter_of_the_case_where_it_is_not_the_default() -> None:
    pause = ("pause_s", int, dataclasses.field(default=0, metadata=PARAMETER))
    made: Any = dataclasses.make_dataclass("Longer", [pause], bases=(JobSpec,), frozen=True, kw_only=True)
    assert made(name="halo", benchmark="halo").case()["parameters"] == {}
    assert made(name="halo", benchmark="halo", pause_s=2).case()["parameters"] == {"pause_s": 2}


@pytest.mark.parametrize(
    ("status", "ran_s", "reason"),
    [
        (124, 61, "ended after its limit of 60 s (launch_limit_s); halo: error: no peer"),
        (137, 90, "ended after its limit of 60 s (launch_limit_s); halo: error: no peer"),
        (124, 20, "exit status 124; halo: error: no peer"),
        (3, 61, "exit status 3; halo: error: no peer"),
    ],
)
def test_a_launch_is_late_by_its_own_time_and_not_by_its_wait(
    folder: Path, status: int, ran_s: int, reason: str
) -> None:
    made = job(folder)
    submitted.write(folder, dataclasses.replace(made, spec=dataclasses.replace(made.spec, launch_limit_s=60)))
    now = time.time()
    (folder / "launch-000.json").unlink()
    (folder / "launch-000.begun").write_text(f"{now - 400 - ran_s} {1000 - 400 - ran_s}\n")
    (folder / "launch-000.ended").write_text(f"{status} {now} 1000\n")
    guard = {"verdict": "ok", "reasons": [], "waited_s": 400.0}
    (folder / "launch-000.evidence").write_text(json.dumps({"guard": guard}))
    (folder / "launch-000.err").write_text("halo: error: no peer\n")
    launch = record_of(folder).launches[0]
    assert launch.reason == reason
    assert launched.ended_late(folder, "launch-000") == ("" if reason.startswith("exit") else reason.split(";")[0])
    assert launch.elapsed_s == pytest.approx(ran_s) and launch.begun_monotonic_s == pytest.approx(1000 - ran_s)
