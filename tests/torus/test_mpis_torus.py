"""Every MPI of this machine on a virtual torus: placement, binding, NIC policies over two rails, seen from inside.

The reduced form of `python -m perf matrix-torus`, `python -m perf stacks` and `python -m perf collectives`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.commands import BIN, in_checkout
from support.mpis import algorithms, matrix, mpis, stacks
from support.reframe import assert_passed, into, records, reframe_in
from support.mpis import matrix, mpis, stacks
from support.mpis.installed import INSTALLED

from railyard.placements.orders.placement import Placement
from railyard.torus.plan.plan import Shape

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")
MPIS = {mpi.name: mpi for mpi in INSTALLED}
#: A policy for each row, so that all five are proved. UCX before 1.17 (Open MPI 4, MPICH 4) has no stripes.
WANTED = (
    "round-robin",
    "nic-0",
    "nic-1",
    "stripe",
    "round-robin",
    "local-nic",
    "nic-1",
    "local-nic",
    "round-robin",
)
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


@pytest.mark.parametrize("name", ["openmpi 4", "mpich 5"])
def test_the_bytes_of_links_prove_a_ring_and_name_a_wrong_setting(name: str) -> None:
    if why := MPIS[name].absent():
        pytest.skip(why)
    topology, torus = algorithms.network(algorithms.TORUS), f"t{os.getpid()}-collectives"
    with mpis.torus(topology, torus, Shape(rate_scale=algorithms.RATE_SCALE)):
        (cell,) = algorithms.cells(MPIS[name], ["allreduce:ring"], algorithms.placed_on(topology), torus)
    assert (cell.verdict, cell.right, cell.wrong) == ("proved", "", "")


def test_the_halo_under_several_mpis_is_one_job_with_a_record_for_each(tmp_path: Path) -> None:
    """The MPIs are sides of a comparison by the names of their environments."""
    here, _ = jobs_mpis.chosen("halo_mpis", [])
    if len(here) < 2:
        pytest.skip("one MPI alone; run: make mpis")
    small = ["-S", "halo_mpis.cells=16", "-S", "halo_mpis.launches=2", "-S", "halo_mpis.launch_limit_s=120"]
    done = reframe_in(tmp_path)("-r", "-n", "halo_mpis", *small, *into(tmp_path))
    assert_passed(done)
    made = {record.system.environment: record for record in records(tmp_path)}
    assert set(made) == {mpi.environment_name for mpi in here}
    for mpi in here:
        record = made[mpi.environment_name]
        assert [str(launch.status) for launch in record.launches] == ["ok", "ok"], record.reason
        assert all(str(launch.placement_verdict) == "obeyed" for launch in record.launches)
        assert mpis.is_named_in(mpi, str(record.provenance["mpi"]))
    if done.returncode != 0:
        return  # load made a launch void, and neither a perflog nor a comparison has one
    (perflog,) = tmp_path.glob("perflogs/**/halo_mpis.log")
    assert made[here[0].environment_name].sha256 in perflog.read_text(), "a line that leads to no record"
    sides = [f"environment={mpi.environment_name}" for mpi in here]
    compared = in_checkout(
        [BIN / "railyard", "compare", *sides, "--archive", tmp_path / "archive", "--fom", "iteration_us"]
    )
    sides_say = [f"environment={mpi.environment_name}" in compared.stdout for mpi in here]
    assert compared.returncode == 0 and all(sides_say), compared.stdout + compared.stderr
    assert "n too small (needs 4 jobs) in 1" in compared.stdout, compared.stdout


def test_one_mpi_alone_is_nothing_to_compare(tmp_path: Path) -> None:
    done = reframe_in(tmp_path)("--dry-run", "-n", "halo_mpis", "-S", "halo_mpis.mpis=openmpi4")
    assert done.returncode == 0 and "needs two MPIs; one was named" in done.stdout, done.stdout
