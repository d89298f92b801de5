"""Every MPI of this machine on a virtual torus: placement, binding, NIC policies over two rails, seen from inside.

The reduced form of `python -m perf matrix-torus`, `python -m perf stacks` and `python -m perf collectives`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.mpis import algorithms, matrix, mpis, stacks
from support.mpis.installed import INSTALLED

from railyard.placements.orders.placement import Placement
from railyard.torus.plan.plan import Shape

MPIS = {mpi.name: mpi for mpi in INSTALLED}
#: A policy for each row, so that all five are proved. UCX before 1.17 (Open MPI 4, MPICH 4) has no stripes.
WANTED = ("round-robin", "nic-0", "nic-1", "stripe", "round-robin", "local-nic", "nic-1", "local-nic", "round-robin")
CHOSEN = dict(zip(stacks.ROWS, WANTED, strict=True))


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[str, Placement]]:
    """Two nodes with two NICs each."""
    with stacks.torus(f"t{os.getpid()}-pair") as both:
        yield both


@pytest.fixture(scope="module")
def machine() -> Iterator[matrix.Machine]:
    """Eight nodes of a torus."""
    on = replace(matrix.ON_TORUS, tori=(f"t{os.getpid()}-matrix", ""))
    with mpis.torus(matrix.network(on.torus), on.tori[0], Shape(rate_scale=matrix.RATE_SCALE)):
        yield on


@pytest.mark.parametrize("row", stacks.ROWS, ids=" ".join)
def test_a_stack_obeys_a_policy_over_two_rails(row: tuple[str, str], pair: tuple[str, Placement]) -> None:
    """The bytes of both NICs have the policy's shares, which differ from policy to policy."""
    name, stack = row
    if why := MPIS[name].absent():
        pytest.skip(why)
    (cell,) = stacks.cells(MPIS[name], stack, [CHOSEN[row]], placed=pair[1], torus=pair[0])
    assert (cell.verdict, cell.why) == ("proved", "")


@pytest.mark.parametrize("name", sorted(MPIS))
def test_an_mpi_places_and_binds_sixteen_ranks_on_a_torus(name: str, machine: matrix.Machine) -> None:
    mpi = MPIS[name]
    if why := mpi.absent():
        pytest.skip(why)
    if os.cpu_count() == 1:
        pytest.skip("one processor: nothing to bind two ranks of a node to")
    placement = "snake/core"
    (cell,) = matrix.cells_of(mpi, {placement: matrix.one(placement, machine)}, machine)
    assert (cell.verdict, cell.why) == ("proved", "")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("openmpi 4", {"allreduce:ring": "allreduce:rabenseifner"}),
        ("mpich 5", {"allreduce:ring": "allreduce:rabenseifner"}),
        ("mpich 5", algorithms.BY_FILE),
    ],
)
def test_the_bytes_of_links_prove_an_algorithm_and_name_a_wrong_setting(name: str, asked: dict[str, str]) -> None:
    if why := MPIS[name].absent():
        pytest.skip(why)
    topology, torus = matrix.network(algorithms.TORUS), f"t{os.getpid()}-collectives"
    with mpis.torus(topology, torus, Shape(rate_scale=algorithms.RATE_SCALE)):
        cells = list(algorithms.cells(MPIS[name], asked, algorithms.placed_on(topology), torus))
    assert [(cell.verdict, cell.right, cell.wrong) for cell in cells] == len(asked) * [("proved", "", "")]
