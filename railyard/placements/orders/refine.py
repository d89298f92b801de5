"""The door to refine.c: traffic, allocation and routes as its arrays, one call as a function.

The C code is built by `make setup` into build/lib. Leaves out what is worth trying, which
`railyard.placements.orders.optimiser` decides, and packets that are spread over several routes.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from railyard.base.checkout import BUILD
from railyard.base.errors import InputError, RunError
from railyard.placements.arrays import Floats, Ints, Ints32, np
from railyard.placements.linkload.background import Background
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.orders.allocation import Allocation

LIBRARY = BUILD / "lib/railyard-refine.so"


class _Problem(ctypes.Structure):
    """`struct problem` of refine.c."""

    _fields_ = (
        ("extents", ctypes.c_int32 * 3),
        *((name, ctypes.c_int32) for name in ("nodes_per_router", "nodes", "links", "longest")),
        *((name, ctypes.c_void_p) for name in ("routes", "switch_of", "near", "by_switch")),
        *((name, ctypes.c_int32) for name in ("chosen", "slots", "ranks")),
        *((name, ctypes.c_void_p) for name in ("where", "first", "other", "out", "in", "link_s")),
        ("host_s", ctypes.c_double),
    )


#: The most pairs of a switch and a node: their routes take a few hundred MiB.
MOST_PAIRS = 1 << 25
#: On a larger torus refine.c computes the routes.
TORUS_PAIRS = 1 << 14
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """The arrays that refine.c works on. A rank's message list holds every rank it sends to or receives from.

    `out_bytes[m]` is what a message list's entry puts on the route to the other rank, `in_bytes[m]` on the route back.
    `slots` x nodes ranks: those beyond the program's have no messages. `link_s` is seconds per byte of each link, 0
    where there is none.

    `routes` has shape (switches, nodes, longest route), and an entry holds the links of a route as
    `Topology.route_places` does. On a large torus it is empty: refine.c computes the routes. `switch_of` is the row of
    each node. `by_switch` are the nodes sorted by group and switch; in it those of node k's switch are from
    `near[k, 0]` to `near[k, 1]`, those of its group from `near[k, 2]` to `near[k, 3]`.
    """

    allocation: Allocation
    slots: int
    routes: Ints32
    switch_of: Ints32
    by_switch: Ints32
    near: Ints32
    first: Ints
    other: Ints32
    out_bytes: Floats
    in_bytes: Floats
    link_s: Floats

    @property
    def ranks(self) -> int:
        return len(self.first) - 1

    @property
    def host_s(self) -> float:
        """Return the seconds per byte of a node's own link."""
        return 1 / (self.allocation.topology.host_rate_gbyte_s * 1e9)


def problem(allocation: Allocation, slots: int, traffic: Traffic, background: Background | None = None) -> Problem:
    """Return the arrays of a traffic on an allocation with `slots` ranks per node, under a background.

    Raises InputError where routes are unknown or too many.
    """
    from scipy import sparse  # imported here: most commands optimise nothing

    topology, nodes = allocation.topology, allocation.indices
    router = topology.router_of_node[nodes]
    switches, row = np.unique(router, return_inverse=True)
    group = topology.groups[router] if topology.has_groups else np.zeros_like(row)
    order = np.lexsort((row, group))
    bounds = [np.searchsorted(boxes[order], boxes, side) for boxes in (row, group) for side in SIDES]
    pairs, routes = len(switches) * len(nodes), np.zeros((0, 0, 0), np.int32)
    is_large = topology.rings is not None and pairs > TORUS_PAIRS
    if pairs > MOST_PAIRS and not is_large:
        limit = f"at most {MOST_PAIRS // len(switches)} on {len(switches)} switches, as their routes are in memory"
        raise InputError("optimised", "nodes", len(nodes), limit)
    if not is_large:
        places = topology.route_places(np.repeat(switches, len(nodes)), np.tile(nodes, len(switches)))
        routes = np.full((pairs, max(1, places.shape[1])), -1, dtype=np.int32)
        routes[:, : places.shape[1]] = places
        routes = routes.reshape(len(switches), len(nodes), -1)
    ranks = len(allocation.indices) * slots
    shape = (ranks, ranks)
    out: Any = sparse.csr_array((traffic.size_bytes, (traffic.source, traffic.target)), shape=shape)
    # One entry for both directions of every pair: the bytes out and, as the imaginary part, those that come in.
    both = (out + 1j * out.T).tocsr()
    both.sort_indices()
    rates = topology.link_rates * (1.0 if background is None else background.left)
    rates_byte_s = rates.ravel() * 1e9
    return Problem(
        allocation=allocation,
        slots=slots,
        routes=routes,
        switch_of=(router if is_large else row).astype(np.int32),
        by_switch=order.astype(np.int32),
        near=np.stack(bounds, axis=1).astype(np.int32),
        first=both.indptr.astype(np.int64),
        other=both.indices.astype(np.int32),
        out_bytes=np.ascontiguousarray(both.data.real),
        in_bytes=np.ascontiguousarray(both.data.imag),
        link_s=np.divide(1.0, rates_byte_s, out=np.zeros_like(rates_byte_s), where=rates_byte_s > 0),
    )


def seconds(problem: Problem, at: Ints32) -> tuple[float, float, float]:
    """Return the seconds of the slowest link between routers, of the slowest to a host, and the former's sum.

    By usual routes alone.
    """
    others = (ctypes.c_double * 2)()
    slowest_s = _call(problem, at.copy(), problem.host_s, 0, 2, 0, 0, 0.0, math.inf, others)
    return slowest_s, others[0], others[1]


def refine(
    problem: Problem,
    at: Ints32,
    *,
    trials: int,
    power: int,
    node_share: float,
    seed: int,
    host_weight: float,
    allowed: float = 0.0,
    limit_s: float = math.inf,
) -> Ints32:
    """Return a better placement after some trials; a share `node_share` of them exchanges whole nodes.

    `at[rank]` is an index into the allocation; shape (ranks,). `host_weight` scales a host link's seconds in the sum.
    The first exchanges may add `allowed` to the sum, which is 1 for one slowest link; that falls to 0 at the end. None
    raises a link above `limit_s`.
    """
    tried = at.copy()
    share, others = round(1024 * node_share), (ctypes.c_double * 2)()
    host_s = host_weight * problem.host_s if problem.slots > 1 else 0.0  # else all placements load hosts alike
    _call(problem, tried, host_s, trials, power, share, seed, allowed, limit_s, others)
    return tried


def _call(problem: Problem, at: Ints32, host_s: float, *rest: Any) -> float:
    """Call `railyard_refine`, whose arguments after the placement are `rest`; `host_s` is a host link's s per byte."""
    topology = problem.allocation.topology
    where = problem.allocation.indices.astype(np.int32)
    arrays = (where, problem.first, problem.other, problem.out_bytes, problem.in_bytes, problem.link_s)
    described = _Problem(
        (ctypes.c_int32 * 3)(*(topology.rings or (0, 0, 0))),
        topology.nodes_per_router,
        len(topology.nodes),
        len(problem.link_s),
        problem.routes.shape[2],
        *(array.ctypes.data for array in (problem.routes, problem.switch_of, problem.near, problem.by_switch)),
        len(where),
        problem.slots,
        problem.ranks,
        *(array.ctypes.data for array in arrays),
        host_s,
    )
    assert at.dtype == np.int32 and at.flags.c_contiguous and len(at) == problem.ranks
    longest_s = _library().railyard_refine(ctypes.byref(described), at.ctypes.data, *rest)
    if longest_s < 0:
        raise RunError("the optimiser found no memory")
    return float(longest_s)


@cache
def _library() -> ctypes.CDLL:
    if not LIBRARY.is_file():
        raise RunError(f"{LIBRARY} is not built; run `make setup`")
    library = ctypes.CDLL(str(LIBRARY))
    library.railyard_refine.restype = ctypes.c_double
    pointer, seconds = ctypes.c_void_p, ctypes.c_double
    counts = (ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.c_uint64)
    library.railyard_refine.argtypes = (pointer, pointer, *counts, seconds, seconds, pointer)
    return library
