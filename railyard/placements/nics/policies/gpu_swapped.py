"""The policy `gpu-swapped`: the GPU of `gpu-nearest`, and the NIC farthest from it."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="gpu-swapped",
    does="the NIC farthest from that GPU",
    assign=lambda host, nic: tuple((pair.far,) for pair in host.gpus_for("gpu-swapped").of_rank),
    with_gpus=True,
)
