"""What iblinkinfo(8) prints: the ports of each switch and adapter, and the other end of each; also in lines (-l).

    Switch: 0x0002c902004a1b60 leaf0:
           2    1[  ] ==( 4X   25.78125 Gbps Active/  LinkUp)==>       5    1[  ] "node01 mlx5_0" ( )
    0x0002c902004a1b60 "      leaf0"    2    1[  ] ==( ... )==>  0x0002c903000f1a2d     5    1[  ] "node01 mlx5_0" ( )

The first number of an end is its LID; all ports of a switch share one. In lines, whatever has several ports at one LID
is a switch. Ports that are down have no other end.
"""

from __future__ import annotations

import re

from railyard.placements.hosts.sources.fabric import Fabric
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, Reading

HEADER = re.compile(r"^(Switch|CA|Router):?\s+(?:0x[0-9a-f]+\s+)?(.*?):?\s*$", re.IGNORECASE)
LINK = re.compile(
    r"^[ \t]*+(?:0x[0-9a-f]++[ \t]++)?(?:\"([^\"\n]*+)\"[ \t]++)?(\d++)[ \t]++(\d++)\[[ \d]*+\]"
    r"[ \t]++==\(([^\n]*?)\)==>"
    r"(?:[ \t]++(?:0x[0-9a-f]++[ \t]++)?(\d++)[ \t]++(\d++)\[[ \d]*+\][ \t]++\"([^\"\n]*+)\")?",
    re.IGNORECASE | re.MULTILINE,
)


def parse(text: str, source: str) -> NodeCoordinates:
    """Return node name -> (leaf, 0, 0), or (pod, leaf, 0) in trees of three levels."""
    kind, name = "", ""
    ends: list[tuple[str, str, str, str, int]] = []
    ports: dict[str, set[str]] = {}
    switches: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if link := LINK.match(line):
            own, lid, port, _, far, far_port, description = link.groups()
            ports.setdefault(lid, set()).add(port)
            if own is None and kind.lower() == "switch":
                switches[lid] = None
            if far is not None:
                ports.setdefault(far, set()).add(far_port)
                ends.append((lid, (own if own is not None else name).strip(), far, description, number))
                if own is None and kind.lower() == "ca":
                    switches.setdefault(far)
        elif header := HEADER.match(line):
            kind, name = header[1], header[2]
    switches |= {lid: None for lid, used in ports.items() if len(used) > 1 and not kind}
    fabric = Fabric(switches=list(switches), nodes=Reading(source))
    for lid, name, far, description, number in ends:
        if lid in switches and far in switches:
            fabric.cables.append((lid, far))
        elif lid in switches:
            fabric.adapters.append((description, lid, number))
        elif far in switches:
            fabric.adapters.append((name, far, number))
    return fabric.located()


SOURCE = CoordinateSource(
    name="iblinkinfo", does="what that command prints", precedence=22, matches=LINK.search, parse=parse
)
