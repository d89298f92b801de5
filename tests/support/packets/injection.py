"""Balanced injection by the size of the run: is the optimum more pronounced on larger ones (Ezell, CUG'13, section IV)?

Faces as those of S3D (the check `halo_s3d`: 28 KiB each, six per rank, all sent at once) in the router's network alone,
in virtual time and without MPI. The nodes are numbered X, Y, Z as in `halo_s3d`, or along ALPS's walk.

Leaves out computation, and every iteration but one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.placements.linkload.traffic import stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native.messages import arrivals_s, of_ranks
from railyard.torus.plan.plan import Shape

#: The check's torus, of which the larger ones are multiples, and its face: 8 x 8 cells of 56 doubles.
BASE = "gemini-4x2x6-two-nodes"
FACE_BYTES = 8 * 8 * 56 * 8
#: The rate scale at which `halo_s3d` was emulated; in the model time alone depends on it.
SHAPE = Shape(network="router", latency_scaled=True, rate_scale=3e-5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run by injection: milliseconds of an exchange for each share of the NICs' rate, in percent."""

    nodes: int
    order: str
    exchange_ms: Mapping[int, float]

    @property
    def best_percent(self) -> int:
        """Return the share with the shortest exchange; of equals the largest."""
        return min(self.exchange_ms, key=lambda percent: (self.exchange_ms[percent], -percent))

    @property
    def gain_percent(self) -> float:
        """Return by how much the exchange at the best share is shorter than at 100 %."""
        return 100 * (1 - self.exchange_ms[self.best_percent] / self.exchange_ms[100])


def torus(extents: tuple[int, int, int]) -> Topology:
    """Return the torus of `halo_s3d` with other extents."""
    document = catalog.load(BASE).to_dict()
    document["name"] = "x".join(map(str, extents))
    for name, extent in zip("XYZ", extents, strict=True):
        document["dimensions"][name]["extent"] = extent
    return catalog.parse(document, source=document["name"])


def exchange_s(topology: Topology, grid: tuple[int, int, int], order: str, percent: int) -> float:
    """Return the seconds of one exchange: rank k is on the k-th node of the order."""
    placed = place("cart-create", allocate(topology, order, seed=1), grid).indices
    messages = of_ranks(placed, stencil(grid, (float(FACE_BYTES),)))
    faults = Faults().throttle(topology.nodes, percent)
    return max(arrivals_s(topology, messages, faults=faults, shape=SHAPE))


def runs(
    sizes: Mapping[tuple[int, int, int], tuple[int, int, int]], orders: Sequence[str], percents: Sequence[int]
) -> Iterator[Run]:
    """Yield every size under every order; a size has the extents of the torus and of the grid of ranks."""
    for extents, grid in sizes.items():
        topology = torus(extents)
        for order in orders:
            by_percent = {percent: 1e3 * exchange_s(topology, grid, order, percent) for percent in percents}
            yield Run(nodes=len(topology.nodes), order=order, exchange_ms=by_percent)
