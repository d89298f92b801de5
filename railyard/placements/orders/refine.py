"""The door to refine.c: traffic, allocation and routes as its arrays, one call as a function.

The C code is built by `make setup` into build/lib. Leaves out what is worth trying:
`railyard.placements.orders.optimiser` decides.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from railyard.base.checkout import BUILD
from railyard.base.errors import RunError
from railyard.placements.arrays import Ints32, NDArray, np
from railyard.placements.linkload.background import Background
from railyard.placements.linkload.model import Protocol
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.orders import route_table
from railyard.placements.orders.allocation import Allocation

if TYPE_CHECKING:
    from scipy import sparse

LIBRARY = BUILD / "lib/railyard-refine.so"


class _Problem(ctypes.Structure):
    """`struct problem` of refine.c."""

    _fields_ = (
        ("extents", ctypes.c_int32 * 3),
        ("nodes_per_router", ctypes.c_int32),
        ("nodes", ctypes.c_int32),
        ("links", ctypes.c_int32),
        ("longest", ctypes.c_int32),
        ("routes", ctypes.c_void_p),
        ("switch_of", ctypes.c_void_p),
        ("near", ctypes.c_void_p),
        ("by_switch", ctypes.c_void_p),
        ("chosen", ctypes.c_int32),
        ("slots", ctypes.c_int32),
        ("ranks", ctypes.c_int32),
        ("where", ctypes.c_void_p),
        ("first", ctypes.c_void_p),
        ("other", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("in", ctypes.c_void_p),
        ("link_s", ctypes.c_void_p),
        ("host_s", ctypes.c_double),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """The arrays that refine.c works on. A rank's message list holds every rank it sends to or receives from.

    `out_bytes[m]` is what a message list's entry puts on the route to the other rank, answers to it included,
    `in_bytes[m]` on the route back. `slots` x nodes ranks: those beyond the program's have no messages. `link_s` is
    seconds per byte of each link, 0 where there is none.
    """

    allocation: Allocation
    table: route_table.RouteTable
    slots: int
    first: NDArray[np.int64]
    other: Ints32
    out_bytes: NDArray[np.float64]
    in_bytes: NDArray[np.float64]
    link_s: NDArray[np.float64]

    @property
    def ranks(self) -> int:
        return len(self.first) - 1


def problem(
    allocation: Allocation,
    slots: int,
    traffic: Traffic,
    protocol: Protocol,
    *,
    background: Background | None = None,
) -> Problem:
    """Return the arrays of a traffic on an allocation with `slots` ranks per node, under a background."""
    from scipy import sparse  # imported here: most commands optimise nothing

    ranks = len(allocation.indices) * slots
    shape = (ranks, ranks)
    sent = sparse.csr_array((traffic.size_bytes, (traffic.source, traffic.target)), shape=shape)
    out = (protocol.forward * sent + protocol.backward * sent.T).tocsr()
    both = _same_pattern(out)
    back = both.T.tocsr()
    back.sort_indices()
    rates = allocation.topology.link_rates * (1.0 if background is None else background.left)
    rates_byte_s = rates.ravel() * 1e9
    return Problem(
        allocation=allocation,
        table=route_table.table(allocation),
        slots=slots,
        first=both.indptr.astype(np.int64),
        other=both.indices.astype(np.int32),
        out_bytes=both.data,
        in_bytes=back.data,
        link_s=np.divide(1.0, rates_byte_s, out=np.zeros_like(rates_byte_s), where=rates_byte_s > 0),
    )


def seconds(problem: Problem, at: Ints32) -> tuple[float, float, float]:
    """Return the seconds of the slowest link between routers, of the slowest to a host, and the former's sum.

    By usual routes alone.
    """
    others = (ctypes.c_double * 2)()
    slowest_s = _call(
        problem, at.copy(), 0, power=2, share_of_nodes=0, seed=0, host_s=_host_s(problem), others=others
    )
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
    """Return a better placement after some trials, of which `node_share` exchange whole nodes.

    `at[rank]` is an index into the allocation; shape (ranks,). `host_weight` scales a host link's seconds in the sum.
    The first exchanges may add `allowed` to the sum, which is 1 for one slowest link; that falls to 0 at the end. None
    raises a link above `limit_s`.
    """
    tried = at.copy()
    share, host_s = round(1024 * node_share), host_weight * _host_s(problem)
    _call(
        problem,
        tried,
        trials,
        power=power,
        share_of_nodes=share,
        seed=seed,
        host_s=host_s,
        allowed=allowed,
        limit_s=limit_s,
    )
    return tried


def _same_pattern(out: sparse.csr_array) -> sparse.csr_array:
    """Return the same matrix with an entry (maybe 0) for both directions of every pair."""
    pattern = out.copy()
    pattern.data = np.ones_like(pattern.data)
    both = (pattern + pattern.T).tocsr()
    both.data = np.zeros_like(both.data)
    full = _add_keeping_zeros(both, out)
    full.sort_indices()
    return full


def _add_keeping_zeros(pattern: sparse.csr_array, values: sparse.csr_array) -> sparse.csr_array:
    pattern.sort_indices()
    values.sort_indices()
    rows, columns = pattern.shape
    keys = np.repeat(np.arange(rows, dtype=np.int64), np.diff(pattern.indptr)) * columns + pattern.indices
    wanted = np.repeat(np.arange(rows, dtype=np.int64), np.diff(values.indptr)) * columns + values.indices
    pattern.data[np.searchsorted(keys, wanted)] = values.data
    return pattern


def _host_s(problem: Problem) -> float:
    return 1 / (problem.allocation.topology.host_rate_gbyte_s * 1e9)


def _call(
    problem: Problem,
    at: Ints32,
    trials: int,
    *,
    power: int,
    share_of_nodes: int,
    seed: int,
    host_s: float,
    allowed: float = 0.0,
    limit_s: float = math.inf,
    others: ctypes.Array[ctypes.c_double] | None = None,
) -> float:
    topology, table = problem.allocation.topology, problem.table
    where = problem.allocation.indices.astype(np.int32)
    arrays = (where, problem.first, problem.other, problem.out_bytes, problem.in_bytes, problem.link_s)
    described = _Problem(
        (ctypes.c_int32 * 3)(*table.rings),
        topology.nodes_per_router,
        len(topology.nodes),
        len(problem.link_s),
        table.routes.shape[2],
        *(array.ctypes.data for array in (table.routes, table.switch_of, table.near, table.by_switch)),
        len(where),
        problem.slots,
        problem.ranks,
        *(array.ctypes.data for array in arrays),
        host_s,
    )
    assert at.dtype == np.int32 and at.flags.c_contiguous and len(at) == problem.ranks
    longest_s = _library().railyard_refine(
        ctypes.byref(described), at.ctypes.data, trials, power, share_of_nodes, seed, allowed, limit_s, others
    )
    if longest_s < 0:
        raise RunError("the optimiser found no memory")
    return float(longest_s)


@cache
def _library() -> ctypes.CDLL:
    if not LIBRARY.is_file():
        raise RunError(f"{LIBRARY} is not built; run `make setup`")
    library = ctypes.CDLL(str(LIBRARY))
    library.railyard_refine.restype = ctypes.c_double
    library.railyard_refine.argtypes = (
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_uint64,
        ctypes.c_double,
        ctypes.c_double,
        ctypes.c_void_p,
    )
    return library
