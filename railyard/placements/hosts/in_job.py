"""Coordinates that the nodes of a job know of themselves, without root: from descriptions of `railyard node-info`.

    slingshot   Ethernet address of hsn0: its low 24 bits hold port (6), switch (5) and group (9): HPE's shasta_addr.c
    slurm       SLURM_TOPOLOGY_ADDR by its pattern: the switches above the node, its block, or its place in a torus
    xname       x CABINET c CHASSIS s SLOT b BOARD n NODE in /etc/cray/xname: cabinet as group, chassis.slot as switch

Coordinates are (group, switch in its group, 0), with group 0 where no groups are known; those of Slurm's torus3d are
(x, y, z). A node without this information has none; a source counts only if every node of the job has it. Leaves out
links and rates.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from railyard.base.errors import InputError
from railyard.base.host_names import natural
from railyard.placements.hosts.sources import trees
from railyard.placements.hosts.sources.located import NodeCoordinates

Description = Mapping[str, Any]
#: Names of a node's group and switch; the group is empty where it is not known.
Place = tuple[str, str]
PORT_BITS, SWITCH_BITS, GROUP_BITS = 6, 5, 9
#: Locally administered: the fabric manager's algorithmic addresses begin 02:00:00.
ALGORITHMIC = re.compile(r"02:00:00(?::[0-9a-f]{2}){3}", re.IGNORECASE)
XNAME = re.compile(r"x(\d+)c(\d+)s(\d+)b(\d+)n(\d+)")
ADDRESS = "SLURM_TOPOLOGY_ADDR"
#: Slurm's patterns of numbered places, what their numbers are called, and a place in this form.
NUMBERED: Mapping[str, tuple[tuple[str, str, str], re.Pattern[str]]] = {
    "torus:x:y:z": (("x", "y", "z"), re.compile(r"(.*):(\d{1,6}):(\d{1,6}):(\d{1,6})")),
    "ring:position": (("x", "", ""), re.compile(r"(.*):(\d{1,6})")),
}


def coordinates(descriptions: Mapping[str, Description]) -> NodeCoordinates | None:
    """Return host -> coordinate by the first source that every node has; None where there is none.

    Raises InputError if there is only an address of Slurm that cannot be read.
    """
    problem: InputError | None = None
    for kind, source in SOURCES.items():
        try:
            if located := source(descriptions):
                return dataclasses.replace(located, kind=kind)
        except InputError as error:
            problem = problem or error
    if problem:
        raise problem
    return None


def _by_names(places: Mapping[str, Place | None]) -> NodeCoordinates | None:
    """Return the coordinates of nodes by the names of their groups and switches; None if a node has none."""
    located = {host: names for host, names in places.items() if names is not None}
    if not located or len(located) < len(places):
        return None
    numbers = trees.numbered(sorted({*located.values()}, key=lambda place: tuple(map(natural, place))))
    group = "group" if any(group for group, _ in located.values()) else ""
    coordinates = {host: (*numbers[names], 0) for host, names in located.items()}
    return NodeCoordinates(coordinates=coordinates, dimensions=(group, "switch", ""))


def slingshot(description: Description) -> Place | None:
    """Return group and switch of a node's first Slingshot interface."""
    for nic in description.get("nics", []):
        if str(nic["name"]).startswith("hsn") and ALGORITHMIC.fullmatch(str(nic.get("mac", ""))):
            group, switch, _ = algorithmic(str(nic["mac"]))
            return f"{group}", f"{switch}"
    return None


def algorithmic(mac: str) -> tuple[int, int, int]:
    """Return group, switch and port of a Slingshot interface's Ethernet address."""
    value = int(mac.replace(":", ""), 16) & 0xFFFFFF
    port = value & (1 << PORT_BITS) - 1
    switch = value >> PORT_BITS & (1 << SWITCH_BITS) - 1
    group = value >> PORT_BITS + SWITCH_BITS & (1 << GROUP_BITS) - 1
    return group, switch, port


def xname(description: Description) -> Place | None:
    """Return cabinet, and chassis with slot, of a node's physical name."""
    xname = XNAME.match(str(description.get("xname", "")))
    return (xname[1], f"{xname[2]}.{xname[3]}") if xname else None


def slurm(descriptions: Mapping[str, Description]) -> NodeCoordinates | None:
    """Return the coordinates in Slurm's addresses, whose pattern has their meaning: topology_p_get_node_addr.

    Raises InputError for a pattern that is not known, an address that does not follow it, or several tori.
    """
    patterns = {str(description.get("pattern", "")) for description in descriptions.values()}
    pattern = patterns.pop() if len(patterns) == 1 else ""
    kind = pattern.removesuffix(".node")
    if kind in {"", "node"}:
        return None
    above = {host: _above(host, description) for host, description in descriptions.items()}
    if kind in NUMBERED:
        return _numbered(kind, above)
    kinds = kind.split(".")
    if kind != "block" and set(kinds) != {"switch"}:
        valid = f"switch.node, switch.switch.node and so on, block.node, {'.node, '.join(NUMBERED)}.node"
        raise InputError(f"{ADDRESS}_PATTERN", "", pattern, valid)
    paths = {host: address.split(".") for host, address in above.items()}
    whole = any(len(path) != len(kinds) for path in paths.values())  # a switch's name has a dot
    one_root = len(kinds) == 2 and len({path[0] for path in paths.values()}) == 1
    if whole or len(kinds) == 1 or one_root:
        return _by_names({host: ("", address) for host, address in above.items()})
    return _by_names({host: (path[-2], path[-1]) for host, path in paths.items()})


def _numbered(kind: str, above: Mapping[str, str]) -> NodeCoordinates:
    dimensions, pattern = NUMBERED[kind]
    matches = {host: pattern.fullmatch(address) for host, address in above.items()}
    places = {host: match.groups() for host, match in matches.items() if match}
    if len(places) < len(above) or len({name for name, *_ in places.values()}) > 1:
        wrong = next((above[host] for host, match in matches.items() if not match), ", ".join(sorted(above.values())))
        raise InputError(ADDRESS, "", wrong, f"{kind}, of one name for all nodes")
    numbers = {host: tuple(map(int, words)) for host, (_, *words) in places.items()}
    return NodeCoordinates(coordinates={host: (*at, 0, 0)[:3] for host, at in numbers.items()}, dimensions=dimensions)


def _above(host: str, description: Description) -> str:
    """Return a node's address in Slurm without the node itself, whose name may have dots."""
    address = str(description.get("switches", ""))
    for name in (str(description.get("node_name", "")), host, str(description.get("host", ""))):
        if name and (match := re.fullmatch(rf"(.*)\.{re.escape(name)}(?:\.[^:]*)?", address)):
            return match[1]
    return address.rpartition(".")[0]


SOURCES: Mapping[str, Callable[[Mapping[str, Description]], NodeCoordinates | None]] = {
    "slingshot": lambda descriptions: _by_names({host: slingshot(one) for host, one in descriptions.items()}),
    "slurm": slurm,
    "xname": lambda descriptions: _by_names({host: xname(one) for host, one in descriptions.items()}),
}
