"""The library that captures what ranks send: real programs in C and Fortran, under two MPIs, beside Open MPI's count.

What the programs send is in their sources (tests/data/capture); the sums are made here by hand.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.benchmark_runs import DEADLINE_S, ENVIRONMENT, MPIRUN
from support.mpis.programs import Mpi

from railyard.base.checkout import CHECKOUT
from railyard.placements.linkload import matrix
from railyard.placements.linkload.matrix import KINDS, Kind, Matrix

SOURCES = CHECKOUT / "tests/data/capture"
RANKS = 4
RING = {(rank, (rank + 1) % RANKS) for rank in range(RANKS)}
Pairs = dict[tuple[int, int], int]

#: What the model sends in each phase of traffic.c (docs/fit.md): a tree, recursive doubling, a ring, all pairs.
MODELLED: dict[int, Pairs] = {
    11: {(1, 3): 100, (1, 2): 100, (3, 0): 100},
    12: {(1, 0): 100, (2, 0): 100, (3, 2): 100},
    13: {(rank, rank ^ bit): 100 for rank in range(RANKS) for bit in (1, 2)},
    14: dict.fromkeys(RING, 2 * 40000 * 3 // 4),
    15: {(one, other): 100 for one in range(RANKS) for other in range(RANKS) if one != other},
    16: {(one, to): 10 * (to + 1) for one in range(RANKS) for to in range(RANKS) if one != to},
    17: {(rank, (rank - step) % RANKS): 100 * step for rank in range(RANKS) for step in (1, 2)},
    18: {(1, 0): 100, (3, 2): 100, (2, 0): 200},
    19: {(2, to): 10 * (to + 1) for to in (0, 1, 3)},
    20: {},
    30: {(rank, (rank + step) % RANKS): 100 for rank in range(RANKS) for step in (1, 3)},
}


def captured(mpi: Mpi, ranks: int, program: Path, *arguments: str, **variables: str) -> Matrix:
    path = mpi.folder / "traffic.csv"
    done = mpi.witnessed(ranks, program, *arguments, RAILYARD_MATRIX=str(path), **variables)
    assert done.status == 0, done
    return matrix.read([path])


def pairs(read: Matrix, phase: int | None, kind: Kind = Kind.MESSAGES) -> Pairs:
    sent = read.traffic([kind], phase)
    ends = zip(sent.source.tolist(), sent.target.tolist(), strict=True)
    return dict(zip(ends, map(int, sent.size_bytes), strict=True))


def test_a_witness_built_for_another_mpi_is_one_line_and_no_signal(mpi: Mpi) -> None:
    """The ranks of both ended in a segmentation fault within PMPI_Comm_rank."""
    other = Mpi("mpich" if mpi.name == "openmpi" else "openmpi", mpi.folder)
    halo: list[str | Path] = [mpi.bin / "halo", "--grid", "1x1x1", "--cells", "4"]
    words = [other.witness, mpi.folder / "witness.json", *halo]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, env=ENVIRONMENT, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("railyard-witness: built for another MPI than the program: it has libmpi")


def test_every_kind_of_call_is_captured_by_phase(mpi: Mpi) -> None:
    read = captured(mpi, RANKS, mpi.built(SOURCES / "traffic.c"))
    assert (read.ranks, read.left_out) == (RANKS, 0)
    assert pairs(read, 1) == dict.fromkeys(RING, 4 * 100 + 64)
    assert pairs(read, 2) == dict.fromkeys(RING, 3 * 100)
    assert pairs(read, 3) == {(3, 2): 10}
    for phase, sent in MODELLED.items():
        assert pairs(read, phase, Kind.COLLECTIVES) == sent, phase
        assert pairs(read, phase) == {}, phase
    assert pairs(read, 40, Kind.ONE_SIDED) == {(0, 1): 8, (2, 0): 16, (0, 3): 4, (3, 0): 4}


def test_a_program_that_looks_for_functions_of_mpi_4_finds_those_of_its_mpi(mpi: Mpi) -> None:
    """The wheel mpi4py does so. Open MPI 4 has none of them, and the capture's own ended every rank by SIGABRT."""
    read = captured(mpi, RANKS, mpi.built(SOURCES / "probes.c"))
    assert pairs(read, 0) == dict.fromkeys(RING, 100)


def installed(*words: str, reason: str) -> None:
    """Skip a test without a program or a package of Python, with the command that installs it."""
    if subprocess.run(["sh", "-c", *words], capture_output=True, check=False).returncode:
        pytest.skip(reason)


def test_python_programs_with_the_wheel_mpi4py_are_captured(openmpi: Mpi) -> None:
    installed(f"{sys.executable} -c 'import mpi4py'", reason="no mpi4py here; run: .venv/bin/pip install mpi4py")
    lines = ["from mpi4py import MPI", "world = MPI.COMM_WORLD", "rank, size = world.rank, world.size"]
    lines += ["world.Sendrecv(bytearray(100), (rank + 1) % size, 0, bytearray(100), (rank - 1) % size)"]
    program = openmpi.folder / "ring.py"
    program.write_text("\n".join([*lines, "world.Barrier()"]))
    read = captured(openmpi, RANKS, Path(sys.executable), str(program))
    assert pairs(read, None) == dict.fromkeys(RING, 100)


@pytest.mark.parametrize("name", ["hpcc", "lmp"])
def test_programs_of_debian_are_captured(openmpi: Mpi, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """HPCC has thousands of small messages and all collectives; LAMMPS has a halo in three dimensions."""
    package = {"hpcc": "hpcc", "lmp": "lammps"}[name]
    installed(f"command -v {name}", reason=f"no {name} here; run: apt-get install {package}")
    monkeypatch.chdir(openmpi.folder)
    for file in ("hpccinf.txt", "lmp.in"):
        shutil.copy(SOURCES / file, openmpi.folder)
    read = captured(openmpi, 2, Path(shutil.which(name) or ""), *{"lmp": ["-in", "lmp.in"]}.get(name, []))
    sent = read.traffic()
    assert (read.ranks, read.left_out) == (2, 0)
    assert set(sent.source.tolist()) == set(sent.target.tolist()) == {0, 1}
    assert len(set(read.phase.tolist())) > 2, "steps"


def test_messages_are_those_that_open_mpi_itself_counts(openmpi: Mpi, tmp_path: Path) -> None:
    """pml_monitoring counts in the library, below all profilers."""
    program = openmpi.built(SOURCES / "traffic.c")
    counted = {
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(tmp_path / "monitored"),
    }
    assert openmpi.run(RANKS, program, "comparable", **counted).status == 0
    monitored = matrix.read(sorted(tmp_path.glob("monitored*.prof")))
    read = captured(openmpi, RANKS, program, "comparable")
    counts = [one.traffic([Kind.MESSAGES]).matrix().toarray().tolist() for one in (read, monitored)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("binding", [1, 2, 3])
def test_fortran_is_captured_by_each_of_its_bindings(mpi: Mpi, binding: int) -> None:
    read = captured(mpi, 3, mpi.built(SOURCES / "traffic.F90", f"-DBINDING={binding}"))
    assert pairs(read, 0) == {(rank, (rank + 1) % 3): 8 * (10 + rank) for rank in range(3)}
    assert sum(pairs(read, None, Kind.COLLECTIVES).values()) == 4 * 8


def test_phases_may_be_slices_of_time(openmpi: Mpi) -> None:
    read = captured(openmpi, RANKS, openmpi.built(SOURCES / "traffic.c"), RAILYARD_MATRIX_SLICE_S="3600")
    assert set(read.phase.tolist()) == {0}
    assert read.size_bytes[:, KINDS.index(Kind.MESSAGES)].sum() == RANKS * (464 + 300) + 10


def test_steps_between_collectives_of_all_ranks_are_phases_and_those_of_a_loop_one(mpi: Mpi) -> None:
    read = captured(mpi, RANKS, mpi.built(SOURCES / "ends.c"), "finalize")
    before, barrier, after = sorted(set(read.phase.tolist()))
    assert pairs(read, before) == dict.fromkeys(RING, 100)
    assert pairs(read, after) == dict.fromkeys(RING, 2 * 100)
    assert pairs(read, barrier) == pairs(read, barrier, Kind.COLLECTIVES) == {}, "without a payload"
    barriers = read.phase == barrier
    assert read.messages[barriers, KINDS.index(Kind.COLLECTIVES)].tolist() == [3] * 2 * RANKS
    whole, step = read.on_wire(), read.on_wire(barrier)
    assert set(step.size_bytes.tolist()) == {3.0 * (matrix.HEADER_BYTES + matrix.ANSWER_BYTES)}
    assert whole.total_bytes > sum(read.on_wire(phase).total_bytes for phase in (before, barrier, after))


@pytest.mark.parametrize("end", ["exit", "_exit", "abort", "one"])
def test_a_program_that_ends_without_finalize_leaves_what_was_seen(mpi: Mpi, end: str) -> None:
    """With `one` the launcher ends the other ranks by a signal."""
    path = mpi.folder / "traffic.csv"
    done = mpi.witnessed(RANKS, mpi.built(SOURCES / "ends.c"), end, RAILYARD_MATRIX=str(path))
    assert f"ended without MPI_Finalize: {path} has what the ranks sent until then" in done.err
    read = matrix.read([path])
    assert read.ranks == RANKS
    assert pairs(read, None).items() <= dict.fromkeys(RING, 3 * 100).items() and pairs(read, None)


def test_what_a_program_spawns_is_left_out_and_said(openmpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    """By TCP: shared memory joins no two worlds under Open MPI 4."""
    launcher = [word.replace("vader", "tcp") for word in MPIRUN]
    monkeypatch.setattr("support.mpis.programs.MPIRUN", [*launcher, "--mca", "btl_tcp_if_include", "lo"])
    path = openmpi.folder / "traffic.csv"
    done = openmpi.witnessed(2, openmpi.built(SOURCES / "ends.c"), "spawn", RAILYARD_MATRIX=str(path))
    assert "the program spawns processes: what they send is not in the matrix" in done.err, done
    read = matrix.read([path])
    assert (read.ranks, read.left_out) == (2, 1)
    assert pairs(read, None) == {(0, 1): 300, (1, 0): 300}
