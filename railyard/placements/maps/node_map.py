"""Define the map of a node: its GPUs and NICs, how far they are apart, and the NIC that each GPU gets.

Models: the distances that NCCL and nvidia-smi name, from one PCIe switch (PIX) to another NUMA domain (SYS). Each GPU
gets one of its nearest NICs, in turn the one that serves fewest. Rail r is the r-th of the NICs that GPUs get. Leaves
out links between GPUs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from railyard.placements.hosts.gpus import common

#: From the nearest to the farthest. C2C and PXN are ways over links between chips and GPUs.
DISTANCES = ("LOC", "PIX", "PXB", "C2C", "PXN", "PHB", "NODE", "SYS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU (`gpu0`) or NIC (`mlx5_0`): its NUMA domain, PCIe rate and the NIC's own rate, None if not known.

    `path` has its host bridge and the PCIe switches below that, without the ports of these; empty if not known.
    """

    name: str
    numa: int | None = None
    path: tuple[str, ...] = ()
    pcie_gbyte_s: float | None = None
    rate_gbit_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class NodeMap:
    """One node by one dump of the kind `kind`; a reader leaves out these names.

    `matrix` has the distances of GPUs and NICs, by name, where a dump has those in place of PCI paths. `used` are the
    NICs that a library reports for a GPU.
    """

    node: str = ""
    kind: str = ""
    gpus: tuple[Device, ...] = ()
    nics: tuple[Device, ...] = ()
    matrix: Mapping[tuple[str, str], str] = field(default_factory=dict)
    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def distances(self) -> Mapping[tuple[str, str], str]:
        """Return the distance of each GPU and NIC, by name; without those that the dump does not show."""
        pairs = ((gpu, nic) for gpu in self.gpus for nic in self.nics if gpu.path or gpu.numa is not None)
        by_path = {(gpu.name, nic.name): _distance(gpu, nic) for gpu, nic in pairs if not self.used}
        return self.matrix or by_path

    @cached_property
    def near(self) -> Mapping[str, list[str]]:
        """Return each GPU's nearest NICs, in order: among equal distances those with most bridges in common."""
        near = dict[str, list[str]]()
        for gpu in self.gpus:
            far = {
                nic.name: (self.farness(gpu.name, nic.name), -common(gpu.path, nic.path))
                for nic in self.nics
                if (gpu.name, nic.name) in self.distances
            }
            near |= {gpu.name: [nic for nic in far if far[nic] == min(far.values())]} if far else {}
        return near

    def farness(self, gpu: str, nic: str) -> int:
        """Return the index of a distance in `DISTANCES`."""
        return DISTANCES.index(self.distances[gpu, nic])

    @cached_property
    def assigned(self) -> Mapping[str, tuple[str, ...]]:
        """Return the NICs of each GPU: those that the library uses, else the nearest one that serves fewest."""
        served, chosen = Counter[str](), dict[str, tuple[str, ...]]()
        for gpu in sorted(self.near, key=lambda gpu: len(self.near[gpu])):
            nic = min(self.near[gpu], key=served.__getitem__)
            served[nic] += 1
            chosen[gpu] = (nic,)
        return self.used or {gpu: chosen[gpu] for gpu in self.near}

    @property
    def rails(self) -> tuple[str, ...]:
        """Return the NICs that GPUs get, in the order of the node's NICs; all NICs where no GPU has one."""
        served = {nic for nics in self.assigned.values() for nic in nics}
        return tuple(nic.name for nic in self.nics if nic.name in served or not served)


def _distance(one: Device, other: Device) -> str:
    """Return the distance of two devices by the bridges above them."""
    match common(one.path, other.path):
        case 0:
            return "NODE" if one.numa is not None and one.numa == other.numa else "SYS"
        case 1:
            return "PHB"
        case _:
            return "PIX" if one.path == other.path else "PXB"
