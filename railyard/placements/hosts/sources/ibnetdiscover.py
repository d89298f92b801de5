"""The dump of ibnetdiscover(8): every switch and adapter of an InfiniBand subnet, and what each port leads to.

    Switch  36 "S-0002c902004a1b60"   # "leaf0" enhanced port 0 lid 2 lmc 0
    [1]     "H-0002c903000f1a2c"[1](2c903000f1a2d)   # "node01 mlx5_0" lid 5 4xEDR
    [2][ext 7]  "S-0002c902004a1b80"[9][ext 2]   # "spine" lid 1 4xEDR        in groups (-g)

and its list of ports (`-p`): SW 2 1 0x... 4x EDR - CA 5 1 0x... ( 'leaf0' - 'node01 mlx5_0' )

`fabric` has the rules for descriptions, `trees` those for leaves and pods.
"""

from __future__ import annotations

import re

from railyard.base.errors import InputError
from railyard.placements.hosts.sources.fabric import Fabric
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, OddLineError, Reading

SWITCH = re.compile(r'^Switch\s+\d+\s+"(S-[0-9a-f]+)"', re.IGNORECASE | re.MULTILINE)
NODE = re.compile(r'^(?:Ca|Rt|\?\?\?)\s+\d+\s+"', re.IGNORECASE)
PORT = re.compile(
    r'^\[\d+\](?:\[ext \d+\])?\s+"([SHR]-[0-9a-f]+)"\[\d+\](?:\[ext \d+\])?\s*(?:\([0-9a-f]+\))?\s*#\s*"(.*?)"(?:\s|$)',
    re.IGNORECASE,
)
LISTED = re.compile(
    r"^(SW|CA|RT)\s+(\d+)\s+\d+\s+0x[0-9a-f]+\s.*? - "
    r"(SW|CA|RT)\s+(\d+)\s+\d+\s+0x[0-9a-f]+\s+\(\s*'(.*)' - '(.*)'\s*\)",
    re.IGNORECASE | re.MULTILINE,
)
LIST = re.compile(r"^(?:Switch|Ca)\s*: 0x[0-9a-f]+ ports \d+", re.IGNORECASE | re.MULTILINE)
ADAPTER = re.compile(r'^Ca\s+\d+\s+"H-[0-9a-f]+"', re.IGNORECASE | re.MULTILINE)


def matches(text: str) -> bool:
    """Return whether a text has a switch, a port or a node as ibnetdiscover prints them."""
    return any(pattern.search(text) for pattern in (SWITCH, LISTED, LIST, ADAPTER))


def parse(text: str, source: str) -> NodeCoordinates:
    """Return node name -> (leaf, 0, 0), or (pod, leaf, 0) in trees of three levels."""
    fabric = Fabric(nodes=Reading(source))
    if SWITCH.search(text):
        _dump(text, fabric, source)
    elif LISTED.search(text):
        _ports(text, fabric)
    elif LIST.search(text):
        raise InputError(source, "", problem="a list of nodes without their ports", valid="ibnetdiscover without -l")
    else:
        raise InputError(source, "", problem="an adapter and no switch", valid="ibnetdiscover of a port with a cable")
    return fabric.located()


def _dump(text: str, fabric: Fabric, source: str) -> None:
    switch = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if block := SWITCH.match(line):
            switch = block[1]
            fabric.switches.append(switch)
        elif NODE.match(line):
            switch = ""
        elif switch and (port := PORT.match(line)):
            if port[1][0] in "Ss":
                fabric.cables.append((switch, port[1]))
            else:
                fabric.adapters.append((port[2], switch, number))
        elif switch and line.startswith("["):
            valid = '[PORT] "S-GUID"[PORT] or "H-GUID"[PORT](GUID) # "DESCRIPTION"'
            fabric.nodes.odd.append(OddLineError(source, f"line {number}", line, valid))


def _ports(text: str, fabric: Fabric) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if not (link := LISTED.match(line)):
            continue  # a port without a cable, which has no other end
        kind, lid, other, far, name, description = link.groups()
        if kind.upper() == "SW":
            fabric.switches.append(lid)
            if other.upper() == "SW":
                fabric.cables.append((lid, far))
            else:
                fabric.adapters.append((description, lid, number))
        elif other.upper() == "SW":
            fabric.switches.append(far)
            fabric.adapters.append((name, far, number))


SOURCE = CoordinateSource(
    name="ibnetdiscover",
    does="the dump of that command, or its ports (`-p`)",
    precedence=20,
    matches=matches,
    parse=parse,
)
