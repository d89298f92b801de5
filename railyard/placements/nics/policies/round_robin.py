"""The policy `round-robin`: the "Default" of LLNL's multirail poster."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="round-robin",
    does="NIC k modulo the NICs (LLNL's poster: Default)",
    assign=lambda host, nic: tuple((local % len(host.nics),) for local in range(host.ranks)),
)
