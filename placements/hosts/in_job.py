"""Coordinates that the nodes of a job know of themselves, without root: from descriptions of `railyard where`.

    slingshot   Ethernet address of hsn0: its low 24 bits hold port (6), switch (5) and group (9): HPE's shasta_addr.c
    slurm       SLURM_TOPOLOGY_ADDR, the path of switches to the node: the last is the leaf, the one above the group
    xname       x CABINET c CHASSIS s SLOT b BOARD n NODE in /etc/cray/xname: cabinet as group, chassis.slot as switch

Coordinates are (group, switch in its group, 0). A node without this information has none; a source
counts only if every node of the job has it. Leaves out links and rates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placements.hosts.sources.located import NodeCoordinates
from placements.topology.base import Coordinate

Description = Mapping[str, Any]
Place = tuple[str, str]
PORT_BITS, SWITCH_BITS, GROUP_BITS = 6, 5, 9
#: Locally administered: the fabric manager's algorithmic addresses begin 02:00:00.
ALGORITHMIC = re.compile(r"02:00:00(?::[0-9a-f]{2}){3}", re.IGNORECASE)
XNAME = re.compile(r"x(\d+)c(\d+)s(\d+)b(\d+)n(\d+)")


def coordinates(descriptions: Mapping[str, Description]) -> NodeCoordinates | None:
    """Return host -> coordinate by the first source that every node has; None where there is none."""
    for kind, source in SOURCES.items():
        places = {host: source(description) for host, description in descriptions.items()}
        located = {host: position for host, position in places.items() if position is not None}
        if located and len(located) == len(descriptions):
            return NodeCoordinates(
                kind=kind, coordinates=_numbered(located), dimensions=("group", "switch", "")
            )
    return None


def _numbered(places: Mapping[str, Place]) -> dict[str, Coordinate]:
    groups = sorted({group for group, _ in places.values()}, key=_natural)
    switches = {
        group: sorted({switch for other, switch in places.values() if other == group}, key=_natural)
        for group in groups
    }
    return {
        host: (groups.index(group), switches[group].index(switch), 0)
        for host, (group, switch) in places.items()
    }


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(word), "") if word.isdigit() else (0, word) for word in re.findall(r"\d+|\D+", text))


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


def slurm(description: Description) -> Place | None:
    """Return the switch above the leaf, and the leaf, of Slurm's path to a node."""
    words = str(description.get("switches", "")).split(".")
    kinds = str(description.get("pattern", "")).split(".")
    if len(kinds) == len(words) and kinds[-1] == "node":
        words = words[:-1]
    switches: Sequence[str] = [word for word in words if word]
    if not switches or kinds == ["node"]:
        return None
    return (switches[-2] if len(switches) > 1 else ""), switches[-1]


SOURCES: Mapping[str, Callable[[Description], Place | None]] = {
    "slingshot": slingshot,
    "slurm": slurm,
    "xname": xname,
}
