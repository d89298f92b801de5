"""A rail-optimised network: in each pod the NICs number i of all nodes are on leaves of rail i, which spines join.

A pod has `leaves` leaves per rail, each with a NIC of `nodes_per_router` nodes. Rail r is on plane r modulo `planes`,
and each plane has `spines` spines, with a cable to each of its leaves. So one plane joins all rails, two planes are
those of NICs with two ports (rails 2i and 2i + 1 are the ports of NIC i), and with as many planes as rails no way leads
across: "rail-only". A plane with one leaf needs no spine. A packet goes to the NIC that has its address. Where no way
leads to its plane, it goes to the NIC of the same node on the sender's plane, with the same number among those of that
plane.

Routes go up to one spine and down, chosen by the NIC reached: its number among the NICs of all leaves, modulo the
spines (D-mod-k, see `fattree_levels`). Traffic between nodes of a leaf stays there. A leaf whose way by that spine is
dead uses the next spine that joins both leaves. Leaves out: a third level of switches, NICs of one node that share
PCIe, and how data cross from GPU to GPU inside a node.

A leaf's coordinate is (pod, leaf, 0), its rail is that of its router. A spine's is (plane, spine, 0) at level 1, with
the rail 0. After NVIDIA's DGX SuperPOD reference architecture and W. Wang et al., "Rail-only", arXiv 2307.12169; the
examples in `placements/topologies` name what was read.

Document: `rail_optimised: {pods, leaves, spines or oversubscription, planes, tiles}`; `oversubscription` gives the
spines as nodes of a leaf divided by it. The link class is `cable`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.topology.base import no_route
from railyard.placements.topology.chosen.rules import FIXED
from railyard.placements.topology.parts import Block, Coordinate, Destination, Detours, Link, LinkClass, Router
from railyard.placements.topology.switched import LinkType, Switched, Wiring, check_classes, check_divides, wire_tree

MOST_LEAVES = 40_000


@dataclass(frozen=True, kw_only=True)
class RailOptimised(Switched):
    """`leaves` are those of a rail in a pod, `spines` those of a plane."""

    level_words: ClassVar[tuple[str, ...]] = ("leaf", "spine")
    choices: ClassVar[tuple[str, ...]] = (FIXED,)

    pods: int
    leaves: int = 1
    spines: int = 0
    planes: int = 1
    tiles: int = 1

    @property
    def is_fabric(self) -> bool:
        return True

    @property
    def extents(self) -> Coordinate:
        return self.pods, self.leaves, 1

    @property
    def layout(self) -> str:
        leaves = f"{self.pods} pods, {self.leaves} leaf switch(es) per rail and pod"
        return f"{leaves}, {self.spines} spines on each of {self.planes} plane(s)"

    @cached_property
    def leaf_count(self) -> int:
        """Return the leaves of all rails; they are numbered rail by rail."""
        return self.rails * len(self.coordinates)

    @cached_property
    def plane(self) -> tuple[tuple[Coordinate, int], ...]:
        leaves = tuple((at, 0) for at in self.coordinates) * self.rails
        return leaves + tuple(((p, s, 0), 1) for p in range(self.planes) for s in range(self.spines))

    @cached_property
    def routers(self) -> tuple[Router, ...]:
        """Return the leaves, rail by rail, and then the spines."""
        count = len(self.coordinates)
        return tuple(
            Router(coordinate=at, rail=0 if level else index // count, level=level)
            for index, (at, level) in enumerate(self.plane)
        )

    @property
    def link_types(self) -> tuple[LinkType, ...]:
        return (LinkType(link_class=LinkClass.CABLE, tiles=self.tiles, joins="leaf to spine"),)

    @cached_property
    def wiring(self) -> Wiring:
        leaf = np.repeat(self.hosts, self.spines)
        spine = np.tile(np.arange(self.spines, dtype=np.int64), self.leaf_count)
        above = self.leaf_count + leaf // len(self.coordinates) % self.planes * self.spines + spine
        return wire_tree(leaf, above, labels=(leaf, spine))

    # Routes.

    def destination(self, coordinate: Coordinate, slot: int = 0, rail: int = 0) -> Destination:
        return Destination(coordinate=coordinate, group=slot, rail=rail)

    def _node_index(self, destination: Destination) -> int:
        return super()._node_index(destination) + destination.rail * len(self.nodes)

    def last_switches(self, here: Ints, node: Ints) -> Ints:
        leaves, nodes = len(self.coordinates), len(self.nodes)
        at_spine = here >= self.leaf_count
        plane = np.where(at_spine, (here - self.leaf_count) // max(1, self.spines), here // leaves % self.planes)
        rail = node // nodes
        on_plane = rail - rail % self.planes + plane
        return np.asarray(on_plane * leaves + self.router_of_node[node % nodes])

    def spine_of(self, end: Ints, node: Ints) -> Ints:
        """Return the spine, by its number in its plane, that leads to the NICs of nodes (indices in `ends`)."""
        slot = self.slots[node % len(self.nodes)]
        return np.asarray((end * self.nodes_per_router + slot) % max(1, self.spines))

    def steps(self, here: Ints, node: Ints) -> Ints:
        end, leaves = self.last_switches(here, node), len(self.coordinates)
        up = here * self.spines + self.spine_of(end, node)
        # Links down are numbered by their spine, then by the leaf's number among those of its plane.
        number = end // leaves // self.planes * leaves + end % leaves
        first = self.leaf_count * self.spines + (here - self.leaf_count) * (self.leaf_count // self.planes)
        return np.asarray(np.where(here < self.leaf_count, up, first + number))

    def detours(self, dead: Collection[Link], rail: int) -> Detours:
        """Return the exceptions on all rails: instead of its spine, a leaf uses the next one that joins both leaves."""
        ups = self.leaf_count * self.spines
        live_up = np.ones((self.leaf_count, self.spines), dtype=bool)
        live_down = live_up.copy()
        for link in dead:
            number = self._numbers[link.name]
            if number < ups:
                live_up.flat[number] = False
            else:
                live_down.flat[int(self.wiring.reverse[number])] = False
        exceptions: dict[tuple[Router, Destination], Link] = {}
        every = np.arange(len(self.ends), dtype=np.int64)
        for leaf in range(self.leaf_count if dead else 0):
            end = self.last_switches(np.full(len(every), leaf, dtype=np.int64), every)
            spine = self.spine_of(end, every)
            alive = live_up[leaf, spine] & live_down[end, spine]
            for index in np.flatnonzero(~alive & (end != leaf)).tolist():
                others = np.flatnonzero(live_up[leaf] & live_down[end[index]])
                if not len(others):
                    raise no_route(" to ".join(self.router_name(self.routers[at]) for at in (leaf, int(end[index]))))
                next_one = int(others[np.argmin((others - spine[index]) % self.spines)])
                exceptions[self.routers[leaf], self.ends[index]] = self.link(leaf * self.spines + next_one)
        return exceptions

    # Addresses, and views for people.

    def block(self, destination: Destination) -> Block:
        own = super().block(destination)
        return Block(offset=own.offset, bits=own.bits, rail=destination.rail)

    def to_dict(self) -> dict[str, Any]:
        part = {name: getattr(self, name) for name in ("pods", "leaves", "spines", "planes", "tiles")}
        return {**self._common(), "rail_optimised": part}


def parse(document: Mapping[str, Any], common: Mapping[str, Any], source: str) -> RailOptimised:
    """Return the network of a document with `rail_optimised`; InputError names the field that is wrong."""
    entry, nodes, rails = document["rail_optimised"], common["nodes_per_router"], common["rails"]
    if ("spines" in entry) == ("oversubscription" in entry):
        raise InputError(source, "rail_optimised", sorted(entry), "either spines or oversubscription beside pods")
    over, planes = entry.get("oversubscription", 1), entry.get("planes", 1)
    check_divides(over, nodes, source, "rail_optimised.oversubscription")
    if rails % planes:
        raise InputError(source, "rail_optimised.planes", planes, f"a divisor of the {rails} rails")
    topology = RailOptimised(
        **common,
        pods=entry["pods"],
        leaves=entry.get("leaves", 1),
        spines=entry.get("spines", nodes // over),
        planes=planes,
        tiles=entry.get("tiles", 1),
    )
    if topology.leaf_count > MOST_LEAVES:
        raise InputError(source, "rail_optimised.pods", topology.leaf_count, f"at most {MOST_LEAVES} leaves")
    if not topology.spines and topology.leaf_count > planes:
        valid = f"1 or more where a plane has {topology.leaf_count // planes} leaves"
        raise InputError(source, "rail_optimised.spines", 0, valid)
    check_classes(source, topology.link_types, common["tile_rates_gbyte_s"])
    return topology
