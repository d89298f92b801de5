"""libfabric's verbs provider, fi_verbs(7): FI_VERBS_DEVICE_NAME names one verbs device."""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic

STACK = NicStack(
    name="verbs",
    setters=one_nic(FI_VERBS_DEVICE_NAME="{nic}"),
    source="[fi_verbs(7)](https://ofiwg.github.io/libfabric/main/man/fi_verbs.7.html)",
)
