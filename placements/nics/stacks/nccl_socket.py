"""NCCL over TCP (RCCL reads the same): NCCL_SOCKET_IFNAME, in which = begins an exact name, else a prefix."""

from __future__ import annotations

from placements.nics.stack import NicStack, one_nic, same, with_always

STACK = NicStack(
    name="nccl-socket",
    setters=with_always(
        {"NCCL_NET": "Socket"},
        {**one_nic(NCCL_SOCKET_IFNAME="={nic}"), "stripe": same(NCCL_SOCKET_IFNAME="={nics}")},
    ),
    source="[NCCL user guide](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html)",
)
