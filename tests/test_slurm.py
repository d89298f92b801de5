"""A real Slurm on a virtual torus: one cluster of eight nodes for all tests, used as a cluster is used, and mistreated.

Every ReFrame runs on the cluster's head, as on a login node.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import BIN, CHECKOUT, Run, environment

from results import archive
from results.record import Record
from torus import lifecycle, netns, slurm

REASON = slurm.missing()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

NODES = 8
QUICK = ["-S", "cells=4", "-S", "repeats=1"]
HALO = ["-r", "-n", "halo_smoke", *QUICK]

ReFrame = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def cluster(railyard: Run) -> Iterator[str]:
    name = f"t{os.getpid()}-slurm"
    done = railyard("torus", "up", "gemini-2x2x2", "--name", name, "--rate-scale", "0.00025", "--slurm")
    assert done.returncode == 0, done.stderr
    yield name
    railyard("torus", "down", name)


@pytest.fixture
def head(railyard: Run, cluster: str) -> Callable[..., str]:
    """What a command says on the head."""

    def run(*command: str) -> str:
        done = railyard("torus", "exec", cluster, "head", "--", *command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def command(prefix: Path, *arguments: str, system: str, configs: tuple[Path, ...] = ()) -> list[str]:
    files = [word for config in (CHECKOUT / "reframe.yml", *configs) for word in ("-C", str(config))]
    fixed = ["--prefix", str(prefix), *files, "-c", str(CHECKOUT / "checks"), "--nocolor", "--system", system]
    return [str(BIN / "reframe"), *fixed, "-S", f"archive={prefix}/archive", *arguments]


@pytest.fixture
def reframe(cluster: str, tmp_path: Path) -> ReFrame:
    """Run ReFrame on the head, with its stage and archive below tmp_path."""

    def run(
        *arguments: str, system: str = "vtorus:slurm", configs: tuple[Path, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            on_head(cluster, command(tmp_path, *arguments, system=system, configs=configs)),
            capture_output=True,
            text=True,
            timeout=300,
            cwd=CHECKOUT,
            env=environment(),
            check=False,
        )

    return run


def on_head(cluster: str, words: list[str]) -> list[str]:
    return [str(BIN / "railyard"), "torus", "exec", cluster, "head", "--", *words]


def records(tmp_path: Path) -> list[Record]:
    return archive.load_all(tmp_path / "archive")


def test_every_node_is_idle_under_its_own_name_and_status_says_so(
    railyard: Run, cluster: str, head: Callable[..., str]
) -> None:
    names = {node.name for node in lifecycle.get(cluster).topology.nodes}
    assert set(head("sinfo", "-hN", "-o", "%N").split()) == names
    report = json.loads(railyard("torus", "status", cluster, "--json").stdout)
    assert report["slurm"] == {"idle": NODES} and report["sound"]
    assert "Leaf" not in head("scontrol", "show", "topology", "r0-0-0")
    assert "Nodes=n0-0-0" in head("scontrol", "show", "topology", "r0-0-0")


def test_srun_from_anywhere_starts_ranks_on_the_nodes(railyard: Run, cluster: str) -> None:
    done = railyard("torus", "srun", cluster, "-n", "3", "-w", "n0-0-1,n1-0-0,n1-1-1", "--label", "hostname")
    assert dict(re.findall(r"^(\d): (\S+)$", done.stdout, re.M)) == {
        "0": "n0-0-1",
        "1": "n1-0-0",
        "2": "n1-1-1",
    }


def test_smoke_passes_and_leaves_evidence_as_on_any_partition(reframe: ReFrame, tmp_path: Path) -> None:
    done = reframe("-r", "-t", "smoke")
    assert done.returncode == 0, done.stdout
    found = {record.case.check: record for record in records(tmp_path)}
    assert len(found) >= 7 and "multirail_smoke" not in found
    assert re.search(r"multirail_smoke.*made for the topology dual-rail-small", done.stdout, re.S), (
        done.stdout
    )
    for record in found.values():
        assert (record.status, record.system.partition, record.origin) == ("ok", "slurm", "emulated")
        for launch in record.launches:
            assert launch.placement_verdict == "obeyed" and "srun " in launch.command
            assert launch.guard is not None and launch.nics


@pytest.mark.parametrize(("partition", "launcher"), [("slurm", "srun"), ("slurm-mpirun", "mpirun")])
def test_every_placement_is_obeyed(reframe: ReFrame, tmp_path: Path, partition: str, launcher: str) -> None:
    """In one allocation, in random order; the last one with a core for each rank."""
    placements = ["plain", "cart-create", "custom", "snake", "hilbert", "scheduler", "random:3/core"]
    done = reframe(*HALO, "-S", f"placements={','.join(placements)}", system=f"vtorus:{partition}")
    assert done.returncode == 0, done.stdout
    (record,) = records(tmp_path)
    assert {launch.placement for launch in record.launches} == {*placements}
    assert all(launch.placement_verdict == "obeyed" for launch in record.launches)
    assert all(launcher in launch.command.split() for launch in record.launches)
    bound = next(launch for launch in record.launches if launch.placement == "random:3/core")
    assert {rank.allowed_cpus for rank in bound.ranks} == {(0,)}


def test_a_wrong_distribution_is_caught(reframe: ReFrame, tmp_path: Path) -> None:
    """An srun before ours on the job's PATH that deals ranks in blocks, whatever it is asked."""
    wrong = tmp_path / "bin"
    wrong.mkdir()
    ours = f"PATH=${{PATH#{wrong}:}} exec {CHECKOUT}/torus/bin/srun"
    script = f'unset SLURM_HOSTFILE; {ours} "${{@/arbitrary/block}}"\n'
    (wrong / "srun").write_text(f"#!/bin/bash\n{script}")
    (wrong / "srun").chmod(0o755)
    done = reframe(*HALO, "-S", "placements=random", "-S", f"preparations=export PATH={wrong}:$PATH")
    assert done.returncode != 0
    (record,) = records(tmp_path)
    assert record.status == "failed" and record.launches[0].placement_verdict == "not-obeyed"
    assert re.search(r"rank \d+ ran on n\d-\d-\d, asked n\d-\d-\d", done.stdout), done.stdout


def test_a_new_user_gets_from_doctor_to_records(
    reframe: ReFrame, head: Callable[..., str], cluster: str, tmp_path: Path
) -> None:
    """docs/cluster.md: the fragment as it is, then with coordinates; Slurm chooses the nodes."""
    fragment = head(str(BIN / "railyard"), "doctor", "--fragment")
    assert "scheduler: squeue" in fragment and "--partition=torus" in fragment
    mine = tmp_path / "mine.yml"
    mine.write_text(fragment)
    on = {"system": "head:torus", "configs": (mine,)}
    plain_srun = f"preparations=export LD_PRELOAD={CHECKOUT}/build/lib/railyard-fence.so"  # docs/torus.md
    only_openmpi = ["-p", "openmpi-here", "-S", "nodes=4", "-S", "placements=random,custom", "-S", plain_srun]
    done = reframe(*HALO, *only_openmpi, **on)
    (record,) = records(tmp_path)
    by_placement = {launch.placement: launch for launch in record.launches}
    assert (record.origin, record.case.topology) == ("measured", None)
    assert by_placement["random"].placement_verdict == "obeyed", done.stdout
    assert "no coordinates" in by_placement["custom"].reason
    assert by_placement["custom"].status == "not-measured"

    known = f"topology: gemini-2x2x2, coordinates: {lifecycle.RUN / cluster}/coordinates"
    mine.write_text(fragment.replace("origin: measured", f"origin: measured, {known}"))
    reframe(*HALO, *only_openmpi, "-S", "placements=hilbert", **on)
    newest = next(r for r in records(tmp_path) if r.id != record.id)
    assert newest.status == "ok" and newest.case.topology is not None
    assert len(newest.case.allocation["nodes"]) == 4 and newest.case.allocation["order"] == "scheduler"
    assert all(node["coordinate"] is not None for node in newest.case.allocation["nodes"])


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_a_reframe_that_ends_early_loses_no_launch(
    cluster: str, reframe: ReFrame, head: Callable[..., str], tmp_path: Path, how: signal.Signals
) -> None:
    words = on_head(cluster, command(tmp_path, *HALO, "-S", "launches=30", system="vtorus:slurm"))
    running = subprocess.Popen(words, cwd=CHECKOUT, env=environment(), stdout=subprocess.DEVNULL)
    stage = tmp_path / "stage/vtorus/slurm/openmpi/halo_smoke"
    finished = wait_for_launches(stage, 2)
    running.send_signal(how)
    running.wait(60)
    head("scancel", "--user=root")
    if how == signal.SIGKILL:
        assert not (tmp_path / "archive").exists()
        done = reframe(*HALO)
        assert done.returncode == 0, done.stdout
    kept = next(r for r in records(tmp_path) if r.case.launches_per_combination == 30)
    good = [launch for launch in kept.launches if launch.status == "ok"]
    assert kept.status in {"not-measured", "failed"} and kept.reason
    assert len(good) >= finished and all(launch.series for launch in good)
    assert all(launch.reason for launch in kept.launches if launch.status != "ok")
    assert len(records(tmp_path)) == (2 if how == signal.SIGKILL else 1)


def test_a_node_that_dies_in_the_middle_leaves_a_truthful_record(
    cluster: str, reframe: ReFrame, head: Callable[..., str], tmp_path: Path
) -> None:
    words = on_head(cluster, command(tmp_path, *HALO, "-S", "launches=30", system="vtorus:slurm"))
    running = subprocess.Popen(words, cwd=CHECKOUT, env=environment(), stdout=subprocess.PIPE, text=True)
    stage = tmp_path / "stage/vtorus/slurm/openmpi/halo_smoke"
    finished = wait_for_launches(stage, 2)
    netns.kill([netns.full_name(cluster, "n1-1-1")])
    head("scontrol", "update", "nodename=n1-1-1", "state=down", "reason=test")
    said, _ = running.communicate(timeout=120)
    assert running.returncode != 0
    (record,) = records(tmp_path)
    good = [launch for launch in record.launches if launch.status == "ok"]
    assert len(good) >= finished and len(good) < len(record.launches)
    assert "NODE FAILURE" in record.reason, record.reason
    assert record.reason.split(":")[0] in said
    # The next job is told at once that a node is missing, and nothing is made up.
    again = reframe(*HALO, "-S", "launches=2")
    assert again.returncode != 0 and len(records(tmp_path)) == 1, again.stdout


def test_without_a_cluster_the_partition_is_skipped_and_says_how_to_make_one(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path, *HALO, system="vtorus:slurm"),
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment(RAILYARD_TORUS=""),
        check=False,
    )
    assert done.returncode == 0 and "1 skipped" in done.stdout
    assert "railyard torus up TOPOLOGY --name NAME --slurm" in done.stdout


def test_down_leaves_nothing_even_after_a_killed_up(railyard: Run, torus_name: str) -> None:
    up = [str(BIN / "railyard"), "torus", "up", "gemini-2x2x2", "--name", torus_name, "--slurm"]
    running = subprocess.Popen(up, env=environment(), stdout=subprocess.DEVNULL)
    controller = lifecycle.RUN / torus_name / "slurm/slurmctld.pid"
    deadline = time.monotonic() + 60
    while not controller.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    running.kill()
    running.wait()
    inodes = {(netns.NETNS / name).stat().st_ino for name in netns.namespaces(torus_name)}
    assert netns.processes(inodes), "nothing was running yet"
    assert railyard("torus", "down", torus_name).returncode == 0
    assert netns.processes(inodes) == set() and netns.namespaces(torus_name) == []
    assert not (lifecycle.RUN / torus_name).exists()
    commands = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists()]
    assert not any(f"/run/railyard/{torus_name}/".encode() in words for words in commands)


def test_slurm_where_it_cannot_be_is_one_line(railyard: Run, small: str, torus_name: str) -> None:
    for arguments, told in (
        (("up", "gemini-2x2x2", "--name", torus_name, "--slurm", "--engine", "docker"), "netns"),
        (("srun", small, "hostname"), "--slurm"),
    ):
        done = railyard("torus", *arguments)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and told in done.stderr


def wait_for_launches(stage: Path, count: int) -> int:
    """Wait until so many launches ended; how many there are then."""
    deadline = time.monotonic() + 90
    while (ended := len(list(stage.glob("launch-*.ended")))) < count:
        assert time.monotonic() < deadline, "the job does not launch"
        time.sleep(0.1)
    return ended
