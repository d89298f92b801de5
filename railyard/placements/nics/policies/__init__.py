"""NIC policies: functions that assign NICs to each local rank of a node. docs/placements.md lists them.

A module of this folder that defines `POLICY`, or several in a tuple `POLICIES`, is found by `policies`; nothing else
must be edited to add one. How a stack is set to obey one is in `railyard.placements.nics.stacks`. A NIC's ordinal means
something only in the driver's own numbering, and a wrong one fails silently in most stacks: byte counters must prove
the choice (`railyard.placements.nics.evidence`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.placements.hosts.gpus import RankGpus
from railyard.placements.linkload.rails import RankNics
from railyard.placements.topology.base import Topology

#: The NICs of each local rank, as indices; empty where the policy leaves them to the library.
Assigned = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a policy needs of a node: its NICs' names, in the order of rails, and the nearest NIC of each local rank.

    `gpus` are the GPUs of the local ranks; None where the node's description does not have them. `is_described`: the
    nearest NICs are those of the node's description, not of the topology's model.
    """

    nics: tuple[str, ...]
    nearest: tuple[int, ...]
    sockets: int = 1
    gpus: RankGpus | None = None
    is_described: bool = False

    @property
    def ranks(self) -> int:
        """Return the number of ranks of the node."""
        return len(self.nearest)

    def gpus_for(self, policy: str) -> RankGpus:
        """Return the GPUs of the local ranks; InputError, which names the policy, where they are not known."""
        if self.gpus is None:
            valid = "a node whose GPUs and NICs have a NUMA domain in its description (railyard node-info)"
            raise InputError("nics", "policy", policy, valid)
        return self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class NicPolicy:
    """One NIC policy; a name that ends in -K has the number of a NIC in its place.

    `does` completes "local rank k sends through" in docs/placements.md. `assign(host, nic)` returns the NICs of each
    local rank; `nic` is K (0 where there is none). A policy is `nearest` if it depends on which NIC is nearest to a
    rank, `striped` if a rank uses several NICs, and `by_library` if railyard sets nothing. One `with_gpus` gives each
    rank a GPU of its node, too. One `by_number` gives each rank a NIC that can be named to it. `by_peer`: the
    receiver's NIC decides; `on_rail`: no message goes to a NIC of another number.
    """

    name: str
    does: str
    assign: Callable[[Host, int], Assigned]
    nearest: bool = False
    striped: bool = False
    by_library: bool = False
    with_gpus: bool = False
    by_number: bool = False
    by_peer: bool = False
    on_rail: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    """A policy as a job names it; `nic` is K of nic-K, else None.

    `algorithms` is the choice of collectives' algorithms after the first +, such as allreduce:ring; empty for none.
    """

    kind: NicPolicy
    nic: int | None = None
    algorithms: str = ""

    def __str__(self) -> str:
        alone = self.kind.name if self.nic is None else f"{self.kind.name.removesuffix('K')}{self.nic}"
        return f"{alone}+{self.algorithms}" if self.algorithms else alone


@cache
def policies() -> Mapping[str, NicPolicy]:
    """Return the policies by name."""
    ordered = sorted(members(__name__, "POLICY", "POLICIES"), key=str)
    return {policy.name: policy for policy in ordered}


def alone(text: str) -> str:
    """Return a policy's name without the choice of collectives' algorithms."""
    return text.partition("+")[0]


def parse(text: str, nics: int) -> ChosenPolicy:
    """Return the policy of a name; InputError for one that does not exist, or a NIC that `nics` NICs do not have."""
    text, _, algorithms = text.partition("+")
    words = []
    for name, kind in policies().items():
        if not name.endswith("-K"):
            words.append(name)
            if name == text:
                return ChosenPolicy(kind=kind, algorithms=algorithms)
            continue
        words += [f"{name[:-1]}{k}" for k in range(nics)]
        number = re.fullmatch(rf"{name[:-1]}(\d{{1,3}})", text)
        if number and int(number[1]) < nics:
            return ChosenPolicy(kind=kind, nic=int(number[1]), algorithms=algorithms)
    valid = f"{', '.join(words)} (the node has {nics} NIC{'s' if nics > 1 else ''})"
    raise InputError("nics", "policy", text, valid)


def host(
    topology: Topology,
    ranks_per_node: int,
    names: Sequence[str] | None = None,
    nearest: Sequence[int] | None = None,
    *,
    gpus: RankGpus | None = None,
) -> Host:
    """Return the NICs of a topology's nodes; without `names` as the virtual torus calls them.

    `nearest` is the nearest NIC of each local rank in a node's description; the default is the topology's model. `gpus`
    are those of the local ranks, which only a description has. A topology of one rail allows any number of names.
    """
    rails = topology.rails if topology.rails > 1 or not names else len(names)
    if names is not None and len(names) != rails:
        raise InputError("--devices", "", ",".join(names), f"{rails} names, one for each rail")
    modelled = (local * topology.sockets_per_node // ranks_per_node for local in range(ranks_per_node))
    return Host(
        nics=tuple(names or (f"nic{rail}" for rail in range(rails))),
        nearest=tuple(nearest or (socket * rails // topology.sockets_per_node for socket in modelled)),
        sockets=topology.sockets_per_node,
        gpus=gpus,
        is_described=nearest is not None,
    )


def assign(policy: ChosenPolicy, on: Host) -> Assigned:
    """Return the NICs that each local rank sends through; empty tuples where the policy leaves that to the library."""
    return policy.kind.assign(on, policy.nic or 0)


def rank_nics(policy: ChosenPolicy, on: Host) -> RankNics:
    """Return the NICs of each local rank for the link-load model; InputError where the library chooses them."""
    return RankNics(
        policy=str(policy), assigned=assign(policy, on), by_peer=policy.kind.by_peer, on_rail=policy.kind.on_rail
    )


def gpus(policy: ChosenPolicy, on: Host) -> tuple[str, ...]:
    """Return the GPU of each local rank, as its runtime numbers it; empty for a policy without GPUs."""
    if not policy.kind.with_gpus:
        return ()
    return tuple(str(pair.gpu) for pair in on.gpus_for(str(policy)).of_rank)
