"""Full rings compared with theory, in the router's network alone: when the first and the last node end.

Each router of a ring sends to the router h links on, all in one direction. If every cable is busy all the time, all
nodes end after h times what a node has to send. Five to 16 routers, two to seven links, with both kinds of arbitration;
then the same on every row of an 8x8 torus (tornado).
"""

from __future__ import annotations

from rich.table import Table

from perf.vtorus import console
from railyard.placements.topology.base import Topology
from railyard.placements.topology.torus import Dimension, Torus
from railyard.torus.native.messages import SHAPE, Message, arrivals_s, outputs
from railyard.torus.plan.plan import ETHERNET_BYTES

CELLS, HEADERS = 500, 54
CELL_BYTES = SHAPE.mtu_bytes + ETHERNET_BYTES
RATE_GBYTE_S = 10.0


def torus(routers: int, rows: int, *, fair: bool) -> Topology:
    """Return parallel rings of routers, with one rate for all links."""
    x, y, z = (Dimension(extent=extent, tiles=1, pattern=("cable",)) for extent in (routers, rows, 1))
    rates = dict.fromkeys(("cable", "host"), RATE_GBYTE_S)
    return Torus(name="ring", dimensions=(x, y, z), tile_rates_gbyte_s=rates, host_tiles=1, fair=fair)


def ends(topology: Topology, hops: int) -> tuple[float, float]:
    """Return when the first and the last node end, over the time of theory."""
    rows = topology.extents[1]
    size_bytes = CELLS * (CELL_BYTES - HEADERS)
    count = len(topology.nodes)
    targets = ((node + hops * rows) % count for node in range(count))  # nodes are numbered along X slowest
    messages = [Message(source=node, target=to, size_bytes=size_bytes) for node, to in enumerate(targets)]
    theory_s = hops * CELLS * CELL_BYTES / (RATE_GBYTE_S * 1e9 * SHAPE.rate_scale)
    (output,) = outputs(topology, [messages])
    due_s = arrivals_s(output)
    return min(due_s) / theory_s, max(due_s) / theory_s


def measure() -> None:
    """Print the table and what is farthest from theory."""
    table = Table("routers", "links", "first", "last", "first, turns", "last, turns", title="over theory")
    cases = [(routers, 1, hops) for routers in range(5, 17) for hops in range(2, min(8, (routers + 1) // 2))]
    times = dict[str, list[float]](fair=[], turns=[])
    for routers, width, hops in [*cases, (8, 8, 3)]:
        fair, turns = (ends(torus(routers, width, fair=fair), hops) for fair in (True, False))
        times["fair"] += fair
        times["turns"] += turns
        table.add_row(f"{routers}x{width}", str(hops), *(f"{value:.2f}" for value in (*fair, *turns)))
    console.print(table)
    for kind, all_of in times.items():
        console.print(f"{kind}: {min(all_of):.2f} to {max(all_of):.2f}")
