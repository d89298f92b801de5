"""Define the programs that run at the same time as the measured one, and the nodes of each. Pure.

A launch has roles. The victim is the check's own program. Under a load, other programs run at the same time on other
nodes of the job: congestors, which go on until the victim has ended, or copies of the victim, which end by themselves.
A placement's name contains the load (`plain+incast`). The victim has the same nodes alone and under every load.

Loads: the congestor's patterns (`incast`, `alltoall`, `broadcast`, `allreduce`, `permutation`), several of them at once
with a full stop between (`incast.alltoall`), `program` (any program, started again until the victim has ended), and
`copies`. Leaves out: how the nodes are divided (`railyard.placements.orders.division`), who starts the programs
(`railyard.jobs.companions`), and what they left (`railyard.jobs.load_evidence`).
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from railyard.base.errors import InputError
from railyard.jobs.job.spec import JobSpec
from railyard.placements.orders import division, spec
from railyard.placements.orders.allocation import Allocation, taken
from railyard.placements.orders.placement import Placement, place

#: Format of what `railyard launch-roles` writes about the programs of a launch.
FORMAT = "railyard-roles/1"
KIB = 1 << 10
COPIES = "copies"
PROGRAM = "program"
#: Bytes of a message of each pattern: on a machine, and on the slow links of a virtual torus. Those on a machine are
#: GPCNeT's (its A2A, incast and broadcast send 512 doubles, its allreduce 819,200 floats), but for the permutation.
PATTERNS: Mapping[str, tuple[int, int]] = {
    "incast": (4 * KIB, 32 * KIB),
    "alltoall": (4 * KIB, 8 * KIB),
    "broadcast": (4 * KIB, 32 * KIB),
    "allreduce": (3_276_800, 32 * KIB),
    "permutation": (1024 * KIB, 32 * KIB),
}
LOADS = (*PATTERNS, PROGRAM, COPIES)


class Role(StrEnum):
    """What a program that runs beside the victim does."""

    CONGESTOR = "congestor"
    COPY = "copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """One program that runs with the victim. `program` is empty for a copy; `again`: restart it when it ends."""

    name: str
    role: Role
    program: Sequence[str] = ()
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The loads of a check by name, and how its nodes are divided; `victim_nodes` 0 is half of them."""

    rule: str
    victim_nodes: int
    loads: Mapping[str, Sequence[Companion]]


def chosen(request: JobSpec, *, on_a_machine: bool) -> Roles:
    """Return the roles of a check; raises InputError for an unknown load or division of the nodes."""
    division.check(request.name, request.split)
    loads = {name: _companions(request.name, name, on_a_machine, request.load_program) for name in request.loads}
    return Roles(rule=request.split, victim_nodes=request.victim_nodes, loads=loads)


def _companions(check: str, load: str, on_a_machine: bool, program: str) -> list[Companion]:
    parts = load.split(".")
    if not set(parts) <= set(LOADS) or (COPIES in parts and len(parts) > 1):
        raise InputError(check, "loads", load, f"{', '.join(LOADS)}; several congestors with a full stop between")
    if load == COPIES:
        return [Companion(name="copy", role=Role.COPY)]
    if PROGRAM in parts and not program:
        raise InputError(check, "load_program", problem="empty", valid="the command line of the load `program`")
    counted: dict[str, int] = {}
    programs = []
    for part in parts:
        counted[part] = counted.get(part, 0) + 1
        name = part if counted[part] == 1 else f"{part}-{counted[part]}"
        if part == PROGRAM:
            words = shlex.split(program)
        else:
            size = PATTERNS[part][0 if on_a_machine else 1]
            words = ["congestor", "--pattern", part, "--size", f"{size}B", "--limit", "86400"]
        programs.append(Companion(name=name, role=Role.CONGESTOR, program=words, again=part == PROGRAM))
    return programs


# ---- nodes ----


def victims(roles: Roles | None, allocation: Allocation) -> Allocation:
    """Return the victim's nodes of an allocation: all of them without companions."""
    if roles is None:
        return allocation
    own, _ = division.split(allocation, roles.rule, roles.victim_nodes)
    return taken(allocation, own)


def companions(roles: Roles, allocation: Allocation, load: str) -> list[tuple[Companion, Allocation]]:
    """Return the programs of a load and the nodes of each.

    The other nodes are filled with copies of the victim's size. Raises InputError if a program gets no node.
    """
    own, rest = division.split(allocation, roles.rule, roles.victim_nodes)
    programs = list(roles.loads[load])
    if load == COPIES:
        programs = [
            dataclasses.replace(programs[0], name=f"copy-{number}") for number in range(1, len(rest) // len(own) + 1)
        ]
    if not programs or len(rest) < len(programs):
        valid = f"at least one for each program of {load}, in addition to the victim's {len(own)}"
        raise InputError("roles", "nodes", len(allocation.indices), valid)
    weights = [len(own)] * len(programs) if load == COPIES else [len(rest) // len(programs)] * len(programs)
    rule = "contiguous" if roles.rule.startswith("nodes:") else roles.rule
    parts = division.dealt(taken(allocation, rest), rule, weights)
    return [(companion, taken(allocation, rest[part])) for companion, part in zip(programs, parts, strict=True)]


def placed(
    roles: Roles | None, allocation: Allocation, name: str, request: JobSpec
) -> list[tuple[Companion, Placement]]:
    """Return the companions of a placement's load, each with its ranks on its nodes; none without a load.

    A congestor fills its nodes in plain order. A copy is placed on its nodes as the victim is on its own.
    """
    parsed = spec.parse(name)
    if roles is None or not parsed.load:
        return []
    placed_companions, per_node = [], request.ranks_per_node
    for companion, nodes in companions(roles, allocation, parsed.load):
        own = request.grid if companion.role is Role.COPY else (len(nodes.indices) * per_node,)
        order = spec.split_load(name)[0] if companion.role is Role.COPY else "plain"
        where = place(order, nodes, own, ranks_per_node=per_node, seed=request.seed)
        if companion.role is Role.CONGESTOR:
            where = dataclasses.replace(where, binding=parsed.binding)
        placed_companions.append((companion, where))
    return placed_companions


def program(companion: Companion, victim: Sequence[str], stem: str, *, counts_nics: bool) -> list[str]:
    """Return what each rank of a companion runs; `stem` names the launch's files, `victim` is the victim's program.

    railyard's congestor makes a file when it is ready, ends at the stop file and, with `counts_nics`, counts NIC bytes.
    """
    own = f"{stem}.{companion.name}"
    if companion.role is Role.COPY:
        return [word.replace(stem, own) for word in victim]
    if companion.again:
        return list(companion.program)
    counted = ["env", f"RAILYARD_NICS={own}.nics"] if counts_nics else []
    files = ["--ready", f"{own}.ready", "--stop", f"{stem}.stop", "--json", f"{own}.json"]
    return [*counted, *companion.program, *files]
