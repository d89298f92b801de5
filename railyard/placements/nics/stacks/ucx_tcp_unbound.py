"""UCX over TCP before 1.17, which leaves the NIC of a connection to the routing table.

Ranks that open one device connect to a peer's one address, and the table decides. With two lanes to one peer nothing
makes the second leave by the second device.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic, with_always
from railyard.placements.nics.stacks.ucx_tcp import UCX_OVER_TCP

STACK = NicStack(
    name="ucx-tcp-unbound",
    setters=with_always(UCX_OVER_TCP, one_nic(UCX_NET_DEVICES="{nic}")),
    source="`ucx-tcp`'s, before UCX 1.17",
)
