"""The links that Omni-Path's `opareport -o links` prints: two lines for each, one for either end.

    Rate NodeGUID          Port Type Name
    100g 0x001175010108866d   1 FI   cn1195 hfi1_0
    <->  0x00117501027ab700   3 SW   opa1 L113B

FI is an adapter, SW a switch; a switch of a director is one ASIC and has a GUID of its own.
"""

from __future__ import annotations

import re

from railyard.placements.hosts.sources.fabric import Fabric
from railyard.placements.hosts.sources.located import CoordinateSource, NodeCoordinates, OddLineError, Reading

END = re.compile(
    r"^[ \t]*(\d+(?:\.\d+)?g|<->)\s+(0x[0-9a-f]{16})\s+\d+\s+(FI|SW)\s+(.*?)\s*$", re.IGNORECASE | re.MULTILINE
)


def parse(text: str, source: str) -> NodeCoordinates:
    """Return node name -> (leaf, 0, 0), or (pod, leaf, 0) in trees of three levels."""
    fabric = Fabric(nodes=Reading(source))
    open_end: re.Match[str] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        end = END.match(line)
        if end and end[1] != "<->":
            open_end = end
        elif end and open_end:
            _add(fabric, open_end, end, number)
            open_end = None
        elif end:
            fabric.nodes.odd.append(
                OddLineError(source, f"line {number}", line.strip(), "a line with the rate before it")
            )
    return fabric.located()


def _add(fabric: Fabric, one: re.Match[str], other: re.Match[str], number: int) -> None:
    ends = {kind.upper(): (guid, name) for _, guid, kind, name in (one.groups(), other.groups())}
    switches = [end[2] for end in (one, other) if end[3].upper() == "SW"]
    fabric.switches += switches
    if len(switches) == 2:
        fabric.cables.append((switches[0], switches[1]))
    elif switches:
        fabric.adapters.append((ends["FI"][1], switches[0], number))


SOURCE = CoordinateSource(
    name="opareport", does="what `opareport -o links` prints", precedence=24, matches=END.search, parse=parse
)
