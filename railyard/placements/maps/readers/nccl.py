"""The dumps of NCCL and RCCL: the topology (NCCL_TOPO_DUMP_FILE) and the graphs (NCCL_GRAPH_DUMP_FILE).

Models: `cpu` is a NUMA domain, a `pci` inside another is below that bridge. Two devices are PIX apart below one bridge,
PXB below one of several, PHB in one domain, and SYS else, as NCCL's src/graph/topo.h names them. Files that vendors
ship for virtual machines have no `gpu` and `net`: there the PCI class decides. Leaves out nvlink, xgmi and their
weights.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from railyard.base.errors import InputError
from railyard.placements.maps.node_map import Device, MapReader, NodeMap

#: PCI classes: display controllers and accelerators; network controllers.
GPU_CLASSES, NIC_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200"), ("0x0200", "0x0207", "0x0280")
#: GB/s of a lane at a rate in GT/s, after the line code.
LANE_GBYTE_S = {2.5: 0.25, 5.0: 0.5, 8.0: 0.985, 16.0: 1.969, 32.0: 3.938, 64.0: 7.563}
#: The pattern of the graph of rings, the first in a dump.
RING = "0"


def _root(text: str, tag: str, source: str) -> ElementTree.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(source, "line 1", problem="has a DOCTYPE", valid="a dump of NCCL, which has none")
    begin, end = text.find(f"<{tag}"), text.rfind(f"</{tag}>")
    if end < 0:
        raise InputError(source, tag, problem=f"ends without </{tag}>", valid="a whole dump")
    try:
        return ElementTree.fromstring(text[begin : end + len(tag) + 3])
    except ElementTree.ParseError as error:
        raise InputError(source, f"line {error.position[0]}", problem=str(error), valid="XML") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A device, the numbers of the bridges above it from the domain downwards, and its order in the dump."""

    device: Device
    path: tuple[int, ...]
    is_gpu: bool
    number: int


def topology(text: str, node: str, source: str) -> NodeMap:
    """Return the map of a topology dump; GPUs and NICs are in the order of `dev`."""
    places: list[_Place] = []
    for number, cpu in enumerate(_root(text, "system", source).iter("cpu")):
        numa = _number(cpu, "numaid", source)
        places += _devices(cpu, (number,), numa, source)
    gpus, nics = ([p for p in places if p.is_gpu is wanted] for wanted in (True, False))
    gpus.sort(key=lambda place: place.number)
    nics.sort(key=lambda place: place.number)
    return NodeMap(
        node=node,
        source=source,
        kind="nccl-topology",
        gpus=tuple(gpu.device for gpu in gpus),
        nics=tuple(nic.device for nic in nics),
        distances={
            (gpu.device.name, nic.device.name): _distance(gpu.path, nic.path) for gpu in gpus for nic in nics
        },
        bridges={
            (gpu.device.name, nic.device.name): common(gpu.path, nic.path) for gpu in gpus for nic in nics
        },
    )


def _devices(
    part: ElementTree.Element, path: tuple[int, ...], numa: int | None, source: str
) -> Iterator[_Place]:
    """Yield the devices below a domain or bridge."""
    for index, child in enumerate(part):
        if child.tag == "pci":
            inner = (*path, index)
            yield from _devices(child, inner, numa, source)
            kind = child.get("class", "")[:6]
            if len(child) == 0 and kind in (*GPU_CLASSES, *NIC_CLASSES):
                address = _text(child, "busid", source)
                is_gpu = kind in GPU_CLASSES
                name = f"{'gpu' if is_gpu else 'nic'}-{address}"
                yield _place(name, child, path, numa, is_gpu=is_gpu, number=_serial(address))
        elif child.tag == "gpu":
            number = _number(child, "dev", source) or 0
            yield _place(f"gpu{number}", part, path[:-1], numa, is_gpu=True, number=number)
        elif child.tag == "nic":
            for net in child.iter("net"):
                number = _number(net, "dev", source) or 0
                rate = float(net.get("speed", "0") or 0) / 1000 or None
                name = _text(net, "name", source)
                yield _place(
                    name, part, path[:-1] or path, numa, is_gpu=False, number=number, rate_gbit_s=rate
                )


def _place(
    name: str,
    pci: ElementTree.Element,
    path: tuple[int, ...],
    numa: int | None,
    *,
    is_gpu: bool,
    number: int,
    rate_gbit_s: float | None = None,
) -> _Place:
    device = Device(
        name=name,
        numa=numa,
        address=pci.get("busid", ""),
        pcie_gbyte_s=_pcie(pci),
        rate_gbit_s=rate_gbit_s,
    )
    return _Place(device=device, path=path, is_gpu=is_gpu, number=number)


def _pcie(pci: ElementTree.Element) -> float | None:
    """Return the rate of a PCIe link; None where the dump does not know it, as in virtual machines."""
    speed = re.match(r"[\d.]+", pci.get("link_speed", ""))
    width = pci.get("link_width", "0")
    lane = LANE_GBYTE_S.get(float(speed[0])) if speed else None
    return lane * int(width) if lane and width.isdecimal() and int(width) else None


def _serial(address: str) -> int:
    return int(re.sub(r"[^0-9a-fA-F]", "", address) or "0", 16)


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many parts two paths have in common, from their beginning."""
    alike = (a == b for a, b in zip(one, other, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, alike))


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> str:
    """Return the distance of two devices by the bridges above them; the first number is the domain."""
    if one[:1] != other[:1]:
        return "SYS"
    if len(one) < 2 or len(other) < 2 or one[1] != other[1]:
        return "PHB"
    return "PIX" if one == other else "PXB"


def _text(part: ElementTree.Element, name: str, source: str) -> str:
    if name not in part.attrib:
        raise InputError(source, part.tag, problem=f"has no {name}", valid="a dump of NCCL, which has one")
    return str(part.attrib[name])


def _number(part: ElementTree.Element, name: str, source: str) -> int | None:
    text = part.get(name)
    if text is None or text == "-1":
        return None
    if not text.isdecimal():
        raise InputError(source, f"{part.tag}.{name}", text, "a number")
    return int(text)


def graphs(text: str, node: str, source: str) -> NodeMap:
    """Return which NIC each GPU of the rings sends and receives by; InputError for a dump without `net`."""
    ring = next((g for g in _root(text, "graphs", source).iter("graph") if g.get("id") == RING), None)
    if ring is None:
        raise InputError(source, "graphs", problem="no graph of rings (id 0)", valid="one graph with id 0")
    channels = list(ring.iter("channel"))
    if str(len(channels)) != ring.get("nchannels"):
        valid = f"nchannels: {ring.get('nchannels')}"
        raise InputError(source, "graph 0", f"{len(channels)} channels", valid)
    used: dict[str, list[str]] = {}
    for channel in channels:
        chain = [f"{part.tag}{_number(part, 'dev', source)}" for part in channel]
        if any(not re.fullmatch(r"(gpu|net)\d+", name) for name in chain):
            raise InputError(source, "graph 0", " ".join(chain), "channels of net and gpu")
        for net, gpu in ((chain[:1], chain[1:2]), (chain[-1:], chain[-2:-1])):
            if net[0].startswith("net") and gpu and gpu[0].startswith("gpu"):
                used.setdefault(gpu[0], []).append(net[0])
    if not used:
        valid = "a dump of a rank whose rings leave the node, see NCCL_GRAPH_DUMP_FILE_RANK"
        raise InputError(source, "graph 0", problem="no channel has a net", valid=valid)
    names = sorted({net for nets in used.values() for net in nets}, key=lambda name: int(name[3:]))
    gpus = sorted({p for c in channels for p in (f"gpu{g.get('dev')}" for g in c.iter("gpu"))})
    return NodeMap(
        node=node,
        source=source,
        kind="nccl-graphs",
        gpus=tuple(Device(name=name) for name in gpus),
        nics=tuple(Device(name=name) for name in names),
        used={gpu: tuple(dict.fromkeys(nets)) for gpu, nets in sorted(used.items())},
    )


READERS = (
    MapReader(
        name="nccl-topology",
        does="what NCCL_TOPO_DUMP_FILE writes, of NCCL or RCCL",
        matches=lambda text: re.search(r"<system\b", text) is not None,
        parse=topology,
    ),
    MapReader(
        name="nccl-graphs",
        does="what NCCL_GRAPH_DUMP_FILE writes",
        matches=lambda text: re.search(r"<graphs\b", text) is not None,
        parse=graphs,
    ),
)
