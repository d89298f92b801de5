"""A wrong NIC policy in a job of ReFrame on a cluster that counts nothing itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import nodes
from support.commands import executable
from support.nodes import Device, Machine
from support.sites import nic_jobs, site_jobs
from support.sites.site_jobs import Site

from railyard.base.checkout import CHECKOUT
from railyard.torus.slurm import cluster as slurm
from railyard.torus.virtual import lifecycle

REASON = slurm.missing()
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(REASON), reason=REASON)]


@pytest.fixture(scope="module")
def dual_rail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Slurm cluster of four nodes with two NICs each."""
    name = f"t{os.getpid()}-nics"
    nic_jobs.up(tmp_path_factory.mktemp("nics"), name)
    yield name
    lifecycle.down(name)


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


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="binds ranks to two processors")
def test_gpus_and_their_nics_are_proved_by_the_ranks_reports_and_the_bytes(
    dual_rail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree of files stands for the node; the NICs and their bytes are the torus's."""
    nodes.make(NODE, tmp_path / "node")
    monkeypatch.setenv("RAILYARD_NODE_ROOT", str(tmp_path / "node"))
    site = Site(torus=dual_rail, folder=tmp_path, nodes=4)
    right = site_jobs.run(site, *CHECK, "--keep-stage-files", "-S", f"nics={','.join(POLICIES)}")
    assert right.records, right.output
    (record,) = right.records
    assert record.status == "ok", record.reason + right.output[-2000:]
    found = {launch.nic_policy: launch for launch in record.launches}
    assert {name: str(launch.nic_verdict) for name, launch in found.items()} == dict.fromkeys(POLICIES, "obeyed")
    assert {launch.placement for launch in record.launches} == {"plain/numa"}, "ranks are bound to the domains"
    wrapper = next(tmp_path.glob("stage/**/gpu-nearest.sh"))
    assert "CUDA_VISIBLE_DEVICES=1" in wrapper.read_text()


def test_a_rank_that_sees_another_gpu_fails_the_launch(
    dual_rail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is wrapped: each rank sets the variable again after railyard's own script."""
    nodes.make(NODE, tmp_path / "node")
    monkeypatch.setenv("RAILYARD_NODE_ROOT", str(tmp_path / "node"))
    halo = f'#!/bin/sh\n{WRONG_GPU}\nexec {CHECKOUT}/build/benchmarks-openmpi/bin/halo "$@"\n'
    executable(tmp_path / "halo", halo)
    done = site_jobs.run(Site(torus=dual_rail, folder=tmp_path, nodes=4), *CHECK, "-S", "nics=gpu-nearest")
    (record,) = done.records
    assert record.status == "failed" and "sees GPU 0, assigned 1" in record.reason, record.reason
