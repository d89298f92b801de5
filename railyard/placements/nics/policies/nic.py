"""The policy `nic-K`: every rank uses NIC K."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="nic-K",
    does="NIC K (NIC-0, NIC-1)",
    assign=lambda host, nic: ((nic,),) * host.ranks,
)
