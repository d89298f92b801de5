"""The traffic patterns of railyard, each a row: stencils, rings, trees, and all-reduce in nodes, then along rails."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.arrays import NDArray, np
from railyard.placements.linkload.traffic import Grid, Traffic, TrafficPattern, groups, ring, shifted, stencil
from railyard.placements.topology.torus import DIMENSIONS

MAX_MESSAGES = 60_000_000


def alltoall(grid: Grid, size_bytes: tuple[float, ...], within: str) -> Traffic:
    """Return a message for every pair; InputError for more of them than fit in memory."""
    grouped = groups(grid, within)
    size = grouped.shape[1]
    if grouped.size * (size - 1) > MAX_MESSAGES:
        most = MAX_MESSAGES // grouped.size + 1
        raise InputError("--within", "", within, f"groups of at most {most} ranks")
    return shifted(grouped, range(1, size), size_bytes[0])


def tree(grid: Grid, size_bytes: tuple[float, ...], within: str) -> Traffic:
    """Send half a block up and down each of two binary trees; the second has the ranks of the group one further."""
    grouped = groups(grid, within)
    child = np.arange(1, grouped.shape[1])
    ends = list[NDArray[np.int32]]()
    for shift in (0, 1):
        members = np.roll(grouped, -shift, axis=1)
        low, high = members[:, child].ravel(), members[:, (child - 1) // 2].ravel()
        ends += [np.stack([low, high]), np.stack([high, low])]
    source, target = np.hstack(ends)
    sizes = np.full(len(source), size_bytes[0] / 2)
    return Traffic(ranks=grouped.size, source=source, target=target, size_bytes=sizes)


def hierarchical(grid: Grid, size_bytes: tuple[float, ...], within: str) -> Traffic:
    """Reduce a block in the last dimension, its parts across the others in rings, and gather it; all without `within`.

    With a node's ranks along the last dimension, every ring across stays on a rail.
    """
    last, others = DIMENSIONS[len(grid) - 1], DIMENSIONS[: len(grid) - 1]
    parts = [ring(grid, last, lambda n: 2 * size_bytes[0] * (n - 1) / n)]
    share = size_bytes[0] / grid[-1]
    if others:
        parts.append(ring(grid, others, lambda n: 2 * share * (n - 1) / n))
    return Traffic(
        ranks=parts[0].ranks,
        source=np.concatenate([part.source for part in parts]),
        target=np.concatenate([part.target for part in parts]),
        size_bytes=np.concatenate([part.size_bytes for part in parts]),
    )


PATTERNS = (
    # The ring algorithm, by which a block reaches every other of n ranks in n - 1 steps.
    TrafficPattern(
        name="allgather",
        does="n - 1 blocks to the next of a group of n",
        traffic=lambda grid, size_bytes, within: ring(grid, within, lambda n: size_bytes[0] * (n - 1)),
    ),
    # The ring algorithm, by which n ranks reduce a vector (a block) and then gather it.
    TrafficPattern(
        name="allreduce",
        does="2 (n - 1) / n of a block to the next of a group of n",
        traffic=lambda grid, size_bytes, within: ring(grid, within, lambda n: size_bytes[0] * (n - 1) * (2 / n)),
    ),
    # Every pair of ranks of a group exchanges blocks.
    TrafficPattern(name="alltoall", does="a block to every other of a group", traffic=alltoall),
    # 3^D - 1 neighbours (MiniGhost; Pedretti et al., CUG'13, section VI).
    TrafficPattern(
        name="stencil27",
        does="to the neighbours across faces, edges and corners",
        traffic=lambda grid, size_bytes, _: stencil(grid, size_bytes),
        in_groups=False,
    ),
    # A halo exchange across faces, with 2 D neighbours in D dimensions.
    TrafficPattern(
        name="stencil6",
        does="to the neighbours across faces",
        traffic=lambda grid, size_bytes, _: stencil(grid, size_bytes[:1]),
        in_groups=False,
    ),
    # NCCL's double binary tree, S. Jeaugey, "Massively Scale Your Deep Learning Training with NCCL 2.4", 2019.
    TrafficPattern(name="tree", does="half a block up and down each of two binary trees of a group", traffic=tree),
    TrafficPattern(
        name="hierarchical",
        does="an all-reduce along the last dimension, then of its parts across the others, in rings",
        traffic=hierarchical,
    ),
)
