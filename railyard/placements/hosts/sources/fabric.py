"""The dumps of InfiniBand's and Omni-Path's tools: adapters that describe themselves, and cables.

A driver describes an adapter by host and device, as `node01 mlx5_0` or `node01 HCA-1`. A dump in which no adapter has a
device names hosts alone. A switch's own adapter (SHARP) and an adapter with the driver's own words are not nodes. Any
other description is passed over and reported. A node with several adapters is at the switch of the first, in natural
order. `trees` has the rules for leaves and pods.

What iblinkinfo(8) prints: the ports of each switch and adapter, and the other end of each; also in lines (-l).

    Switch: 0x0002c902004a1b60 leaf0:
           2    1[  ] ==( 4X   25.78125 Gbps Active/  LinkUp)==>       5    1[  ] "node01 mlx5_0" ( )
    0x0002c902004a1b60 "      leaf0"    2    1[  ] ==( ... )==>  0x0002c903000f1a2d     5    1[  ] "node01 mlx5_0" ( )

The first number of an end is its LID; all ports of a switch share one. In lines, whatever has several ports at one LID
is a switch. Ports that are down have no other end.

The dump of ibnetdiscover(8): every switch and adapter of an InfiniBand subnet, and what each port leads to.

    Switch  36 "S-0002c902004a1b60"   # "leaf0" enhanced port 0 lid 2 lmc 0
    [1]     "H-0002c903000f1a2c"[1](2c903000f1a2d)   # "node01 mlx5_0" lid 5 4xEDR
    [2][ext 7]  "S-0002c902004a1b80"[9][ext 2]   # "spine" lid 1 4xEDR        in groups (-g)

and its list of ports (`-p`): SW 2 1 0x... 4x EDR - CA 5 1 0x... ( 'leaf0' - 'node01 mlx5_0' )

The links that Omni-Path's `opareport -o links` prints: two lines for each, one for either end.

    Rate NodeGUID          Port Type Name
    100g 0x001175010108866d   1 FI   cn1195 hfi1_0
    <->  0x00117501027ab700   3 SW   opa1 L113B

FI is an adapter, SW a switch; a switch of a director is one ASIC and has a GUID of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railyard.base.errors import InputError
from railyard.base.host_names import natural
from railyard.placements.hosts.sources import trees
from railyard.placements.hosts.sources.located import HOST, CoordinateSource, NodeCoordinates, OddLineError, Reading

#: The adapter inside each Quantum switch (SHARP), and the driver's own words for a node that has no description.
NO_HOST = re.compile(r"Aggregation Node|^MT\d+\b|^Mellanox Technologies|^Quantum\b|^OFED\b", re.IGNORECASE)
DEVICE = re.compile(r"(HCA|mlx|hfi|ib|qib|rdma|roce|opa|ConnectX)", re.IGNORECASE)
#: An end of a cable: whether it is a switch, its identity, and its description.
End = tuple[bool, str, str]
WITHOUT_NAME = ("localhost", "localhost.localdomain", "(none)")
VALID = 'HOST DEVICE, as the driver describes an adapter ("node01 mlx5_0")'


@dataclass(slots=True, kw_only=True)
class Fabric:
    """Adapters with their switch and line, and cables between switches; `nodes` has the lines that are odd."""

    adapters: list[tuple[str, str, int]] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    cables: list[tuple[str, str]] = field(default_factory=list)
    nodes: Reading

    def join(self, one: End, other: End, number: int) -> None:
        """Add the cable on a line: between two switches, or from a switch to an adapter."""
        if one[0] and other[0]:
            self.cables.append((one[1], other[1]))
        elif one[0] or other[0]:
            switch, adapter = (one, other) if one[0] else (other, one)
            self.adapters.append((adapter[2], switch[1], number))

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


HEADER = re.compile(r"^(Switch|CA|Router):?\s+(?:0x[0-9a-f]+\s+)?(.*?):?\s*$", re.IGNORECASE)
IBLINKINFO_LINK = re.compile(
    r"^[ \t]*+(?:0x[0-9a-f]++[ \t]++)?(?:\"([^\"\n]*+)\"[ \t]++)?(\d++)[ \t]++(\d++)\[[ \d]*+\]"
    r"[ \t]++==\(([^\n]*?)\)==>"
    r"(?:[ \t]++(?:0x[0-9a-f]++[ \t]++)?(\d++)[ \t]++(\d++)\[[ \d]*+\][ \t]++\"([^\"\n]*+)\")?",
    re.IGNORECASE | re.MULTILINE,
)


def parse_iblinkinfo(text: str, source: str) -> NodeCoordinates:
    """Return node name -> (leaf, 0, 0), or (pod, leaf, 0) in trees of three levels."""
    kind, name = "", ""
    ends: list[tuple[str, str, str, str, int]] = []
    ports: dict[str, set[str]] = {}
    switches: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if link := IBLINKINFO_LINK.match(line):
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
        fabric.join((lid in switches, lid, name), (far in switches, far, description), number)
    return fabric.located()


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


def parse_ibnetdiscover(text: str, source: str) -> NodeCoordinates:
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
            fabric.join((True, switch, ""), (port[1][0] in "Ss", port[1], port[2]), number)
        elif switch and line.startswith("["):
            valid = '[PORT] "S-GUID"[PORT] or "H-GUID"[PORT](GUID) # "DESCRIPTION"'
            fabric.nodes.odd.append(OddLineError(source, f"line {number}", line, valid))


def _ports(text: str, fabric: Fabric) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if not (link := LISTED.match(line)):
            continue  # a port without a cable, which has no other end
        kind, lid, other, far, name, description = link.groups()
        is_switch, far_is_switch = kind.upper() == "SW", other.upper() == "SW"
        fabric.switches += [lid] if is_switch else [far] if far_is_switch else []
        fabric.join((is_switch, lid, name), (far_is_switch, far, description), number)


END = re.compile(
    r"^[ \t]*(\d+(?:\.\d+)?g|<->)\s+(0x[0-9a-f]{16})\s+\d+\s+(FI|SW)\s+(.*?)\s*$", re.IGNORECASE | re.MULTILINE
)


def parse_opareport(text: str, source: str) -> NodeCoordinates:
    """Return node name -> (leaf, 0, 0), or (pod, leaf, 0) in trees of three levels."""
    fabric = Fabric(nodes=Reading(source))
    open_end: re.Match[str] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        end = END.match(line)
        if end and end[1] != "<->":
            open_end = end
        elif end and open_end:
            one, other = ((half[3].upper() == "SW", half[2], half[4]) for half in (open_end, end))
            fabric.switches += [identity for is_switch, identity, _ in (one, other) if is_switch]
            fabric.join(one, other, number)
            open_end = None
        elif end:
            fabric.nodes.odd.append(
                OddLineError(source, f"line {number}", line.strip(), "a line with the rate before it")
            )
    return fabric.located()


SOURCES = (
    CoordinateSource("iblinkinfo", "what that command prints", 22, IBLINKINFO_LINK.search, parse_iblinkinfo),
    CoordinateSource(
        "ibnetdiscover",
        "the dump of that command, or its ports (`-p`)",
        20,
        lambda text: any(form.search(text) for form in (SWITCH, LISTED, LIST, ADAPTER)),
        parse_ibnetdiscover,
    ),
    CoordinateSource("opareport", "what `opareport -o links` prints", 24, END.search, parse_opareport),
)
