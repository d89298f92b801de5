"""Read the network devices of a node from /sys: which can be a job's NICs, and why the others cannot.

The kernel knows what a device is, so no name decides. A device without hardware is a bridge, VLAN, tunnel or one end of
a pair. `master` names the bond that an interface belongs to, and `physfn` marks a virtual function. `operstate` and a
port's `state` show whether there is a link. `link_layer` separates InfiniBand from Ethernet (RoCE). Names are in
natural order: mlx5_2 before mlx5_10. Leaves out addresses and routes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.host_names import natural

#: Fabrics that a job uses before Ethernet: the devices of RDMA and Slingshot. RoCE is used where no other is there.
FAST = ("infiniband", "omni-path", "slingshot", "efa")
#: PCI vendors whose adapters are of one fabric, whatever link layer the kernel reports.
FABRIC_OF_VENDOR = {"0x1d0f": "efa", "0x434e": "omni-path"}
#: PCI vendors of InfiniBand adapters: Mellanox and NVIDIA, QLogic (twice), Topspin, Intel's True Scale.
INFINIBAND_VENDORS = ("0x15b3", "0x1077", "0x1fc1", "0x1867", "0x8086")
#: Drivers of Omni-Path, and names that they or udev give.
OMNI_PATH = re.compile(r"hfi\d|opa[posx]")
UNKNOWN = "unknown"
#: Kernel's numbers of node types (ib_verbs.h).
CHANNEL_ADAPTER, IWARP = "1", "4"
#: Kernel's numbers of interface types (if_arp.h).
ETHERNET, INFINIBAND, LOOPBACK = "1", "32", "772"
#: Where a scalable function of a card has its own device below the card's.
SUBFUNCTION = re.compile(r"\w+\.sf\.\d+")
#: The port name of the end that a card's switch has of a function.
FUNCTION_END = re.compile(r"(?:c\d+)?pf\d+(?:(?:vf|sf)\d+)?")
#: The switch inside Open vSwitch, whose members send for it.
OPEN_VSWITCH = "ovs-system"
#: Files or folders below an interface that show what made it, and the word for it.
MADE = (("bridge", "a bridge"), ("wireless", "wireless"), ("phy80211", "wireless"), ("tun_flags", "a tunnel"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A port of an adapter, or an interface. `name` contains the port if stacks need it: mlx5_0:1.

    `fabric` is infiniband, omni-path, slingshot, efa, roce, ethernet or unknown, `numa` -1 if unknown. `card` is the
    PCI address without the function, which ports of one card share; `why_not` is the reason why it is not a NIC of a
    job, or empty. `virtual_function` marks a part of a port, of SR-IOV or scalable.
    """

    name: str
    fabric: str
    numa: int
    card: str = ""
    why_not: str = ""
    virtual_function: bool = False


def devices(sys: Path) -> tuple[Device, ...]:
    """Return every device, those that a job uses first; `sys` is the folder of a node's /sys."""
    every = list(_adapters(sys))
    for path in folders(sys / "class/cxi"):
        states = [text(interface / "operstate") for interface in folders(path / "device/net")]
        is_down = bool(states) and all(state == "down" for state in states)
        every.append(_device(path, path.name, "slingshot", "link down" if is_down else ""))
    usable = {device.fabric for device in every if not device.why_not}
    if usable & {*FAST}:
        every = [_without(device, "roce", "RoCE beside a faster fabric") for device in every]
    bonds = set(_bonds(sys))
    interfaces = [_device(path, path.name, "ethernet", _why_not(path, bonds)) for path in folders(sys / "class/net")]
    if usable:
        interfaces = [_without(device, "ethernet", "Ethernet beside RDMA") for device in interfaces]
    every += interfaces
    physical = {device.fabric for device in every if not device.why_not and not device.virtual_function}
    every = [
        dataclasses.replace(device, why_not="a virtual function")
        if device.virtual_function and device.fabric in physical and not device.why_not
        else device
        for device in every
    ]
    return tuple(sorted(every, key=lambda device: bool(device.why_not)))


def named(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield class and folder of the devices that have hardware or are a bond, in natural order; `root` is of a node."""
    bonds = set(_bonds(root / "sys"))
    for kind in ("infiniband", "cxi", "net"):
        for path in folders(root / "sys/class" / kind):
            if kind != "net" or (path / "device").exists() or path.name in bonds:
                yield kind, path


def without_hardware(root: Path) -> list[Path]:
    """Return the folders of the interfaces that `named` leaves out, such as ends of pairs and tunnels; no loopback."""
    own = {path.name for kind, path in named(root) if kind == "net"}
    interfaces = folders(root / "sys/class/net")
    return [path for path in interfaces if path.name not in own and text(path / "type") != LOOPBACK]


def folders(path: Path) -> list[Path]:
    """Return the folders below a path, or links to such, in natural order of their names."""
    return sorted((one for one in path.glob("*") if one.is_dir()), key=lambda one: natural(one.name))


def text(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def pci(device: Path) -> str:
    """Return the path of bridges that leads to a PCI device; empty for another device."""
    parts = device.resolve().parts
    first = next((index for index, part in enumerate(parts) if part.startswith("pci")), len(parts))
    return "/".join(parts[first:])


def ports_of_one_card(chosen: Sequence[Device]) -> list[str]:
    """Return one text for each card with several of these devices: they share its PCI slot."""
    cards: dict[str, list[str]] = {}
    for device in chosen:
        cards.setdefault(device.card or device.name, []).append(device.name)
    return [f"{' and '.join(names)} are ports of one card" for names in cards.values() if len(names) > 1]


def _without(device: Device, fabric: str, why_not: str) -> Device:
    applies = device.fabric == fabric and not device.why_not
    return dataclasses.replace(device, why_not=why_not) if applies else device


def _adapters(sys: Path) -> Iterator[Device]:
    """Yield the ports of RDMA adapters; one on the PCI function of another is its part for management."""
    first: dict[Path, str] = {}
    for path in folders(sys / "class/infiniband"):
        for port in (port for port in folders(path / "ports") if port.name.isdecimal()):
            layer, state = text(port / "link_layer"), text(port / "state")
            fabric, name = _fabric(path, layer), f"{path.name}:{port.name}"
            why_not = "" if "ACTIVE" in state else f"port {state.rpartition(': ')[2].lower() or 'without a state'}"
            whole = first.setdefault((path / "device").resolve(), path.name)
            if whole != path.name:
                why_not = f"a part of {whole}"
            elif (path / "parent").exists() and not (path / "device").exists():
                why_not = f"RDMA in software on {text(path / 'parent') or 'an interface'}"
            elif _node_type(path) == IWARP:
                why_not = why_not or "iWARP"
            elif fabric == UNKNOWN:
                vendor = text(path / "device/vendor") or UNKNOWN
                why_not = why_not or f"link layer {layer or UNKNOWN}, node type {_node_type(path)}, vendor {vendor}"
            name = path.name if fabric in {"omni-path", "efa"} else name
            yield _device(path, name, fabric, why_not)


def _fabric(path: Path, layer: str) -> str:
    """Return the fabric of an adapter by its vendor, driver, node type and link layer; or `unknown`."""
    vendor, driver = text(path / "device/vendor"), (path / "device/driver").resolve().name
    if fabric := FABRIC_OF_VENDOR.get(vendor):
        return fabric
    if OMNI_PATH.match(driver) or OMNI_PATH.match(path.name):
        return "omni-path"
    if _node_type(path) != CHANNEL_ADAPTER:
        return UNKNOWN
    if layer == "InfiniBand":
        return "infiniband" if not vendor or vendor in INFINIBAND_VENDORS else UNKNOWN
    return "roce" if layer == "Ethernet" else UNKNOWN


def _node_type(path: Path) -> str:
    """Return the number of an adapter's node type: a channel adapter's if the kernel reports none."""
    return text(path / "node_type").partition(":")[0] or CHANNEL_ADAPTER


def _bonds(sys: Path) -> Iterator[str]:
    """Yield the names of bonds and of teams, which are masters of interfaces and switch nothing."""
    for path in folders(sys / "class/net"):
        master = path / "master"
        if (path / "bonding").exists():
            yield path.name
        elif master.exists() and not any((master / name).exists() for name in ("bridge", "brport")):
            yield master.resolve().name


def _why_not(path: Path, bonds: Collection[str]) -> str:
    """Return why an interface is not a NIC of a job; empty for a card with a link, or a bond."""
    kind, state, device = text(path / "type"), text(path / "operstate"), path / "device"
    maker = next((word for name, word in MADE if (path / name).exists()), "")
    master = (path / "master").resolve().name
    by_usb = (*device.resolve().parts, (device / "subsystem").resolve().name)
    reasons: tuple[tuple[str, object], ...] = (
        (maker, maker),
        ("the loopback", kind == LOOPBACK),
        ("IP over InfiniBand", kind == INFINIBAND),
        ("no hardware", path.name == OPEN_VSWITCH or (not device.exists() and path.name not in bonds)),
        ("no Ethernet", kind not in {ETHERNET, ""}),
        ("a USB device, such as a management controller's", any(re.fullmatch(r"usb\d*", part) for part in by_usb)),
        (f"a member of {master}", master in bonds and master != OPEN_VSWITCH),
        ("the switch's end of a function", FUNCTION_END.fullmatch(text(path / "phys_port_name"))),
        (f"link {state}", state in {"down", "lowerlayerdown", "notpresent"}),
    )
    return next((reason for reason, applies in reasons if applies), "")


def _device(path: Path, name: str, fabric: str, why_not: str) -> Device:
    numa = text(path / "device/numa_node")
    address = pci(path / "device").rpartition("/")[2]
    return Device(
        name=name,
        fabric=fabric,
        numa=int(numa) if re.fullmatch(r"-?[0-9]{1,6}", numa) else -1,
        card=address.rpartition(".")[0],
        why_not=why_not,
        virtual_function=(path / "device/physfn").exists() or SUBFUNCTION.fullmatch(address) is not None,
    )
