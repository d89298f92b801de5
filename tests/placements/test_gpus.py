"""GPUs and the NICs near to them, on nodes as their sites describe them, and what each rank is told.

Frontier: https://docs.olcf.ornl.gov/systems/frontier_user_guide.html, "Frontier Compute Nodes": GCDs 4,5 at NUMA domain
0, 2,3 at 1, 6,7 at 2, 0,1 at 3; a NIC at every second GCD. Perlmutter: https://docs.nersc.gov/systems/perlmutter/
architecture: four GPUs, four NICs, one of each at a NUMA domain, in the reverse order. HGX: two of four PCI switches at
each domain, a GPU and a NIC behind each, as `nvidia-smi topo -m` shows it (PIX).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import nodes
from support.commands import ran
from support.nodes import Device, Machine

from railyard.base.errors import InputError
from railyard.jobs import launching
from railyard.jobs.job import launched
from railyard.jobs.nodes import node as description
from railyard.jobs.nodes.kinds import NodeKind
from railyard.placements import launchers
from railyard.placements.hosts import gpus, naming, node
from railyard.placements.hosts.node import Binding, NodeLayout
from railyard.placements.nics import policies, stacks
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place

FRONTIER = Machine(
    cores=4,
    domains=4,
    vendor="0x1002",
    gpus=tuple(
        Device(f"0000:{bus}:00.0", numa, f"pci0000:{bus[0]}0")
        for bus, numa in zip(("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de"), (3, 3, 1, 1, 0, 0, 2, 2), strict=True)
    ),
    nics={f"cxi/cxi{k}": Device(f"0000:{k + 1}0:00.0", numa, f"pci0000:{k}0") for k, numa in enumerate((3, 1, 0, 2))},
)
PERLMUTTER = Machine(
    cores=4,
    domains=4,
    vendor="0x10de",
    gpus=tuple(Device(f"0000:{bus}:00.0", 3 - k, "") for k, bus in enumerate(("03", "41", "82", "c1"))),
    nics={f"cxi/cxi{k}": Device(f"0000:{k}1:00.0", k, "") for k in range(4)},
)
HGX = Machine(
    cores=8,
    domains=2,
    vendor="0x10de",
    gpus=tuple(Device(f"0000:{k}a:00.0", k // 4, f"pci0000:{k // 4}0/0000:{k // 2}1:00.0/{k}") for k in range(8)),
    nics={
        f"infiniband/mlx5_{k}": Device(f"0000:{k}b:00.0", k // 4, f"pci0000:{k // 4}0/0000:{k // 2}1:00.0/{k}")
        for k in range(8)
    },
)
#: DGX A100: two GPUs and two adapters behind each PCI switch (openucx/ucx issue 8401).
DGX = Machine(
    cores=8,
    domains=2,
    vendor="0x10de",
    gpus=tuple(Device(f"0000:{k}a:00.0", k // 2, f"pci0000:{k // 2}0/0000:{k // 2}1:00.0") for k in range(4)),
    nics={
        f"infiniband/mlx5_{k}": Device(f"0000:{k}b:00.0", k // 2, f"pci0000:{k // 2}0/0000:{k // 2}1:00.0")
        for k in range(4)
    },
)
MACHINES = {"frontier": FRONTIER, "perlmutter": PERLMUTTER, "hgx": HGX, "dgx": DGX}


def layout(machine: Machine, root: Path) -> NodeLayout:
    """Return the layout of a machine that `railyard node-info` reads from a tree of files."""
    nodes.make(machine, root)
    found = node.parse(description.describe(root, {}))
    assert found is not None
    return found


def names(machine: Machine) -> list[str]:
    return [name.partition("/")[2] for name in machine.nics]


@pytest.mark.parametrize(
    ("machine", "gpu", "near"),
    [
        # OLCF: ranks of domain 0 use GCDs 4 and 5, and so on; NICs cxi2, cxi1, cxi3, cxi0.
        ("frontier", [4, 5, 2, 3, 6, 7, 0, 1], [2, 2, 1, 1, 3, 3, 0, 0]),
        # NERSC: MPICH_OFI_NIC_MAPPING="0:3; 1:2; 2:1; 3:0" for GPUs in the order of their numbers.
        ("perlmutter", [3, 2, 1, 0], [0, 1, 2, 3]),
        # Each GPU with the NIC behind its own switch, not the other three of its domain.
        ("hgx", [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]),
        # Both adapters of a switch are used, not the first by both GPUs.
        ("dgx", [0, 1, 2, 3], [0, 1, 2, 3]),
    ],
)
def test_a_rank_gets_the_gpu_near_to_it_and_the_nic_near_to_that(
    machine: str, gpu: list[int], near: list[int], tmp_path: Path
) -> None:
    own = MACHINES[machine]
    found = gpus.pairs(layout(own, tmp_path), names(own), len(gpu), Binding.NUMA)
    assert found is not None
    assert [pair.gpu for pair in found.of_rank] == gpu
    assert [pair.near for pair in found.of_rank] == near
    assert all(pair.far != pair.near for pair in found.of_rank)


@pytest.fixture
def frontier(tmp_path: Path) -> NodeLayout:
    return layout(FRONTIER, tmp_path)


def told(frontier: NodeLayout, policy: str, stack: str, launcher: str = "slurm") -> launching.Combination:
    """Return a launch of eight ranks a node under a policy with GPUs."""
    topology = naming.flat(["nid1", "nid2"], rails=4)
    placed = place("cart-create/numa", allocate(topology, "contiguous"), (16,), ranks_per_node=8)
    features = ["mpi", "pals" if launcher == "pals" else launcher, stack]
    return launching.render(
        placed,
        policy,
        launchers.named(launcher),
        features,
        stem="cart-create/numa",
        devices=names(FRONTIER),
        kinds=[NodeKind(layout=frontier, names=("nid1", "nid2"), hosts=("nid1", "nid2"))],
        by_script=True,
    )


@pytest.mark.parametrize(
    ("policy", "nics"),
    [
        ("gpu-nearest", [2, 2, 1, 1, 3, 3, 0, 0]),
        ("gpu-swapped", [1, 3, 3, 0, 0, 1, 1, 2]),
        ("gpu-one", [2, 2, 2, 2, 2, 2, 2, 2]),
    ],
)
@pytest.mark.parametrize(
    ("launcher", "local"), [("slurm", "SLURM_LOCALID"), ("pals", "PALS_LOCAL_RANKID"), ("flux", "FLUX_TASK_LOCAL_ID")]
)
def test_each_rank_is_told_its_gpu_and_nic_under_every_launcher(
    *, frontier: NodeLayout, policy: str, nics: list[int], launcher: str, local: str
) -> None:
    prepared = told(frontier, policy, "cxi", launcher)
    script = prepared.scripts[f"{policy}.sh"]
    command = ("env", "-i", f"PATH={os.environ['PATH']}")
    envs = [ran(*command, f"{local}={rank}", "sh", "-c", script, "x", "env").stdout.splitlines() for rank in range(8)]
    seen = [dict(line.split("=", 1) for line in env) for env in envs]
    assert [each["ROCR_VISIBLE_DEVICES"] for each in seen] == ["4", "5", "2", "3", "6", "7", "0", "1"]
    assert [each["FI_CXI_DEVICE_NAME"] for each in seen] == [f"cxi{nic}" for nic in nics]
    line = prepared.command(["halo"])
    own = {"slurm": "SLURM_GPU_BIND=none", "pals": "--cpu-bind none", "flux": "gpu-affinity=off"}
    assert own[launcher] in line, "the launcher chooses no GPU by itself"


def test_what_a_stack_or_a_node_cannot_do_is_one_line(frontier: NodeLayout) -> None:
    cray = told(frontier, "gpu-nearest", "cray-mpich", "cray-mpich")
    assert "MPICH_OFI_NIC_POLICY=GPU" in cray.command(["halo"])
    with pytest.raises(InputError, match=r"gpu-swapped.*cray-mpich"):
        told(frontier, "gpu-swapped", "cray-mpich", "cray-mpich")
    bare = NodeLayout(cores=frontier.cores, nics=frontier.nics)
    with pytest.raises(InputError, match="GPUs and NICs have a NUMA domain"):
        told(bare, "gpu-one", "cxi")
    gpu_one = policies.policies()["gpu-one"]
    assert gpu_one in stacks.stacks()["ucx"].policies()
    assert gpu_one not in stacks.stacks()["intel-mpi"].policies()


@pytest.mark.parametrize(
    ("seen", "verdict", "words"),
    [
        (("0", "1", "0", "1"), "obeyed", ""),
        (("0", "1", "1", "0"), "not-obeyed", "rank 2 sees GPU 1, assigned 0"),
        (("0", "1", None, "1"), "cannot-tell", "not every rank"),
        ((), "cannot-tell", "not every rank"),
    ],
)
def test_the_ranks_own_report_is_the_proof(seen: tuple[str | None, ...], verdict: str, words: str) -> None:
    found = launched.judge_gpus(["0", "1"], [0, 1, 0, 1], seen)
    assert found.verdict == verdict and words in found.reason
