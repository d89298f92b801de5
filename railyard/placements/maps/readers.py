"""Read the dumps that show which GPU is near to which NIC, each by a function; `READERS` has a row for each form. Pure.

Models: a PCI path is the chain of bridges above a device. NCCL's dumps have one `pci` for a switch, hwloc and sysfs one
for each of its ports. Two devices are PIX apart below one switch, PXB below one of several, PHB below one host bridge
(in NCCL's dumps: one NUMA domain), NODE in one NUMA domain, and SYS else, as NCCL's src/graph/topo.h names them. Leaves
out links between GPUs. `rocm-smi` shows no NICs, UCX and libfabric show the NICs alone that they can use.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from railyard.base.errors import InputError, quoted
from railyard.base.host_names import natural
from railyard.placements.hosts.text import readable
from railyard.placements.maps.node_map import DISTANCES, Device, NodeMap

Element = ElementTree.Element
#: PCI classes: VGA, which on servers is rather their console's, and processors that compute; network controllers.
GPU_CLASSES, NIC_CLASSES = ("0300", "0302", "0380", "1200"), ("0200", "0207", "0280")
#: GB/s of a lane at a rate in GT/s, after the line code.
LANE_GBYTE_S = {2.5: 0.25, 5.0: 0.5, 8.0: 0.985, 16.0: 1.969, 32.0: 3.938, 64.0: 7.563}
ANSI = re.compile(r"\x1b\[[0-9;]*m")
COLUMN = re.compile(r"GPU\d+|NIC\d+|(mlx|bnxt|irdma|efa|cxi|roce|ib|rdmap|hfi)\w*")
CELL = re.compile(rf"X|NV\d+|SOC|{'|'.join(DISTANCES)}")
#: Transports and providers that use no NIC of the node's network; what they add to the name of a NIC.
INSIDE = re.compile(r"self|sysv|posix|cma|xpmem|knem|cuda.*|gdr_copy|rocm.*|ze_.*|shm|sm2")
ADDED = re.compile(r":\d+$|-(xrc|dgram|rdm)$")
#: The order among its like, whether it is a GPU, and the device.
Numbered = tuple[int, bool, Device]


@dataclass(frozen=True, slots=True)
class Reader:
    """A form of dump: a text of it has a line that `begins` matches, and `parse` returns its map."""

    name: str
    does: str
    begins: str
    parse: Callable[[str], NodeMap]


class WrongError(Exception):
    """The field of a dump that is wrong, what is wrong with it, and what is valid."""


def read(path: Path, node: str) -> NodeMap:
    """Return the map in a file; InputError, in one line, for a file of no known form or with a part missing."""
    return parse(readable(path), node, str(path))


def parse(text: str, node: str, source: str) -> NodeMap:
    """Return the map in a text, as `read` does."""
    plain = ANSI.sub("", text)
    try:
        reader = next((r for r in READERS if re.search(r.begins, plain, re.MULTILINE)), None)
        if reader is None:
            first = next((line.strip() for line in text.splitlines() if line.strip()), "")
            valid = "; ".join(f"{reader.name}, {reader.does}" for reader in READERS)
            unknown = f"begins with {quoted(first)}, which no reader of maps does" if first else "it is empty"
            raise WrongError("line 1", unknown, valid)
        read_map = reader.parse(plain)
        names = [device.name for device in (*read_map.gpus, *read_map.nics)]
        _check(bool(names), reader.name, "no GPU and no NIC", "one at least")
        twice = next((name for name in names if names.count(name) > 1), "")
        _check(not twice, reader.name, f"{twice} is there twice", "each device once")
    except WrongError as error:
        place, problem, valid = error.args
        raise InputError(source, place, problem=problem, valid=valid) from error
    except (ValueError, RecursionError) as error:
        raise InputError(source, "", problem=f"cannot be read ({error})", valid="a whole dump") from error
    return dataclasses.replace(read_map, node=read_map.node or node, kind=reader.name)


def _check(right: bool, place: str, problem: str, valid: str) -> None:
    if not right:
        raise WrongError(place, problem, valid)


# XML.


def _root(text: str, tag: str) -> Element:
    _check("<!ENTITY" not in text, "line 1", "has an ENTITY", "a dump, which has none")
    begin, end = text.find(f"<{tag}"), text.rfind(f"</{tag}>")
    _check(end >= 0, tag, f"ends without </{tag}>", "a whole dump")
    try:
        return ElementTree.fromstring(text[begin : end + len(tag) + 3])
    except ElementTree.ParseError as error:
        raise WrongError(f"line {error.position[0]}", str(error), "XML") from error


def _attribute(part: Element, name: str, pattern: str) -> str:
    text = part.get(name)
    _check(text is not None, part.tag, f"has no {name}", "a dump, which has one")
    _check(re.fullmatch(pattern, str(text)) is not None, f"{part.tag}.{name}", str(text), "a number or name")
    return str(text)


def _sorted(devices: Iterator[Numbered]) -> NodeMap:
    """Return GPUs and NICs, each by their numbers."""
    in_order = sorted(devices, key=lambda entry: entry[0])
    gpus, nics = (tuple(d for _, is_gpu, d in in_order if is_gpu is wanted) for wanted in (True, False))
    return NodeMap(gpus=gpus, nics=nics)


def nccl(text: str) -> NodeMap:
    """Return the map of a topology dump of NCCL; GPUs and NICs are in the order of `dev`."""
    domains = enumerate(_root(text, "system").iter("cpu"))
    return _sorted(itertools.chain.from_iterable(_below(cpu, (f"cpu{k}",), cpu) for k, cpu in domains))


def _below(part: Element, path: tuple[str, ...], cpu: Element) -> Iterator[Numbered]:
    """Yield the devices below a domain or bridge; files for virtual machines have addresses and classes alone."""
    numa = int(_attribute(cpu, "numaid", r"-?\d+"))
    of = partial(Device, numa=numa if numa >= 0 else None, path=path[:-1] or path, pcie_gbyte_s=_pcie(part))
    for index, child in enumerate(part):
        if child.tag == "pci":
            yield from _below(child, (*path, str(index)), cpu)
        elif child.tag == "gpu":
            number = int(_attribute(child, "dev", r"\d+"))
            yield number, True, of(name=f"gpu{number}")
        for net in child.iter("net") if child.tag == "nic" else ():
            rate = float(net.get("speed") or 0) / 1000 or None
            number, port = int(_attribute(net, "dev", r"\d+")), net.get("port", "1")
            name = _attribute(net, "name", r"\S+") + (f":{port}" if port not in {"0", "1"} else "")
            yield number, False, of(name=name, rate_gbit_s=rate)
    kind = part.get("class", "")[2:6]
    if part.tag == "pci" and len(part) == 0 and kind in (*GPU_CLASSES, *NIC_CLASSES):
        address, is_gpu = _attribute(part, "busid", r"[0-9a-fA-F:.]+"), kind in GPU_CLASSES
        device = of(name=f"{'gpu' if is_gpu else 'nic'}-{address}")
        yield int(re.sub(r"[:.]", "", address), 16), is_gpu, device


def _pcie(part: Element) -> float | None:
    """Return the rate of a PCIe link; None where the dump does not show it, as in virtual machines."""
    speed, width = re.match(r"[\d.]+", part.get("link_speed", "")), part.get("link_width", "0")
    lane = LANE_GBYTE_S.get(float(speed[0])) if speed else None
    return lane * int(width) if lane and width.isdecimal() and int(width) else None


def graphs(text: str) -> NodeMap:
    """Return which NIC each GPU of the rings (the first graph, 0) sends and receives by."""
    ring = next((graph for graph in _root(text, "graphs").iter("graph") if graph.get("id") == "0"), None)
    channels = [] if ring is None else list(ring.iter("channel"))
    wanted = "0" if ring is None else ring.get("nchannels")
    _check(str(len(channels)) == wanted, "graph 0", f"{len(channels)} channels", f"nchannels: {wanted}")
    used = dict[str, list[str]]()
    for channel in channels:
        chain = [part.tag + _attribute(part, "dev", r"\d+") for part in channel]
        for net, gpu in (chain[:2], chain[:-3:-1]) if len(chain) > 1 else ():
            if net.startswith("net") and gpu.startswith("gpu"):
                used.setdefault(gpu, []).append(net)
    valid = "a dump of a rank whose rings leave the node, see NCCL_GRAPH_DUMP_FILE_RANK"
    _check(bool(used), "graph 0", "no channel has a net", valid)
    gpus = {f"gpu{gpu.get('dev')}" for channel in channels for gpu in channel.iter("gpu")}
    nets = {net for nets in used.values() for net in nets}
    return NodeMap(
        gpus=tuple(Device(name=name) for name in sorted(gpus, key=natural)),
        nics=tuple(Device(name=name) for name in sorted(nets, key=natural)),
        used={gpu: tuple(dict.fromkeys(used[gpu])) for gpu in sorted(used, key=natural)},
    )


def hwloc(text: str) -> NodeMap:
    """Return the map of what lstopo writes; GPUs are in the order of their PCI addresses."""
    return _sorted(_objects(_root(text, "topology"), (), None))


def _objects(part: Element, path: tuple[str, ...], numa: int | None) -> Iterator[Numbered]:
    """Yield the PCI devices below an object; `numa` is the only domain of the nearest object with a nodeset."""
    for child in part.findall("object"):
        words = child.get("nodeset", "").split(",")
        domains = int("0" + "".join(f"{word.removeprefix('0x'):0>8}" for word in words), 16)
        own = domains.bit_length() - 1 if domains.bit_count() == 1 else None if domains else numa
        bus = (child.get("pci_busid") or child.get("bridge_pci", ""),) if child.get("type") == "Bridge" else ()
        yield from _objects(child, (*path, *bus), own)
        if child.get("type") != "PCIDev":
            continue
        kind = _attribute(child, "pci_type", r"\w{4} .*")[:4]
        address, is_gpu = _attribute(child, "pci_busid", r"[\w:.]+"), kind in GPU_CLASSES[1:]
        if is_gpu or kind in NIC_CLASSES:
            name = f"gpu-{address}" if is_gpu else _of_system(child) or f"nic-{address}"
            rate = float(child.get("pci_link_speed") or 0) or None
            device = Device(name=name, numa=own, path=path[:-1] or path, pcie_gbyte_s=rate)
            yield int(re.sub(r"[:.]", "", address), 16), is_gpu, device


def _of_system(part: Element) -> str:
    """Return the name of a NIC: that of its RDMA device (type 3, a bit of 32 since hwloc 3) before its interface's."""
    named = [(int(o.get("osdev_type", "0")), o.get("name", "")) for o in part.findall("object")]
    return next((name for of, name in named if of == 3 or of & 32), next((name for _, name in named), ""))


# JSON, matrices and lists.


def node_info(text: str) -> NodeMap:
    """Return the map of a node's own description. An interface of an RDMA device is not a NIC of its own."""
    try:
        document = json.loads(text)
        gpus, nics = ([_described(d) for d in document.get(kind, [])] for kind in ("gpus", "nics"))
        places = [str(d.get("pci", "")) or number for number, d in enumerate(document.get("nics", []))]
        return NodeMap(
            node=str(document.get("host") or ""),
            gpus=tuple(dataclasses.replace(gpu, name=f"gpu{k}") for k, gpu in enumerate(gpus)),
            nics=tuple(nic for k, nic in enumerate(nics) if places.index(places[k]) == k),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WrongError("", f"not a node's description ({error})", "railyard node-info") from error


def _described(device: dict[str, Any]) -> Device:
    numa, path = int(device["numa"]), tuple(str(device.get("pci", "")).split("/")[:-1])
    return Device(name=str(device["name"]), numa=numa if numa >= 0 else None, path=path[:-1] or path)


def nvidia(text: str) -> NodeMap:
    """Return the map of a matrix; no row or cell may be missing, or contradict another."""
    lines = [line.split() for line in text.splitlines()]
    start = next(number for number, words in enumerate(lines) if words[:1] == ["GPU0"])
    columns = list(itertools.takewhile(COLUMN.fullmatch, lines[start]))
    rows = dict[str, list[str]]()
    for number, (name, *cells) in enumerate(filter(None, lines[start + 1 :]), start=start + 2):
        if name in columns:
            own = cells[: len(columns)]
            right = len(own) == len(columns) and all(map(CELL.fullmatch, own)) and name not in rows
            valid = f"one row of {len(columns)} of X, NV#, {', '.join(DISTANCES)}"
            _check(right, f"line {number}", quoted(" ".join([name, *own])), valid)
            rows[name] = cells
    lacking = [name for name in columns if name not in rows]
    _check(not lacking, "matrix", f"no row of {', '.join(lacking[:4])}", "a row per column")
    for (at, one), (to, other) in itertools.product(enumerate(columns), repeat=2):
        there, back = rows[one][to], rows[other][at]
        problem = f"{one} to {other} is {there}, {other} to {one} is {back}"
        right = there == back and (there == "X") == (at == to)
        _check(right, "matrix", problem, "one distance both ways, X on itself")
    legend = dict(re.findall(r"^\s*(NIC\d+):\s*(\S+)\s*$", text, re.MULTILINE))
    gpus = [name for name in columns if name.startswith("GPU")]
    nics = {at: legend.get(name, name) for at, name in enumerate(columns) if name not in gpus}
    # After the cells: the CPUs, then the NUMA domain.
    numa = {gpu: "".join(rows[gpu][len(columns) + 1 :][:1]) for gpu in gpus}
    return NodeMap(
        gpus=tuple(Device(name=gpu.lower(), numa=int(numa[gpu]) if numa[gpu].isdecimal() else None) for gpu in gpus),
        nics=tuple(Device(name=name) for name in nics.values()),
        matrix={
            (gpu.lower(), name): rows[gpu][at] if rows[gpu][at] in DISTANCES else "SYS"
            for gpu in gpus
            for at, name in nics.items()
        },
    )


def rocm(text: str) -> NodeMap:
    """Return the GPUs and their NUMA domains; matrices and domains have to have the same GPUs."""
    domains = re.findall(r"GPU\[(\d+)\]\s*:\s*\(Topology\) Numa Node:\s*(-?\d+)", text)
    rows = re.findall(r"^GPU(\d+)\s+\S", text, re.MULTILINE)
    numa = {int(gpu): int(domain) for gpu, domain in domains}
    right = numa and {*map(int, rows)} <= {*numa} and len({rows.count(str(gpu)) for gpu in numa}) == 1
    problem = f"matrices of {len({*rows})} GPUs, NUMA nodes of {len(numa)}"
    _check(bool(right), "Numa Nodes", problem, "the whole output of rocm-smi --showtopo")
    return NodeMap(gpus=tuple(Device(name=f"gpu{k}", numa=at if at >= 0 else None) for k, at in sorted(numa.items())))


def listed(text: str, device: str) -> NodeMap:
    """Return the NICs that a library lists; `device` matches what it uses and the name of a device."""
    names = [name for of, name in re.findall(device, text, re.MULTILINE) if not INSIDE.fullmatch(of)]
    return NodeMap(nics=tuple(Device(name=name) for name in dict.fromkeys(ADDED.sub("", n) for n in names)))


UCX = r"^#\s+Transport: (\S+)\s*\n#\s+Device: (\S+)"
OFI = r"^provider: (\S+)\n(?: +.*\n)*? +domain: (\S+)"
READERS = (
    Reader("nccl-topology", "what NCCL_TOPO_DUMP_FILE writes, of NCCL or RCCL", r"<system\b", nccl),
    Reader("nccl-graphs", "what NCCL_GRAPH_DUMP_FILE writes", r"<graphs\b", graphs),
    Reader("hwloc", "what lstopo FILE.xml writes", r"<topology\b", hwloc),
    Reader("node-info", "the output of railyard node-info", r"\A\s*\{", node_info),
    Reader("rocm-smi", "the output of rocm-smi --showtopo", r"Weight between two GPUs|\(Topology\) Numa", rocm),
    Reader("nvidia-smi", "the output of nvidia-smi topo -m", r"^\s*GPU0\s+\S", nvidia),
    Reader("ucx_info", "the output of ucx_info -d", r"^#\s+Transport: ", partial(listed, device=UCX)),
    Reader("fi_info", "the output of fi_info", r"^provider: ", partial(listed, device=OFI)),
)
