"""The policy `library-default`: the library chooses."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="library-default",
    does="what the library chooses: railyard sets nothing",
    assign=lambda host, nic: ((),) * host.ranks,
    by_library=True,
)
