"""The NIC policies of railyard, each a row."""

from __future__ import annotations

from railyard.placements.nics.policies import NicPolicy

POLICIES = (
    NicPolicy(
        name="gpu-nearest",
        does="the NIC nearest to the GPU that the rank sees",
        assign=lambda host, nic: tuple((pair.near,) for pair in host.gpus_for("gpu-nearest").of_rank),
        with_gpus=True,
    ),
    NicPolicy(
        name="gpu-one",
        does="the NIC nearest to the GPU of the node's first rank",
        assign=lambda host, nic: ((host.gpus_for("gpu-one").of_rank[0].near,),) * host.ranks,
        with_gpus=True,
    ),
    NicPolicy(
        name="gpu-swapped",
        does="the NIC farthest from that GPU",
        assign=lambda host, nic: tuple((pair.far,) for pair in host.gpus_for("gpu-swapped").of_rank),
        with_gpus=True,
    ),
    NicPolicy(
        name="library-default",
        does="what the library chooses: railyard sets nothing",
        assign=lambda host, nic: ((),) * host.ranks,
        by_library=True,
    ),
    NicPolicy(
        name="local-nic",
        does="the NIC nearest to its socket (Local-NIC)",
        assign=lambda host, nic: tuple((near,) for near in host.nearest),
        nearest=True,
    ),
    NicPolicy(name="nic-K", does="NIC K (NIC-0, NIC-1)", assign=lambda host, nic: ((nic,),) * host.ranks),
    NicPolicy(
        name="round-robin",
        does="NIC k modulo the NICs (LLNL's poster: Default)",
        assign=lambda host, nic: tuple((local % len(host.nics),) for local in range(host.ranks)),
    ),
    NicPolicy(
        name="stripe",
        does="all NICs, large messages split",
        assign=lambda host, nic: (tuple(range(len(host.nics))),) * host.ranks,
        striped=True,
    ),
)
