"""Define the map of a node: its GPUs and NICs, how far they are apart, and the NIC that each GPU gets.

Models: the distances that NCCL and nvidia-smi name, from one PCIe switch (PIX) to another NUMA domain (SYS). Each GPU
gets one of its nearest NICs. Where several GPUs have the same nearest ones, as few as possible share one. Rail r is the
r-th of the NICs that GPUs get. Leaves out links between GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

#: From the nearest to the farthest. C2C and PXN are ways over links between chips and GPUs.
DISTANCES = ("LOC", "PIX", "PXB", "C2C", "PXN", "PHB", "NODE", "SYS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU (`gpu0`) or NIC (`mlx5_0`): its NUMA domain, PCIe rate and the NIC's own rate, None if not known."""

    name: str
    numa: int | None = None
    address: str = ""
    pcie_gbyte_s: float | None = None
    rate_gbit_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class NodeMap:
    """One node by one dump of the kind `kind`.

    `distances` has the distance of each GPU and NIC, by name; it may be empty. `bridges` is how many PCI bridges a pair
    has in common: more is nearer, among equal distances. `used` are the NICs that a library reports
    for a GPU, where a dump has that.
    """

    node: str
    source: str
    kind: str
    gpus: tuple[Device, ...] = ()
    nics: tuple[Device, ...] = ()
    distances: Mapping[tuple[str, str], str] = field(default_factory=dict)
    bridges: Mapping[tuple[str, str], int] = field(default_factory=dict)
    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def distance(self, gpu: str, nic: str) -> int:
        """Return the place of a distance in `DISTANCES`; beyond the last where it is not known."""
        name = self.distances.get((gpu, nic), "")
        return DISTANCES.index(name) if name in DISTANCES else len(DISTANCES)

    def nearest(self, gpu: str) -> list[str]:
        """Return the NICs nearest to a GPU, in order; empty where no distance is known."""
        far = {
            nic.name: (self.distance(gpu, nic.name), -self.bridges.get((gpu, nic.name), 0))
            for nic in self.nics
            if (gpu, nic.name) in self.distances
        }
        return [nic for nic, distance in far.items() if distance == min(far.values())]

    @cached_property
    def assigned(self) -> Mapping[str, tuple[str, ...]]:
        """Return the NIC of each GPU: those that the library uses, else one of the nearest, shared by few."""
        if self.used:
            return self.used
        taken: dict[str, str] = {}
        for gpu in self.gpus:
            self._match(gpu.name, taken, set())
        of_gpu = {gpu: nic for nic, gpu in taken.items()}
        shares = dict.fromkeys(taken, 1)
        for gpu in self.gpus:
            near = self.nearest(gpu.name)
            if gpu.name not in of_gpu and near:
                of_gpu[gpu.name] = min(near, key=lambda nic: shares.get(nic, 0))
                shares[of_gpu[gpu.name]] = shares.get(of_gpu[gpu.name], 0) + 1
        return {gpu.name: (of_gpu[gpu.name],) for gpu in self.gpus if gpu.name in of_gpu}

    @property
    def rails(self) -> tuple[str, ...]:
        """Return the NICs that GPUs get, in the order of the node's NICs; all NICs where no GPU has one."""
        served = {nic for nics in self.assigned.values() for nic in nics}
        return tuple(nic.name for nic in self.nics if nic.name in served or not served)

    def _match(self, gpu: str, taken: dict[str, str], seen: set[str]) -> bool:
        """Give a GPU one of its nearest NICs, if need be by giving others another of theirs."""
        near = [nic for nic in self.nearest(gpu) if nic not in seen]
        seen.update(near)
        for nic in sorted(near, key=lambda nic: nic in taken):
            if nic not in taken or self._match(taken[nic], taken, seen):
                taken[nic] = gpu
                return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class MapReader:
    """A form of dump: `matches` shows whether a text is one, `parse(text, node, source)` returns its map."""

    name: str
    does: str
    matches: Callable[[str], bool]
    parse: Callable[[str, str, str], NodeMap]
