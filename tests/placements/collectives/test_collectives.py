"""Schedules of collectives: each does what its collective promises, for any number of ranks, with bytes by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from support.commands import Run

from railyard.base.errors import InputError
from railyard.placements.collectives import libraries, proof
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape, schedule
from railyard.placements.collectives.schedule import Schedule
from railyard.placements.linkload import matrix as matrices
from railyard.placements.linkload import model
from railyard.placements.topology import catalog

pytestmark = pytest.mark.unit

EVERY = [(collective, name) for collective, rows in ALGORITHMS.items() for name in rows]
#: What a rank has in a block: from whom, and for alltoall which block of that rank.
Held = dict[tuple[int, int], int]


def start(one: Schedule) -> list[list[Held]]:
    """The contributions in each block of each rank before the first step."""
    every = range(one.blocks)
    match one.collective:
        case "bcast":
            return [[{(0, block): 1} if rank == 0 else {} for block in every] for rank in range(one.ranks)]
        case "allgather":
            return [[{(rank, block): 1} if rank == block else {} for block in every] for rank in range(one.ranks)]
        case "alltoall":
            return [[{(rank, block): 1} if block < one.ranks else {} for block in every] for rank in range(one.ranks)]
    return [[{(rank, block): 1} for block in every] for rank in range(one.ranks)]


def goal(one: Schedule, rank: int) -> dict[int, Held]:
    every = range(one.blocks)

    def sums(block: int) -> Held:
        return {(other, block): 1 for other in range(one.ranks)}

    match one.collective:
        case "bcast":
            return {block: {(0, block): 1} for block in every}
        case "allgather":
            return {block: {(block, block): 1} for block in every}
        case "alltoall":
            return {one.ranks + other: {(other, rank): 1} for other in range(one.ranks)}
        case "reduce-scatter":
            return {rank: sums(rank)}
    return {block: sums(block) for block in every}


def executed(one: Schedule) -> list[list[Held]]:
    held = start(one)
    for step in one.steps:
        sent = [[dict(held[move.source][block]) for block in move.blocks] for move in step]
        for move, blocks in zip(step, sent, strict=True):
            for block, come in zip(move.into, blocks, strict=True):
                there = held[move.target][block] if move.adds else {}
                held[move.target][block] = {
                    key: there.get(key, 0) + come.get(key, 0) for key in there.keys() | come.keys()
                }
    return held


def shapes(name: str) -> list[Shape]:
    if name.startswith("bine-torus"):
        grids = [(2,), (4, 2), (4, 4), (2, 8), (2, 4, 4), (1, 4)]
        return [Shape(ranks=math.prod(grid), grid=grid) for grid in grids]
    if name == "multi-rail":
        return [Shape(ranks=nodes * per, per_node=per) for nodes, per in ((2, 1), (1, 4), (3, 2), (5, 3), (4, 4))]
    if name == "hierarchical":
        return [Shape(ranks=ranks, per_node=per) for ranks in (2, 5, 12, 13, 17) for per in (1, 3, 4)]
    if name == "neighbor-exchange":
        return [Shape(ranks=ranks) for ranks in range(2, 18, 2)]
    return [Shape(ranks=ranks) for ranks in (*range(2, 18), 24, 32)]


@pytest.mark.parametrize(("collective", "name"), EVERY)
def test_every_schedule_does_what_its_collective_promises(collective: str, name: str) -> None:
    """No contribution is lost, and none counted twice (in a barrier that is no harm)."""
    for shape in shapes(name):
        one = schedule(collective, name, shape)
        for rank, blocks in enumerate(executed(one)):
            for block, wanted in goal(one, rank).items():
                got = blocks[block]
                assert (got.keys() if collective == "barrier" else got) == (
                    wanted.keys() if collective == "barrier" else wanted
                ), (shape, rank, block)
        for step in one.steps:  # one message for each pair in a step, which a receiver can tell apart
            pairs = [(move.source, move.target) for move in step]
            assert len(set(pairs)) == len(pairs) or name in ("bine-torus-ports",)


def bytes_of(collective: str, name: str, ranks: int, size: int, *, per_node: int = 1) -> float:
    made = schedule(collective, name, Shape(ranks=ranks, per_node=per_node))
    return float(schedules.matrix_of(made, size).traffic().total_bytes)


def test_sums_by_formula() -> None:
    for p in (2, 3, 5, 8, 12, 16):
        power, rest = 1 << (p.bit_length() - 1), p - (1 << (p.bit_length() - 1))
        n = 64 * p * power
        assert bytes_of("allreduce", "ring", p, n) == 2 * (p - 1) * n
        doubling = power * math.log2(power) * n + 2 * rest * n
        assert bytes_of("allreduce", "recursive-doubling", p, n) == doubling
        halving = 2 * (power - 1) * n + 2 * rest * n
        assert bytes_of("allreduce", "rabenseifner", p, n) == bytes_of("allreduce", "bine", p, n) == halving
        assert bytes_of("allreduce", "binomial", p, n) == bytes_of("allreduce", "linear", p, n) == 2 * (p - 1) * n
        for name in ("ring", "bruck"):
            assert bytes_of("allgather", name, p, 8) == p * (p - 1) * 8
        assert bytes_of("alltoall", "pairwise", p, 8) == bytes_of("alltoall", "linear", p, 8) == p * (p - 1) * 8
        bits = sum(bin(k).count("1") for k in range(p))
        assert bytes_of("alltoall", "bruck", p, 8) == p * bits * 8
        assert bytes_of("bcast", "scatter-ring", p, n) == pytest.approx(
            n / p * (sum(bin(k).count("1") for k in range(p)) + p * (p - 1))
        )
        assert bytes_of("reduce-scatter", "pairwise", p, 8) == bytes_of("reduce-scatter", "ring", p, 8)
        assert bytes_of("barrier", "dissemination", p, 8) == 0
    assert bytes_of("allreduce", "multi-rail", 12, 1200, per_node=3) == 2 * (2 * 4 * 1200) + 2 * 3 * 1200


def test_steps_by_hand() -> None:
    """Rabenseifner on 4 ranks, whose bits are swapped; 9 words of 8 bytes are 3, 2, 2 and 2 of them."""
    made = schedule("allreduce", "rabenseifner", Shape(ranks=4))
    read = schedules.matrix_of(made, 72)
    rows = np.column_stack([read.phase, read.source, read.target, read.size_bytes[:, 0]])
    assert rows[:8].astype(int).tolist() == [
        *([0, 0, 1, 32], [0, 1, 0, 40], [0, 2, 3, 32], [0, 3, 2, 40]),
        *([1, 0, 2, 16], [1, 1, 3, 16], [1, 2, 0, 24], [1, 3, 1, 16]),
    ]
    assert [
        [(move.source, move.target) for move in step] for step in schedule("bcast", "bine-tree", Shape(ranks=8)).steps
    ] == [[(0, 3)], [(0, 7), (3, 4)], [(0, 1), (3, 2), (7, 6), (4, 5)]]  # rank 0 reaches 3, -1 and 1


def test_a_vector_of_fewer_elements_than_blocks_has_empty_messages() -> None:
    read = schedules.matrix_of(schedule("allreduce", "ring", Shape(ranks=8)), 16)
    assert read.size_bytes.sum() == 2 * 7 * 16 and read.messages.sum() == 2 * 7 * 8


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["allreduce", "rung", Shape(ranks=8)], "--algorithm: 'rung' is not valid; expected with allreduce: ring,"),
        (["allsum", "ring", Shape(ranks=8)], "--collective: 'allsum' is not valid; expected allreduce,"),
        (["allreduce", "ring", Shape(ranks=1025)], "--ranks: 1025 is not valid; expected 2 to 1024"),
        (["allreduce", "bine-torus", Shape(ranks=8)], "--grid: 'missing' is not valid; expected AxB or AxBxC"),
        (["allreduce", "bine-torus-ports", Shape(ranks=8)], "--grid: 'missing' is not valid"),
        (["allreduce", "bine-torus", Shape(ranks=6, grid=(3, 2))], "--grid: '3x2' is not valid"),
        (["allreduce", "multi-rail", Shape(ranks=6, per_node=4)], "--per-node: 4 is not valid; expected a divisor"),
        (["allgather", "neighbor-exchange", Shape(ranks=7)], "--ranks: 7 is not valid; expected an even number"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_one_line(words: list, error: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match="valid") as caught:
        schedule(*words)
    assert error in str(caught.value)


def test_links_place_and_fit_take_a_made_matrix(railyard: Run, tmp_path: Path) -> None:
    """The 64 ranks of a recursive doubling exchange 1 MiB in six steps."""
    path = tmp_path / "doubling.csv"
    made = "matrix make --collective allreduce --algorithm recursive-doubling --ranks 64 --bytes 1MiB"
    assert railyard(*made.split(), "--output", path).stdout == f"{path}: 64 ranks, 384 rows\n"
    read = matrices.read([path])
    assert [read.traffic(phase=step).total_bytes for step in range(6)] == [64 * 2**20] * 6
    assert (
        "predicted on dragonfly-72"
        in railyard(*f"links dragonfly-72 --matrix {path} --placements scheduler".split()).stdout
    )
    placed = railyard(*f"place gemini-4x4x4 --matrix {path} --placement plain --format openmpi-hostfile".split()).stdout
    assert len(placed.splitlines()) == 64
    refused = railyard(*["matrix", "make", "--algorithm", "ring", "--bytes", "1MB"])
    assert refused.returncode and "--bytes: '1MB' is not valid" in refused.stderr


def counted_as(name: str, calls: proof.Calls, shape: Shape, *, links: bool = True) -> proof.Counted:
    """What a torus would count if a program did this: 4 % more than the matrix has."""
    topology = catalog.load("gemini-2x2x2")
    (collective,) = {one for one, _ in calls}
    sent = proof.sent(schedule(collective, name, shape), calls).on_wire()
    loads = model.load(topology, np.arange(8), sent, model.PROTOCOLS["payload"])
    host = {node.name: k for k, node in enumerate(topology.nodes)}
    return proof.counted(
        topology,
        list(host),
        {
            "nics": [
                {"node": node, "tx_bytes": 1.04 * loads.host_out_bytes[k], "rx_bytes": 1.04 * loads.host_in_bytes[k]}
                for node, k in host.items()
            ],
            "links": [
                {"name": link, "bytes": 1.04 * loads.link_bytes.flat[place]}
                for link, place in topology.link_places.items()
                if links
            ],
        },
    )


@pytest.mark.parametrize("collective", [name for name in ALGORITHMS if name != "barrier"])
def test_bytes_prove_an_algorithm_and_name_a_wrong_one(collective: str) -> None:
    """What is counted is never taken for another algorithm; linear and pairwise alltoalls cannot be told apart."""
    shape, calls = Shape(ranks=8), {(collective, 4096): 9, (collective, 65536): 4}
    for name in ALGORITHMS[collective]:
        try:
            counted = counted_as(name, calls, shape)
        except InputError:
            continue
        rows = proof.fits(counted, calls, shape)
        alike = [row.algorithm for row in rows if row.difference <= proof.TOLERANCE]
        assert name in alike or name in ("hierarchical", "multi-rail")  # with one rank on each node they are others
        for row in rows:
            is_obeyed, reason = proof.judge(row.algorithm, rows)
            assert is_obeyed is (False if row.algorithm not in alike else True if len(alike) == 1 else None)
            assert bool(reason) is not bool(is_obeyed)
    assert proof.judge("", rows)[1].startswith("railyard has no matrix of it; the bytes are ")


def test_without_links_fewer_algorithms_can_be_told_apart() -> None:
    shape, calls = Shape(ranks=8), {("allgather", 65536): 4}
    rows = proof.fits(counted_as("ring", calls, shape, links=False), calls, shape)
    assert proof.judge("ring", rows)[0] is None
    assert proof.judge("ring", proof.fits(counted_as("ring", calls, shape), calls, shape))[0] is True


@pytest.mark.parametrize("name", libraries.libraries())
def test_every_setting_of_a_library_has_a_variable_and_a_known_matrix(name: str) -> None:
    library = libraries.libraries()[name]
    assert library.sources
    for collective in ALGORITHMS:
        for algorithm in library.names(collective):
            assert library.environment(collective, algorithm)
            assert library.matrix(collective, algorithm) in {"", *ALGORITHMS[collective]}


@pytest.mark.parametrize(
    ("choice", "library", "error"),
    [
        ("allreduce:rung", "mpich", "(did you mean 'ring'?); expected with mpich: recursive-doubling,"),
        ("allreduce:own-rung", "mpich", "(did you mean 'own-ring'?); expected own-ring,"),
        ("allsum:ring", "mpich", "algorithms: 'allsum:ring' is not valid; expected default, or COLLECTIVE:ALGORITHM"),
        ("ring", "mpich", "algorithms: 'ring' is not valid"),
        ("allreduce:ring@64KiB", "openmpi", "'ring@64KiB' is not valid; expected ALGORITHM@BYTES, such as ring@65536"),
        ("allreduce:ring@65536", "mpich", "'ring@' is not valid; expected no @ with mpich"),
        ("allreduce:own-ring@8", "openmpi", "'own-ring@8' is not valid"),
    ],
)
def test_a_choice_that_a_library_lacks_is_one_line(choice: str, library: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        libraries.environment(choice, libraries.libraries()[library])
    assert error in str(caught.value)


def test_lists_and_the_published_table(railyard: Run) -> None:
    listed = railyard(*["collectives", "list", "intel-mpi"]).stdout
    assert "allreduce:rabenseifner  I_MPI_ADJUST_ALLREDUCE=2  rabenseifner\n" in listed
    table = railyard(*["collectives", "bine", "dragonfly-72", "leonardo-like", "fat-tree-54"]).stdout
    rows = [line.split() for line in table.splitlines()[1:]]
    assert len(rows) == 12 and all(row[-1] in ("agrees", "above", "reduction") for row in rows)
    assert [row[-1] for row in rows if row[1] == "allreduce"] == ["agrees"] * 3
    assert "at most 8, the nodes of gemini-2x2x2" in railyard(*["collectives", "bine", "gemini-2x2x2"]).stderr
