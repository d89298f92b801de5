"""The traffic patterns of railyard, each a row."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.placements.linkload.traffic import Grid, Traffic, TrafficPattern, groups, ring, shifted, stencil

MAX_MESSAGES = 60_000_000


def alltoall(grid: Grid, size_bytes: tuple[float, ...], within: str) -> Traffic:
    """Return a message for every pair; InputError for more of them than fit in memory."""
    grouped = groups(grid, within)
    size = grouped.shape[1]
    if grouped.size * (size - 1) > MAX_MESSAGES:
        most = MAX_MESSAGES // grouped.size + 1
        raise InputError("--within", "", within, f"groups of at most {most} ranks")
    return shifted(grouped, range(1, size), size_bytes[0])


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
)
