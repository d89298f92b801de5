"""Describe this node as `railyard node-info` prints it: cores, NUMA domains, NICs, GPUs and place in the network.

Read from /proc and /sys below a prefix that tests set. Needs no privileges. Leaves out what follows from it
(`railyard.placements.hosts.node`, `railyard.placements.hosts.in_job`).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from railyard.base import sysfs

ROOT = Path("/")
#: A variable that names another root folder, for tests: a tree of files is read in place of this node's.
ROOT_VARIABLE = "RAILYARD_NODE_ROOT"
#: PCI vendors' classes of processors that compute: 3D controllers and processing accelerators.
GPU_CLASSES = ("0x0302", "0x1200", "0x0380")
BOOT_ID = "proc/sys/kernel/random/boot_id"


def describe(root: Path | None = None, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the description of this node as JSON."""
    root = root or Path(environment.get(ROOT_VARIABLE, ROOT))
    allowed = allowed_cpus(root)
    return {
        "host": platform.node(),
        "sockets": len({_number(p / "topology/physical_package_id", 0) for p in _cpus(root)}) or 1,
        "cores": cores(root, allowed),
        "distances": distances(root),
        "nics": nics(root),
        "gpus": gpus(root),
        "switches": environment.get("SLURM_TOPOLOGY_ADDR", ""),
        "pattern": environment.get("SLURM_TOPOLOGY_ADDR_PATTERN", ""),
        "node_id": environment.get("SLURM_NODEID", ""),
        "node_name": environment.get("SLURMD_NODENAME", ""),
        "boot": boot_digest(sysfs.text(root / BOOT_ID)),
        "virtual": [path.name for path in sysfs.without_hardware(root)],
        "torus": environment.get("RAILYARD_TORUS", ""),
        "xname": sysfs.text(root / "etc/cray/xname") or sysfs.text(root / "proc/cray_xt/cname"),
    }


def boot_digest(boot_id: str) -> str:
    """Return the name of a kernel's boot in records: 32 hex digits of its hash; empty for an id that is not known."""
    return hashlib.sha256(boot_id.encode()).hexdigest()[:32] if boot_id else ""


def write(folder: Path) -> None:
    """Write this node's description into a folder of descriptions (`railyard node-info --into`)."""
    description = describe()
    path = folder / f"{description['node_name'] or description['host']}.json"
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(description), encoding="utf-8")
    part.replace(path)


def allowed_cpus(root: Path = ROOT) -> set[int]:
    """Return the CPUs that this process may run on; all of the node if the kernel does not list them."""
    match = re.search(r"^Cpus_allowed_list:\s*(\S+)$", sysfs.text(root / "proc/self/status"), re.M)
    return set(cpu_list(match[1])) if match else {int(path.name.removeprefix("cpu")) for path in _cpus(root)}


def cpu_list(text: str) -> list[int]:
    """Return the numbers of a kernel's list: 0-3,8 is 0, 1, 2, 3, 8. Other words are passed over."""
    ranges = (re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip(), re.ASCII) for part in text.split(","))
    return [n for match in ranges if match for n in range(int(match[1]), int(match[2] or match[1]) + 1)]


def cores(root: Path, allowed: set[int]) -> list[dict[str, Any]]:
    """Return the cores with an allowed hardware thread, in the order (NUMA domain, first thread)."""
    numa = {
        cpu: int(path.name.removeprefix("node"))
        for path in _nodes(root)
        for cpu in cpu_list(sysfs.text(path / "cpulist"))
    }
    domain_of: dict[tuple[int, ...], int] = {}
    for path in _cpus(root):
        number = int(path.name.removeprefix("cpu"))
        if number in allowed:
            siblings = cpu_list(sysfs.text(path / "topology/thread_siblings_list")) or [number]
            domain_of.setdefault(tuple(cpu for cpu in siblings if cpu in allowed), numa.get(number, 0))
    if not domain_of:
        domain_of = {(cpu,): numa.get(cpu, 0) for cpu in allowed}
    ordered = sorted(domain_of.items(), key=lambda item: (item[1], item[0]))
    return [{"numa": domain, "cpus": list(cpus)} for cpus, domain in ordered]


def distances(root: Path) -> list[list[int]]:
    """Return [domain, domain, distance] for every pair of NUMA domains."""
    domains = sorted(int(path.name.removeprefix("node")) for path in _nodes(root))
    table = []
    for domain in domains:
        row = sysfs.text(root / f"sys/devices/system/node/node{domain}/distance").split()
        pairs = zip(domains, row, strict=False)
        table += [[domain, other, int(far)] for other, far in pairs if re.fullmatch("[0-9]{1,6}", far)]
    return table


def nics(root: Path) -> list[dict[str, Any]]:
    """Return the network devices: name, class, NUMA domain, Ethernet address and PCI path, both empty where unknown."""
    return [
        {
            "name": path.name,
            "class": kind,
            "numa": _number(path / "device/numa_node", -1),
            "mac": sysfs.text(path / "address"),
            "pci": sysfs.pci(path / "device"),
        }
        for kind, path in sysfs.named(root)
    ]


def gpus(root: Path) -> list[dict[str, Any]]:
    """Return the processors that compute, by PCI address, with their NUMA domains, vendors and PCI paths."""
    return [
        {
            "name": path.name,
            "numa": _number(path / "numa_node", -1),
            "vendor": sysfs.text(path / "vendor"),
            "pci": sysfs.pci(path),
        }
        for path in sorted((root / "sys/bus/pci/devices").glob("*"))
        if sysfs.text(path / "class").startswith(GPU_CLASSES)
    ]


def _cpus(root: Path) -> list[Path]:
    return [path for path in (root / "sys/devices/system/cpu").glob("cpu*") if re.fullmatch(r"cpu\d+", path.name)]


def _nodes(root: Path) -> list[Path]:
    return [p for p in (root / "sys/devices/system/node").glob("node*") if re.fullmatch(r"node\d+", p.name)]


def _number(path: Path, otherwise: int) -> int:
    try:
        return int(sysfs.text(path))
    except ValueError:
        return otherwise
