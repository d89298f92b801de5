"""The usual routes between the nodes of an allocation as one table: what refine.c follows on any network but a torus.

Rows are the switches of the chosen nodes, columns the nodes. An entry holds the links of the route as places in
`Topology.link_rates`, and -1 after the last. Routes come from the kind itself (`Topology.route_places`).

Leaves out a torus, whose routes refine.c computes (`Topology.rings`), and packets that are spread over several routes.
"""

from __future__ import annotations

from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints32, NDArray, np
from railyard.placements.orders.allocation import Allocation
from railyard.placements.topology.base import Topology
from railyard.placements.topology.parts import Coordinate

#: The most pairs of a switch and a node: their routes take a few hundred MiB.
MOST_PAIRS = 1 << 25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RouteTable:
    """Routes and neighbourhoods of the chosen nodes.

    `routes` has shape (switches, nodes, longest route), which is empty on a torus with extents `rings`. `switch_of` is
    the row of each node. `by_switch` are the nodes sorted by group and switch; in it those of node k's switch are from
    `near[k, 0]` to `near[k, 1]`, those of its group from `near[k, 2]` to `near[k, 3]`.
    """

    rings: Coordinate
    routes: Ints32
    switch_of: Ints32
    by_switch: Ints32
    near: Ints32


def table(allocation: Allocation) -> RouteTable:
    """Return the routes between the nodes of an allocation; InputError where they are unknown or too many."""
    topology = allocation.topology
    router = topology.router_of_node[allocation.indices]
    rings = topology.rings
    if rings is not None:
        empty = np.zeros((0, 0, 0), dtype=np.int32)
        none = np.zeros((0, 4), dtype=np.int32)
        switch = router.astype(np.int32)
        return RouteTable(rings=rings, routes=empty, switch_of=switch, by_switch=none[:, 0], near=none)
    switches, row = np.unique(router, return_inverse=True)
    by_switch, near = _neighbourhoods(row, _groups(topology)[router])
    return RouteTable(
        rings=(0, 0, 0),
        routes=_routes(topology, switches, allocation.indices),
        switch_of=row.astype(np.int32),
        by_switch=by_switch,
        near=near,
    )


def _routes(topology: Topology, switches: NDArray[np.int64], nodes: NDArray[np.int64]) -> Ints32:
    if len(switches) * len(nodes) > MOST_PAIRS:
        limit = f"at most {MOST_PAIRS // len(switches)} on {len(switches)} switches, as their routes are in memory"
        raise InputError("optimised", "nodes", len(nodes), limit)
    source, target = np.repeat(switches, len(nodes)), np.tile(nodes, len(switches))
    places = topology.route_places(source, target)
    longest = max(1, places.shape[1])
    whole = np.full((len(source), longest), -1, dtype=np.int32)
    whole[:, : places.shape[1]] = places
    return whole.reshape(len(switches), len(nodes), longest)


def _groups(topology: Topology) -> NDArray[np.int64]:
    """Return the group of every coordinate; one for all where the kind has none."""
    if topology.has_groups:
        return topology.groups
    return np.zeros(len(topology.coordinates), dtype=np.int64)


def _neighbourhoods(row: NDArray[np.int64], group: NDArray[np.int64]) -> tuple[Ints32, Ints32]:
    order = np.lexsort((row, group))
    near = np.empty((len(row), 4), dtype=np.int32)
    for column, (boxes, side) in enumerate((b, s) for b in (row, group) for s in ("left", "right")):
        near[:, column] = np.searchsorted(boxes[order], boxes, side=side)  # type: ignore[call-overload]  # both sides
    return order.astype(np.int32), near
