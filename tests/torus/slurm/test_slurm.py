"""A real Slurm on a virtual torus: one cluster of eight nodes for all tests, used as a cluster is used, and mistreated.

Every ReFrame runs on the cluster's head, as on a login node.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import walk
from support.commands import BIN, CHECKOUT, HUNG_S, Run, command_lines, environment, in_checkout
from support.reframe import assert_passed, reading, third_launch_waits
from support.topology import tori
from support.waiting import wait_until

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import render
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import orders as rank_orders
from railyard.placements.topology import catalog
from railyard.records.record import Record, load
from railyard.records.store import archive
from railyard.torus.engines import netns
from railyard.torus.slurm import cluster as slurm
from railyard.torus.virtual import lifecycle

REASON = slurm.missing()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

NODES = 8
QUICK = ["-S", "cells=4", "-S", "repeats=1"]
HALO = ["-r", "-n", "halo_smoke", *QUICK]

ReFrame = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk of 4 MiB that the nodes see, since it is there before them."""
    path = tmp_path_factory.mktemp("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", path], check=True)


@pytest.fixture(scope="module")
def cluster(railyard: Run, disk: Path) -> Iterator[str]:
    name = f"t{os.getpid()}-slurm"
    tori.up(railyard, name, "--rate-scale", "0.00025", "--slurm")
    yield name
    railyard("torus", "down", name)


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> None:
    """Before a test that uses the cluster, wait until no job is left of the test before and every node is idle.

    After a node's death Slurm itself takes a minute for that (railyard/torus/slurm/cluster.py).
    """
    if "cluster" not in request.fixturenames:
        return
    head = request.getfixturevalue("head")
    head("scancel", "--user=root")
    wait_until(lambda: not head("squeue", "-h").strip(), "the queue is empty")
    for name, state in re.findall(r"^(\S+) (down\S*|drain\S*)$", head("sinfo", "-hN", "-o", "%N %T"), re.M):
        lost = state.endswith("*")
        assert not lost, f"{name} is {state}: an earlier test killed it for good"
        head("scontrol", "update", f"nodename={name}", "state=resume")
    wait_until(lambda: set(head("sinfo", "-hN", "-o", "%T").split()) == {"idle"}, "every node is idle")


@pytest.fixture
def head(railyard: Run, cluster: str) -> Callable[..., str]:
    return functools.partial(tori.on_head, railyard, cluster)


def command(prefix: Path, *arguments: str, system: str = "vtorus:slurm", configs: tuple[Path, ...] = ()) -> list[str]:
    files = [word for config in (CHECKOUT / "reframe.yml", *configs) for word in ("-C", str(config))]
    fixed = ["--prefix", str(prefix), *files, *reading(*arguments), "--nocolor", "--system", system]
    return [str(BIN / "reframe"), *fixed, "-S", f"archive={prefix}/archive", *arguments]


@pytest.fixture
def reframe(cluster: str, tmp_path: Path) -> ReFrame:
    """Run ReFrame on the head, with its stage and archive below tmp_path."""

    def run(*arguments: str, **on: Any) -> subprocess.CompletedProcess[str]:
        return in_checkout(tori.entering(cluster, *command(tmp_path, *arguments, **on)))

    return run


def at_work(cluster: str, prefix: Path, *arguments: str, **on: Any) -> subprocess.Popen[str]:
    """A ReFrame on the head that has not ended."""
    words = tori.entering(cluster, *command(prefix, *arguments, **on))
    return subprocess.Popen(words, cwd=CHECKOUT, env=environment(), stdout=subprocess.PIPE, text=True)


def records(tmp_path: Path) -> list[Record]:
    return archive.load_all(tmp_path / "archive")


def test_every_node_is_idle_under_its_own_name_and_status_says_so_and_srun_starts_ranks_on_the_nodes(
    railyard: Run, cluster: str, head: Callable[..., str]
) -> None:
    names = {node.name for node in lifecycle.get(cluster).topology.nodes}
    assert set(head("sinfo", "-hN", "-o", "%N").split()) == names
    report = json.loads(railyard("torus", "status", cluster, "--json").stdout)
    assert report["slurm"] == {"idle": NODES} and report["sound"]
    assert "Leaf" not in head("scontrol", "show", "topology", "r0-0-0")
    assert "Nodes=n0-0-0" in head("scontrol", "show", "topology", "r0-0-0")
    done = railyard("torus", "srun", cluster, "-n", "3", "-w", "n0-0-1,n1-0-0,n1-1-1", "--label", "hostname")
    assert dict(re.findall(r"^(\d): (\S+)$", done.stdout, re.M)) == {"0": "n0-0-1", "1": "n1-0-0", "2": "n1-1-1"}
    assert 0 < tori.folder_kib(railyard, cluster, "srun", "-N", "4") < 8192, "PMIx's files are small, as under mpirun"


def test_a_victim_and_its_congestor_run_at_once_in_one_job_by_mpirun(reframe: ReFrame, tmp_path: Path) -> None:
    """Two launchers start ranks on disjoint nodes of one job, and the record proves the load."""
    assert_passed(reframe("-r", "-n", "congestion_smoke", "-S", "repeats=5", system="vtorus:slurm-mpirun"))
    (record,) = records(tmp_path)
    (loaded,) = (launch for launch in record.launches if launch.roles)
    (role,) = loaded.roles or ()
    assert role.placement_verdict == "obeyed" and not {rank.host for rank in loaded.ranks} & set(role.hosts)
    assert sum(nic.tx_bytes for nic in role.nics or ()) > 0


def test_an_srun_that_waits_for_nodes_does_not_block_the_launches_of_the_job_that_has_them(
    railyard: Run, cluster: str, head: Callable[..., str], tmp_path: Path
) -> None:
    """A batch job has every node and launches only when an srun outside it already waits for a node."""
    launch = f"{BIN}/railyard torus srun {cluster} -n 1 hostname"
    script = f"#!/bin/sh\nwhile [ ! -e {tmp_path}/waits ]; do sleep 0.2; done\n{launch} > {tmp_path}/inside\n"
    (tmp_path / "job").write_text(script)
    head("sbatch", "-N", str(NODES), "-o", str(tmp_path / "log"), str(tmp_path / "job"))
    wait_until(lambda: head("squeue", "-h", "-t", "running", "-o", "%i").strip() != "", "the job has its nodes")
    outside = subprocess.Popen(launch.split(), stdout=subprocess.PIPE, text=True, env=environment(), cwd=CHECKOUT)
    wait_until(lambda: head("squeue", "-h", "-t", "pending", "-o", "%i").strip() != "", "the srun waits")
    (tmp_path / "waits").touch()
    out, _ = outside.communicate(timeout=HUNG_S)
    assert outside.returncode == 0 and out.startswith("n")
    assert (tmp_path / "inside").read_text().startswith("n"), (tmp_path / "log").read_text()


#: Orders of networks with groups, and the one that no list of hosts describes.
OWN = {"by-group", "by-switch", "scheduler"}
LAUNCHERS = ("srun", "mpirun")
BOTH = pytest.mark.parametrize(("partition", "launcher"), [("slurm", "srun"), ("slurm-mpirun", "mpirun")])


@BOTH
def test_every_placement_is_obeyed(reframe: ReFrame, tmp_path: Path, partition: str, launcher: str) -> None:
    """Every order that a torus has and every binding, in one allocation, in random order.

    A launcher reads every order but the scheduler's as a list of hosts, so one of the two launches each of these.
    """
    mine = tmp_path / "mine"
    mine.write_text("".join(f"n{x}-{y}-{z}\n" for z in (1, 0) for x in (1, 0) for y in (0, 1)))
    arguments = {"blocks": ":1x1x1", "file": f":{mine}", "random": ":3", "optimised": ":1"}
    orders = [f"{kind}{arguments.get(kind, '')}" for kind in rank_orders() if kind not in OWN]
    bound = [f"random:3/{binding}" for binding in Binding if binding.is_known]
    placements = ["scheduler", *orders[LAUNCHERS.index(launcher) :: len(LAUNCHERS)], *bound]
    done = reframe(*HALO, "-S", f"placements={','.join(placements)}", system=f"vtorus:{partition}")
    assert_passed(done)
    (record,) = records(tmp_path)
    assert {launch.placement for launch in record.launches} == {*placements}
    assert all(launch.placement_verdict == "obeyed" for launch in record.launches)
    assert all(launcher in launch.command.split() for launch in record.launches)
    by_core = next(launch for launch in record.launches if launch.placement == "random:3/core")
    assert {rank.allowed_cpus for rank in by_core.ranks} == {(0,)}


def test_what_the_scheduler_places_fills_few_nodes_of_a_larger_job(head: Callable[..., str], tmp_path: Path) -> None:
    granted = allocate(catalog.load("gemini-2x2x2"), "contiguous", block=(2, 1, 1))
    placed = place("scheduler", granted, (4,), ranks_per_node=2)
    rendered = render("slurm", placed)
    for name, text in rendered.files.items():
        (tmp_path / name).write_text(text)
    used = ",".join(dict.fromkeys(node.name for node in placed.nodes))
    job = ["salloc", "--quiet", "--nodes", "4", "--nodelist", used]
    step = shlex.join([*job, *rendered.command, "--label", "hostname"])
    said = head("sh", "-c", f"cd {tmp_path} && exec {step}")
    ranks = dict(re.findall(r"^(\d): (\S+)$", said, re.M))
    assert ranks["0"] == ranks["1"] != ranks["2"] == ranks["3"]


#: What goes wrong in a launcher where the placement is random: ranks are dealt in blocks, or by the nodes' names.
WRONG = {
    "srun": 'case "$SLURM_HOSTFILE" in random*) unset SLURM_HOSTFILE; set -- "${@/arbitrary/block}";; esac\n',
    "mpirun": 'case "$*" in *random*) sort random.hostfile > sorted; set -- "${@/#random.hostfile/sorted}";; esac\n',
}


@BOTH
def test_a_wrong_distribution_is_caught(reframe: ReFrame, tmp_path: Path, partition: str, launcher: str) -> None:
    wrong = tmp_path / "bin"
    wrong.mkdir()
    ours = f'PATH=${{PATH#{wrong}:}} exec {CHECKOUT}/railyard/torus/bin/{launcher} "$@"\n'
    (wrong / launcher).write_text(f"#!/bin/bash\n{WRONG[launcher]}{ours}")
    (wrong / launcher).chmod(0o755)
    placements = ["-S", "placements=random,custom", "-S", f"preparations=export PATH={wrong}:$PATH"]
    done = reframe(*HALO, *placements, system=f"vtorus:{partition}")
    assert done.returncode != 0
    (record,) = records(tmp_path)
    verdicts = {launch.placement: launch.placement_verdict for launch in record.launches}
    assert record.status == "failed" and verdicts == {"random": "not-obeyed", "custom": "obeyed"}
    assert re.search(r"rank \d+ ran on n\d-\d-\d, asked n\d-\d-\d", done.stdout), done.stdout


def test_mpich_is_started_by_pmi2(reframe: ReFrame, tmp_path: Path) -> None:
    """Debian's MPICH can hang in MPI_Finalize (docs/torus.md): such a launch has written its results."""
    if not (CHECKOUT / "build/benchmarks-mpich/bin/halo").is_file():
        pytest.skip("no benchmarks built with MPICH; `make mpich` builds them")
    mpich = ["-p", "mpich", "-S", "valid_prog_environs=+mpich", "-S", "launches=2", "-S", "launch_limit_s=45"]
    done = reframe(*HALO, *mpich, "-S", "block=2,1,1", "-S", "placements=plain,random:2")
    (record,) = records(tmp_path)
    assert record.system.environment == "mpich"
    hung = [launch for launch in record.launches if "after its limit" in launch.reason]
    ended = [launch for launch in record.launches if launch not in hung]
    assert ended and all(launch.status == "ok" and launch.verified for launch in ended), done.stdout
    assert all(launch.placement_verdict == "obeyed" and len(launch.ranks) == 2 for launch in ended)
    assert record.status == ("failed" if hung else "ok"), done.stdout
    if not hung:
        assert_passed(done)
    assert len(record.launches) == 4
    stage = tmp_path / "stage/vtorus/slurm/mpich/halo_smoke"
    for launch in hung:
        json.loads((stage / f"launch-{launch.index:03d}.json").read_text())


def from_doctor(head: Callable[..., str], path: Path, extras: str = "") -> Path:
    """What doctor prints on the head as a file, of a user who declares `measured`, with more extras and plain srun."""
    fragment = head(str(BIN / "railyard"), "doctor", "--fragment")
    declared = re.sub(
        r"emulated, nodes: 8, cluster: .*?names_nodes: true", f"measured, nodes: 8{extras}", fragment, flags=re.S
    )
    assert "origin: measured, nodes: 8" in declared, fragment
    plain = f"prepare_cmds: ['export PATH=\"{BIN}:$PATH\"']\nenvironments"
    path.write_text(re.sub(r"prepare_cmds: \[.*?\]\nenvironments", plain, declared, flags=re.S))
    return path


PLAIN_SRUN = f"preparations=export LD_PRELOAD={CHECKOUT}/build/lib/railyard-fence.so"  # docs/torus.md
FOUR_NODES = ["-p", "openmpi-here", "-S", "nodes=4", "-S", PLAIN_SRUN]


def coordinates(cluster: str) -> str:
    """As extras of a partition."""
    return f", topology: gemini-2x2x2, coordinates: {lifecycle.RUN / cluster}/coordinates"


def test_a_new_user_gets_from_doctor_to_records(
    reframe: ReFrame, head: Callable[..., str], cluster: str, tmp_path: Path
) -> None:
    """The nodes' reports correct the false origin of the fragment; then with coordinates; Slurm chooses the nodes."""
    mine = from_doctor(head, tmp_path / "mine.yml")
    assert "scheduler: squeue" in mine.read_text() and "--partition=torus" in mine.read_text()
    on = {"system": f"{cluster}:torus", "configs": (mine,)}
    done = reframe(*HALO, *FOUR_NODES, "-S", "placements=random,custom", **on)
    assert done.returncode == 0, "what the machine cannot do fails nothing"
    assert "custom is left out" in done.stdout + done.stderr
    (record,) = records(tmp_path)
    assert (record.origin, record.case.topology, record.status) == ("emulated", None, "ok")
    assert record.provenance["torus"]["name"] == cluster and record.provenance["nodes"]["boots"] == 1
    assert {launch.placement: launch.placement_verdict for launch in record.launches} == {"random": "obeyed"}
    places = [node["coordinate"] for node in record.case.allocation["nodes"]]
    assert None not in places, "Slurm's path of switches says where the nodes are, without a file"
    job = record.provenance["job"]
    assert job["variables"]["SLURM_MPI_TYPE"] == "pmix" and record.provenance["reframe"]["job"]
    assert any("libmpi" in library["file"] and library["sha256"] for library in job["libraries"])

    from_doctor(head, mine, coordinates(cluster))
    reframe(*HALO, *FOUR_NODES, "-S", "placements=hilbert", **on)
    newest = next(r for r in records(tmp_path) if r.id != record.id)
    assert newest.status == "ok" and newest.case.topology is not None
    assert len(newest.case.allocation["nodes"]) == 4 and newest.case.allocation["order"] == "scheduler"
    assert all(node["coordinate"] is not None for node in newest.case.allocation["nodes"])


def test_the_pages_lead_from_login_to_a_record_that_the_strict_check_accepts_and_to_a_bid(
    cluster: str, tmp_path: Path
) -> None:
    """docs/cluster.md and docs/howto/bid.md, word for word, on the head: clone, set-up, records, a complete bid."""
    page, bid = CHECKOUT / "docs/cluster.md", CHECKOUT / "docs/howto/bid.md"
    assert len(walk.commands(page)) <= 6
    tender = re.search(r"```yaml\n(.*?)```", bid.read_text(), re.DOTALL)
    assert tender is not None
    emulated = tender[1].replace("origins: [measured]", "origins: [emulated]")
    emulated = emulated.replace("scale: small}", "scale: small, rate_scale: 0.00025, latency_scaled: false}")
    (tmp_path / "tender.yml").write_text(emulated)
    (tmp_path / "walk.sh").write_text(walk.script([page, bid], tmp_path, cluster))
    done = in_checkout(tori.entering(cluster, "bash", tmp_path / "walk.sh"))
    refused = re.findall(r"^results/\S+: launches\[\S+: (.*)", done.stdout, re.MULTILINE)
    assert all(why.startswith("the guard could not tell") for why in refused), done.stdout
    if not refused:
        assert_passed(done)
    made = [load(path) for path in (tmp_path / "railyard/results" / cluster).glob("*.json")]
    assert {(record.origin, record.status) for record in made} == {("emulated", "ok")}
    assert "1 record checked, 0 refused" in done.stdout or done.returncode
    if done.returncode:
        return  # load made a launch void or doubtful, and a shell ends with the first command that fails
    lines = done.stdout.splitlines()
    assert lines[-1] == "complete" and "wrote ../bid: 2 records, signed with SHA256:" in done.stdout
    (left_out,) = [line for line in lines if line.startswith("left out")]
    assert left_out.endswith("its challenge is none; the tender's is 7f3a-Sunday-rain")


def test_a_binding_is_the_same_on_every_node_and_a_hung_launch_costs_itself_alone(
    reframe: ReFrame, head: Callable[..., str], cluster: str, tmp_path: Path
) -> None:
    mine = from_doctor(head, tmp_path / "mine.yml")
    hangs = tmp_path / "bin"
    hangs.mkdir()
    program = hangs / "halo"
    real = f"exec {CHECKOUT}/build/benchmarks-openmpi/bin/halo"
    program.write_text(f'#!/bin/sh\ncase "$*" in *launch-000*) sleep 300;; esac\n{real} "$@"\n')
    program.chmod(0o755)
    prepare = f"{PLAIN_SRUN} PATH={hangs}:$PATH"
    chosen = ["-p", "openmpi-here", "-S", "nodes=4", "-S", prepare, "-S", "launch_limit_s=20"]
    chosen += ["-S", "placements=random/core", "-S", "launches=2"]
    done = reframe(*HALO, *chosen, system=f"{cluster}:torus", configs=(mine,))
    assert done.returncode != 0
    (record,) = records(tmp_path)
    hung, good = record.launches
    assert "ended after its limit of 20 s" in hung.reason and good.status == "ok", good.reason
    assert {len(rank.allowed_cpus or ()) for rank in good.ranks} == {1}, "a core each"
    assert not head("squeue", "-h").strip()


def test_checks_run_inside_an_allocation(head: Callable[..., str], cluster: str, tmp_path: Path) -> None:
    mine = from_doctor(head, tmp_path / "mine.yml")
    text = mine.read_text().replace("scheduler: squeue", "scheduler: local").replace("max_jobs: 4", "max_jobs: 1")
    mine.write_text(re.sub(r"    access: .*\n", "", text).replace("nodes: 8", "nodes_from: environment"))
    fixed = ["-p", "openmpi-here", "-S", PLAIN_SRUN, "-S", "placements=random"]
    words = command(tmp_path, *HALO, *fixed, system=f"{cluster}:torus", configs=(mine,))
    done = in_checkout(tori.entering(cluster, "salloc", "--quiet", "--nodes=4", *words))
    assert_passed(done)
    (record,) = records(tmp_path)
    assert (record.status, len(record.case.allocation["nodes"])) == ("ok", 4)


def test_a_drained_node_ends_its_job_and_another_takes_its_place(
    reframe: ReFrame, head: Callable[..., str], cluster: str, tmp_path: Path
) -> None:
    """Where Slurm chooses the nodes: both records say on which they were measured.

    The first job waits for a file before its launches, so that it runs when its node is drained.
    """
    mine = from_doctor(head, tmp_path / "mine.yml", coordinates(cluster))
    go = tmp_path / "go"
    chosen = [*HALO, *FOUR_NODES, "-S", "placements=random", "-S", "launches=1"]
    waiting = ["-S", f"{PLAIN_SRUN},until test -e {go}; do sleep 0.1; done"]
    running = at_work(cluster, tmp_path, *chosen, *waiting, system=f"{cluster}:torus", configs=(mine,))
    wait_until(lambda: head("squeue", "-ho", "%B", "--states=running").strip(), "the job runs")
    drained = head("squeue", "-ho", "%B", "--states=running").strip()
    head("scontrol", "update", f"nodename={drained}", "state=drain", "reason=test")
    go.touch()
    try:
        said, _ = running.communicate(timeout=HUNG_S)
        assert running.returncode == 0, said
        done = reframe(*chosen, system=f"{cluster}:torus", configs=(mine,))
        assert_passed(done)
    finally:
        head("scontrol", "update", f"nodename={drained}", "state=resume")
    before, after = records(tmp_path)
    assert {launch.placement_verdict for launch in (*before.launches, *after.launches)} == {"obeyed"}
    granted = [{node["name"] for node in record.case.allocation["nodes"]} for record in (before, after)]
    assert sorted(drained in names for names in granted) == [False, True]


def test_a_full_disk_costs_the_launches_after_it_alone(cluster: str, disk: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    fixed = ["-S", "launches=2", "-S", f"archive={tmp_path}/archive", "-S", third_launch_waits(go)]
    running = at_work(cluster, disk, *HALO, *fixed)
    finished = wait_for_launches(disk / "stage/vtorus/slurm/openmpi/halo_smoke", 2)
    with (disk / "full").open("wb", buffering=0) as full, contextlib.suppress(OSError):
        while full.write(bytes(4096)):
            pass
    go.touch()
    said, _ = running.communicate(timeout=HUNG_S)
    assert running.returncode != 0
    (record,) = records(tmp_path)
    good = [launch for launch in record.launches if launch.status == "ok"]
    assert finished <= len(good) < len(record.launches) == 4
    assert all(launch.series for launch in good)
    assert all(launch.reason for launch in record.launches if launch.status != "ok"), said


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_a_reframe_that_ends_early_loses_no_launch(
    *, cluster: str, reframe: ReFrame, head: Callable[..., str], tmp_path: Path, how: signal.Signals
) -> None:
    fixed = ["-S", "launches=5", "-S", third_launch_waits(tmp_path / "never")]
    running = at_work(cluster, tmp_path, *HALO, *fixed)
    stage = tmp_path / "stage/vtorus/slurm/openmpi/halo_smoke"
    finished = wait_for_launches(stage, 2)
    # ReFrame loses a signal that arrives while it formats a line of its log: logging swallows the handler's error.
    stat = Path(f"/proc/{running.pid}/stat")
    wait_until(lambda: stat.read_text().rpartition(") ")[2].startswith("S"), "ReFrame sleeps between two looks")
    running.send_signal(how)
    running.wait(HUNG_S)
    head("scancel", "--user=root")
    if how == signal.SIGKILL:
        assert not (tmp_path / "archive").exists()
        done = reframe(*HALO)
        assert_passed(done)
    kept = next(r for r in records(tmp_path) if r.case.launches_per_combination == 5)
    good = [launch for launch in kept.launches if launch.status == "ok"]
    assert kept.status in {"not-measured", "failed"} and kept.reason
    assert len(good) >= finished and all(launch.series for launch in good)
    assert all(launch.reason for launch in kept.launches if launch.status != "ok")
    assert len(records(tmp_path)) == (2 if how == signal.SIGKILL else 1)


def test_the_directory_of_a_job_that_waits_is_not_emptied(
    cluster: str, reframe: ReFrame, head: Callable[..., str], tmp_path: Path
) -> None:
    """A killed ReFrame's job was still pending when the next one emptied its directory and submitted another."""

    def pending() -> list[str]:
        return head("squeue", "-ho", "%i", "--states=pending").split()

    with contextlib.ExitStack() as busy:
        words = tori.entering(cluster, "srun", "--exclusive", f"--nodes={NODES}", "sleep", "infinity")
        blocker = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        busy.callback(head, "scancel", "--user=root")
        wait_until(lambda: head("squeue", "-ho", "%i", "--states=running").strip(), "the nodes are taken")
        running = at_work(cluster, tmp_path, *HALO)
        wait_until(lambda: bool(pending()), "the job waits in the queue")
        running.kill()
        running.wait(HUNG_S)
        (number,) = pending()
        written = (tmp_path / "stage/vtorus/slurm/openmpi/halo_smoke/job.json").read_bytes()
        done = reframe(*HALO)
        assert done.returncode != 0 and f"Slurm has its job in the queue: {number} PENDING" in done.stdout
        assert (tmp_path / "stage/vtorus/slurm/openmpi/halo_smoke/job.json").read_bytes() == written
        assert pending() == [number], "no second job beside it"
    blocker.wait(300)


def test_a_node_that_dies_in_the_middle_leaves_a_truthful_record(
    cluster: str, reframe: ReFrame, head: Callable[..., str], tmp_path: Path
) -> None:
    running = at_work(cluster, tmp_path, *HALO, "-S", "launches=30")
    stage = tmp_path / "stage/vtorus/slurm/openmpi/halo_smoke"
    finished = wait_for_launches(stage, 2)
    netns.kill([netns.full_name(cluster, "n1-1-1")])
    head("scontrol", "update", "nodename=n1-1-1", "state=down", "reason=test")
    said, _ = running.communicate(timeout=HUNG_S)
    assert running.returncode != 0
    (record,) = records(tmp_path)
    good = [launch for launch in record.launches if launch.status == "ok"]
    assert len(good) >= finished and len(good) < len(record.launches)
    assert "NODE FAILURE" in record.reason, record.reason
    assert record.reason.split(":")[0] in said
    # The next job is told at once that a node is missing, and nothing is made up.
    again = reframe(*HALO, "-S", "launches=2")
    assert again.returncode != 0 and len(records(tmp_path)) == 1, again.stdout


def test_without_a_cluster_there_is_no_partition_and_one_that_is_not_up_is_skipped_with_the_command(
    tmp_path: Path,
) -> None:
    none = in_checkout(command(tmp_path, *HALO, system="vtorus:slurm"), RAILYARD_TORUS="")
    assert none.returncode != 0 and "vtorus:slurm" in none.stdout + none.stderr
    done = in_checkout(command(tmp_path, *HALO, system="vtorus:slurm"), RAILYARD_TORUS="not-up")
    assert done.returncode == 0 and "1 skipped" in done.stdout
    assert "railyard torus up TOPOLOGY --name NAME --slurm" in done.stdout


def test_down_leaves_nothing_even_after_a_killed_up(railyard: Run, torus_name: str) -> None:
    words = [str(BIN / "railyard"), "torus", "up", "gemini-2x2x2", "--name", torus_name, "--slurm"]
    running = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL)
    controller = lifecycle.RUN / torus_name / "slurm/slurmctld.pid"
    wait_until(lambda: controller.exists() or running.poll() is not None, "slurmctld runs, or up ended")
    running.kill()
    running.wait()
    inodes = netns.identities(netns.namespaces(torus_name))
    assert netns.processes(inodes), "nothing was running yet"
    assert railyard("torus", "down", torus_name).returncode == 0
    assert netns.processes(inodes) == set() and netns.namespaces(torus_name) == []
    assert not (lifecycle.RUN / torus_name).exists()
    assert not any(f"/run/railyard/{torus_name}/" in line for line in command_lines())


def wait_for_launches(stage: Path, count: int) -> int:
    """Wait until so many launches ended; how many there are then."""
    wait_until(lambda: len(list(stage.glob("launch-*.ended"))) >= count, f"{count} launches of the job ended")
    return len(list(stage.glob("launch-*.ended")))


def test_a_node_that_works_is_usable_whatever_flag_slurm_appends() -> None:
    """`allocated+` is in use, and an earlier job completes on it; `idle*` does not answer."""
    for state in ("idle", "planned", "allocated+", "mixed-", "completing", "allocated*"):
        assert slurm.is_usable(state), state
    for state in ("idle*", "down*", "drained", "draining", "unknown"):
        assert not slurm.is_usable(state), state
