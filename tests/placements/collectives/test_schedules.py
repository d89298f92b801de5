"""The library that executes schedules: data verified by `rowcol`, and what is sent as the capture counts it."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from support.benchmark_runs import document
from support.mpis.programs import Mpi

from railyard.placements.collectives import libraries, proof
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape, schedule
from railyard.placements.linkload import matrix
from railyard.placements.linkload.matrix import Kind

RANKS, SIZE = 8, 96_000
SHAPE = Shape(ranks=RANKS, per_node=2, grid=(4, 2))
ROUNDS = max(map(len, ALGORITHMS.values()))
TIMING = ["--repeats", "2", "--warmups", "0", "--warmup-time", "0", "--min-time-per-point", "0", "--start", "barrier"]
#: What rowcol sends for itself by the same schedules, at most: sums of one number, and short texts.
OWN_BYTES = 8_000


def run(mpi: Mpi, choice: str, collectives: list[str], shape: Shape) -> matrix.Matrix:
    """Run these collectives by railyard's own algorithms; the bytes must be those of their matrices."""
    for name, text in libraries.files(choice, shape).items():
        (mpi.folder / name).write_text(text)
    paths = ":".join(str(mpi.folder / name) for name in libraries.files(choice, shape))
    words = ["--collectives", ",".join(collectives), "--sizes", SIZE, *TIMING, "--json", mpi.folder / "out.json"]
    captured = mpi.folder / "sent.csv"
    done = mpi.witnessed(
        shape.ranks, mpi.bin / "rowcol", *map(str, words), RAILYARD_COLLECTIVES=paths, RAILYARD_MATRIX=str(captured)
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.err.count("left to the library 0\n") == len(collectives), done.err
    return matrix.read([captured])


@pytest.mark.parametrize("number", range(ROUNDS))
def test_every_algorithm_gives_right_data_and_sends_its_matrix(openmpi: Mpi, number: int) -> None:
    """In each round one algorithm of every collective; the bytes of every pair are right but for rowcol's own."""
    chosen = {name: list(rows)[number % len(rows)] for name, rows in ALGORITHMS.items()}
    choice = "+".join(f"{name}:own-{algorithm}" for name, algorithm in chosen.items())
    read = run(openmpi, choice, list(chosen), SHAPE)
    series = document(openmpi.folder / "out.json")["series"]
    calls = proof.calls_of((one["fom"], one["labels"], one["samples"]) for one in series)
    wanted = np.zeros((RANKS, RANKS))
    for (name, size), count in calls.items():
        sent = proof.sent(schedule(name, chosen[name], SHAPE), {(name, size): count})
        wanted += sent.traffic().matrix().toarray()
    apart = read.traffic([Kind.MESSAGES]).matrix().toarray() - wanted
    assert apart.min() >= -1 and apart.max() < OWN_BYTES
    assert wanted.max() > 20 * OWN_BYTES


def test_an_odd_number_of_ranks_under_mpich(tmp_path: Path) -> None:
    names = {"allreduce": "bine", "alltoall": "bruck", "bcast": "bine-scatter", "reduce-scatter": "recursive-halving"}
    choice = "+".join(f"{name}:own-{algorithm}" for name, algorithm in names.items())
    read = run(Mpi("mpich", tmp_path), choice, list(names), Shape(ranks=5))
    assert read.ranks == 5


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "no schedule; expected a file of: railyard matrix make --schedule"),
        ("allreduce 2 1 1\n0 0 1 1 0-1 0-1\n", "line 2: no move of the schedule"),
        ("allreduce 2 1 1\n0 0 2 1 0-0 0-0\n", "line 2: no move of the schedule"),
        (None, "No such file"),
    ],
)
def test_a_wrong_schedule_is_one_line_and_the_library_goes_on(openmpi: Mpi, text: str | None, error: str) -> None:
    path = openmpi.folder / "wrong"
    if text is not None:
        path.write_text(text)
    words = ["--collectives", "allreduce", "--sizes", "1024", *TIMING]
    done = openmpi.witnessed(2, openmpi.bin / "rowcol", *words, RAILYARD_COLLECTIVES=str(path))
    (line,) = [line for line in done.err.splitlines() if "railyard-collectives" in line]
    assert done.status == 0 and error in line


def test_other_numbers_of_ranks_are_left_to_the_library(openmpi: Mpi) -> None:
    one = dict(itertools.islice(libraries.files("allreduce:own-ring", Shape(ranks=4)).items(), 1))
    path = openmpi.folder / "four"
    path.write_text(next(iter(one.values())))
    words = ["--collectives", "allreduce", "--sizes", "1024", *TIMING]
    done = openmpi.witnessed(3, openmpi.bin / "rowcol", *words, RAILYARD_COLLECTIVES=str(path))
    assert done.status == 0 and "of 4 ranks: executed 0, left to the library" in done.err
