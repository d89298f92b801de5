"""PyTorch's Gloo: GLOO_SOCKET_IFNAME lists network interfaces, which collectives take in turn."""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic, same

STACK = NicStack(
    name="gloo",
    setters={
        **one_nic(GLOO_SOCKET_IFNAME="{nic}"),
        "stripe": same(GLOO_SOCKET_IFNAME="{nics}"),
    },
    source="[torch.distributed](https://pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use)",
)
