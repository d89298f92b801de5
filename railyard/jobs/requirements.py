"""Compare what a check needs with what a machine has, and select the placements and policies that it can do. Pure.

A check is written for a virtual torus of its own (`torus`), and runs on any machine with enough nodes, NICs and CPUs
per node, and with a block of a torus if it needs one. What a machine can never do is left out before the job is
submitted. What one allocation does not allow is known only inside the job (`railyard.jobs.placing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.jobs import launching, placing
from railyard.placements.nics import policies, stacks
from railyard.placements.orders import spec
from railyard.placements.orders.allocation import allocate
from railyard.placements.topology import catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The least that a check runs on. `block` is empty for a check that walks no block of a torus."""

    nodes: int = 1
    rails: int = 1
    ranks_per_node: int = 1
    block: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a partition has: nodes, NICs per node, CPUs per node, routers by dimension; 0 or empty if not known."""

    name: str
    nodes: int
    rails: int
    cpus: int
    extents: tuple[int, ...]


def missing(needs: Needs, machine: Machine) -> str:
    """Return the first thing that a machine lacks, in one line; empty if the check can run."""
    if machine.nodes and machine.nodes < needs.nodes:
        remedy = "extras: nodes, or -S nodes=N"
        return f"needs {needs.nodes} nodes; jobs on {machine.name} have {machine.nodes} ({remedy})"
    if machine.rails < needs.rails:
        has = "no NICs" if machine.rails < 2 else f"{machine.rails} NICs"
        return f"needs {needs.rails} NICs per node; {machine.name} names {has} (extras: nics)"
    if machine.cpus and machine.cpus < needs.ranks_per_node:
        return f"needs {needs.ranks_per_node} ranks per node; {machine.name} has {machine.cpus} CPUs per node"
    if needs.block and not holds(machine.extents, needs.block):
        box = "x".join(map(str, needs.block))
        here = "x".join(map(str, machine.extents)) or "no topology"
        return f"needs a block of {box} routers of a torus; {machine.name} has {here}"
    return ""


def holds(extents: Sequence[int], block: Sequence[int]) -> bool:
    """Return whether a box of routers fits into a machine's; False if these are not known, or have other dimensions."""
    return len(block) == len(extents) and all(b <= e for b, e in zip(block, extents, strict=True))


def nodes(torus: str, grid: Sequence[int], ranks_per_node: int, *, order: str, block: Sequence[int]) -> int:
    """Return how many nodes a check uses: those of its grid, or of the allocation that it was written for."""
    if grid:
        return math.ceil(math.prod(grid) / ranks_per_node)
    if not torus:
        return 1
    return len(allocate(catalog.load(torus), order, block=tuple(block) or None, seed=1).indices)


def rails(nic_policies: Sequence[str]) -> int:
    """Return how many NICs per node the policies need to differ: two, or as many as the largest nic-K counts."""
    if set(nic_policies) <= {"library-default"}:
        return 1
    numbers = [int(name.removeprefix("nic-")) + 1 for name in nic_policies if name.startswith("nic-")]
    return max(2, *numbers) if numbers else 2


def bound(placements: Sequence[str]) -> list[str]:
    """Return the placements with ranks bound to NUMA domains, because an unbound rank has no nearest NIC."""
    return [_bound(*spec.split_load(name)) for name in placements]


def _bound(alone: str, load: str) -> str:
    return (alone if "/" in alone else f"{alone}/numa") + (f"+{load}" if load else "")


def split_placements(placements: Sequence[str], without: str) -> tuple[list[str], dict[str, str]]:
    """Return the placements that a machine can do, and placement -> reason for the others.

    `without` is the reason why coordinates are missing; empty if they are known.
    """
    cannot = {name: without for name in placements if without and placing.needs_coordinates(name)}
    return [name for name in placements if name not in cannot], cannot


def split_policies(
    nic_policies: Sequence[str], features: Sequence[str], host: policies.Host
) -> tuple[list[str], dict[str, str]]:
    """Return the NIC policies that an environment's stack can express, and for the others why not.

    Raises InputError if a policy other than the library's default is requested and the environment names no stack.
    """
    cannot: dict[str, str] = {}
    for name in nic_policies:
        policy = policies.parse(name, len(host.nics))
        if policy.kind.by_library:
            continue
        stack = launching.stack_of(features)
        try:
            stacks.settings(policy, stack, host)
        except InputError as error:
            cannot[name] = str(error)
    return [name for name in nic_policies if name not in cannot], cannot
