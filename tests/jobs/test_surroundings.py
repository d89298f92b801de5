"""What a job's launches ran in, and what ends a launch that hangs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import synthetic
from support.commands import executable

from railyard.analysis.cases import cases
from railyard.jobs import schedule
from railyard.jobs.job import job_folder
from railyard.jobs.job.submitted import Planned
from railyard.jobs.nodes import leftovers, surroundings


def test_variables_of_mpi_and_its_networks_are_kept_and_no_others() -> None:
    own = {"MPICH_OFI_NIC_POLICY": "NUMA", "UCX_TLS": "rc", "OMPI_MCA_pml": "ucx", "NCCL_IB_HCA": "mlx5"}
    others = {"EDITOR": "vi", "HOME": "/home/someone", "UCX_LOG_FILE": "/home/someone/log"}
    job = {"LOADEDMODULES": "gcc/13:openmpi/5.0", "SLURM_JOB_ID": "4711"}
    noted = surroundings.described({**own, **others, **job})
    assert noted["variables"] == {**own, "UCX_LOG_FILE": "~/log"}
    assert (noted["modules"], noted["job"]) == (["gcc/13", "openmpi/5.0"], "4711")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("I_MPI_HYDRA_TOKEN", "abc"),
        ("FI_CXI_AUTH_FILE", "x"),
        ("UCX_PASSWORD", "x"),
        ("OMPI_MCA_key", "x"),
        ("NCCL_PROXY", "http://me:word@proxy:80"),
    ],
)
def test_a_secret_is_left_out_by_the_stated_rule(name: str, value: str) -> None:
    assert surroundings.described({name: value})["variables"] == {name: "(left out)"}


def test_libraries_are_those_that_the_launch_had_loaded(tmp_path: Path) -> None:
    library = tmp_path / "libmpi.so.40.30"
    library.write_bytes(b"elf")
    loaded = [{"path": str(library), "version": ""}, {"path": "/gone/libucp.so.0", "version": "1.17.0"}]
    (tmp_path / "launch-000.json").write_text(json.dumps({"mpi": {"libraries": loaded}}))
    ours, gone = surroundings.libraries(job_folder.libraries(tmp_path))
    assert ours["file"].endswith("libmpi.so.40.30") and len(ours["sha256"]) == 64
    assert gone == {"file": "/gone/libucp.so.0", "version": "1.17.0", "sha256": ""}


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("srun -n 2 halo", "timeout --foreground -k 30 60 srun -n 2 halo"),
        ("A=1 B='x y' srun halo", "A=1 B='x y' timeout --foreground -k 30 60 srun halo"),
    ],
)
def test_a_limit_goes_behind_the_variables_of_a_command(command: str, wanted: str) -> None:
    assert schedule.limited(command, 60) == wanted
    assert schedule.limited(command, 0) == command == schedule.limited(command, 0, in_turn=True)
    assert schedule.limited(command, 60, in_turn=True) == f"RAILYARD_LIMIT_S=60 {command}"


def test_a_script_goes_on_after_a_launch_that_hangs(tmp_path: Path) -> None:
    hangs = Planned(index=0, placement="plain", nic_policy="library-default", repeat=0, command="X=1 sleep 3600")
    works = Planned(index=1, placement="plain", nic_policy="library-default", repeat=1, command="true")
    text = [line for one in (hangs, works) for line in schedule.lines(one, only_if_placed=False, limit_s=1, of=2)]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    command = ["bash", "-c", "\n".join(text)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert re.fullmatch(
        r"railyard: launch 1 of 2 \(plain \+ library-default\) ended: status 124, \d+ s after the job began\n"
        r"railyard: launch 2 of 2 \(plain \+ library-default\) ended: status 0, \d+ s after the job began\n",
        done.stdout,
    )
    assert (tmp_path / "launch-000.ended").read_text().startswith("124 ")
    assert (tmp_path / "launch-001.ended").read_text().startswith("0 ")


def test_a_busy_machine_does_not_set_the_two_clocks_of_a_launch_apart(tmp_path: Path) -> None:
    """Reading them started two programs, which waited for a processor: strict refused an honest record."""
    for name in ("date", "cut"):
        slow = tmp_path / "bin" / name
        executable(slow, f'#!/bin/sh\nsleep 1\nexec /usr/bin/{name} "$@"\n')
    one = Planned(index=0, placement="plain", nic_policy="library-default", repeat=0, command="false")
    text = "\n".join(schedule.lines(one, only_if_placed=False))
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", text], cwd=tmp_path, env=environment, check=True)
    begun = [float(word) for word in (tmp_path / "launch-000.begun").read_text().split()]
    status, *ended = [float(word) for word in (tmp_path / "launch-000.ended").read_text().split()]
    assert status == 1
    apart = time.time() - float(Path("/proc/uptime").read_text().split()[0])
    assert [first - second for first, second in (begun, ended)] == pytest.approx([apart, apart], abs=0.5)


def test_a_clock_is_read_where_numbers_have_a_comma(tmp_path: Path) -> None:
    one = Planned(index=0, placement="plain", nic_policy="library-default", repeat=0, command="true")
    text = "\n".join(["unset EPOCHREALTIME; EPOCHREALTIME=12,5", *schedule.lines(one, only_if_placed=False)])
    subprocess.run(["bash", "-c", text], cwd=tmp_path, check=True)
    assert (tmp_path / "launch-000.begun").read_text().startswith("12.5 ")


def test_strays_of_the_launch_are_ended_and_no_other_process(tmp_path: Path) -> None:
    def start(evidence: str, folder: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "60"], cwd=folder, env={**os.environ, "RAILYARD_EVIDENCE": evidence})

    other = tmp_path / "other"
    other.mkdir()
    stray = start("launch-000.evidence", tmp_path)
    next_one = start("launch-001.evidence", tmp_path)
    elsewhere = start("launch-000.evidence", other)
    try:
        assert leftovers.end_here(tmp_path, "launch-000") == [stray.pid]
        assert stray.wait(10) == -9
        assert next_one.poll() is None and elsewhere.poll() is None
    finally:
        next_one.kill()
        elsewhere.kill()


def test_records_that_ran_in_another_environment_are_two_cases_and_the_variable_is_named() -> None:
    jobs = ({"variables": {"UCX_TLS": value}, "modules": [], "libraries": []} for value in ("rc", "tcp"))
    one, other = cases.group([synthetic.small(job=job) for job in jobs])
    assert cases.differences(one, other) == ["provenance.job.variables.UCX_TLS"]
