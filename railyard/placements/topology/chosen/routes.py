"""Define how a network chooses its routes: the field `routes` of a topology file.

`choose` names the rule, which native/router/choices.h describes: `fixed` (the default), `hashed`, `sprayed`,
`minimal-adaptive`, `valiant`, `ugal-local`, `ugal-global`. `order` names what becomes of a flow, which is all that
one NIC sends to one address:

- `strict`: a flow takes one way, so nothing is reordered. Of `fixed` and `hashed`.
- `flowlet TIME`: a flow that has nothing on its way and was silent for TIME gets a new way. Of `hashed`.
- `restored`: cells choose, and the destination's NIC puts what arrives in order. Of all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.topology.troubles import microseconds

FIXED, HASHED = "fixed", "hashed"
#: Rules that take a shortest way, and those that may go by another part of the network first.
MINIMAL = (HASHED, "sprayed", "minimal-adaptive")
BY_PART = ("valiant", "ugal-local", "ugal-global")
CHOICES = (FIXED, *MINIMAL, *BY_PART)
STRICT, RESTORED = "strict", "restored"
FLOWLET = "flowlet "


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """How routes are chosen; `seed` is that of hashes and of random choices."""

    choose: str = FIXED
    order: str = STRICT
    seed: int = 1

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
    choose = entry.get("choose", FIXED)
    own = STRICT if choose in (FIXED, HASHED) else RESTORED
    routes = Routes(choose=choose, order=entry.get("order", own), seed=entry.get("seed", 1))
    if routes.order != own and not (choose == HASHED and routes.gap_us):
        valid = f"{own} or flowlet TIME, such as flowlet 10us" if choose == HASHED else own
        raise InputError(source, "routes.order", routes.order, f"{valid} with choose: {choose}")
    return routes
