"""The library that makes MPI's own reordering return railyard's mapping: programs in C and Fortran, under two MPIs.

Rank r runs on the pretended host n<r>, and the file wants the hosts in the order of WANTED.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support.benchmark_runs import DEADLINE_S, ENVIRONMENT, MPIRUN, Outcome

from railyard.base.checkout import BUILD, CHECKOUT

SOURCES = CHECKOUT / "tests/data/reorder"
WANTED = (2, 0, 3, 1)
HOSTS = "".join(f"n{rank}.site  # rank {at}\n" for at, rank in enumerate(WANTED))


class Mpi:
    """An MPI with railyard's benchmarks, and a library that pretends hosts."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder, self.bin = name, folder, BUILD / f"benchmarks-{name}/bin"
        if not shutil.which(f"mpicc.{name}") or not (self.bin / "railyard-witness").exists():
            pytest.skip(f"no mpicc.{name}, or no benchmarks for it; run: make test-tools setup")
        self.pretends = folder / "hostname.so"
        source = CHECKOUT / "tests/data/benchmarks_hostname.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.pretends, source], check=True)

    def built(self, source: str, *options: str) -> Path:
        compiler = "mpif90" if source.endswith(".F90") else "mpicc"
        if compiler == "mpif90" and not shutil.which("gfortran"):
            pytest.skip("no gfortran here; run: make test-tools")
        program = self.folder / "program"
        words = [f"{compiler}.{self.name}", "-w", "-o", str(program), str(SOURCES / source), *options]
        subprocess.run(words, check=True, capture_output=True)
        return program

    def run(self, *words: str | Path, hosts: str = HOSTS, **variables: str) -> Outcome:
        """Run under the witness, which preloads the library."""
        path = self.folder / "hosts"
        path.write_text(hosts)
        launcher = MPIRUN if self.name == "openmpi" else [f"mpiexec.{self.name}"]
        command = [*launcher, "-n", str(len(WANTED)), "env", f"LD_PRELOAD={self.pretends}"]
        command += [str(self.bin / "railyard-witness"), str(self.folder / "witness.json"), *map(str, words)]
        env = ENVIRONMENT | {"RAILYARD_REORDER": str(path)} | variables
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE_S, env=env, check=False
        )
        return Outcome(status=done.returncode, out=done.stdout, err=done.stderr)


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, tmp_path: Path) -> Mpi:
    return Mpi(str(request.param), tmp_path)


def test_each_way_to_reorder_returns_the_mapping_and_graphs_stay_right(mpi: Mpi) -> None:
    done = mpi.run(mpi.built("reorder.c"))
    assert done.status == 0, done
    lines = dict(line.split(" ", 1) for line in done.out.splitlines() if not line.startswith("part"))
    wanted = " ".join(map(str, WANTED))
    named = dict.fromkeys(["grid", "adjacent", "unweighted", "distributed", "graph"], wanted)
    assert lines == {**named, "kept": "0 1 2 3"}
    part = {line for line in done.out.splitlines() if line.startswith("part")}
    assert part == {f"part {now} {WANTED[now]}" for now in range(3)}
    assert done.err == ""


@pytest.mark.parametrize("binding", [1, 2, 3])
def test_each_binding_of_fortran(mpi: Mpi, binding: int) -> None:
    done = mpi.run(mpi.built("reorder.F90", f"-DBINDING={binding}"))
    assert (done.status, done.out.split()) == (0, ["grid", *map(str, WANTED)]), done


def test_halo_verifies_its_data_on_the_mapping(mpi: Mpi) -> None:
    path = mpi.folder / "halo.json"
    options = ["--grid", "2x2", "--cells", "4", "--repeats", "2", "--order", "mpi-cart", "--json", str(path)]
    done = mpi.run(mpi.bin / "halo", *options)
    assert done.status == 0, done
    assert json.loads(path.read_text())["parameters"]["rank_map"] == list(WANTED)


def test_processes_of_one_host_keep_their_order(mpi: Mpi) -> None:
    done = mpi.run(mpi.built("reorder.c"), hosts="n1*2\nn0*2\n", TEST_RANKS_PER_NODE="2")
    assert "grid 2 3 0 1\n" in done.out, done


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        ("n0\nn1\nn2\nn4\n", "hosts: rank 3: no process of the program is left on its host"),
        ("n0*1000000000\n", "hosts: more than 4 ranks; expected 4"),
    ],
)
def test_a_file_that_does_not_fit_leaves_the_ranks_as_they_are(tmp_path: Path, hosts: str, text: str) -> None:
    mpi, path = Mpi("openmpi", tmp_path), tmp_path / "halo.json"
    options = ["--grid", "2x2", "--cells", "4", "--repeats", "2", "--order", "mpi-cart", "--json", str(path)]
    done = mpi.run(mpi.bin / "halo", *options, hosts=hosts)
    assert done.status == 0, done
    assert done.err.splitlines() == [f"railyard-reorder: ranks stay as they are: {mpi.folder}/{text}"]
    assert json.loads(path.read_text())["parameters"]["rank_map"] == [0, 1, 2, 3]
