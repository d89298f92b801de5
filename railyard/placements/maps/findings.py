"""Find what is wrong with the maps of a job's nodes, and what differs from the bytes that the NICs counted. Pure.

Models: most nodes are right, so a node differs that is not as the largest number of others of the same kind of dump.
GPUs of a node are alike, so that one farther from its NIC than the others, or with a narrower PCIe link than its twin,
is a finding. Leaves out nodes that are all wrong in the same way, and rates of NICs that differ on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.placements.maps.node_map import DISTANCES, NodeMap

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
    rules = {"shared NIC": _shared, "no near NIC": _far, "narrow PCIe": _narrow}
    problems = [
        Finding(node=node_map.node, kind=kind, text=text)
        for node_map in maps
        for kind, rule in rules.items()
        for text in rule(node_map)
    ]
    for kind in dict.fromkeys(node_map.kind for node_map in maps):
        problems += _different([node_map for node_map in maps if node_map.kind == kind])
    return problems


def _shared(node_map: NodeMap) -> Iterator[str]:
    """Yield the NICs that serve more GPUs than an even share of those near to any, or several while others idle."""
    served = dict[str, list[str]]()
    for gpu, nics in node_map.assigned.items():
        for nic in nics:
            served.setdefault(nic, []).append(gpu)
    near = {*served}.union(*node_map.near.values())
    fastest = max((nic.rate_gbit_s or 0 for nic in node_map.nics), default=0)
    fast = {nic.name for nic in node_map.nics if (nic.rate_gbit_s or 0) == fastest > 0}
    idle = [nic.name for nic in node_map.nics if nic.name in near | fast and nic.name not in served]
    others = f"; {', '.join(idle[:4])} serves none" if idle else ""
    for nic, gpus in served.items():
        beyond = len(gpus) * len(near) >= len(node_map.assigned) + len(near)
        if beyond or (len(gpus) > 1 and idle and not node_map.used):
            yield f"{nic} serves {', '.join(sorted(gpus))}{others}"


def _far(node_map: NodeMap) -> Iterator[str]:
    """Yield the GPUs without a NIC in their NUMA domain, and those whose NIC is farther than most GPUs'."""
    best = {gpu: min(node_map.farness(gpu, nic) for nic in node_map.near[gpu]) for gpu in node_map.near}
    usual, far = Counter(best.values()).most_common(1)[0][0] if best else 0, DISTANCES.index("SYS")
    for gpu, distance in best.items():
        if distance >= far or distance > usual:
            others = f", of most GPUs {DISTANCES[usual]}" if usual < distance else ""
            yield f"the nearest of {gpu} is {DISTANCES[distance]}{others}"


def _narrow(node_map: NodeMap) -> Iterator[str]:
    """Yield the devices whose PCIe link is slower than that of others with the same rate."""
    for devices in (node_map.gpus, node_map.nics):
        for device in devices:
            rates = [d.pcie_gbyte_s or 0 for d in devices if d.rate_gbit_s == device.rate_gbit_s]
            if device.pcie_gbyte_s is not None and device.pcie_gbyte_s < max(rates):
                rate = f"{device.pcie_gbyte_s:.3g} GB/s, of its twin {max(rates):.3g} GB/s"
                yield f"PCIe of {device.name} has {rate}"


def _different(maps: Sequence[NodeMap]) -> Iterator[Finding]:
    """Yield the nodes that are not as most; with as many of each kind, those unlike the first are named."""
    parts = [_parts(node_map) for node_map in maps]
    usual = Counter(parts).most_common(1)[0][0]
    like = maps[parts.index(usual)].node
    for node_map, own in zip(maps, parts, strict=True):
        if own != usual:
            one, other = next(pair for pair in zip(own, usual, strict=True) if pair[0] != pair[1])
            here, there = _only(one, other), _only(other, one)
            text = f"has {here or 'nothing'} where {like} has {there or 'nothing'}"
            yield Finding(node=node_map.node, kind="differs", text=text)


def _parts(node_map: NodeMap) -> tuple[tuple[str, ...], ...]:
    """Return what two nodes have to have in common, in words: devices, then NICs of GPUs, then distances."""
    devices = (
        (d.name, f"NUMA {d.numa}", d.pcie_gbyte_s and f"PCIe {d.pcie_gbyte_s:.3g} GB/s", d.rate_gbit_s)
        for d in (*node_map.gpus, *node_map.nics)
    )
    assigned = ((gpu, *nics) for gpu, nics in node_map.used.items())
    distances = ((gpu, nic, distance) for (gpu, nic), distance in node_map.distances.items())
    parts = (devices, assigned, distances)
    return tuple(tuple(" ".join(str(word) for word in row if word) for row in part) for part in parts)


def _only(side: Sequence[str], other: Sequence[str]) -> str:
    texts = [text for text in side if text not in other]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def against_bytes(maps: Sequence[NodeMap], sent: Mapping[tuple[str, str], float]) -> list[Finding]:
    """Return where the NICs that carried bytes are not those that GPUs get; nodes without counters are named."""
    problems = list[Finding]()
    for node_map in maps:
        own = {nic: size for (node, nic), size in sent.items() if node == node_map.node}
        names = {nic.name for nic in node_map.nics}
        if names.isdisjoint(own):
            counted = ", ".join(sorted(own)[:4]) or "no NIC"
            text = f"the counters have {counted}, the dump {', '.join(sorted(names)[:4])}"
            problems.append(Finding(node=node_map.node, kind="not counted", text=text))
            continue
        even = sum(own.values()) / max(1, len(node_map.rails))
        used = {nic for nic, size in own.items() if size > USED_SHARE * even}
        counted = ", ".join(sorted(used)) or "none"
        unused = [(nic, gpu) for gpu, nics in node_map.assigned.items() for nic in nics if nic not in used]
        texts = [f"the dump says {nic} for {gpu}, the counters say {counted}" for nic, gpu in unused]
        texts += [f"{nic} sent {own[nic] / 1e6:.4g} MB, and no GPU gets it" for nic in sorted(used - {*node_map.rails})]
        problems += (Finding(node=node_map.node, kind="bytes elsewhere", text=text) for text in texts)
    return problems
