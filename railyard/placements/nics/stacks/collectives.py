"""The stacks of libraries for collectives of machine learning: Gloo, and NCCL over verbs and over sockets."""

from __future__ import annotations

from railyard.placements.nics.stacks import NicStack, one_nic, same, with_always

SOURCE = "[NCCL user guide](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html)"


STACKS = (
    # PyTorch's Gloo: GLOO_SOCKET_IFNAME lists network interfaces, which collectives take in turn.
    NicStack(
        name="gloo",
        setters={**one_nic(GLOO_SOCKET_IFNAME="{nic}"), "stripe": same(GLOO_SOCKET_IFNAME="{nics}")},
        source="[torch.distributed](https://pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use)",
    ),
    # NCCL (RCCL reads the same): NCCL_IB_HCA, NCCL_CROSS_NIC, or over TCP NCCL_SOCKET_IFNAME; = begins exact names. A
    # GPU takes its nearest NICs of those listed, so there is no variable that deals NICs to ranks in turn. With PXN
    # data go to the GPU beside the receiver's rail first; RCCL has it off (src/graph/paths.cc at 0cbce2a: 1 disables).
    NicStack(
        name="nccl",
        setters={
            "nic-K": same(NCCL_IB_HCA="={nic}"),
            "local-nic": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0"),
            "nearest": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0"),
            "on-rail": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0", NCCL_PXN_DISABLE="1"),
            "rail-local": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0", NCCL_PXN_DISABLE="0", NCCL_P2P_PXN_LEVEL="2"),
        },
        source=SOURCE,
    ),
    NicStack(
        name="nccl-socket",
        setters=with_always(
            {"NCCL_NET": "Socket"},
            {**one_nic(NCCL_SOCKET_IFNAME="={nic}"), "stripe": same(NCCL_SOCKET_IFNAME="={nics}")},
        ),
        source=SOURCE,
    ),
)
