"""What the launcher objects render for Slurm, run by Slurm's own srun: every rank reports where it ran.

One job of four nodes runs all steps, each in the environment that a site may have set behind the job's back. The
switches of the cluster are a tree of two leaves, and its nodes have two NICs. It counts nothing itself: the last tests
put wrong NIC policies on jobs of ReFrame there.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from support import nodes
from support.commands import BIN, CHECKOUT, HUNG_S, Run, executable, in_checkout
from support.nodes import Device, Machine
from support.topology import tori
from support.waiting import wait_until

from railyard.jobs import partition
from railyard.placements.launchers import Rendered, render
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import Placement, place
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.records.record import Record
from railyard.records.store import archive
from railyard.torus.plan.plan import Shape
from railyard.torus.slurm import cluster as slurm
from railyard.torus.virtual import lifecycle

REASON = slurm.missing()
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(REASON), reason=REASON)]

TOPOLOGY = """\
name: dual-rail-tiny
nodes_per_router: 2
rails: 2
sockets_per_node: 2
lanes_per_tile: 4
tile_rates_gbyte_s: {cable: 4.0, host: 4.0}
tree: {leaves: 2, oversubscription: 1}
host: {tiles: 1}
"""
RANKS_PER_NODE = 2
ORDERS = ("scheduler", "plain", "cart-create", "snake", "random:3", "plain@scattered")
BINDINGS = ("none", "core", "numa")
#: Variables that srun reads as options (srun(1), "Input environment variables"): a module or a user may set them.
#: The values are srun's own; those of --network are of HPE's switch plug-in, which this Slurm has not.
SET_BY_A_SITE: Mapping[str, Mapping[str, str]] = {
    "nothing": {},
    "distribution": {"SLURM_DISTRIBUTION": "cyclic"},
    "cpu-bind": {"SLURM_CPU_BIND": "cores"},
    "exact": {"SLURM_EXACT": "1"},
    "overlap": {"SLURM_OVERLAP": "1"},
    "network": {"SLURM_NETWORK": "single_node_vni,job_vni,def_tles=0"},
    "tasks per node": {"SLURM_NTASKS_PER_NODE": "1", "SLURM_NNODES": "4"},
}
REPORT = 'echo "rank $SLURM_PROCID $(hostname) $(grep Cpus_allowed_list: /proc/self/status | cut -f2)"'


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One srun: what is asked, how it is rendered, and what a site has set."""

    title: str
    site: str
    placed: Placement
    rendered: Rendered

    def line(self) -> str:
        """Return the step as a line of a script, with a heading for its output."""
        environment = {**SET_BY_A_SITE[self.site], **self.rendered.environment}
        exports = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
        return f"echo 'step {self.title}'; {exports}{shlex.join(self.rendered.command)} --mpi=none ./report 2>&1"

    def wanted(self) -> list[str]:
        """Return the node of each of Slurm's tasks; Cray MPICH's reorder file says which rank takes a task's place."""
        nodes = [node.name for node in self.placed.nodes]
        file = self.rendered.environment.get("MPICH_RANK_REORDER_FILE")
        if file is None:
            return nodes
        return [nodes[int(rank)] for rank in re.findall(r"\d+", self.rendered.files[file])]


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Topology:
    path = tmp_path_factory.mktemp("topology") / "dual-rail-tiny.yml"
    path.write_text(TOPOLOGY)
    return catalog.load(str(path))


@pytest.fixture(scope="module")
def tree(topology: Topology) -> Iterator[str]:
    """A Slurm cluster of four nodes on two leaf switches."""
    name = f"t{os.getpid()}-srun"
    lifecycle.up(topology, name=name, shape=Shape(rate_scale=0.00025), with_slurm=True)
    yield name
    lifecycle.down(name)


def steps(topology: Topology, folder: Path) -> Iterator[Step]:
    """Yield every step that a launcher can express, with its files in the folder."""
    granted = allocate(topology, "contiguous")
    for launcher, order, binding in itertools.product(("slurm", "cray-mpich"), ORDERS, BINDINGS):
        placed = place(f"{order}/{binding}", granted, (2, 2, 2), ranks_per_node=RANKS_PER_NODE)
        rendered = render(launcher, placed, stem=re.sub(r"\W", "-", f"{launcher}-{order}-{binding}"))
        for name, text in rendered.files.items():
            (folder / name).write_text(text)
        for site in SET_BY_A_SITE if (order, binding) == ("random:3", "core") else ("nothing",):
            yield Step(title=f"{launcher} {order}/{binding} {site}", site=site, placed=placed, rendered=rendered)


def test_every_rank_is_where_the_launcher_objects_put_it_whatever_a_site_has_set(
    railyard: Run, tree: str, topology: Topology, tmp_path: Path
) -> None:
    all_steps = list(steps(topology, tmp_path))
    executable(tmp_path / "report", f"#!/bin/sh\n{REPORT}\n")
    script = "\n".join(["#!/bin/sh", f"cd {tmp_path}", *(s.line() for s in all_steps)])
    job = ["salloc", "--quiet", "--nodes=4", "--exclusive", str(executable(tmp_path / "job", script))]
    done = railyard("torus", "exec", tree, "head", "--", *job, timeout_s=HUNG_S)
    # Only at the start of a line: while a node is busy, srun itself prints "step creation temporarily disabled".
    said = re.split(r"^step ", done.stdout, flags=re.MULTILINE)[1:]
    assert len(said) == len(all_steps), done.stdout[-2000:] + done.stderr
    for step, text in zip(all_steps, said, strict=True):
        ranks = sorted((int(r), host, cpus) for r, host, cpus in re.findall(r"rank (\d+) (\S+) (\S+)", text))
        assert [host for _, host, _ in ranks] == step.wanted(), text
        if "/core " in step.title:
            assert {cpus for _, _, cpus in ranks} == {"0", "1"}, text


@pytest.fixture
def head(railyard: Run, tree: str) -> Iterator[Callable[..., str]]:
    """What a command prints on the head; jobs that are left are cancelled."""
    run = functools.partial(tori.on_head, railyard, tree)
    yield run
    run("scancel", "--user=root")
    wait_until(lambda: not run("squeue", "-h").strip(), "the queue is empty")


def submitted(head: Callable[..., str], *options: str, command: str = "hostname") -> str:
    """Submit a job; its number."""
    return head("sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={command}").strip()


def shown(head: Callable[..., str], job: str, field: str) -> str:
    found = re.search(rf"\b{field}=(\S+)", head("scontrol", "show", "job", job))
    return found[1] if found else ""


def test_a_job_near_to_one_switch_waits_for_it_and_another_does_not(head: Callable[..., str]) -> None:
    """One node of each leaf is in use: two free nodes, on two leaves."""
    near = partition.option("slurm", "1@30", "site:compute")
    assert near == "--switches=1@30"
    in_use = [submitted(head, "-N1", f"--nodelist={node}", command="sleep 600") for node in ("n0-0", "n1-0")]
    wait_until(lambda: all(shown(head, job, "JobState") == "RUNNING" for job in in_use), "both leaves in use")
    anywhere = submitted(head, "-N2")
    wait_until(lambda: shown(head, anywhere, "JobState") == "COMPLETED", "the job without the option ran")
    assert shown(head, anywhere, "NodeList") == "n0-1,n1-1"
    waiting = submitted(head, near, "-N2")
    wait_until(lambda: shown(head, waiting, "Reason") not in {"", "None"}, "Slurm has looked at the job")
    assert shown(head, waiting, "JobState") == "PENDING"
    head("scancel", in_use[0])
    wait_until(lambda: shown(head, waiting, "JobState") == "COMPLETED", "the job ran on the leaf that is free")
    assert re.fullmatch(r"n0-\[0-1\]|n0-0,n0-1", shown(head, waiting, "NodeList"))


def test_options_of_a_network_plug_in_that_is_not_there_change_nothing_and_a_wrong_option_is_refused_at_once(
    railyard: Run, tree: str, head: Callable[..., str]
) -> None:
    """HPE's --network is read by its switch plug-in alone (slurm.conf(5), SwitchType): a job is taken without it."""
    job = submitted(head, "--network=single_node_vni,job_vni,def_tles=0", "-N2")
    wait_until(lambda: shown(head, job, "JobState") == "COMPLETED", "the job ran")
    words = ["sbatch", "--switches=many", "-N2", "--wrap=hostname"]
    refused = railyard("torus", "exec", tree, "head", "--", *words)
    assert refused.returncode != 0 and "switches" in refused.stderr.lower()


#: Two NUMA domains of a core; GPUs and NICs in different orders. Local rank 0 gets GPU 1, near to nic0.
NODE = Machine(
    cores=1,
    domains=2,
    vendor="0x10de",
    gpus=(Device("0000:03:00.0", 1, ""), Device("0000:41:00.0", 0, "")),
    nics={"net/nic0": Device("0000:81:00.0", 0, ""), "net/nic1": Device("0000:c1:00.0", 1, "")},
)
POLICIES = ("gpu-nearest", "gpu-swapped", "gpu-one")
SETTINGS = {"scale": "small", "launches": 1, "placements": "plain", "ranks_per_node": 2}
CHECK = ["-n", "halo_smoke", *(word for name, value in SETTINGS.items() for word in ("-S", f"{name}={value}"))]
#: Behind the job's back every rank sees GPU 0.
WRONG_GPU = "export CUDA_VISIBLE_DEVICES=0"


#: The partition is `measured`: ranks are started by plain srun, and the NICs are network devices in each node.
SITE = """\
systems:
  - name: site
    hostnames: ['^nowhere$']
    partitions:
      - name: compute
        scheduler: squeue
        launcher: srun
        environs: [openmpi-site]
        max_jobs: 1
        time_limit: 30m
        features: [torus]
        extras: {{origin: measured, nodes: 4, nics: [nic0, nic1]}}
        prepare_cmds: ['export PATH="{path}:$PATH"']
environments:
  - name: openmpi-site
    target_systems: [site]
    cc: mpicc.openmpi
    features: [mpi, openmpi, openmpi-tcp]
    env_vars: [[SLURM_MPI_TYPE, pmix]]
"""
#: The site's srun; Slurm 22.05 needs the fence (docs/torus.md).
SRUN = f"""\
#!/bin/sh
export LD_PRELOAD="{CHECKOUT}/build/lib/railyard-fence.so"
exec /usr/bin/srun "$@"
"""


def checked(tree: str, folder: Path, *options: str) -> tuple[Record, str]:
    """Run a check by ReFrame on the cluster's head; return its record, and what ReFrame printed."""
    nodes.make(NODE, folder / "node")
    executable(folder / "srun", SRUN)
    path = f"{folder}:{BIN}:{CHECKOUT}/build/benchmarks-openmpi/bin"
    (folder / "site.yml").write_text(SITE.format(path=path))
    words = ["-C", str(CHECKOUT / "reframe.yml"), "-C", str(folder / "site.yml"), "--system", "site:compute"]
    words += ["--nocolor", "--prefix", str(folder), "-c", str(CHECKOUT / "checks"), "-r", *CHECK, *options]
    words += ["-S", f"archive={folder}/archive"]
    done = in_checkout(tori.entering(tree, BIN / "reframe", *words), RAILYARD_NODE_ROOT=str(folder / "node"))
    (record,) = archive.load_all(folder / "archive")
    return record, done.stdout + done.stderr


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="binds ranks to two processors")
def test_gpus_and_their_nics_are_proved_by_the_ranks_reports_and_the_bytes(tree: str, tmp_path: Path) -> None:
    """A tree of files stands for the node; the NICs and their bytes are the torus's."""
    record, output = checked(tree, tmp_path, "--keep-stage-files", "-S", f"nics={','.join(POLICIES)}")
    assert record.status == "ok", record.reason + output[-2000:]
    found = {launch.nic_policy: launch for launch in record.launches}
    assert {name: str(launch.nic_verdict) for name, launch in found.items()} == dict.fromkeys(POLICIES, "obeyed")
    assert {launch.placement for launch in record.launches} == {"plain/numa"}, "ranks are bound to the domains"
    wrapper = next(tmp_path.glob("stage/**/gpu-nearest.sh"))
    assert "CUDA_VISIBLE_DEVICES=1" in wrapper.read_text()


def test_a_rank_that_sees_another_gpu_fails_the_launch(tree: str, tmp_path: Path) -> None:
    """The program is wrapped: each rank sets the variable again after railyard's own script."""
    halo = f'#!/bin/sh\n{WRONG_GPU}\nexec {CHECKOUT}/build/benchmarks-openmpi/bin/halo "$@"\n'
    executable(tmp_path / "halo", halo)
    record, _ = checked(tree, tmp_path, "-S", "nics=gpu-nearest")
    assert record.status == "failed" and "sees GPU 0, assigned 1" in record.reason, record.reason
