"""The reduced matrix: each MPI of this machine starts eight ranks on four nodes, as their placement says."""

from __future__ import annotations

import os
import subprocess

import pytest

from perf import matrix
from placements import launchers

MPIS = {mpi.name: mpi for mpi in matrix.INSTALLED}
#: Ranks come back to a node and are bound there; Hydra refuses to return.
PLACED = {"openmpi4": "random:1/core", "openmpi5": "random:1/core"}
HYDRAS = "snake/core"


@pytest.mark.parametrize("name", sorted(MPIS))
def test_an_mpi_places_and_binds_its_ranks(name: str) -> None:
    mpi = MPIS[name]
    if why := mpi.absent():
        pytest.skip(why)
    if os.cpu_count() == 1:
        pytest.skip("one processor: nothing to bind two ranks of a node to")
    placement = PLACED.get(mpi.launcher, HYDRAS)
    cell = matrix.launched(mpi, placement, matrix.one(placement))
    assert (cell.verdict, cell.why) == ("proved", "")


def test_a_rank_elsewhere_is_not_proved() -> None:
    """The witness against the matrix itself: a launch of one placement judged as another."""
    mpi = MPIS["mpich 4"]
    if why := mpi.absent():
        pytest.skip(why)
    placed = matrix.one("snake/core")
    rendered = launchers.render(mpi.launcher, matrix.one("cart-create/core"), stem="p")
    assert "was on" in matrix.proved(placed, matrix.ranks(mpi, rendered))


def test_as_host_changes_the_name_of_nothing_else() -> None:
    """A command sees the name, this machine keeps its own."""
    before = os.uname().nodename
    command = [str(matrix.AS_HOST), "-x", "n9", "uname", "-n"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    assert (done.stdout.strip(), os.uname().nodename) == ("n9", before)
