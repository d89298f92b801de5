"""The policy `gpu-one`: the GPU of `gpu-nearest`, and for every rank the NIC of the first rank's GPU."""

from __future__ import annotations

from railyard.placements.nics.policies.base import NicPolicy

POLICY = NicPolicy(
    name="gpu-one",
    does="the NIC nearest to the GPU of the node's first rank",
    assign=lambda host, nic: ((host.gpus_for("gpu-one").of_rank[0].near,),) * host.ranks,
    with_gpus=True,
)
