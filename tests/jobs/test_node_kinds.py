"""Nodes that differ within one job: each has its own CPUs and its own near NIC, and the record knows it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support import nodes
from support.commands import executable
from support.nodes import Device, Machine

from railyard.jobs import stagedir
from railyard.jobs.job import submitted
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.job.submitted import Placed, Site, Submitted
from railyard.jobs.nodes import allocated_nodes, node
from railyard.placements.nics import evidence
from railyard.records.folded import nic_bytes
from railyard.records.folded.nic_bytes import Nics

NAMES = ["n1", "n2", "n3", "n4"]
DEVICES = ["mlx5_0", "mlx5_1"]


def machine(first: int, cores: int = 2) -> Machine:
    """Return a node whose mlx5_0 is at the NUMA domain `first` of two, and mlx5_1 at the other."""
    nics = {
        f"infiniband/{name}": Device(f"0000:{k + 1}0:00.0", first if k == 0 else 1 - first, "pci0000:00")
        for k, name in enumerate(DEVICES)
    }
    return Machine(cores=cores, domains=2, vendor="", gpus=(), nics=nics)


Place = Callable[..., Placed]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Place a job of two ranks per node as `railyard granted` does, on nodes that describe themselves by a launcher."""
    said, programs, stage = tmp_path / "said", tmp_path / "bin", tmp_path / "stage"
    for folder in (said, programs, stage):
        folder.mkdir()
    launcher = programs / "mpiexec"
    executable(launcher, f'#!/bin/sh\nfor last; do :; done\ncp {said}/*.json "$last"\n')
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def run(kinds: list[Machine], *placements: str, nics: str = "local-nic") -> Placed:
        for name, kind in zip(NAMES, kinds, strict=True):
            root = tmp_path / name
            nodes.make(kind, root)
            described = node.describe(root, {})
            described["cores"] = node.cores(root, node.allowed_cpus(root))
            (said / f"{name}.json").write_text(json.dumps({**described, "host": f"{name}.site.org"}))
        spec = JobSpec(
            name="halo",
            benchmark="halo",
            placements=placements,
            nics=(nics,),
            ranks_per_node=2,
            grid=(2 * len(NAMES),),
            allocation="contiguous",
        )
        site = Site(
            fullname="site:cpu",
            scheduler="pbs",
            origin="measured",
            topology="",
            coordinates="",
            devices=DEVICES,
            features=["mpi", "mpich", "ucx-tcp"],
            launcher="mpich",
        )
        submitted.write(stage, Submitted(spec=spec, site=site, reframe={}, stderr=""))
        allocated_nodes.place(stage, NAMES)
        placed = submitted.read_placed(stage)
        assert placed is not None
        return placed

    return run


def nics_of_ranks(placed: Placed) -> list[Sequence[str]]:
    """Return the NICs that each rank of the placement plain/numa is to send through."""
    return [placed.nics_by_row("local-nic")[row] for row in placed.rows("plain/numa")]


def on_host(folder: Path, host: str, local: int, *words: str) -> str:
    """Return what scripts of a launch print as a rank of a host; `taskset` prints its CPUs and goes on."""
    stubs = folder.parent / f"as-{host}"
    stubs.mkdir(exist_ok=True)
    (stubs / "uname").write_text(f"#!/bin/sh\necho {host}\n")
    (stubs / "taskset").write_text('#!/bin/sh\necho "cpus $2"; shift 2; exec "$@"\n')
    for stub in stubs.iterdir():
        stub.chmod(0o755)
    variables = {"PATH": f"{stubs}:/usr/bin:/bin", "PMI_RANK": str(local), "MPI_LOCALRANKID": str(local)}
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=True)
    return done.stdout


def test_equal_nodes_have_one_script_and_their_number_is_in_the_evidence(place: Place, tmp_path: Path) -> None:
    placed = place([machine(0)] * 4, "plain/numa")
    assert (placed.described, placed.kinds, list(placed.others)) == (4, 1, [])
    assert {path.name for path in (tmp_path / "stage").glob("*.sh")} == {"plain-numa.bind.sh", "local-nic.sh"}
    assert nics_of_ranks(placed) == [["mlx5_0"], ["mlx5_1"]] * 4


def test_where_nics_are_swapped_on_half_of_the_nodes_each_rank_has_the_one_that_is_near_there(
    place: Place, tmp_path: Path
) -> None:
    """The first node stood for all, so ranks of the others used the far NIC, and the verdict was `obeyed`."""
    placed = place([machine(0), machine(0), machine(1), machine(1)], "plain/numa")
    stage = tmp_path / "stage"
    words = ["./local-nic.sh", "./plain-numa.bind.sh", "sh", "-c", "echo $UCX_NET_DEVICES"]
    for host, near in (("n1.site.org", DEVICES), ("n4.site.org", DEVICES[::-1])):
        for local, cpus in enumerate(("0,1", "2,3")):
            assert on_host(stage, host, local, *words) == f"cpus {cpus}\n{near[local]}\n"
    nics = nics_of_ranks(placed)
    assert nics == [["mlx5_0"], ["mlx5_1"], ["mlx5_0"], ["mlx5_1"], *[["mlx5_1"], ["mlx5_0"]] * 2]
    assert stagedir.described_nodes(placed) == {"described": 4, "kinds": 2, "boots": 0}


def test_the_verdict_is_that_of_the_near_nic_of_each_node(place: Place) -> None:
    """One rank per node is judged here: of two ranks on two NICs the bytes do not tell which used which."""
    placed = place([machine(0), machine(0), machine(1), machine(1)], "plain/numa")
    hosts = placed.hosts["plain/numa"][::2]
    rows, assigned = placed.rows("plain/numa")[::2], placed.nics_by_row("local-nic")

    def counted(swapped: str) -> Nics:
        near = {"n1": "mlx5_0", "n2": "mlx5_0", "n3": swapped, "n4": swapped}
        sent = {"tx_bytes": 1 << 20, "rx_bytes": 0}
        return nic_bytes.of_rows([{"node": host, "nic": near[host], **sent} for host in hosts])

    of_ranks = evidence.senders(hosts, rows, list(map(tuple, assigned)))
    judged = [evidence.judge(of_ranks, counted(swapped).sent).verdict for swapped in DEVICES[::-1]]
    assert judged == ["obeyed", "not-obeyed"]


def test_what_some_nodes_cannot_do_is_not_measured_and_they_are_named(place: Place, tmp_path: Path) -> None:
    small = [machine(0), machine(0), machine(0), Machine(1, 1, "", (), machine(0).nics)]
    placed = place(small, "plain/core", "plain/numa", nics="library-default")
    assert "a node has no core 2 on n4" in placed.cannot["plain/core"]
    assert "plain/numa" in placed.hosts
    (stage,) = [tmp_path / "stage"]
    words = ["./plain-numa.bind.sh", "true"]
    assert [on_host(stage, host, 1, *words) for host in ("n2.site.org", "n4.site.org")] == ["cpus 2,3\n", "cpus 0\n"]


def test_a_policy_that_the_stack_is_told_for_all_nodes_at_once_is_not_measured(place: Place) -> None:
    blind = Machine(2, 2, "", (), {"infiniband/mlx5_0": Device("0000:10:00.0", 0, "pci0000:00")})
    placed = place([machine(0), machine(0), machine(0), blind], "plain/numa")
    assert "no NUMA domain of a NIC on n4" in placed.cannot["plain/numa"]
