"""A node as ranks meet it: its cores and how ranks are bound to them, its NUMA domains, NICs and GPUs. Pure.

Models: cores in the order (NUMA domain, core number), with all their hardware threads; cores that the system keeps for
itself are not among them. The ranks of a node fill its NUMA domains in equal blocks. Leaves out caches, memory binding
and links between GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from railyard.base.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """One core: its NUMA domain and the kernel's numbers of its hardware threads."""

    numa: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLayout:
    """One node; `nics` and `gpus` map a device to its NUMA domain, -1 if it is not known.

    GPUs are in the order of their PCI addresses. `places` maps a device to its path on the PCI buses; `gpu_vendor` is
    the PCI vendor of the GPUs. `distances` maps a pair of NUMA domains to the kernel's distance; a missing pair
    counts as the farthest.
    """

    cores: tuple[Core, ...]
    nics: Mapping[str, int] = field(default_factory=dict)
    gpus: Mapping[str, int] = field(default_factory=dict)
    distances: Mapping[tuple[int, int], int] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    gpu_vendor: str = ""

    @property
    def domains(self) -> tuple[int, ...]:
        """Return the NUMA domains in which ranks may run, in the order of their cores."""
        return tuple(dict.fromkeys(core.numa for core in self.cores))

    def domain_of(self, local: int, ranks_per_node: int, binding: Binding) -> int:
        """Return the NUMA domain of a local rank."""
        if binding == Binding.CORE:
            return self._core(local).numa
        return self.domains[local * len(self.domains) // ranks_per_node]

    def cpus(self, local: int, ranks_per_node: int, binding: Binding) -> tuple[int, ...]:
        """Return the CPUs that a local rank is bound to: a core's, or those of all allowed cores of a NUMA domain.

        Raises InputError where the node has fewer cores than ranks that each need one.
        """
        if binding == Binding.CORE:
            return self._core(local).cpus
        domain = self.domain_of(local, ranks_per_node, binding)
        return tuple(sorted(cpu for core in self.cores if core.numa == domain for cpu in core.cpus))

    def nearest(self, names: Sequence[str], ranks_per_node: int, binding: Binding) -> tuple[int, ...] | None:
        """Return the nearest NIC of each local rank, an index into `names`; None where a NIC's domain is not known."""
        where = [self.nics.get(name.partition(":")[0], -1) for name in names]
        if not where or min(where) < 0:
            return None
        return self.dealt(where, ranks_per_node, binding)

    def dealt(self, where: Sequence[int], ranks_per_node: int, binding: Binding) -> tuple[int, ...]:
        """Return the nearest device of each local rank; `where` are the devices' NUMA domains.

        Devices equally near are dealt to the ranks of a domain in turn.
        """
        turns: dict[int, int] = {}
        nearest = []
        for local in range(ranks_per_node):
            domain = self.domain_of(local, ranks_per_node, binding)
            far = [self.distance(domain, other) for other in where]
            near = [index for index, distance in enumerate(far) if distance == min(far)]
            nearest.append(near[turns.get(domain, 0) % len(near)])
            turns[domain] = turns.get(domain, 0) + 1
        return tuple(nearest)

    def distance(self, one: int, other: int) -> int:
        """Return the kernel's distance of two NUMA domains; 0 for one, 255 where it is not known."""
        return 0 if one == other else self.distances.get((one, other), 255)

    def _core(self, local: int) -> Core:
        if local >= len(self.cores):
            valid = f"at most {len(self.cores)} ranks per node, one for each core that the job may use"
            raise InputError("placement", "binding", problem=f"a node has no core {local + 1}", valid=valid)
        return self.cores[local]


def parse(description: Mapping[str, Any]) -> NodeLayout | None:
    """Return the layout in a node's description (`railyard node-info`); None if it has no core."""
    cores = tuple(Core(numa=int(c["numa"]), cpus=tuple(map(int, c["cpus"]))) for c in description.get("cores", []))
    if not cores:
        return None
    return NodeLayout(
        cores=cores,
        nics={str(nic["name"]): int(nic["numa"]) for nic in description.get("nics", [])},
        gpus={str(gpu["name"]): int(gpu["numa"]) for gpu in description.get("gpus", [])},
        places={
            str(device["name"]): str(device.get("pci", ""))
            for device in (*description.get("nics", []), *description.get("gpus", []))
        },
        gpu_vendor=next((str(gpu.get("vendor", "")) for gpu in description.get("gpus", [])), ""),
        distances={(int(a), int(b)): int(far) for a, b, far in description.get("distances", [])},
    )


SCRIPT = """\
#!/bin/sh
# {about}, by its number on its node.
local={local}
case $local in
{cases}*) echo "{subject}: local rank '$local', made for 0 to {last}" >&2; exit 2 ;;
esac
"""


def script(about: str, subject: str, cases: Sequence[str], variables: Sequence[str]) -> str:
    """Return a shell script that runs the case of its local rank, the same under every launcher.

    `variables` may hold the rank's number on its node, in the order in which to read them. `about` begins the script's
    comment, and `subject` its error.
    """
    *others, last = variables
    local = "".join(f"${{{name}:-" for name in others) + f"${last}" + "}" * len(others)
    lines = "".join(f"{k}) {case} ;;\n" for k, case in enumerate(cases))
    return SCRIPT.format(about=about, local=local, cases=lines, subject=subject, last=len(cases) - 1)


def binder(layout: NodeLayout, ranks_per_node: int, binding: Binding, variables: Sequence[str]) -> str:
    """Return a `script` that binds a rank to its CPUs and becomes the program."""
    cpus = (layout.cpus(local, ranks_per_node, binding) for local in range(ranks_per_node))
    cases = [f'exec taskset -c {",".join(map(str, own))} "$@"' for own in cpus]
    return script("The CPUs of a rank", "binding", cases, variables)


class Binding(StrEnum):
    """Nothing, the core of the rank's local number, the NUMA node of that core, or the launcher's own default."""

    NONE = "none"
    CORE = "core"
    NUMA = "numa"
    LAUNCHER = "launcher"

    @property
    def is_known(self) -> bool:
        """Return whether railyard knows the processors of a rank before it runs."""
        return self in {Binding.CORE, Binding.NUMA}


#: What each binding is, for docs/placements.md.
BINDINGS: Mapping[Binding, str] = {
    Binding.NONE: "nothing; the system may move the rank",
    Binding.CORE: "the core of the rank's number on its node",
    Binding.NUMA: "a NUMA domain; the ranks of a node fill its domains in equal blocks",
    Binding.LAUNCHER: "what the launcher chooses: it gets no option that binds, and none that prevents binding",
}
