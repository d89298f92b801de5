"""Cray MPICH with MPICH_OFI_NIC_POLICY=USER, intro_mpi(3): MPICH_OFI_NIC_MAPPING lists each NIC's local ranks.

Unbound ranks therefore have a nearest NIC, too.
"""

from __future__ import annotations

from railyard.placements.nics.policies import ChosenPolicy, Host, assign
from railyard.placements.nics.stack import NicStack, Settings


def mapping(policy: ChosenPolicy, on: Host) -> Settings:
    """List the local ranks of each NIC: 0:0,2;1:1,3."""
    ranks: dict[int, list[str]] = {}
    for local, (nic,) in enumerate(assign(policy, on)):
        ranks.setdefault(nic, []).append(str(local))
    text = ";".join(f"{nic}:{','.join(ranks[nic])}" for nic in sorted(ranks))
    return Settings(environment={"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": text})


STACK = NicStack(
    name="cray-mpich-user",
    setters=dict.fromkeys(("round-robin", "nic-K", "local-nic"), mapping),
    source="[intro_mpi(3)](https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html)",
)
