"""NCCL (RCCL reads the same): NCCL_IB_HCA, in which = begins an exact name, and NCCL_CROSS_NIC.

A GPU takes its nearest NICs of those listed, so there is no variable that deals NICs to ranks in turn.
"""

from __future__ import annotations

from placements.nics.stack import NicStack, same

STACK = NicStack(
    name="nccl",
    setters={
        "nic-K": same(NCCL_IB_HCA="={nic}"),
        "local-nic": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0"),
    },
    source="[NCCL user guide](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html)",
)
