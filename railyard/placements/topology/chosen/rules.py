"""Define how a network chooses its routes: the rules, and the field `routes` of a topology file.

A rule is one row of `RULES`, from which the schema, the kinds, the link-load model and the description of the router
follow. The router's own list is ROUTER_RULES of native/router/network.h; native/router/choices.h describes each rule.

`order` names what becomes of a flow, which is all that one NIC sends to one address:

- `strict`: a flow takes one way, so nothing is reordered.
- `flowlet TIME`: a flow that has nothing on its way and was silent for TIME gets a new way.
- `restored`: cells choose, and the destination's NIC puts what arrives in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats
from railyard.placements.topology.carried import Carried
from railyard.placements.topology.chosen import loads
from railyard.placements.topology.chosen.ways import Ways
from railyard.placements.topology.troubles import microseconds

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
            loads=loads.straight,
        ),
        RouteRule(name="sprayed", does="one of the shortest routes at random, for each cell", loads=loads.minimal),
        RouteRule(name="minimal-adaptive", does="the shortest route with the least to send", loads=loads.minimal),
        RouteRule(
            name="valiant",
            does="for each cell the route by a random router (torus) or third group (dragonfly)",
            by_part=True,
            loads=loads.valiant,
        ),
        RouteRule(
            name="ugal-local",
            does="the minimal or one of Valiant's routes, by the first queue times the links",
            by_part=True,
            loads=loads.ugal,
        ),
        RouteRule(
            name="ugal-global",
            does="the same, by all queues on both routes, which no real router knows",
            by_part=True,
            loads=loads.ugal,
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
