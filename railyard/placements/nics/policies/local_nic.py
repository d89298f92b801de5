"""The policy `local-nic`: the NIC nearest to the rank's socket."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="local-nic",
    does="the NIC nearest to its socket (Local-NIC)",
    assign=lambda host, nic: tuple((near,) for near in host.nearest),
    nearest=True,
)
