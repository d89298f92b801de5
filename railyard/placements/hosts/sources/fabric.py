"""What the dumps of InfiniBand's and Omni-Path's tools have in common: adapters that describe themselves, and cables.

A driver describes an adapter by host and device, as `node01 mlx5_0` or `node01 HCA-1`. A dump in which no adapter has a
device names hosts alone. A switch's own adapter (SHARP) and an adapter with the driver's own words are not nodes. Any
other description is passed over and reported. A node with several adapters is at the switch of the first, in natural
order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railyard.base.host_names import natural
from railyard.placements.hosts.sources import trees
from railyard.placements.hosts.sources.located import HOST, NodeCoordinates, OddLineError, Reading

#: The adapter inside each Quantum switch (SHARP), and the driver's own words for a node that has no description.
NO_HOST = re.compile(r"Aggregation Node|^MT\d+\b|^Mellanox Technologies|^Quantum\b|^OFED\b", re.IGNORECASE)
DEVICE = re.compile(r"(HCA|mlx|hfi|ib|qib|rdma|roce|opa|ConnectX)", re.IGNORECASE)
WITHOUT_NAME = ("localhost", "localhost.localdomain", "(none)")
VALID = 'HOST DEVICE, as the driver describes an adapter ("node01 mlx5_0")'


@dataclass(slots=True, kw_only=True)
class Fabric:
    """Adapters with their switch and line, and cables between switches; `nodes` has the lines that are odd."""

    adapters: list[tuple[str, str, int]] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    cables: list[tuple[str, str]] = field(default_factory=list)
    nodes: Reading

    def located(self) -> NodeCoordinates:
        """Return the coordinates of the nodes."""
        adapters = list(dict.fromkeys(self.adapters))
        alone = not any(_split(text, alone=False)[0] and not NO_HOST.search(text) for text, _, _ in adapters)
        first: dict[str, tuple[str, str]] = {}
        with_nodes = []
        for text, switch, number in adapters:
            if NO_HOST.search(text):
                continue
            host, device = _split(text, alone=alone)
            if not HOST.fullmatch(host) or host.lower() in WITHOUT_NAME:
                self.nodes.odd.append(OddLineError(self.nodes.source, f"line {number}", text, VALID))
                continue
            with_nodes.append(switch)
            if host not in first or natural(device) < natural(first[host][0]):
                first[host] = (device, switch)
        tree = trees.Tree(joined=self.cables, nodes={switch: [] for switch in self.switches if switch in {*with_nodes}})
        for host, (_, switch) in first.items():
            tree.nodes.setdefault(switch, []).append(host)
        return trees.from_cables(tree, self.nodes)


def _split(text: str, *, alone: bool) -> tuple[str, str]:
    """Return host and device of a description; an empty host where it has neither."""
    words = re.sub(rf"[:/](?={DEVICE.pattern})", " ", text, count=1, flags=re.IGNORECASE).split()
    if len(words) == 2 or (len(words) > 2 and DEVICE.match(words[1])):
        return words[0], " ".join(words[1:])
    return (words[0], "") if alone and len(words) == 1 else ("", "")
