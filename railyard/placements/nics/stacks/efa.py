"""libfabric's efa provider, fi_efa(7): FI_EFA_IFACE lists the devices that an application sees."""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic

STACK = NicStack(
    name="efa",
    setters=one_nic(FI_EFA_IFACE="{nic}"),
    source="[fi_efa(7)](https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html)",
)
