"""A first run on a real machine: what it cannot do is left out in one line, and what is left passes."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.commands import BIN, CHECKOUT, environment
from support.reframe import into, reading, reframe_in, reframe_of

from railyard.applications.programs import osu
from railyard.base.errors import InputError
from railyard.jobs import stagedir
from railyard.jobs.job import request
from railyard.jobs.job.spec import JobSpec
from railyard.placements.nics.policies import Host
from railyard.records.record import Status
from railyard.records.store import archive
from railyard.tender import presets

SITE = """\
systems:
  - name: site
    hostnames: ['^site$']
    partitions:
      - name: compute
        scheduler: squeue
        launcher: srun
        environs: [site-mpi]
        features: [torus]
        extras: {{origin: measured, nodes: 16{extras}}}
environments:
  - name: site-mpi
    target_systems: [site]
    cc: mpicc
    features: [mpi, openmpi{features}]
"""
FAT_TREE = """\
name: tree
tile_rates_gbyte_s: {cable: 3.1, host: 3.1}
host: {tiles: 4}
nodes_per_router: 4
tree: {leaves: 8}
"""
DryRun = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def dry_run(tmp_path: Path) -> DryRun:
    """Dry-run checks on a Slurm cluster that only its configuration knows."""

    def run(*arguments: str, extras: str = "", features: str = ", ucx") -> subprocess.CompletedProcess[str]:
        config = tmp_path / "site.yml"
        config.write_text(SITE.format(extras=extras, features=features))
        words = ["-C", CHECKOUT / "reframe.yml", "-C", config, "--system", "site", "--prefix", tmp_path]
        return reframe_of(*words, *reading(*arguments), "--dry-run", *arguments)

    return run


def passed(text: str) -> set[str]:
    """The checks that ended well."""
    return set(re.findall(r"OK \] \( *\d+/\d+\) (\w+)", text))


TWO_NICS = ", nics: ['mlx5_0:1', 'mlx5_1:1']"


def test_without_a_topology_all_that_is_left_passes_and_each_thing_left_out_has_its_line(
    dry_run: DryRun, tmp_path: Path
) -> None:
    names = "halo|hops|contention|sonar|rowcol|multirail_halo"
    done = dry_run("-n", names, "-S", "halo_3d.launches=3", extras=TWO_NICS)
    assert done.returncode == 0, done.stdout
    wanted = {"halo_smoke", "halo_3d", "contention_smoke", "sonar_smoke", "hops_smoke", "multirail_halo"}
    wanted |= {"contention_pairs", "rowcol_all", "halo_paper_2d"}
    assert wanted <= passed(done.stdout)
    left_out = re.findall(r"WARNING: halo_smoke: (.*)", done.stdout + done.stderr)
    assert left_out == [
        f"custom is left out on site:compute: no coordinates: {tmp_path}/site.yml names no topology for site:compute"
    ]
    few = re.findall(r"WARNING: halo_3d: (.*requested.*)", done.stdout + done.stderr)
    assert few == [
        "2 combinations need 4 launches each before they can be compared; 3 are requested; "
        "run: railyard plan halo_3d --find 5%"
    ]
    assert "hops_range" in done.stdout and "needs 25 nodes; jobs on site:compute have 16" in done.stdout


def run_script(folder: Path, nodes: str) -> subprocess.CompletedProcess[str]:
    """Run a job's script by hand, as a scheduler would that granted these nodes."""
    (folder / "granted").write_text(nodes)
    path = f"{BIN}:{os.environ['PATH']}"
    variables = {**environment(), "PATH": path, "RAILYARD_NODES": str(folder / "granted")}
    words = ["bash", "rfm_job.sh"]
    return subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def test_a_script_writes_nothing_where_another_job_runs_or_the_directory_is_another_jobs(
    dry_run: DryRun, tmp_path: Path
) -> None:
    """Placing came before the lock, so the host files of the running job were another job's.

    A first job waited in the queue when its directory was emptied for a second.
    """
    assert dry_run("-n", "halo_smoke", "--keep-stage-files").returncode == 0
    (job,) = tmp_path.glob("**/job.json")
    with (job.parent / "job.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_script(job.parent, "a1\na2\n")
    assert done.returncode == 1 and "another job runs in" in done.stderr
    assert not (job.parent / "placed.json").exists() and not list(job.parent.glob("*.hosts"))
    first = (job.parent / "rfm_job.sh").read_text()
    assert dry_run("-n", "halo_smoke", "--keep-stage-files").returncode == 0
    (job.parent / "rfm_job.sh").write_text(first)
    done = run_script(job.parent, "a1\na2\n")
    assert done.returncode == 1 and "another job was submitted in" in done.stderr
    assert not (job.parent / "placed.json").exists()


def test_a_job_that_runs_nothing_is_no_success_of_the_job_before(tmp_path: Path) -> None:
    """With ReFrame's `--dont-restage` the files of the job before are still there."""
    words = ["--system", "linkload", *into(tmp_path), "-r", "-n", "halo_smoke", "--keep-stage-files"]
    ended = [reframe_in(tmp_path)(*words, *more) for more in ((), ("--dont-restage", "-S", "preparations=exit 3"))]
    assert [done.returncode for done in ended] == [0, 1], ended[1].stdout
    assert "OK ]" not in ended[1].stdout and len(archive.load_all(tmp_path / "archive")) == 2


def test_an_archive_that_cannot_be_written_is_refused_before_the_job(dry_run: DryRun, tmp_path: Path) -> None:
    done = dry_run("-n", "halo_smoke", "-S", "archive=/proc/archive")
    assert done.returncode == 1 and "archive: /proc: " in done.stdout, done.stdout
    assert not list(tmp_path.glob("**/job.json"))


def test_a_fat_tree_breaks_no_check_that_runs_without_one(dry_run: DryRun, tmp_path: Path) -> None:
    tree = tmp_path / "tree.yml"
    tree.write_text(FAT_TREE)
    done = dry_run("-t", "smoke", extras=f", topology: {tree}")
    assert done.returncode == 0, done.stdout
    assert {"contention_smoke", "halo_smoke", "hops_smoke", "sonar_smoke"} <= passed(done.stdout)
    assert "needs a block of 2x2x2 routers of a torus; site:compute has 8x1x1" in done.stdout


def test_nic_policies_need_nics_and_the_stack_by_name(dry_run: DryRun) -> None:
    one = dry_run("-n", "multirail_smoke")
    assert one.returncode == 0 and "needs 2 NICs per node; site:compute names no NICs" in one.stdout
    silent = dry_run("-n", "multirail_smoke", extras=TWO_NICS, features="")
    assert silent.returncode != 0 and "needs the environment's stack among its features" in silent.stdout
    cray = dry_run("-n", "multirail_halo", extras=TWO_NICS, features=", cray-mpich")
    assert cray.returncode == 0 and "stripe is left out on site:compute" in cray.stdout + cray.stderr


@pytest.mark.parametrize("name", ["ats5", "jupiter"])
def test_a_procurements_tag_runs_what_applies_and_gives_a_reason_for_each_other_rule(
    dry_run: DryRun, tmp_path: Path, name: str
) -> None:
    for program in osu.PROGRAMS:
        (tmp_path / program).touch(mode=0o755)
    done = dry_run("-t", name, "-S", "build=none", "-S", f"programs={tmp_path}", extras=TWO_NICS)
    assert done.returncode == 0, done.stdout
    for rule in presets.load(name).rules:
        if rule.test is None:
            assert f"{name}: {rule.name}: {rule.by_hand}" in done.stdout, done.stdout
        else:
            assert re.search(rf"OK \] .*procurement %rule={name}: {rule.name} ", done.stdout), done.stdout


def test_the_poster_takes_its_16_nodes_and_two_nics_on_any_machine() -> None:
    asked = JobSpec(name="poster", benchmark="halo", allocation="contiguous", ranks_per_node=4)
    on_grid = dataclasses.replace(asked, grid=(2, 2, 2), ranks_per_node=2)
    assert [request.nodes_of(one, "dual-rail-small") for one in (asked, on_grid)] == [16, 4]
    assert request.rails(["library-default"]) == 1
    assert request.rails(["round-robin"]) == 2 and request.rails(["nic-7", "nic-0"]) == 8


def test_a_policy_that_the_stack_cannot_express_is_left_out_and_named() -> None:
    host = Host(nics=("cxi0", "cxi1"), nearest=(0, 0))
    kept, cannot = request.split_policies(["nic-0", "stripe"], ["mpi", "cray-mpich"], host)
    assert kept == ["nic-0"] and "cray-mpich" in cannot["stripe"]
    with pytest.raises(InputError, match="stack"):
        request.split_policies(["nic-0"], ["mpi", "openmpi"], host)


def record(*launches: tuple[str, str]) -> Any:
    """What `stagedir.fault` reads of a record: placement and status of each launch."""
    made = [SimpleNamespace(placement=p, status=Status(s), is_void=False, guard=None) for p, s in launches]
    return SimpleNamespace(launches=made, reason="the reason")


@pytest.mark.parametrize(
    ("launches", "wrong"),
    [
        ((("plain", "ok"), ("custom", "ok")), ""),
        ((("plain", "ok"), ("custom", "not-measured")), ""),
        ((("plain", "not-measured"), ("custom", "not-measured")), "the reason"),
        ((("plain", "failed"), ("custom", "not-measured")), "the reason"),
        ((("custom", "not-measured"),), "nothing was measured: the reason"),
        ((), "the reason"),
    ],
)
def test_only_what_these_nodes_do_not_allow_is_excused(launches: tuple[tuple[str, str], ...], wrong: str) -> None:
    assert stagedir.fault(record(*launches), {"custom"}) == wrong


def test_the_sizes_are_those_of_a_machine_and_of_the_user_before_them(dry_run: DryRun, tmp_path: Path) -> None:
    """A scale is in the case's parameters, the program's options, and what was set by hand is left alone."""
    done = dry_run("-n", "contention_smoke", "-S", "window=7", "--keep-stage-files")
    assert done.returncode == 0, done.stdout
    (job,) = tmp_path.glob("**/job.json")
    case = json.loads(job.read_text())["spec"]["parameters"]
    assert case["scale"] == "standard" and case["window"] == 7
    assert 8 in case["sizes_bytes"] and 4 << 20 in case["sizes_bytes"]
