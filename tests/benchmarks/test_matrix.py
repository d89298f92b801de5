"""The reduced matrix: each MPI of this machine starts eight ranks on four nodes, as their placement says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.mpis import matrix, mpis
from support.mpis.installed import INSTALLED, Mpi

from railyard.placements import launchers
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import Placement, place
from railyard.placements.topology import catalog

MPIS = {mpi.name: mpi for mpi in INSTALLED}
#: Ranks come back to a node and are bound there; Hydra refuses to return.
PLACED = {"openmpi4": "random:1/core", "openmpi5": "random:1/core"}
HYDRAS = "snake/core"


def present(mpi: Mpi) -> Mpi:
    """Skip a test whose MPI is not on this machine."""
    if why := mpi.absent():
        pytest.skip(why)
    return mpi


def halo(mpi: Mpi, placed: Placement, folder: Path) -> dict[str, Any]:
    """The document of halo's ranks in a placement."""
    program = [str(mpi.halo), *matrix.HALO, "--json", "halo.json"]
    launch = mpis.Launch(rendered=launchers.render(mpi.launcher, placed, stem="p"), program=program, folder=folder)
    mpis.start(mpi, [launch])
    document = launch.document(mpi, "halo.json")
    assert not isinstance(document, str), document
    return document


@pytest.mark.parametrize("name", sorted(MPIS))
def test_an_mpi_places_and_binds_its_ranks(name: str) -> None:
    mpi = present(MPIS[name])
    if os.cpu_count() == 1:
        pytest.skip("one processor: nothing to bind two ranks of a node to")
    placement = PLACED.get(mpi.launcher, HYDRAS)
    (cell,) = matrix.cells_of(mpi, {placement: matrix.one(placement)})
    assert (cell.verdict, cell.why) == ("proved", "")


def test_a_rank_elsewhere_is_not_proved() -> None:
    """The witness against the matrix itself: a launch of one placement judged as another."""
    mpi = present(MPIS["mpich 4"])
    placed = matrix.one("snake/core")
    rendered = launchers.render(mpi.launcher, matrix.one("cart-create/core"), stem="p")
    (why,) = matrix.judged(mpi, [matrix.Try(name="snake/core", rendered=rendered, placement=placed)])
    assert "was on" in why


def test_as_host_changes_the_name_of_nothing_else() -> None:
    """A command sees the name, this machine keeps its own."""
    before = os.uname().nodename
    command = [str(mpis.AS_HOST), "-x", "n9", "uname", "-n"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    assert (done.stdout.strip(), os.uname().nodename) == ("n9", before)


@pytest.mark.parametrize("mpi", mpis.BOUND, ids=lambda mpi: mpi.name)
def test_a_program_of_debians_mpich_runs_under_another_librarys_abi(mpi: Mpi, tmp_path: Path) -> None:
    """The bind model: built with MPICH 4, started under MPICH 5 and Intel MPI, as the output's library says."""
    placed = matrix.one("snake/none")
    document = halo(present(mpi), placed, tmp_path)
    assert matrix.proved(placed, document["ranks"]) == ""
    assert "Version: 4" not in document["mpi"]["library"]


@pytest.mark.parametrize("name", sorted(MPIS))
def test_more_ranks_than_processors_stay_on_their_node(name: str, tmp_path: Path) -> None:
    """Intel's Hydra with -f deals as many ranks to a node as it has processors, and then goes on to the next node."""
    mpi = present(MPIS[name])
    per_node = 2 * (os.cpu_count() or 1)
    if per_node > 16:
        pytest.skip(f"{os.cpu_count()} processors: too many ranks")
    granted = allocate(catalog.load(matrix.PRETENDED.torus), "contiguous", block=(1, 1, 2))
    placed = place("cart-create", granted, (2 * per_node,), ranks_per_node=per_node)
    assert [rank["host"] for rank in halo(mpi, placed, tmp_path)["ranks"]] == [node.name for node in placed.nodes]
