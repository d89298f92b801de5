"""Read the counters of a virtual torus, one row per directed link and NIC, and check that both ends agree.

A link's numbers are those of its sending end: bytes with 14 bytes of Ethernet header per packet, packets, drops, the
current backlog, how often the shaper made a packet wait (`throttled`), and on the network `router` how long packets
stalled. Two ends cannot be read at the same moment, so `read` takes two snapshots: what one end received must lie
between what the other had sent before and after. Otherwise bytes were lost or appeared.

Leaves out the management network. The format is docs/formats.md, "Counters".
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from railyard.base.checkout import BUILD
from railyard.base.errors import InputError, RunError
from railyard.placements.topology.base import Node, Router, Topology
from railyard.torus.native.programs import built
from railyard.torus.plan.parts import Parts, cut, divide
from railyard.torus.virtual import machines

FORMAT = "railyard-counters/1"
PROGRAM = BUILD / "bin/railyard-counters"
COUNTED = ("bytes", "packets", "drops", "throttled")
#: What only the user-space router counts; None on the network `kernel`.
ROUTED = ("input_stall_ns", "output_stall_ns", "replays", "outages", "outage_ns", "delayed_ns")
#: Counters whose growth is an event of a link's health, with their unit. The last one grows where other traffic is in
#: the way, the others by faults.
EVENTS = {"drops": "packets", "replays": "packets", "outages": "events", "outage_ns": "ns", "delayed_ns": "ns"}
EVENTS |= {"output_stall_ns": "ns"}
NO_ROUTER = "the network router alone counts it"

End = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What the sending end of a link counts. `packets` are those sent, and the backlog is what waits there now.

    `throttled` counts packets that waited for the shaper. `input_stall_ns` is the time that packets which had arrived
    by the link waited for their next link. `output_stall_ns` is the time that the link was idle although packets waited
    for it, because the buffer at its other end was full. `replays` is how often a damaged packet was sent again.
    `outages` counts the times that the link fell silent while packets waited for it, `outage_ns` is how long, and
    `delayed_ns` what jitter added. From the stalls on all are None on the network `kernel`, whose routers have no
    finite buffers and no such faults.
    """

    packets: int = 0
    drops: int = 0
    throttled: int = 0
    backlog_bytes: int = 0
    backlog_packets: int = 0
    input_stall_ns: int | None = None
    output_stall_ns: int | None = None
    replays: int | None = None
    outages: int | None = None
    outage_ns: int | None = None
    delayed_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Interface(Counts):
    """The counters of an interface of a host; `order` is its index in the sweep that read all interfaces.

    `drops` are the packets dropped in either direction, and `rate_byte_s` is the rate of the shaper.
    """

    order: int
    rx_bytes: int
    tx_bytes: int
    rate_byte_s: int


Snapshot = Mapping[End, Interface]


@dataclass(frozen=True, kw_only=True)
class _Named:
    """The fields of `LinkCounter` that come before its counts."""

    name: str
    source: str
    target: str
    coordinate: tuple[int, ...]
    rail: int
    dimension: str
    direction: str
    link_class: str
    rate_mbit_s: float = 0.0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class LinkCounter(Counts, _Named):
    """The counters of a directed link of the torus, or between a node and its router.

    The latter have the dimension H, and the direction + from the node to the router.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterReading:
    """The counters of all links at one moment (`since` is None), or their difference between two.

    `taken` and `since` are times in UTC, ISO 8601. `lost` has a line for each link whose ends do not agree.
    """

    torus: str
    topology: str
    taken: str
    since: str | None
    links: tuple[LinkCounter, ...]
    lost: tuple[str, ...]

    @property
    def conserved(self) -> bool:
        """Return whether every byte that a link sent was received at its other end."""
        return not self.lost

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `railyard torus counters --json` (docs/formats.md, "Counters")."""
        return {"format": FORMAT, **asdict(self), "conserved": self.conserved}

    def nics(self, topology: Topology) -> Iterator[dict[str, Any]]:
        """Yield the bytes that every NIC sent and received, as they are in a record's launch."""
        by_name = {link.name: link for link in self.links}
        for node in topology.nodes:
            for rail in range(topology.rails):
                sent, received = (by_name[_host_name(topology, node, rail, sign)] for sign in "+-")
                yield {"node": node.name, "nic": f"nic{rail}", "tx_bytes": sent.bytes, "rx_bytes": received.bytes}

    def health(self) -> dict[str, Any]:
        """Return the faults that the links counted, and those slower than their likes, before they are folded.

        Links are alike by dimension and class. A rate is in kbit/s, a duration in ns of the torus's own time.
        """
        events = []
        head = ("node", "nic", "event", "unit", "kind", "before", "after")
        fastest: dict[tuple[str, str], float] = {}
        for link in self.links:
            key = link.dimension, link.link_class
            fastest[key] = max(fastest.get(key, 0.0), link.rate_mbit_s)
        for link in self.links:
            counts = {name: count for name in EVENTS if (count := getattr(link, name))}
            kinds = {name: "congestion" if name == "output_stall_ns" else "count" for name in counts}
            changes = [(name.upper(), EVENTS[name], kinds[name], 0, count) for name, count in counts.items()]
            usual, now = (round(1e3 * rate) for rate in (fastest[link.dimension, link.link_class], link.rate_mbit_s))
            changes += [("RATE", "kbit/s", "state", usual, now)] if now < usual else []
            events += [dict(zip(head, (link.source, link.name, *change), strict=True)) for change in changes]
        lacking = {name.upper(): NO_ROUTER for name in EVENTS if getattr(self.links[0], name) is None}
        names = [name.upper() for name in EVENTS if name.upper() not in lacking]
        not_read = {"torus": lacking} if lacking else {}
        return {"read": {"torus": [*names, "RATE"]}, "not_read": not_read, "events": events}


def read(torus: str, topology: Topology, parts: Parts | None = None) -> CounterReading:
    """Return the counters of a torus. RunError if they cannot be read or an interface of the topology is missing."""
    first, second = snapshots(torus, parts)
    return reading(torus, topology, first, second, parts=parts)


def snapshots(torus: str, parts: Parts | None = None) -> list[Snapshot]:
    """Return two snapshots of a torus, of all its machines, one taken directly after the other.

    Each is (host, interface) -> counters. Raises RunError if they cannot be read.
    """
    command = [built(PROGRAM), torus]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RunError(result.stderr.strip())
    outputs = [result.stdout, *machines.on_others(parts, command)]
    return merged([parse(output.splitlines()) for output in outputs])


def merged(snapshots: Sequence[Sequence[Snapshot]]) -> list[Snapshot]:
    """Return the snapshots of a torus from those of each of its machines: a link is counted where it begins or ends."""
    added = [field.name for field in fields(Interface) if field.name not in ("order", "rate_byte_s")]

    def total(one: Interface, other: Interface) -> Interface:
        return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in added})

    def both(one: Snapshot, other: Snapshot) -> Snapshot:
        return {end: total(one[end], other[end]) if end in other else one[end] for end in one}

    return [reduce(both, taken) for taken in zip(*snapshots, strict=True)]


def parse(lines: Iterable[str]) -> list[Snapshot]:
    """Return the snapshots in the output of railyard-counters; skip other lines.

    The format is documented in native/counters/counters.c: an interface has a line `i` (link) and a line `q` (queue).
    """
    snapshots: list[Snapshot] = []
    links: dict[End, list[int]] = {}
    interfaces: dict[End, Interface] = {}
    for line in lines:
        kind, *words = line.split()
        if kind == "i":
            links[words[0], words[1]] = [int(word) for word in words[2:]]
        elif kind == "q":
            end = words[0], words[1]
            rx_bytes, _, rx_dropped, tx_bytes, _, tx_dropped = links[end]
            rate, _, packets, drops, throttled, backlog_bytes, backlog_packets = map(int, words[2:])
            interfaces[end] = Interface(
                order=len(interfaces),
                rx_bytes=rx_bytes,
                tx_bytes=tx_bytes,
                packets=packets,
                drops=drops + rx_dropped + tx_dropped,
                rate_byte_s=rate,
                throttled=throttled,
                backlog_bytes=backlog_bytes,
                backlog_packets=backlog_packets,
            )
        elif kind == "s":
            end = words[0], words[1]
            interfaces[end] = replace(interfaces[end], **dict(zip(ROUTED, map(int, words[2:-1]), strict=True)))
        elif kind == ".":
            snapshots.append(interfaces)
            interfaces = {}
    return snapshots


def reading(
    torus: str, topology: Topology, first: Snapshot, second: Snapshot, *, parts: Parts | None = None
) -> CounterReading:
    """Return the counters of a topology's links from two snapshots, one taken directly after the other.

    Raises RunError for an interface that is missing.
    """
    links, lost = [], []
    between = set(cut(topology, divide(topology, len(parts.machines)))) if parts else set()
    for counter, sender, receiver in directed(topology):
        if sender not in second or receiver not in second:
            raise RunError(
                f"torus {torus} has no interface {sender[0]}:{sender[1]}; run: railyard torus status {torus}"
            )
        sent: dict[str, Any] = {item.name: getattr(second[sender], item.name) for item in fields(Counts)}
        rate_mbit_s = second[sender].rate_byte_s * 8e-6
        links.append(replace(counter, rate_mbit_s=rate_mbit_s, bytes=second[sender].tx_bytes, **sent))
        seen = (first[sender], second[sender]), (first[receiver], second[receiver])
        if not _agree(*seen, on_one_machine=counter.name not in between):
            lost.append(f"{counter.name}: {first[sender].tx_bytes} bytes sent, {first[receiver].rx_bytes} received")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return CounterReading(
        torus=torus, topology=topology.sha256, taken=now, since=None, links=tuple(links), lost=tuple(lost)
    )


def _agree(sender: tuple[Interface, Interface], receiver: tuple[Interface, Interface], *, on_one_machine: bool) -> bool:
    """Return whether the counts of two ends fit together, each in two snapshots.

    The count of the end that was read between two readings of the other must lie between those. Two machines are not
    read at the same moment: ends there that no longer count must have counted the same.
    """
    if not on_one_machine:
        if sender[0].tx_bytes == sender[1].tx_bytes and receiver[0].rx_bytes == receiver[1].rx_bytes:
            return sender[0].tx_bytes == receiver[0].rx_bytes
        return receiver[0].rx_bytes <= sender[1].tx_bytes
    if sender[0].order < receiver[0].order:
        return sender[0].tx_bytes <= receiver[0].rx_bytes <= sender[1].tx_bytes
    return receiver[0].rx_bytes <= sender[0].tx_bytes <= receiver[1].rx_bytes


def difference(later: CounterReading, earlier: CounterReading) -> CounterReading:
    """Return what was counted between two readings of one torus; backlogs are those of the later one.

    Raises InputError if the readings are of two tori or topologies, or the earlier one is not earlier.
    """
    before = {link.name: link for link in earlier.links}
    if (later.topology, later.torus) != (earlier.topology, earlier.torus):
        raise InputError("--since", "torus", earlier.torus, f"a snapshot of {later.torus}, with its topology")
    missing = next((link.name for link in later.links if link.name not in before), None)
    if missing is not None:
        raise InputError("--since", "links", problem=f"no {missing}", valid=f"every link of {later.torus}")
    links = tuple(_since(link, before[link.name]) for link in later.links)
    if any(link.bytes < 0 for link in links):
        raise InputError("--since", "taken", earlier.taken, f"a snapshot taken since {later.torus} is up")
    return replace(later, since=earlier.taken, links=links)


def _since(later: LinkCounter, earlier: LinkCounter) -> LinkCounter:
    """Return the counters of a link between two readings; those that one reading lacks are the later one's."""
    routed = [name for name in ROUTED if None not in (getattr(later, name), getattr(earlier, name))]
    counts: dict[str, Any] = {name: getattr(later, name) - getattr(earlier, name) for name in (*COUNTED, *routed)}
    return replace(later, **counts)


def from_dict(document: Mapping[str, Any], source: str) -> CounterReading:
    """Return the reading of a document that `CounterReading.to_dict` made; InputError for any other document."""
    try:
        if document["format"] != FORMAT:
            raise InputError(source, "format", document["format"], FORMAT)
        links = tuple(LinkCounter(**{**link, "coordinate": tuple(link["coordinate"])}) for link in document["links"])
        for link, name in itertools.product(links, (*COUNTED, *ROUTED)):
            count, may_be_absent = getattr(link, name), name in ROUTED
            if type(count) is not int and not (may_be_absent and count is None):
                valid = "a whole number or null" if may_be_absent else "a whole number"
                raise InputError(source, f"{link.name}: {name}", repr(count), valid)
        return CounterReading(
            torus=document["torus"],
            topology=document["topology"],
            taken=document["taken"],
            since=document["since"],
            links=links,
            lost=tuple(document["lost"]),
        )
    except (KeyError, TypeError) as error:
        raise InputError(source, "", str(error), "what `railyard torus counters NAME --json` prints") from error


def directed(topology: Topology) -> Iterator[tuple[LinkCounter, End, End]]:
    """Yield every directed link with zero counts, its sending end and its receiving end."""
    for link in topology.links():
        direction = topology.direction(link)
        sender = topology.router_name(link.source), link.port
        receiver = topology.router_name(link.target), topology.reverse(link).port
        counter = LinkCounter(
            name=link.name,
            source=sender[0],
            target=receiver[0],
            coordinate=link.source.coordinate,
            rail=link.rail,
            dimension=direction[0],
            direction=direction[1],
            link_class=str(link.link_class),
        )
        yield counter, sender, receiver
    for node, rail in itertools.product(topology.nodes, range(topology.rails)):
        nic = node.name, f"nic{rail}"
        port = topology.router_name(Router(coordinate=node.coordinate, rail=rail)), f"h{node.slot}"
        for sign, sender, receiver in (("+", nic, port), ("-", port, nic)):
            counter = LinkCounter(
                name=_host_name(topology, node, rail, sign),
                source=sender[0],
                target=receiver[0],
                coordinate=node.coordinate,
                rail=rail,
                dimension="H",
                direction=sign,
                link_class="host",
            )
            yield counter, sender, receiver


def _host_name(topology: Topology, node: Node, rail: int, direction: str) -> str:
    """Return the name of the link from a node to its router (`direction` +) or back (-)."""
    router = topology.router_name(Router(coordinate=node.coordinate, rail=rail))
    ends = (node.name, router) if direction == "+" else (router, node.name)
    return f"H{direction} {'>'.join(ends)}" + (f"@{rail}" if rail else "")
