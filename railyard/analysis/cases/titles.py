"""Describe a case: its title, its facts, where its numbers come from, why it is not part of another case.

Leaves out: results.
"""

from __future__ import annotations

from collections.abc import Sequence

from railyard.analysis.cases import cases, modelled
from railyard.analysis.cases.cases import Case
from railyard.analysis.text import counted
from railyard.records.json_io import Json
from railyard.records.record import Origin, Software

#: Parameters whose lists are extents.
EXTENTS = frozenset({"grid", "cells", "extents", "torus"})

ORIGIN_NOTES = {
    Origin.EMULATED: (
        "Real MPI and real packets on a virtual torus whose link rates are scaled down. Rates and times that are "
        "of links are shown for the modelled machine (recorded rate / scale, recorded time \N{MULTIPLICATION SIGN} "
        "scale); the records and the CSV have the recorded ones. Software is not scaled: compare these numbers with "
        "each other, not with a machine's."
    ),
    Origin.SIMULATED: "Simulated with SimGrid: deterministic, no measurement of a machine.",
    Origin.MODELLED: "Computed by the link-load model: no program ran.",
    Origin.MEASURED: "Measured on the system named.",
}


#: Rank orders that people know by another name.
_KNOWN_ORDERS = {"cart-create": "MPI's default order (cart-create)", "scheduler": "the scheduler's order"}
TIMES = "\N{MULTIPLICATION SIGN}"


def title(case: Case) -> str:
    """Return `halo, grid 4 x 4 x 4 on gemini-4x4x4`."""
    request = case.first.case
    grid = request.parameters.get("grid")
    parts = [request.benchmark, f"grid {value_text(grid, 'grid')}" if grid else ""]
    where = f" on {request.topology.name}" if request.topology else ""
    return ", ".join(filter(None, parts)) + where


def in_words(combination: str) -> str:
    """Return a combination as a sentence names it: `the placement custom with the NIC policy nic-0`."""
    placement, *others = combination.split(" + ")
    policies = "".join(f" with the NIC policy {name}" for name in others[:1] if name != "library-default")
    image = " from an image" if others[1:] else ""
    return f"{_KNOWN_ORDERS.get(placement, f'the placement {placement}')}{policies}{image}"


def heading(case: Case, among: Sequence[Case]) -> str:
    """Return the title, with the check and the system where cases of the same title differ in them."""
    alike = [other for other in among if title(other) == title(case)]
    checks = {other.first.case.check for other in alike}
    systems = {other.first.system.name for other in alike}
    text = f"{title(case)}, {case.first.case.check}" if len(checks) > 1 else title(case)
    return f"{text}, {case.first.system.name}" if len(systems) > 1 else text


def origin_note(case: Case) -> str:
    """Return how far a virtual torus scales rates and latencies, and the error bounds of the launches that count.

    Empty for other origins.
    """
    torus = case.first.provenance["torus"]
    if case.origin is not Origin.EMULATED or torus is None:
        return ""
    latency = "Latency is scaled too." if torus["latency_scaled"] else "Latency is not scaled."
    carrier = "Packets pass a user-space router." if torus.get("network") == "router" else ""
    shown = modelled.scale_text(case.first)
    form = f"Shown for the modelled machine, emulated {shown}." if shown else "Shown as recorded."
    bounds = sorted(
        float(bound)
        for _, launch in cases.launches(case)
        if launch.guard is not None
        and not launch.is_void
        and isinstance(bound := launch.guard.figures.get("error_bound_percent"), int | float)
    )
    errors = ""
    if bounds:
        middle = bounds[len(bounds) // 2]
        errors = f"Error bound of the launches: {middle:.1f} % in the middle, {bounds[-1]:.1f} % at most."
    parts = [f"Rate scale {torus['rate_scale']:g}.", form, latency, carrier, errors]
    return " ".join(filter(None, parts))


def facts(case: Case) -> list[tuple[str, str]]:
    """Return terms and values that describe what was run."""
    request, topology = case.first.case, case.first.case.topology
    nodes = request.allocation["nodes"]
    rows = [(name.replace("_", " "), value_text(value, name)) for name, value in sorted(request.parameters.items())]
    if topology:
        extents = f"{value_text(list(topology.extents), 'extents')} routers, " if topology.extents else ""
        routers = f"{counted(topology.nodes_per_router, 'node')} per router"
        rows.append(("topology", f"{topology.name} ({extents}{routers}, {counted(topology.rails, 'rail')})"))
    torus = case.first.provenance["torus"]
    if torus and (routes := torus.get("routes")):
        rows.append(("routes", f"{routes['choose']}, order {routes['order']}, seed {routes['seed']}"))
    rows += [
        ("nodes", f"{len(nodes)}, order {request.allocation['order']}"),
        ("placements", ", ".join(request.placements)),
        ("NIC policies", ", ".join(request.nic_policies)),
        ("software", ", ".join(request.software) if Software.IMAGE in request.software else ""),
        ("studies", ", ".join(request.studies)),
    ]
    return [(name, text) for name, text in rows if text or name not in ("software", "studies")]


def value_text(value: Json, name: str = "") -> str:
    """Return a parameter's value for people; `name` decides how a list is joined."""
    if isinstance(value, list):
        return (f" {TIMES} " if name in EXTENTS else ", ").join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def known_text(value: Json) -> str:
    """Return a value of provenance for people; "not known" for null, "none" for an empty list."""
    if value is None:
        return "not known"
    if value == []:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else value_text(value)


def kept_apart(case: Case, earlier: Sequence[Case]) -> str:
    """Return why a case is not part of an earlier one of the same title, or nothing."""
    alike = [number for number, other_case in enumerate(earlier, 1) if title(other_case) == title(case)]
    if not alike:
        return ""
    other = min(alike, key=lambda number: len(cases.differences(case, earlier[number - 1])))
    names = cases.differences(case, earlier[other - 1])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"A case of its own beside case {other}, because of: {', '.join(names[:3])}{more}."
