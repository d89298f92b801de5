"""Schedules of collectives: which rank sends which blocks to which other in each step of an algorithm.

Models: a rank's data are blocks, numbered alike on all ranks. A move copies blocks of one rank to another, or adds them
there; all moves of a step read what was there before the step. One schedule makes the matrix of an algorithm
(`matrix_of`), and is executed over point-to-point messages by the library `railyard-collectives` (`write`). Leaves out
the time that a step takes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

from railyard.placements.arrays import Floats, np
from railyard.placements.linkload import matrix as matrices
from railyard.placements.linkload.matrix import Matrix

FORMAT = "railyard-schedule/1"


class Move(NamedTuple):
    """Rank `source` sends `blocks` to rank `target`, which puts them `into` its own, or adds them to those."""

    source: int
    target: int
    blocks: Sequence[int]
    into: Sequence[int]
    adds: bool


#: The steps of an algorithm, each a list of moves.
Steps = list[list[Move]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """An algorithm of a collective for a number of ranks. `blocks` is how many blocks each rank's data have."""

    collective: str
    algorithm: str
    ranks: int
    blocks: int
    steps: Steps

    def block_bytes(self, size_bytes: int) -> Floats:
        """Return the bytes of each block; `size_bytes` is the size of the vector, or of one rank's block.

        A vector is divided as evenly as its elements allow, and the first blocks have one more. Elements of sums have 8
        bytes where the size is a multiple of it, others 1.
        """
        if self.collective not in SPLIT:
            return np.full(self.blocks, 0 if self.collective == "barrier" else size_bytes, dtype=np.float64)
        element = 8 if self.collective == "allreduce" and size_bytes % 8 == 0 else 1
        whole, more = divmod(size_bytes // element, self.blocks)
        return element * (whole + (np.arange(self.blocks) < more)).astype(np.float64)


#: Collectives whose size is that of a vector, which algorithms divide into blocks as they like.
SPLIT = ("allreduce", "bcast")


def matrix_of(schedule: Schedule, size_bytes: int) -> Matrix:
    """Return the messages and bytes of a call; each step is a phase. Moves within a rank are not listed."""
    sizes = schedule.block_bytes(size_bytes)
    rows = np.array(
        [
            (phase, move.source, move.target, 1, sizes[list(move.blocks)].sum(), 0, 0, 0, 0)
            for phase, step in enumerate(schedule.steps)
            for move in step
            if move.source != move.target
        ],
        dtype=np.float64,
    )
    return matrices.of_rows(rows.reshape(-1, len(matrices.COLUMNS)), schedule.ranks)


def write(file: IO[str], schedule: Schedule) -> None:
    """Write a schedule for the library `railyard-collectives`: a line for each move, blocks as first-last."""
    head = {name: getattr(schedule, name) for name in ("collective", "algorithm", "ranks", "blocks")}
    file.write(f"# {FORMAT} {json.dumps(head)}\n")
    file.write(f"{schedule.collective} {schedule.ranks} {schedule.blocks} {len(schedule.steps)}\n")
    for number, step in enumerate(schedule.steps):
        for move in step:
            blocks, into = _ranges(move.blocks), _ranges(move.into)
            file.write(f"{number} {move.source} {move.target} {move.adds:d} {blocks} {into}\n")


def _ranges(blocks: Sequence[int]) -> str:
    """Return blocks as words such as 0-3,6-6, in their order."""
    runs: list[list[int]] = []
    for block in blocks:
        if runs and runs[-1][1] == block - 1:
            runs[-1][1] = block
        else:
            runs.append([block, block])
    return ",".join(f"{first}-{last}" for first, last in runs)


# ---- parts of which algorithms are made ----


def copy(source: int, target: int, blocks: Iterable[int]) -> Move:
    """Return a move that copies blocks to the same place."""
    own = tuple(blocks)
    return Move(source, target, own, own, False)


def add(source: int, target: int, blocks: Iterable[int]) -> Move:
    """Return a move that adds blocks to those of the target."""
    return copy(source, target, blocks)._replace(adds=True)


def backwards(steps: Steps, *, adds: bool = False) -> Steps:
    """Return the steps from the last to the first with all moves turned round: of a broadcast a reduction."""
    return [[Move(move.target, move.source, move.into, move.blocks, adds) for move in step] for step in steps[::-1]]


def on(steps: Steps, members: Sequence[int], blocks: Sequence[Sequence[int]] | None = None) -> Steps:
    """Return steps among other ranks, `members[k]` for k; each block k is replaced by `blocks[k]`."""

    def of(own: Sequence[int]) -> Sequence[int]:
        return own if blocks is None else tuple(itertools.chain.from_iterable(blocks[one] for one in own))

    return [
        [Move(members[move.source], members[move.target], of(move.blocks), of(move.into), move.adds) for move in step]
        for step in steps
    ]


def together(parts: Iterable[Steps]) -> Steps:
    """Return steps that several groups of ranks, or of blocks, make at the same time."""
    return [list(itertools.chain.from_iterable(step)) for step in itertools.zip_longest(*parts, fillvalue=[])]


Partner = Callable[[int, int], int]


def butterfly(stages: int, partner: Partner, own: Sequence[Sequence[int]]) -> Steps:
    """Return the reduce-scatter of 2^stages ranks that exchange with `partner(rank, stage)`, each with each.

    Rank r ends with the sum of the blocks `own[r]`. In each stage it sends what its partner will still need.
    """
    needs: list[list[Sequence[int]]] = [list(own)]
    for stage in reversed(range(stages)):
        after = needs[0]
        both = [(*blocks, *after[partner(rank, stage)]) for rank, blocks in enumerate(after)]
        needs.insert(0, [tuple(sorted(blocks)) for blocks in both])
    return [
        [add(rank, partner(rank, stage), needs[stage + 1][partner(rank, stage)]) for rank in range(len(own))]
        for stage in range(stages)
    ]


def scatter(tree: Steps, ranks: int) -> Steps:
    """Return the scatter along a broadcast's tree: each move has the blocks of the ranks behind its target."""
    behind = [[rank] for rank in range(ranks)]
    steps: Steps = []
    for step in reversed(tree):
        steps.insert(0, [copy(move.source, move.target, sorted(behind[move.target])) for move in step])
        for move in step:
            behind[move.source] += behind[move.target]
    return steps
