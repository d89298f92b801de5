"""What lists devices: `railyard node-info` (from sysfs), `ucx_info -d`, and `fi_info`.

The PCI path of a device is the chain of bridges above it, so node-info has distances like a topology dump of NCCL. UCX
and libfabric list the NICs alone that they can use.
"""

from __future__ import annotations

import json
import re

from railyard.base.errors import InputError
from railyard.placements.maps.node_map import Device, MapReader, NodeMap
from railyard.placements.maps.readers.nccl import common

_UCX = re.compile(r"^#\s+Transport: (\S+)\s*\n#\s+Device: (\S+)", re.MULTILINE)
_OFI = re.compile(r"^provider: (\S+)\n(?: +.*\n)*? +domain: (\S+)", re.MULTILINE)
#: Transports and providers that use no NIC of the node's network.
_INSIDE = re.compile(r"self|sysv|posix|cma|xpmem|knem|cuda.*|gdr_copy|rocm.*|ze_.*|shm|sm2")


def sysfs(text: str, node: str, source: str) -> NodeMap:
    """Return the map of a node's own description."""
    try:
        document = json.loads(text)
        gpus, nics = (
            [(str(d["name"]), int(d["numa"]), str(d.get("pci", ""))) for d in document.get(kind, [])]
            for kind in ("gpus", "nics")
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            source, "", problem=f"not a node's description ({error})", valid="railyard node-info"
        ) from error
    return NodeMap(
        node=str(document.get("host") or node),
        source=source,
        kind="node-info",
        gpus=tuple(_device(f"gpu{number}", gpu) for number, gpu in enumerate(gpus)),
        nics=tuple(_device(nic[0], nic) for nic in nics),
        distances={
            (f"gpu{number}", nic[0]): _distance(gpu, nic) for number, gpu in enumerate(gpus) for nic in nics
        },
        bridges={
            (f"gpu{number}", nic[0]): common(gpu[2].split("/"), nic[2].split("/"))
            for number, gpu in enumerate(gpus)
            for nic in nics
        },
    )


def _device(name: str, entry: tuple[str, int, str]) -> Device:
    return Device(name=name, numa=entry[1] if entry[1] >= 0 else None, address=entry[2].rpartition("/")[2])


def _distance(one: tuple[str, int, str], other: tuple[str, int, str]) -> str:
    """Return the distance by the bridges that both PCI paths have; the first part of a path is the host bridge."""
    paths = [[part for part in entry[2].split("/") if part][:-1] for entry in (one, other)]
    if one[1] != other[1] or min(one[1], other[1]) < 0:
        return "SYS"
    if not all(paths) or paths[0][0] != paths[1][0]:
        return "NODE"
    if len(paths[0]) < 2 or len(paths[1]) < 2 or paths[0][1] != paths[1][1]:
        return "PHB"
    return "PIX" if paths[0][:-1] == paths[1][:-1] else "PXB"


def ucx(text: str, node: str, source: str) -> NodeMap:
    """Return the NICs that UCX lists."""
    devices = [device for transport, device in _UCX.findall(text) if not _INSIDE.fullmatch(transport)]
    return _listed(devices, node, source, "ucx_info")


def ofi(text: str, node: str, source: str) -> NodeMap:
    """Return the NICs that libfabric lists."""
    devices = [domain for provider, domain in _OFI.findall(text) if not _INSIDE.fullmatch(provider)]
    return _listed(devices, node, source, "fi_info")


def _listed(devices: list[str], node: str, source: str, kind: str) -> NodeMap:
    names = dict.fromkeys(re.sub(r":\d+$|-(xrc|dgram|rdm)$", "", name) for name in devices)
    return NodeMap(node=node, source=source, kind=kind, nics=tuple(Device(name=name) for name in names))


READERS = (
    MapReader(
        name="node-info",
        does="the output of railyard node-info",
        matches=lambda text: text.lstrip().startswith("{"),
        parse=sysfs,
    ),
    MapReader(
        name="ucx_info",
        does="the output of ucx_info -d",
        matches=lambda text: re.search(r"^#\s+Transport: ", text, re.MULTILINE) is not None,
        parse=ucx,
    ),
    MapReader(
        name="fi_info",
        does="the output of fi_info",
        matches=lambda text: re.search(r"^provider: ", text, re.MULTILINE) is not None,
        parse=ofi,
    ),
)
