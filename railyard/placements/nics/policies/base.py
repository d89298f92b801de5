"""Define a NIC policy: a function that assigns NICs to each local rank of a node; no side effects.

A module of this folder that defines `POLICY` is a policy (`railyard.placements.nics.policies` finds it); nothing else
must be edited to add one. How a stack is set to obey one is in `railyard.placements.nics.stacks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.hosts.gpus import Pairs

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
    gpus: Pairs | None = None
    is_described: bool = False

    @property
    def ranks(self) -> int:
        """Return the number of ranks of the node."""
        return len(self.nearest)

    def gpus_for(self, policy: str) -> Pairs:
        """Return the GPUs of the local ranks; InputError, which names the policy, where they are not known."""
        if self.gpus is None:
            valid = "a node whose GPUs and NICs have a NUMA domain in its description (railyard where)"
            raise InputError("nics", "policy", policy, valid)
        return self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class NicPolicy:
    """One NIC policy; a name that ends in -K has the number of a NIC in its place.

    `does` completes "local rank k sends through" in docs/placements.md. `assign(host, nic)` returns the NICs of each
    local rank; `nic` is K (0 where there is none). A policy is `nearest` if it depends on which NIC is nearest to a
    rank, `striped` if a rank uses several NICs, and `by_library` if railyard sets nothing. One `with_gpus` gives each
    rank a GPU of its node, too.
    """

    name: str
    does: str
    assign: Callable[[Host, int], Assigned]
    nearest: bool = False
    striped: bool = False
    by_library: bool = False
    with_gpus: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    """A policy as a job names it; `nic` is K of nic-K, else None."""

    kind: NicPolicy
    nic: int | None = None

    def __str__(self) -> str:
        return self.kind.name if self.nic is None else f"{self.kind.name.removesuffix('K')}{self.nic}"
