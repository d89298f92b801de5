"""The policy `gpu-nearest`: a rank sees one GPU near to it, and uses the NIC nearest to that GPU."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="gpu-nearest",
    does="the NIC nearest to the GPU that the rank sees",
    assign=lambda host, nic: tuple((pair.near,) for pair in host.gpus_for("gpu-nearest").of_rank),
    with_gpus=True,
)
