"""The library that makes MPI's own reordering return railyard's mapping: programs in C and Fortran, under two MPIs.

Rank r runs on the pretended host n<r>, and the file wants the hosts in the order of WANTED.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.benchmark_runs import Outcome
from support.mpis.programs import Mpi

from railyard.base.checkout import CHECKOUT

SOURCES = CHECKOUT / "tests/data/reorder"
WANTED = (2, 0, 3, 1)
HALO = ["--grid", "2x2", "--cells", "4", "--repeats", "2", "--order", "mpi-cart", "--json"]
HOSTS = "".join(f"n{rank}.site  # rank {at}\n" for at, rank in enumerate(WANTED))


def reordered(mpi: Mpi, library: Path, *words: str | Path, hosts: str = HOSTS, **variables: str) -> Outcome:
    """Run on pretended hosts under the witness, which preloads the library."""
    path = mpi.folder / "hosts"
    path.write_text(hosts)
    words = ("env", f"LD_PRELOAD={library}", mpi.witness, mpi.folder / "witness.json", *words)
    return mpi.run(len(WANTED), *words, RAILYARD_REORDER=str(path), **variables)


def test_each_way_to_reorder_returns_the_mapping_and_graphs_stay_right(mpi: Mpi, pretend_hosts: Path) -> None:
    done = reordered(mpi, pretend_hosts, mpi.built(SOURCES / "reorder.c"))
    assert done.status == 0, done
    lines = dict(line.split(" ", 1) for line in done.out.splitlines() if not line.startswith("part"))
    wanted = " ".join(map(str, WANTED))
    named = dict.fromkeys(["grid", "adjacent", "unweighted", "distributed", "graph"], wanted)
    assert lines == {**named, "kept": "0 1 2 3"}
    part = {line for line in done.out.splitlines() if line.startswith("part")}
    assert part == {f"part {now} {WANTED[now]}" for now in range(3)}
    assert done.err == ""


@pytest.mark.parametrize("binding", [1, 2, 3])
def test_each_binding_of_fortran(mpi: Mpi, pretend_hosts: Path, binding: int) -> None:
    done = reordered(mpi, pretend_hosts, mpi.built(SOURCES / "reorder.F90", f"-DBINDING={binding}"))
    assert (done.status, done.out.split()) == (0, ["grid", *map(str, WANTED)]), done


def test_halo_verifies_its_data_on_the_mapping(mpi: Mpi, pretend_hosts: Path) -> None:
    path = mpi.folder / "halo.json"
    done = reordered(mpi, pretend_hosts, mpi.bin / "halo", *HALO, path)
    assert done.status == 0, done
    assert json.loads(path.read_text())["parameters"]["rank_map"] == list(WANTED)


def test_processes_of_one_host_keep_their_order(mpi: Mpi, pretend_hosts: Path) -> None:
    program = mpi.built(SOURCES / "reorder.c")
    done = reordered(mpi, pretend_hosts, program, hosts="n1*2\nn0*2\n", TEST_RANKS_PER_NODE="2")
    assert "grid 2 3 0 1\n" in done.out, done


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        ("n0\nn1\nn2\nn4\n", "hosts: rank 3: no process of the program is left on its host"),
        ("n0*1000000000\n", "hosts: more than 4 ranks; expected 4"),
    ],
)
def test_a_file_that_does_not_fit_leaves_the_ranks_as_they_are(
    openmpi: Mpi, pretend_hosts: Path, hosts: str, text: str
) -> None:
    path = openmpi.folder / "halo.json"
    done = reordered(openmpi, pretend_hosts, openmpi.bin / "halo", *HALO, path, hosts=hosts)
    assert done.status == 0, done
    assert done.err.splitlines() == [f"railyard-reorder: ranks stay as they are: {openmpi.folder}/{text}"]
    assert json.loads(path.read_text())["parameters"]["rank_map"] == [0, 1, 2, 3]
