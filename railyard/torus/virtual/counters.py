"""What the kernel has counted on a virtual torus: per directed link and NIC, and whether both ends agree.

A link's numbers are its sender's: bytes with their 14 bytes of Ethernet header, packets, drops, the backlog that waits
now, how often the shaper made a packet wait (`throttled`), and on the network `router` how long packets stalled. `read`
takes two snapshots, because no two ends are read at the same moment: what was received must lie between what had been
sent before and what had been sent after, or bytes were lost or made up.

Leaves out the management network. The format is docs/formats.md, "Counters".
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from placements.topology.base import Node, Router, Topology
from railyard.base.checkout import BUILD
from railyard.base.errors import InputError, RunError

FORMAT = "railyard-counters/1"
PROGRAM = BUILD / "bin/railyard-counters"
COUNTED = ("bytes", "packets", "drops", "throttled")
#: Times that the user-space router alone counts; None on the network `kernel`.
STALLS = ("input_stall_ns", "output_stall_ns")

End = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One interface of one host; `order` is its place in the sweep that read it."""

    order: int
    rx_bytes: int
    tx_bytes: int
    packets: int
    drops: int
    rate_byte_s: int
    throttled: int
    backlog_bytes: int
    backlog_packets: int
    input_stall_ns: int | None = None
    output_stall_ns: int | None = None


Snapshot = Mapping[End, Interface]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounter:
    """One directed link of the torus, or of a node with its router (`dimension` H, out of the node +).

    `input_stall_ns` is how long packets that had arrived by the link waited for their next link, `output_stall_ns` how
    long the link was idle although packets waited for it, because the buffer at its far end was full. Both are None on
    the network `kernel`, whose routers have no finite buffers.
    """

    name: str
    source: str
    target: str
    coordinate: tuple[int, ...]
    rail: int
    dimension: str
    direction: str
    link_class: str
    rate_mbit_s: float
    bytes: int
    packets: int
    drops: int
    throttled: int
    backlog_bytes: int
    backlog_packets: int
    input_stall_ns: int | None = None
    output_stall_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterReading:
    """All links at one moment, or what they counted between two."""

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
        return {"format": FORMAT, **asdict(self), "conserved": self.conserved}

    def nics(self, topology: Topology) -> Iterator[dict[str, Any]]:
        """The bytes of every NIC, both ways, as in a record's launch."""
        by_name = {link.name: link for link in self.links}
        for node in topology.nodes:
            for rail in range(topology.rails):
                out, back = (by_name[_host_name(topology, node, rail, way)] for way in "+-")
                yield {
                    "node": node.name,
                    "nic": f"nic{rail}",
                    "tx_bytes": out.bytes,
                    "rx_bytes": back.bytes,
                }


def read(torus: str, topology: Topology) -> CounterReading:
    """The counters of a torus. RunError when the kernel does not tell, or the torus is not what its plan says."""
    first, second = _snapshots(torus)
    return reading(torus, topology, first, second)


def snapshot(torus: str) -> Snapshot:
    """Return what each interface of a torus has counted. RunError when nobody tells."""
    return _snapshots(torus)[1]


def _snapshots(torus: str) -> list[Snapshot]:
    if not PROGRAM.is_file():
        raise RunError(f"{PROGRAM} is not built; run `make setup`")
    done = subprocess.run([PROGRAM, torus], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(done.stderr.strip())
    return parse(done.stdout.splitlines())


def parse(lines: Iterable[str]) -> list[Snapshot]:
    """Return the snapshots in the output of railyard-counters (native/counters/counters.c); skip other lines."""
    snapshots: list[Snapshot] = []
    links: dict[End, list[int]] = {}
    found: dict[End, Interface] = {}
    for line in lines:
        kind, *words = line.split()
        if kind == "i":
            links[words[0], words[1]] = [int(word) for word in words[2:]]
        elif kind == "q":
            end = words[0], words[1]
            found[end] = _interface(len(found), links[end], [int(word) for word in words[2:]])
        elif kind == "s":
            end = words[0], words[1]
            found[end] = replace(found[end], **dict(zip(STALLS, map(int, words[2:4]), strict=True)))
        elif kind == ".":
            snapshots.append(found)
            found = {}
    return snapshots


def _interface(order: int, link: list[int], queue: list[int]) -> Interface:
    rx_bytes, _, rx_dropped, tx_bytes, _, tx_dropped = link
    rate, _, packets, drops, throttled, backlog_bytes, backlog_packets = queue
    return Interface(
        order=order,
        rx_bytes=rx_bytes,
        tx_bytes=tx_bytes,
        packets=packets,
        drops=drops + rx_dropped + tx_dropped,
        rate_byte_s=rate,
        throttled=throttled,
        backlog_bytes=backlog_bytes,
        backlog_packets=backlog_packets,
    )


def reading(torus: str, topology: Topology, first: Snapshot, second: Snapshot) -> CounterReading:
    """The links of a topology in two snapshots, taken one straight after the other."""
    links, lost = [], []
    for counter, near, far in _directed(topology):
        if near not in second or far not in second:
            raise RunError(
                f"torus {torus} has no interface {near[0]}:{near[1]}; `railyard torus status` says more"
            )
        links.append(_filled(counter, second[near]))
        if not _agree((first[near], second[near]), (first[far], second[far])):
            sent, received = first[near].tx_bytes, first[far].rx_bytes
            lost.append(f"{counter.name}: {sent} bytes sent, {received} received")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return CounterReading(
        torus=torus, topology=topology.sha256, taken=now, since=None, links=tuple(links), lost=tuple(lost)
    )


def _agree(near: tuple[Interface, Interface], far: tuple[Interface, Interface]) -> bool:
    """Whichever end was read between two readings of the other must lie between them."""
    if near[0].order < far[0].order:
        return near[0].tx_bytes <= far[0].rx_bytes <= near[1].tx_bytes
    return far[0].rx_bytes <= near[0].tx_bytes <= far[1].rx_bytes


def difference(later: CounterReading, earlier: CounterReading) -> CounterReading:
    """What was counted between two readings of one torus; backlogs are the later's. InputError for unlike readings."""
    before = {link.name: link for link in earlier.links}
    if (later.topology, later.torus) != (earlier.topology, earlier.torus):
        raise InputError("--since", "torus", earlier.torus, f"a snapshot of {later.torus}, with its topology")
    missing = next((link.name for link in later.links if link.name not in before), None)
    if missing is not None:
        raise InputError("--since", "links", problem=f"no {missing}", valid=f"every link of {later.torus}")
    links = tuple(replace(link, **_counted_since(link, before[link.name])) for link in later.links)
    if any(link.bytes < 0 for link in links):
        raise InputError("--since", "taken", earlier.taken, f"a snapshot taken since {later.torus} is up")
    return replace(later, since=earlier.taken, links=links)


def _counted_since(later: LinkCounter, earlier: LinkCounter) -> dict[str, Any]:
    """Return what a link counted between two readings; a stall that one of them lacks stays as the later has it."""
    stalls = [name for name in STALLS if None not in (getattr(later, name), getattr(earlier, name))]
    return {name: getattr(later, name) - getattr(earlier, name) for name in (*COUNTED, *stalls)}


def from_dict(document: Mapping[str, Any], source: str) -> CounterReading:
    """Return what `CounterReading.to_dict` wrote; InputError when it is something else."""
    try:
        if document["format"] != FORMAT:
            raise InputError(source, "format", document["format"], FORMAT)
        links = tuple(
            LinkCounter(**{**link, "coordinate": tuple(link["coordinate"])}) for link in document["links"]
        )
        for link, name in itertools.product(links, COUNTED):
            if type(getattr(link, name)) is not int:
                raise InputError(source, f"{link.name}: {name}", repr(getattr(link, name)), "a whole number")
        for link, name in itertools.product(links, STALLS):
            if type(getattr(link, name)) not in (int, type(None)):
                raise InputError(
                    source, f"{link.name}: {name}", repr(getattr(link, name)), "a whole number or null"
                )
        return CounterReading(
            torus=document["torus"],
            topology=document["topology"],
            taken=document["taken"],
            since=document["since"],
            links=links,
            lost=tuple(document["lost"]),
        )
    except (KeyError, TypeError) as error:
        raise InputError(
            source, "", str(error), "what `railyard torus counters NAME --json` prints"
        ) from error


def _filled(counter: LinkCounter, interface: Interface) -> LinkCounter:
    return replace(
        counter,
        rate_mbit_s=interface.rate_byte_s * 8e-6,
        bytes=interface.tx_bytes,
        packets=interface.packets,
        drops=interface.drops,
        throttled=interface.throttled,
        backlog_bytes=interface.backlog_bytes,
        backlog_packets=interface.backlog_packets,
        input_stall_ns=interface.input_stall_ns,
        output_stall_ns=interface.output_stall_ns,
    )


def _directed(topology: Topology) -> Iterator[tuple[LinkCounter, End, End]]:
    """Every directed link with nothing counted, where it is sent and where it is received."""
    for link in topology.links():
        near = topology.router_name(link.source), link.port
        far = topology.router_name(link.target), topology.reverse(link).port
        yield (
            _empty(
                link.name,
                near,
                far,
                router=link.source,
                way=topology.direction(link),
                link_class=str(link.link_class),
            ),
            near,
            far,
        )
    for node in topology.nodes:
        for rail in range(topology.rails):
            router = Router(coordinate=node.coordinate, rail=rail)
            out = node.name, f"nic{rail}"
            back = topology.router_name(router), f"h{node.slot}"
            for way, near, far in (("+", out, back), ("-", back, out)):
                name = _host_name(topology, node, rail, way)
                yield _empty(name, near, far, router=router, way=f"H{way}", link_class="host"), near, far


def names(topology: Topology) -> Mapping[End, str]:
    """Return the name of each directed link by the end that sends."""
    return {near: counter.name for counter, near, _ in _directed(topology)}


def _host_name(topology: Topology, node: Node, rail: int, way: str) -> str:
    router = topology.router_name(Router(coordinate=node.coordinate, rail=rail))
    ends = (node.name, router) if way == "+" else (router, node.name)
    return f"H{way} {'>'.join(ends)}" + (f"@{rail}" if rail else "")


def _empty(name: str, near: End, far: End, *, router: Router, way: str, link_class: str) -> LinkCounter:
    return LinkCounter(
        name=name,
        source=near[0],
        target=far[0],
        coordinate=router.coordinate,
        rail=router.rail,
        dimension=way[0],
        direction=way[1],
        link_class=link_class,
        rate_mbit_s=0.0,
        bytes=0,
        packets=0,
        drops=0,
        throttled=0,
        backlog_bytes=0,
        backlog_packets=0,
    )
