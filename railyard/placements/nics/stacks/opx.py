"""libfabric's opx provider, fi_opx(7): FI_OPX_HFI_SELECT is UNIT, or TYPE:UNIT:DATA selectors."""

from __future__ import annotations

from railyard.placements.nics.policies import ChosenPolicy, Host
from railyard.placements.nics.stack import NicStack, Settings, one_nic


def by_numa(policy: ChosenPolicy, on: Host) -> Settings:
    """List numa:UNIT:NODE for each NUMA node (a socket each)."""
    nics = [socket * len(on.nics) // on.sockets for socket in range(on.sockets)]
    text = ",".join(f"numa:{nic}:{socket}" for socket, nic in enumerate(nics))
    return Settings(environment={"FI_OPX_HFI_SELECT": text})


STACK = NicStack(
    name="opx",
    setters={**one_nic(FI_OPX_HFI_SELECT="{k}"), "local-nic": by_numa},
    by_binding=True,
    source="[fi_opx(7)](https://ofiwg.github.io/libfabric/main/man/fi_opx.7.html)",
)
