"""Nodes as trees of files below /sys, as the kernel makes them: cores, NUMA domains, GPUs and NICs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from support.counter_trees import write


class Device(NamedTuple):
    """A device: its PCI address, its NUMA domain, and the bridge that it is behind."""

    address: str
    numa: int
    bridge: str


class Machine(NamedTuple):
    """A node's cores per domain, domains, vendor of GPUs, GPUs, and NICs by name (class/name)."""

    cores: int
    domains: int
    vendor: str
    gpus: tuple[Device, ...]
    nics: Mapping[str, Device]


def add_device(root: Path, device: Device, files: Mapping[str, str]) -> Path:
    """Make a PCI device below /sys/devices, and its link in /sys/bus/pci/devices, as the kernel does."""
    place = root / "sys/devices" / (device.bridge or "pci0000:00") / device.address
    for name, text in {**files, "numa_node": str(device.numa)}.items():
        write(place / name, text)
    link = root / "sys/bus/pci/devices" / device.address
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(place)
    return place


def make(machine: Machine, root: Path) -> None:
    """Write a node's files below `root`."""
    for cpu in range(machine.cores * machine.domains):
        write(root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", str(cpu))
    for domain in range(machine.domains):
        first = domain * machine.cores
        write(root / f"sys/devices/system/node/node{domain}/cpulist", f"{first}-{first + machine.cores - 1}")
        far = " ".join("10" if other == domain else "12" for other in range(machine.domains))
        write(root / f"sys/devices/system/node/node{domain}/distance", far)
    for gpu in machine.gpus:
        add_device(root, gpu, {"class": "0x030200", "vendor": machine.vendor})
    for name, nic in machine.nics.items():
        place = add_device(root, nic, {"class": "0x020000", "vendor": "0x15b3"})
        (root / "sys/class" / name).mkdir(parents=True)
        (root / "sys/class" / name / "device").symlink_to(place)
