"""The bytes of a virtual torus's links prove an algorithm of a collective, and name another one.

The reduced form of `python -m perf collectives`.
"""

from __future__ import annotations

import os

import pytest
from support.mpis import algorithms, mpis

from railyard.jobs.mpis import INSTALLED

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")


@pytest.mark.parametrize("name", ["openmpi 4", "mpich 5"])
def test_a_ring_is_proved_and_a_wrong_setting_is_named(name: str) -> None:
    (mpi,) = (mpi for mpi in INSTALLED if mpi.name == name)
    if why := mpi.absent():
        pytest.skip(why)
    topology, torus = algorithms.network(algorithms.TORUS), f"t{os.getpid()}-collectives"
    placed = algorithms.placed_on(topology)
    with mpis.torus(topology, torus, algorithms.TorusShape(rate_scale=algorithms.RATE_SCALE)):
        (cell,) = algorithms.cells(mpi, ["allreduce:ring"], placed, torus)
    assert (cell.verdict, cell.right, cell.wrong) == ("proved", "", "")
