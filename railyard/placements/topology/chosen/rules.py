"""Define how a network chooses its routes: the rules, their expected link loads, the field `routes` of a topology file.

A rule is one row of `RULES`, from which the schema, the kinds, the link-load model and the description of the router
follow. The router's own list is ROUTER_RULES of native/router/network.h; native/router/choices.h describes each rule.

`order` names what becomes of a flow, which is all that one NIC sends to one address:

- `strict`: a flow takes one way, so nothing is reordered.
- `flowlet TIME`: a flow that has nothing on its way and was silent for TIME gets a new way.
- `restored`: cells choose, and the destination's NIC puts what arrives in order.

A function of loads takes the ways and the bytes by (router, router), and returns the bytes on the ways' links, in their
order. Leaves out queues, and therefore what distinguishes the two kinds of UGAL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.topology.carried import Carried, added, best_between
from railyard.placements.topology.chosen.ways import Ways
from railyard.placements.topology.troubles import microseconds

#: Entries of a table of links and ends that are computed at once.
TABLE = 4_000_000


def minimal(ways: Ways, sent: Floats) -> Carried:
    """Divide what a router forwards equally among its shortest ways.

    An adaptive network does so while its queues are alike; where they differ it does better.
    """
    flows = _Flows(ways)
    flows.add(sent, ways.distance)
    return flows.carried()


def straight(ways: Ways, sent: Floats) -> Carried:
    """Return the mean over all hashes; a message goes straight on where that is a shortest way."""
    flows = _Flows(ways)
    flows.add(sent, ways.distance, straight=True)
    return flows.carried()


def valiant(ways: Ways, sent: Floats) -> Carried:
    """Send a message to every part of the network but those of its ends with equal shares, then to its end.

    Within a part the ways are minimal.
    """
    flows, parts = _Flows(ways), ways.parts
    own = ways.part[:, None] == ways.part[None, :]
    flows.add(np.where(own, sent, 0.0), ways.distance)
    share = np.where(own, 0.0, sent) / max(1, parts - 2)
    into = np.zeros((len(sent), parts))
    np.add.at(into.T, ways.part, share.T)
    first = share.sum(axis=1)[:, None] - into
    first[np.arange(len(sent)), ways.part] = 0.0
    flows.add(first, ways.part_distance, count=False)
    entry = flows.entries()
    entry[own] = 0.0
    second = np.zeros_like(share)
    to_part, onwards = flows.hops(ways.part_distance)[:, ways.part], flows.hops(ways.distance)
    for hops in np.unique(to_part).tolist():
        arrived = np.where(to_part == hops, entry, 0.0).T @ share
        arrived[own] = 0.0
        second += arrived
        flows.note(hops + onwards, arrived)
    flows.add(second, ways.distance, count=False)
    return flows.carried()


def ugal(ways: Ways, sent: Floats) -> Carried:
    """Mix minimal and Valiant's ways in the one share whose busiest link takes the least time."""
    rates = np.array([link.rate_gbyte_s for link in ways.links])
    return best_between(rates, minimal(ways, sent), valiant(ways, sent))


class _Flows:
    """Bytes on the links of a rail, added up flow by flow; a flow is all from one router to one end."""

    def __init__(self, chosen: Ways) -> None:
        self.chosen = chosen
        self.loads = np.zeros(len(chosen.links))
        self.longest = 0
        self.rings = np.array([2 * link.dimension + (link.step < 0) for link in chosen.links], dtype=np.int64)

    def carried(self) -> Carried:
        """Return the loads, link by link."""
        return Carried(link_bytes=self.loads, longest=self.longest)

    def note(self, hops: Ints, sent: Floats) -> None:
        """Note the longest way that has bytes; `hops` are the links of flows, and both arrays have one shape."""
        self.longest = max(self.longest, int(hops[sent > 0].max(initial=0)))

    def add(self, sent: Floats, distance: Floats, *, straight: bool = False, count: bool = True) -> None:
        """Add flows of `sent[router, end]` bytes; `distance` has the same shape, 0 at an end.

        Flows are moved from the farthest routers to the nearest. With `straight` they also differ by the ring of the
        link that they came by, of which the last means none.
        """
        if count:
            self.note(self.hops(distance), sent)
        for ends, steps in self._steps(distance):
            self._move(sent[:, ends], distance[:, ends], steps[::-1], straight)

    def _steps(self, distance: Floats) -> Iterator[tuple[slice, list[tuple[Ints, Ints]]]]:
        """Yield some ends, then the links that shorten the way and the end of each, by distance, nearest first.

        Ends are as many as keep a table of all links and these ends small.
        """
        chosen = self.chosen
        width = max(1, TABLE // max(1, len(self.loads)))
        for first in range(0, distance.shape[1], width):
            ends = slice(first, first + width)
            link, end = np.nonzero(chosen.towards(distance[:, ends]))
            far = distance[chosen.source[link], first + end]
            order = np.argsort(far, kind="stable")
            parts = np.split(order, np.flatnonzero(np.diff(far[order])) + 1)
            yield ends, [(link[part], end[part]) for part in parts]

    def _move(self, sent: Floats, distance: Floats, steps: Sequence[tuple[Ints, Ints]], straight: bool) -> None:
        """Move flows to some ends along the steps, which begin with the farthest."""
        chosen, (routers, ends) = self.chosen, sent.shape
        rings = int(self.rings.max(initial=0)) + 2 if straight else 1
        flow = np.zeros((rings, *sent.shape))
        flow[-1] = np.where(np.isfinite(distance) & (distance > 0), sent, 0.0)
        for link, end in steps:
            router = chosen.source[link]
            for ring in range(rings):
                usable = flow[ring][router, end] > 0
                if straight and ring < rings - 1:
                    onward = np.zeros(sent.shape, dtype=bool)
                    same = self.rings[link] == ring
                    onward[router[same], end[same]] = True
                    usable &= ~onward[router, end] | same
                at, to, by = router[usable], end[usable], link[usable]
                here = at * ends + to
                moved = flow[ring][at, to] / np.bincount(here, minlength=1)[here]
                self.loads += added(by, moved, len(self.loads))
                for into in np.unique(self.rings[by]).tolist() if straight else [0]:
                    on = self.rings[by] == into if straight else slice(None)
                    reached = added((chosen.target[by] * ends + to)[on], moved[on], routers * ends)
                    flow[into] += reached.reshape(sent.shape)

    def entries(self) -> Floats:
        """Return the part of what goes from a router to a part that enters there at another router; shape (r, r)."""
        from scipy.sparse import csr_array  # imported here: takes half of a command's start

        chosen = self.chosen
        entry = np.eye(len(chosen.routers))
        for ends, steps in self._steps(chosen.part_distance):
            for link, part in steps:
                for number in np.unique(part).tolist():
                    of = link[part == number]
                    at, to = chosen.source[of], chosen.target[of]
                    members = chosen.part == ends.start + number
                    shares = csr_array((1 / np.bincount(at)[at], (at, to)), shape=entry.shape)
                    entry[:, members] += shares @ entry[:, members]
        return entry

    def hops(self, distance: Floats) -> Ints:
        """Return the links on a shortest way to each end; shape as `distance`."""
        chosen = self.chosen
        hops = np.zeros(distance.shape, dtype=np.int64)
        for ends, steps in self._steps(distance):
            counted = hops[:, ends]
            for link, end in steps:
                counted[chosen.source[link], end] = counted[chosen.target[link], end] + 1
        return hops


FIXED = "fixed"
STRICT, RESTORED = "strict", "restored"
FLOWLET = "flowlet "


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRule:
    """One rule by which routes are chosen.

    `does` completes "a router takes" in docs/routes.md. `order` is that of its flows, unless it `has_flowlets` and
    the topology gives the time of a silence. A message may go by another part of the network first if it is
    `by_part`; kinds without parts lack such rules. `loads(ways, sent)` returns the expected bytes on every link of
    the ways, where `sent` has the bytes by (router, router); it is None for fixed routes, whose loads the kind itself
    knows.
    """

    name: str
    does: str
    order: str = RESTORED
    has_flowlets: bool = False
    by_part: bool = False
    loads: Callable[[Ways, Floats], Carried] | None = None


#: By name, in the order in which they are listed.
RULES: Mapping[str, RouteRule] = {
    rule.name: rule
    for rule in (
        RouteRule(name=FIXED, does="the usual route of its kind", order=STRICT),
        RouteRule(
            name="hashed",
            does="one of the shortest routes by a hash of source, destination and seed",
            order=STRICT,
            has_flowlets=True,
            loads=straight,
        ),
        RouteRule(name="sprayed", does="one of the shortest routes at random, for each cell", loads=minimal),
        RouteRule(name="minimal-adaptive", does="the shortest route with the least to send", loads=minimal),
        RouteRule(
            name="valiant",
            does="for each cell the route by a random router (torus) or third group (dragonfly)",
            by_part=True,
            loads=valiant,
        ),
        RouteRule(
            name="ugal-local",
            does="the minimal or one of Valiant's routes, by the first queue times the links",
            by_part=True,
            loads=ugal,
        ),
        RouteRule(
            name="ugal-global",
            does="the same, by all queues on both routes, which no real router knows",
            by_part=True,
            loads=ugal,
        ),
    )
}
#: The rules of networks without parts.
SHORTEST = tuple(name for name, rule in RULES.items() if not rule.by_part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """How routes are chosen; `choose` is a rule's name, `seed` that of hashes and of random choices."""

    choose: str = FIXED
    order: str = STRICT
    seed: int = 1

    @property
    def rule(self) -> RouteRule:
        return RULES[self.choose]

    @property
    def gap_us(self) -> float:
        """Return the silence after which a flow gets a new way, in microseconds of the real machine; 0 for none."""
        if not self.order.startswith(FLOWLET):
            return 0.0
        return microseconds(self.order.removeprefix(FLOWLET)) or 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the field `routes` of a topology's document; empty for fixed routes."""
        if self.choose == FIXED:
            return {}
        return {"routes": {"choose": self.choose, "order": self.order, "seed": self.seed}}


#: Every message takes the usual route to its destination.
USUAL = Routes()


def parse(entry: Mapping[str, Any], source: str) -> Routes:
    """Return the routes of a document's field; InputError names what does not go together."""
    rule = RULES[entry.get("choose", FIXED)]
    routes = Routes(choose=rule.name, order=entry.get("order", rule.order), seed=entry.get("seed", 1))
    if routes.order != rule.order and not (rule.has_flowlets and routes.gap_us):
        valid = f"{rule.order} or flowlet TIME, such as flowlet 10us" if rule.has_flowlets else rule.order
        raise InputError(source, "routes.order", routes.order, f"{valid} with choose: {rule.name}")
    return routes
