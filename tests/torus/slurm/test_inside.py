"""A real Slurm whose nodes are machines, and a torus of 27 nodes on four of them, from a job to its report."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.commands import BIN, HUNG_S, executable, in_checkout
from support.topology.tori import entering

from railyard.records.store import archive
from railyard.torus.slurm import cluster as slurm
from railyard.torus.virtual import locks

REASON = slurm.missing()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

#: A slurmd, whose jobs see a /run and /dev/shm of this node's own. The folder of the torus is there for Slurm's files.
SLURMD = """#!/bin/sh
set -e
outer=/run/railyard/$RAILYARD_TORUS
mount --rbind "$outer" /mnt
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
mkdir -p "$outer" /run/netns
mount --rbind /mnt "$outer"
exec $(PATH=${PATH#*:} command -v slurmd)
"""
#: What a user of such a Slurm submits.
JOB = """#!/bin/sh
#SBATCH --nodes=4
set -e
export RAILYARD_HOSTS=slurm RAILYARD_TOPOLOGY=gemini-3x3x3 RAILYARD_RATE_SCALE=0.0001
reframe -C reframe.yml --prefix $1 --system vtorus:netns -c checks/halo.py -r -n halo_smoke \
  -S archive=$1/archive -S cells=4 -S repeats=1 -S placements=custom
railyard report --format text $1/archive
srun ls /run/netns > $1/left
"""


def test_a_job_runs_a_torus_on_the_machines_of_its_allocation(tmp_path: Path) -> None:
    slurmd, job = executable(tmp_path / "bin/slurmd", SLURMD), executable(tmp_path / "job", JOB)
    name, path = f"t{os.getpid()}-outer", f"{slurmd.parent}:{BIN}:{os.environ['PATH']}"
    torus: list[str | Path] = [BIN / "railyard", "torus"]
    up = in_checkout([*torus, "up", "gemini-2x2x2", "--name", name, "--rate-scale", "0.01", "--slurm"], PATH=path)
    assert up.returncode == 0, up.stderr
    try:
        batch: list[str | Path] = ["sbatch", "--wait", "-o", tmp_path / "log", job, tmp_path]
        with locks.turn():  # the job's launches know nothing of this machine's
            ended = in_checkout(entering(name, *batch))
    finally:
        subprocess.run([*torus, "down", name], check=True, timeout=HUNG_S)
    log = (tmp_path / "log").read_text()
    assert ended.returncode == 0 and "halo_smoke" in log, log
    assert (tmp_path / "left").read_text() == ""
    (record,) = archive.load_all(tmp_path / "archive")
    assert record.status == "ok" and record.provenance["torus"]["machines"] == 4
    (launch,) = record.launches
    assert len({rank.host for rank in launch.ranks}) == 27 and launch.placement_verdict == "obeyed"
