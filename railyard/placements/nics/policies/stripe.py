"""The policy `stripe`: every rank's large messages are split over all NICs."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="stripe",
    does="all NICs, large messages split",
    assign=lambda host, nic: (tuple(range(len(host.nics))),) * host.ranks,
    striped=True,
)
