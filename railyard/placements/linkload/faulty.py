"""Compute link loads on a network with faults, where messages avoid dead cables as in the virtual network.

Links with lost lanes keep their bytes and have a lower rate. Routes are walked router by router, with the detours of
`railyard.placements.topology.detours`, which are also those of `railyard torus fault` and `railyard sim`.

Leaves out throttled injection: the model's links between nodes and routers have one rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.topology.base import Router
from railyard.placements.topology.carried import Carried, added, summed
from railyard.placements.topology.chosen import loads
from railyard.placements.topology.chosen.routes import FIXED
from railyard.placements.topology.detours import detours
from railyard.placements.topology.routing import walk

if TYPE_CHECKING:
    from railyard.placements.topology.base import Topology
    from railyard.placements.topology.faults import Faults


def check(faults: Faults) -> None:
    """Raise InputError for faults that the model does not know."""
    if faults.injection_percent:
        given = faults.summary[-1]
        raise InputError("--faults", "", given, "lost lanes or cables down: the model throttles no node")
    faults.check_steady()


def rates(topology: Topology, faults: Faults) -> Floats:
    """Return GB/s of the links of the first rail in the shape of `Topology.link_rates`; those of dead links stay."""
    rates, places = topology.link_rates.copy(), places_by_name(topology)
    for name in faults.lost:
        link = topology.link_at(places[name])
        rates.flat[places[name]] = faults.rate_gbyte_s(topology, link)
    return rates


def carry(topology: Topology, source: Ints, node: Ints, sizes: Floats, *, faults: Faults) -> Carried:
    """Return the link loads of messages on the first rail, as `Topology.carry` does, with routes around dead links.

    Raises RunError if dead links leave no route between two routers.
    """
    if not faults.down:
        return topology.carry(source, node, sizes)
    if topology.routes.choose != FIXED:
        return loads.carry(topology, source, node, sizes, gone=faults.down)
    dead = [topology.links_by_name[name] for name in faults.down]
    exceptions, places = detours(topology, dead, 0), places_by_name(topology)
    source, node, sizes = summed(source, node, sizes, len(topology.nodes))
    link_bytes, lengths = np.zeros(topology.link_rates.size), []
    for at, to, size in zip(source.tolist(), node.tolist(), sizes.tolist(), strict=True):
        start, last = Router(coordinate=topology.coordinates[at]), topology.nodes[to]
        links = list(walk(topology, start, topology.destination(last.coordinate, last.slot), exceptions))
        lengths.append(len(links))
        for link in links:
            link_bytes[places[link.name]] += size
    hops = added(np.array(lengths, dtype=np.int64), sizes, 1)
    return Carried(link_bytes=link_bytes.reshape(topology.link_rates.shape), hops_bytes=hops)


def places_by_name(topology: Topology) -> dict[str, int]:
    """Return link name -> index in `Topology.link_rates`, for the links of the first rail."""
    there = np.flatnonzero(topology.link_rates)
    return {topology.link_at(position).name: position for position in there.tolist()}
