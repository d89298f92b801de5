"""The algorithms of collectives: `ALGORITHMS` has the function that makes the steps of each.

Models the algorithms as Open MPI's and MPICH's sources have them, with rank 0 as root: Thakur et al., IJHPCA 19 (2005);
Rabenseifner, ICCS'04; Bruck et al., TPDS 8 (1997); Bine trees, De Sensi et al., SC'25 (arXiv 2508.17311). A number of
ranks that is not a power of two is folded: of the first ranks every even one gives its data to the next, and gets the
result. Leaves out segments of a message, which change no bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.collectives.schedule import (
    Move,
    Partner,
    Schedule,
    Steps,
    add,
    backwards,
    butterfly,
    copy,
    on,
    scatter,
    together,
)

#: A ring of so many ranks has two million messages.
MOST_RANKS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The ranks of a collective: their number, how many of each node, and the grid that a torus's variants need."""

    ranks: int
    per_node: int = 1
    grid: tuple[int, ...] = ()

    @property
    def power(self) -> int:
        """Return the largest power of two that is not above the number of ranks."""
        return 1 << (self.ranks.bit_length() - 1)

    @property
    def stages(self) -> int:
        """Return the logarithm of the largest power of two that fits."""
        return self.power.bit_length() - 1


Made = tuple[int, Steps]
"""How many blocks the data of each rank have, and the steps."""


def schedule(collective: str, algorithm: str, shape: Shape) -> Schedule:
    """Return an algorithm's schedule; InputError for one that does not exist, or not for these ranks."""
    if collective not in ALGORITHMS:
        raise InputError("--collective", "", collective, ", ".join(ALGORITHMS))
    names = ALGORITHMS[collective]
    if algorithm not in names:
        raise InputError("--algorithm", "", algorithm, f"with {collective}: {', '.join(names)}")
    if not 1 < shape.ranks <= MOST_RANKS:
        raise InputError("--ranks", "", shape.ranks, f"2 to {MOST_RANKS}")
    blocks, steps = names[algorithm](shape)
    steps = [step for step in steps if step]
    return Schedule(collective=collective, algorithm=algorithm, ranks=shape.ranks, blocks=blocks, steps=steps)


# ---- rings, and what else is the same for any number of ranks ----


def _in_steps(ranks: int, steps: Iterable[int], move: Callable[[int, int], Move]) -> Steps:
    """Return steps in each of which every rank makes the move of (rank, step)."""
    return [[move(rank, step) for rank in range(ranks)] for step in steps]


def _ring_gather(ranks: int) -> Steps:
    """Each rank passes on the block that it got last."""
    return _in_steps(ranks, range(ranks - 1), lambda rank, k: copy(rank, (rank + 1) % ranks, [(rank - k) % ranks]))


def _ring_scatter(ranks: int) -> Steps:
    """Reduce round the ring; rank r ends with the sum of block r."""
    return _in_steps(ranks, range(1, ranks), lambda rank, k: add(rank, (rank + 1) % ranks, [(rank - k) % ranks]))


def _pairwise_scatter(ranks: int) -> Steps:
    """In each step every rank sends another's own block to it."""
    return _in_steps(ranks, range(1, ranks), lambda rank, k: add(rank, (rank + k) % ranks, [(rank + k) % ranks]))


def _bruck_gather(ranks: int) -> Steps:
    """In step k a rank sends all that it has to the rank 2^k before it."""

    def move(rank: int, reach: int) -> Move:
        return copy(rank, (rank - reach) % ranks, [(rank + k) % ranks for k in range(min(reach, ranks - reach))])

    return _in_steps(ranks, _powers(ranks), move)


def _neighbor_gather(shape: Shape) -> Made:
    """Pairs of neighbours exchange, then pass the two blocks that they got last, in turn to either side."""
    ranks = shape.ranks
    if ranks % 2:
        raise InputError("--ranks", "", ranks, "an even number for neighbor-exchange")
    last = [[rank] for rank in range(ranks)]
    steps: Steps = []
    for step in range(ranks // 2):
        way = [1 if (rank + step) % 2 == 0 else -1 for rank in range(ranks)]
        partners = [(rank + way[rank]) % ranks for rank in range(ranks)]
        steps.append([copy(rank, partners[rank], last[rank]) for rank in range(ranks)])
        last = [last[partners[rank]] + (last[rank] if step == 0 else []) for rank in range(ranks)]
    return ranks, steps


def _powers(ranks: int) -> list[int]:
    """Return the powers of two below a number."""
    return [1 << k for k in range((ranks - 1).bit_length())]


# ---- all to all: a rank's own data are its first blocks, what it gets the others ----


def _pairwise(ranks: int) -> Steps:
    """In each step every rank sends another its block."""

    def move(rank: int, step: int) -> Move:
        return Move(rank, (rank + step) % ranks, ((rank + step) % ranks,), (ranks + rank,), False)

    return _in_steps(ranks, range(ranks), move)


def _bruck(shape: Shape) -> Made:
    """In step k a block whose way is still odd in bit k goes 2^k ranks on. The last step is within each rank."""
    ranks = shape.ranks

    def on_from(rank: int, distances: Iterable[int]) -> list[int]:
        return [(rank + distance) % ranks for distance in distances]

    steps: Steps = []
    for reach in _powers(ranks):
        away = [distance for distance in range(ranks) if distance & reach]
        ends = [(rank, (rank + reach) % ranks) for rank in range(ranks)]
        steps.append([Move(one, to, on_from(one, away), on_from(to, away), False) for one, to in ends])
    taken = [[ranks + block for block in on_from(rank, range(0, -ranks, -1))] for rank in range(ranks)]
    own = [Move(rank, rank, on_from(rank, range(ranks)), taken[rank], False) for rank in range(ranks)]
    return 2 * ranks, [*steps, own]


# ---- trees with rank 0 as root ----


def _binomial(ranks: int) -> Steps:
    """Broadcast over the longest distance first."""
    return [
        [copy(rank, rank + reach, [0]) for rank in range(0, ranks - reach, 2 * reach)]
        for reach in reversed(_powers(ranks))
    ]


def _binomial_near(ranks: int) -> Steps:
    """Broadcast over the shortest distance first, as Open MPI's binomial tree."""
    return [[copy(rank, rank + reach, [0]) for rank in range(min(reach, ranks - reach))] for reach in _powers(ranks)]


def _flat(ranks: int) -> Steps:
    """Broadcast from the root to each rank directly."""
    return [[copy(0, rank, [0]) for rank in range(1, ranks)]]


def _chain(ranks: int) -> Steps:
    """Broadcast from each rank to the next."""
    return [[copy(rank, rank + 1, [0])] for rank in range(ranks - 1)]


def _binary(ranks: int) -> Steps:
    """Broadcast to two children; those of a rank on level k are 2^k and 2^(k + 1) ranks on, as in Open MPI."""
    levels = [1 << level for level in range((ranks + 1).bit_length())]
    return [
        [
            copy(rank, rank + way, [0])
            for rank in range(width - 1, 2 * width - 1)
            for way in (width, 2 * width)
            if rank + way < ranks
        ]
        for width in levels[:-1]
    ]


def _bine_tree(shape: Shape) -> Steps:
    """Broadcast along a Bine tree over the longest distance first, then to the folded ranks."""
    members, folded = _fold(shape)
    partner, has, steps = _bine(shape.power), [0], []
    for stage in reversed(range(shape.stages)):
        steps.append([copy(rank, partner(rank, stage), [0]) for rank in has])
        has += [move.target for move in steps[-1]]
    root = [copy(even, odd, [0]) for odd, even in folded if even == 0]
    return [root, *on(steps, members), [copy(odd, even, [0]) for odd, even in folded if even]]


def _scattered(shape: Shape, tree: Steps, gather: Steps) -> Made:
    """Return a broadcast as a scatter along a tree and an allgather (van de Geijn)."""
    return shape.ranks, [*scatter(tree, shape.ranks), *gather]


# ---- butterflies ----


def _xor(rank: int, stage: int) -> int:
    return rank ^ (1 << stage)


def _far(stages: int, partner: Partner) -> Partner:
    """Return a partner function whose last stage comes first."""
    return lambda rank, stage: partner(rank, stages - 1 - stage)


def _bine(ranks: int, mirrored: bool = False) -> Partner:
    """Return the partner of a Bine butterfly: even ranks go (1 - (-2)^(stage + 1)) / 3 on."""

    def partner(rank: int, stage: int) -> int:
        reach: int = (1 - (-2) ** (stage + 1)) // 3
        return (rank + (reach if (rank % 2 == 0) != mirrored else -reach)) % ranks

    return partner


def _torus(shape: Shape, first: int = 0, mirrored: bool = False) -> Partner:
    """Return the partner of a Bine butterfly on a torus, whose stages take the dimensions in turn."""
    grid = shape.grid
    if math.prod(grid) != shape.ranks or any(extent & (extent - 1) for extent in grid):
        text = "x".join(map(str, grid)) or "missing"
        raise InputError("--grid", "", text, f"AxB or AxBxC of {shape.ranks} ranks, each a power of two")
    order = [(first + d) % len(grid) for d in range(len(grid))]
    bits = {d: grid[d].bit_length() - 1 for d in order}
    strides = [math.prod(grid[d + 1 :]) for d in range(len(grid))]
    partners = [_bine(extent, mirrored) for extent in grid]
    turns = [(d, k) for k in range(max(bits.values())) for d in order if k < bits[d]]

    def partner(rank: int, stage: int) -> int:
        d, k = turns[stage]
        stride = strides[d]
        at = rank // stride % grid[d]
        return rank + (partners[d](at, k) - at) * stride

    return partner


def _fold(shape: Shape) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the ranks of a power of two that take part, and pairs (odd, even) whose even one gives its data away."""
    rest = shape.ranks - shape.power
    pairs = [(2 * k + 1, 2 * k) for k in range(rest)]
    return [*(odd for odd, _ in pairs), *range(2 * rest, shape.ranks)], pairs


def _folded(shape: Shape, inner: Steps, blocks: Sequence[int]) -> Steps:
    """Return an allreduce of any number of ranks, by one among those that take part."""
    members, pairs = _fold(shape)
    after = [copy(odd, even, blocks) for odd, even in pairs]
    return [[add(even, odd, blocks) for odd, even in pairs], *on(inner, members), after]


def _doubling(shape: Shape) -> Made:
    steps = [[add(rank, _xor(rank, stage), [0]) for rank in range(shape.power)] for stage in range(shape.stages)]
    return 1, _folded(shape, steps, [0])


def _halved(shape: Shape, partner: Partner, own: Sequence[int]) -> Made:
    """Return an allreduce as a butterfly's reduce-scatter and the same backwards; rank r has block `own[r]` between."""
    steps = butterfly(shape.stages, partner, [[block] for block in own])
    return shape.power, _folded(shape, [*steps, *backwards(steps)], range(shape.power))


def _rabenseifner(shape: Shape) -> Made:
    """Halve the vector with the nearest rank first; a rank's block has its number's bits in the opposite order."""
    own = [int(f"{rank:0{max(shape.stages, 1)}b}"[::-1], 2) for rank in range(shape.power)]
    return _halved(shape, _xor, own)


def _reduce_scatter(shape: Shape, partner: Partner) -> Made:
    """Return a butterfly's reduce-scatter; a folded pair has the blocks of both."""
    members, pairs = _fold(shape)
    even_of = dict(pairs)
    own = [[member, *([even_of[member]] if member in even_of else [])] for member in members]
    inner = on(butterfly(shape.stages, partner, own), members)
    before = [add(even, odd, range(shape.ranks)) for odd, even in pairs]
    return shape.ranks, [before, *inner, [copy(odd, even, [even]) for odd, even in pairs]]


def _allgather(shape: Shape, partner: Partner) -> Made:
    return shape.ranks, backwards(_reduce_scatter(shape, partner)[1])


def _torus_ports(shape: Shape) -> Made:
    """Divide the vector into two parts for each dimension, which start in different dimensions and directions."""
    _torus(shape)  # refuses a grid that does not fit
    count, ranks = len(shape.grid), shape.ranks
    parts = []
    for part in range(2 * count):
        partner = _torus(shape, part % count, part >= count)
        steps = butterfly(shape.stages, partner, [[part * ranks + rank] for rank in range(ranks)])
        parts.append([*steps, *backwards(steps)])
    return 2 * count * ranks, together(parts)


# ---- two levels ----


def _nodes(shape: Shape) -> list[range]:
    starts = range(0, shape.ranks, shape.per_node)
    return [range(start, min(start + shape.per_node, shape.ranks)) for start in starts]


def _hierarchical(shape: Shape) -> Made:
    """Reduce on each node, then among the nodes' first ranks by Rabenseifner's algorithm, and broadcast on each."""
    nodes = _nodes(shape)
    blocks, between = _rabenseifner(Shape(ranks=len(nodes)))
    every = [range(blocks)]
    trees = together(on(_binomial(len(node)), node, every) for node in nodes)
    return blocks, [*backwards(trees, adds=True), *on(between, [node[0] for node in nodes]), *trees]


def _multi_rail(shape: Shape) -> Made:
    """Reduce-scatter on each node; the k-th ranks of all nodes reduce their part round a ring; gather on each node."""
    nodes, count = _nodes(shape), shape.per_node
    if len(nodes[-1]) != count:
        raise InputError("--per-node", "", count, f"a divisor of {shape.ranks} ranks")
    parts = [range(k * len(nodes), (k + 1) * len(nodes)) for k in range(count)]
    inside = together(on(_ring_scatter(count), node, parts) for node in nodes)
    ring = [*_ring_scatter(len(nodes)), *_ring_gather(len(nodes))]
    between = together(on(ring, [node[k] for node in nodes], [[block] for block in parts[k]]) for k in range(count))
    return count * len(nodes), [*inside, *between, *backwards(inside)]


# ---- the table ----


def _doubled(shape: Shape) -> Made:
    """Return an allgather of all blocks that each rank has, nearest rank first."""
    return _allgather(shape, _far(shape.stages, _xor))


def _dissemination(ranks: int) -> Steps:
    return _in_steps(ranks, _powers(ranks), lambda rank, reach: add(rank, (rank + reach) % ranks, [0]))


def _reduced(tree: Steps) -> Made:
    """Return an allreduce as a reduction along a tree and a broadcast back."""
    return 1, [*backwards(tree, adds=True), *tree]


def _of_ranks(*parts: Callable[[int], Steps]) -> Callable[[Shape], Made]:
    """Make parts after each other, with a block for each rank."""
    return lambda shape: (shape.ranks, [step for part in parts for step in part(shape.ranks)])


ALGORITHMS: Mapping[str, Mapping[str, Callable[[Shape], Made]]] = {
    "allreduce": {
        "ring": _of_ranks(_ring_scatter, _ring_gather),
        "recursive-doubling": _doubling,
        "rabenseifner": _rabenseifner,
        "binomial": lambda shape: _reduced(_binomial(shape.ranks)),
        "linear": lambda shape: _reduced(_flat(shape.ranks)),
        "bine-tree": lambda shape: _reduced(_bine_tree(shape)),
        "bine": lambda shape: _halved(shape, _bine(shape.power), range(shape.power)),
        "bine-torus": lambda shape: _halved(shape, _torus(shape), range(shape.power)),
        "bine-torus-ports": _torus_ports,
        "hierarchical": _hierarchical,
        "multi-rail": _multi_rail,
    },
    "alltoall": {
        "linear": lambda shape: (2 * shape.ranks, [[move for step in _pairwise(shape.ranks) for move in step]]),
        "pairwise": lambda shape: (2 * shape.ranks, _pairwise(shape.ranks)),
        "bruck": _bruck,
    },
    "bcast": {
        "binomial": lambda shape: (1, _binomial(shape.ranks)),
        "binomial-near": lambda shape: (1, _binomial_near(shape.ranks)),
        "linear": lambda shape: (1, _flat(shape.ranks)),
        "chain": lambda shape: (1, _chain(shape.ranks)),
        "binary": lambda shape: (1, _binary(shape.ranks)),
        "bine-tree": lambda shape: (1, _bine_tree(shape)),
        "scatter-ring": lambda shape: _scattered(shape, _binomial(shape.ranks), _ring_gather(shape.ranks)),
        "scatter-doubling": lambda shape: _scattered(shape, _binomial(shape.ranks), _doubled(shape)[1]),
        "bine-scatter": lambda shape: _scattered(shape, _bine_tree(shape), _allgather(shape, _bine(shape.power))[1]),
    },
    "allgather": {
        "ring": _of_ranks(_ring_gather),
        "recursive-doubling": _doubled,
        "bruck": _of_ranks(_bruck_gather),
        "neighbor-exchange": _neighbor_gather,
        "bine": lambda shape: _allgather(shape, _bine(shape.power)),
    },
    "reduce-scatter": {
        "ring": _of_ranks(_ring_scatter),
        "pairwise": _of_ranks(_pairwise_scatter),
        "recursive-halving": lambda shape: _reduce_scatter(shape, _far(shape.stages, _xor)),
        "bine": lambda shape: _reduce_scatter(shape, _bine(shape.power)),
    },
    "barrier": {
        "recursive-doubling": _doubling,
        "dissemination": lambda shape: (1, _dissemination(shape.ranks)),
        "binomial": lambda shape: _reduced(_binomial(shape.ranks)),
        "linear": lambda shape: _reduced(_flat(shape.ranks)),
    },
}
