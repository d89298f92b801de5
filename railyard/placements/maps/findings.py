"""Find what is wrong with the maps of a job's nodes, and what differs from the bytes that the NICs counted. Pure.

Models: most nodes are right, so a node differs that is not as the largest number of others of the same kind of dump.
GPUs of a node are alike, so that one farther from its NIC than the others, or with a narrower PCIe link than its twin,
is a finding. Leaves out nodes that are all wrong in the same way, and rates of NICs that differ on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.placements.maps.node_map import DISTANCES, Device, NodeMap

#: A NIC below this share of an even one counts as idle, one above it as used.
USED_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong on a node, in a sentence without its name."""

    node: str
    kind: str
    text: str


def findings(maps: Sequence[NodeMap]) -> list[Finding]:
    """Return the findings of every node, then the nodes that differ from the others."""
    problems = [finding for node_map in maps for finding in _of_node(node_map)]
    by_kind: dict[str, list[NodeMap]] = {}
    for node_map in maps:
        by_kind.setdefault(node_map.kind, []).append(node_map)
    return problems + [finding for alike in by_kind.values() for finding in _different(alike)]


def _of_node(node_map: NodeMap) -> Iterator[Finding]:
    yield from _shared(node_map)
    yield from _far(node_map)
    for devices in (node_map.gpus, node_map.nics):
        yield from _narrow(node_map.node, devices)


def _shared(node_map: NodeMap) -> Iterator[Finding]:
    """Yield the NICs that serve more GPUs than an even share of those near to any."""
    near = {nic for gpu in node_map.gpus for nic in node_map.nearest(gpu.name)} | set(
        node_map.rails if node_map.used else ()
    )
    if not near or not node_map.assigned:
        return
    even = -(-len(node_map.assigned) // len(near))
    gpus: dict[str, list[str]] = {}
    for gpu, nics in node_map.assigned.items():
        for nic in nics:
            gpus.setdefault(nic, []).append(gpu)
    by_name = {nic.name: nic for nic in node_map.nics}
    idle = [nic for nic in node_map.nics if nic.name in near and nic.name not in gpus]
    fast = max((nic.rate_gbit_s or 0 for nic in node_map.nics), default=0)
    spare = [nic.name for nic in node_map.nics if nic.name not in gpus and (nic.rate_gbit_s or 0) >= fast > 0]
    for nic, served in gpus.items():
        if len(served) > even or (len(served) > 1 and (idle or spare) and not node_map.used):
            others = (
                f"; {', '.join([*(i.name for i in idle), *spare][:4])} serves none" if idle or spare else ""
            )
            assert nic in by_name
            yield Finding(
                node=node_map.node,
                kind="shared NIC",
                text=f"{nic} serves {', '.join(sorted(served))}{others}",
            )


def _far(node_map: NodeMap) -> Iterator[Finding]:
    """Yield the GPUs without a NIC in their NUMA domain, and those whose NIC is farther than most GPUs'."""
    best = {
        gpu.name: min(
            (node_map.distance(gpu.name, nic.name) for nic in node_map.nics), default=len(DISTANCES)
        )
        for gpu in node_map.gpus
        if any((gpu.name, nic.name) in node_map.distances for nic in node_map.nics)
    }
    if not best:
        return
    usual, far = Counter(best.values()).most_common(1)[0][0], DISTANCES.index("SYS")
    for gpu, distance in best.items():
        if distance >= far or distance > usual:
            name = DISTANCES[distance] if distance < len(DISTANCES) else "not known"
            others = f", of most GPUs {DISTANCES[usual]}" if usual < distance else ""
            yield Finding(
                node=node_map.node, kind="no near NIC", text=f"the nearest of {gpu} is {name}{others}"
            )


def _narrow(node: str, devices: Sequence[Device]) -> Iterator[Finding]:
    """Yield the devices whose PCIe link is slower than that of others with the same rate."""
    for device in devices:
        twins = [
            other.pcie_gbyte_s
            for other in devices
            if other.rate_gbit_s == device.rate_gbit_s and other.pcie_gbyte_s is not None
        ]
        if device.pcie_gbyte_s is not None and device.pcie_gbyte_s < max(twins):
            text = (
                f"PCIe of {device.name} has {device.pcie_gbyte_s:.3g} GB/s, of its twin {max(twins):.3g} GB/s"
            )
            yield Finding(node=node, kind="narrow PCIe", text=text)


def _different(maps: Sequence[NodeMap]) -> Iterator[Finding]:
    """Yield the nodes that are not as most; with as many of each kind, those unlike the first are named."""
    counts = Counter(map(_signature, maps))
    most = max(counts.values())
    usual = next(node_map for node_map in maps if counts[_signature(node_map)] == most)
    for node_map in maps:
        if _signature(node_map) != _signature(usual):
            parts = zip(_parts(node_map), _parts(usual), strict=True)
            first = next(((a, b) for (_, a), (_, b) in parts if a != b), ("", ""))
            here, there = (_shown(_only(side, other)) for side, other in (first, first[::-1]))
            text = f"has {here or 'nothing'} where {usual.node} has {there or 'nothing'}"
            yield Finding(node=node_map.node, kind="differs", text=text)


def _only(side: Sequence[Hashable], other: Sequence[Hashable]) -> list[Hashable]:
    return [item for item in side if item not in other]


def _shown(items: Sequence[Hashable]) -> str:
    texts = [
        " ".join(str(word) for word in item if word is not None) for item in items if isinstance(item, tuple)
    ]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def _parts(node_map: NodeMap) -> list[tuple[str, list[Hashable]]]:
    """Return what two nodes have to have in common: devices, then NICs of GPUs, then distances."""
    devices = [
        (device.name, device.numa, device.pcie_gbyte_s, device.rate_gbit_s)
        for device in (*node_map.gpus, *node_map.nics)
    ]
    distances = [(gpu, nic, name) for (gpu, nic), name in node_map.distances.items()]
    return [
        ("devices", list(devices)),
        ("nics", list(node_map.assigned.items()) if node_map.used else []),
        ("distances", list(distances)),
    ]


def _signature(node_map: NodeMap) -> Hashable:
    return tuple((name, tuple(items)) for name, items in _parts(node_map))


def against_bytes(maps: Sequence[NodeMap], sent: Mapping[tuple[str, str], float]) -> list[Finding]:
    """Return where the NICs that carried bytes are not those that GPUs get; nodes without counters are named."""
    return [finding for node_map in maps for finding in _against(node_map, sent)]


def _against(node_map: NodeMap, sent: Mapping[tuple[str, str], float]) -> Iterator[Finding]:
    own = {nic: size for (node, nic), size in sent.items() if node == node_map.node}
    names = {nic.name for nic in node_map.nics}
    if not own or names.isdisjoint(own):
        text = f"the counters have {', '.join(sorted(own)[:4]) or 'no NIC'}, the dump {', '.join(sorted(names)[:4])}"
        yield Finding(node=node_map.node, kind="not counted", text=text)
        return
    even = sum(own.values()) / max(1, len(node_map.rails))
    used = {nic for nic, size in own.items() if size > USED_SHARE * even}
    for gpu, nics in node_map.assigned.items():
        for nic in nics:
            if nic not in used:
                others = ", ".join(sorted(used)) or "none"
                text = f"the dump says {nic} for {gpu}, the counters say {others}"
                yield Finding(node=node_map.node, kind="bytes elsewhere", text=text)
    for nic in sorted(used - set(node_map.rails)):
        text = f"{nic} sent {own[nic] / 1e6:.4g} MB, and no GPU gets it"
        yield Finding(node=node_map.node, kind="bytes elsewhere", text=text)
