"""NIC policies, one module each: `POLICY` is a `NicPolicy` of `base`. docs/placements.md lists them.

A NIC's ordinal means something only in the driver's own numbering, and a wrong one fails silently in most stacks: byte
counters must prove the choice (`railyard.placements.nics.evidence`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.placements.hosts.gpus import Pairs
from railyard.placements.nics.policies.base import Assigned, ChosenPolicy, Host, NicPolicy
from railyard.placements.topology.base import Topology

__all__ = ["Assigned", "ChosenPolicy", "Host", "NicPolicy", "assign", "gpus", "host", "parse", "policies"]


@cache
def policies() -> Mapping[str, NicPolicy]:
    """Return the policies by name."""
    return {policy.name: policy for policy in members(__name__, "POLICY")}


def parse(text: str, nics: int) -> ChosenPolicy:
    """Return the policy of a name; InputError for one that does not exist, or a NIC that `nics` NICs do not have."""
    words = []
    for name, kind in policies().items():
        if not name.endswith("-K"):
            words.append(name)
            if name == text:
                return ChosenPolicy(kind=kind)
            continue
        words += [f"{name[:-1]}{k}" for k in range(nics)]
        number = re.fullmatch(rf"{name[:-1]}(\d{{1,3}})", text)
        if number and int(number[1]) < nics:
            return ChosenPolicy(kind=kind, nic=int(number[1]))
    valid = f"{', '.join(words)} (the node has {nics} NIC{'s' if nics > 1 else ''})"
    raise InputError("nics", "policy", text, valid)


def host(
    topology: Topology,
    ranks_per_node: int,
    names: Sequence[str] | None = None,
    nearest: Sequence[int] | None = None,
    *,
    gpus: Pairs | None = None,
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


def gpus(policy: ChosenPolicy, on: Host) -> tuple[str, ...]:
    """Return the GPU of each local rank, as its runtime numbers it; empty for a policy without GPUs."""
    if not policy.kind.with_gpus:
        return ()
    return tuple(str(pair.gpu) for pair in on.gpus_for(str(policy)).of_rank)
