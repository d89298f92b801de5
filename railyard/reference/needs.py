"""Report what each check needs before it can run: nodes, programs, kind of machine, from its class in `checks/`.

Models: the class as ReFrame loads it, with the values that decorators and bases give. Leaves out: what `-S` and hooks
of one run change.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.checkout import CHECKOUT
from railyard.placements.topology import catalog

#: A system that a check requires, as ReFrame writes it, and its name for people.
SYSTEMS = {
    "%origin=emulated": "a virtual torus",
    "%origin=measured": "a cluster",
    "+simulated": "SimGrid",
    "+modelled": "the model",
}
#: The nodes of checks that take all that they get, and of those where topology or parameter decide.
ALL, VARIES = "all", "varies"
_SMOKE = "gemini-2x2x2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """`nodes` is a number, `ALL` or `VARIES`; `what` is empty for a check that any machine runs.

    `launches` is the number of all launches of all its variants, by default.
    """

    nodes: str
    what: str
    tags: tuple[str, ...]
    launches: int = 1


def of(name: str, file: Path) -> Needs:
    """Return the needs of the check of this name in a file of `checks/`; needs ReFrame."""
    module = ".".join(file.relative_to(CHECKOUT).with_suffix("").parts)
    check = getattr(importlib.import_module(module), name)
    return Needs(
        nodes=_nodes(check), what=", ".join(_what(check)), tags=tuple(sorted(check.tags)), launches=_launches(check)
    )


def _launches(check: Any) -> int:
    if not hasattr(check, "placements"):
        return int(check.num_variants)
    rounds = int(check.launches) * max(1, len(getattr(check, "software", ())))
    return rounds * len(check.placements) * len(check.nics) * int(check.num_variants)


def _nodes(check: Any) -> str:
    if not hasattr(check, "grid"):  # no check of placements
        return ALL
    grid, per_node = list(check.grid), int(check.ranks_per_node)
    application = importlib.import_module("checks.application")
    if not grid and issubclass(check, application.ApplicationCheck):
        machine = application.MACHINES[application.Scale(check.scale)]
        grid, per_node = list(machine.grid), machine.ranks_per_node
    if grid:
        return f"{-(-math.prod(grid) // per_node):,}"
    if set(check.param_space.params) & {"side", "nodes"} or check.allocation == "axes":
        return VARIES
    if check.cube:
        return f"{math.prod(check.cube):,}"
    name = str(check.torus) or (_SMOKE if "smoke" in check.tags else "")
    if not name:
        return str(check.nodes or ALL)
    topology = catalog.load(name)
    per_router = len(topology.nodes) // max(1, len(topology.coordinates))
    return f"{math.prod(check.block) * per_router if check.block else len(topology.nodes):,}"


def _what(check: Any) -> list[str]:
    systems = [str(one) for one in check.valid_systems]
    kinds = [text for form, text in SYSTEMS.items() if any(form in one for one in systems)]
    machine = [] if "+torus" in systems else [" or ".join(kinds)]
    program = str(getattr(check, "package", "")) or ""
    image = ["an image"] if "image" in list(map(str, getattr(check, "software", []))) else []
    counters = [one for one in getattr(check, "needs", []) if one == "NIC counters"]
    return [*filter(None, [program]), *machine, *image, *counters]
