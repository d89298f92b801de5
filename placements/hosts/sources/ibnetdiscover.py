"""The dump of ibnetdiscover(8): every switch and adapter of an InfiniBand subnet, and what each port leads to.

    Switch  36 "S-0002c902004a1b60"   # "leaf0" enhanced port 0 lid 2 lmc 0
    [1]     "H-0002c903000f1a2c"[1](2c903000f1a2d)   # "node01 mlx5_0" lid 5 4xEDR

A node's name is the first word of its adapter's description, which the driver sets to host and device. Coordinates are
(leaf switch, 0, 0), leaves being the switches with adapters, numbered as the dump lists them. A node with several
adapters has the leaf of the first by name. A switch's own adapter (SHARP) and an adapter without a
description are no nodes. Omni-Path's opareport has another form: write a table (csv) of it.
"""

from __future__ import annotations

import re

from placements.hosts.sources.located import CoordinateSource, NodeCoordinates
from placements.topology.base import Coordinate
from railyard.base.errors import InputError

SWITCH = re.compile(r'^Switch\s+\d+\s+"(S-[0-9a-f]+)"', re.I | re.M)
TO_ADAPTER = re.compile(r'^\[\d+\]\s+"H-[0-9a-f]+"\[\d+\](?:\([0-9a-f]+\))?\s+#\s+"([^"]*)"', re.I)
#: The adapter inside each Quantum switch (SHARP), and the driver's own words for a node that has no description.
NO_HOST = re.compile(r"Aggregation Node|^MT\d+\b|^Mellanox Technologies")


def parse(text: str, source: str) -> NodeCoordinates:
    """Return node name -> (leaf, 0, 0); InputError for an adapter whose description names no host."""
    leaves: dict[str, int] = {}
    first: dict[str, tuple[str, int]] = {}
    switch = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if block := SWITCH.match(line):
            switch = block[1]
        elif not line.strip():
            switch = ""
        elif switch and (port := TO_ADAPTER.match(line)):
            host, _, device = port[1].partition(" ")
            if NO_HOST.search(port[1]):
                continue
            if not host or not device:
                valid = 'HOST DEVICE, as the driver describes an adapter ("node01 mlx5_0")'
                raise InputError(source, f"line {number}", port[1], valid)
            leaf = leaves.setdefault(switch, len(leaves))
            first[host] = min(first.get(host, (device, leaf)), (device, leaf))
    coordinates: dict[str, Coordinate] = {host: (leaf, 0, 0) for host, (_, leaf) in first.items()}
    extents = (max(len(leaves), 1), 1, 1)
    return NodeCoordinates(coordinates=coordinates, extents=extents, dimensions=("leaf", "", ""))


SOURCE = CoordinateSource(
    name="ibnetdiscover", does="the dump of that command", precedence=20, matches=SWITCH.search, parse=parse
)
