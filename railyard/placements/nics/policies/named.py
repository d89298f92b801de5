"""The NIC policies of railyard, each a row.

Some are of nodes with as many NICs as GPUs: a NIC for each rank, and messages that stay on their rail.
"""

from __future__ import annotations

from railyard.placements.nics.policies import Assigned, Host, NicPolicy


def one_per_rank(host: Host, nic: int) -> Assigned:
    """Deal the NICs to the ranks in blocks, so that neighbouring NICs serve neighbouring ranks."""
    return tuple((local * len(host.nics) // host.ranks,) for local in range(host.ranks))


def nearest(host: Host, nic: int) -> Assigned:
    """Deal the NICs of each socket to its ranks in turn; where a node's description names one NIC, that."""
    if host.is_described:
        return tuple((near,) for near in host.nearest)
    nics, sockets, dealt = len(host.nics), host.sockets, list[tuple[int]]()
    turns: dict[int, int] = {}
    for local in range(host.ranks):
        socket = local * sockets // host.ranks
        first, last = socket * nics // sockets, (socket + 1) * nics // sockets
        turn = turns[socket] = turns.get(socket, -1) + 1
        dealt.append((min(first + turn % max(1, last - first), nics - 1),))
    return tuple(dealt)


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
    NicPolicy(
        name="nearest", does="the NICs nearest to its socket, in turn", assign=nearest, nearest=True, by_number=True
    ),
    NicPolicy(
        name="one-per-rank",
        does="NIC k times the NICs, divided by the ranks: its own where there are as many",
        assign=one_per_rank,
        by_number=True,
    ),
    # "Rail-local communicators" of libraries that forbid traffic across rails.
    NicPolicy(
        name="on-rail",
        does="as one-per-rank, and only to ranks with the NIC of the same number",
        assign=one_per_rank,
        by_number=True,
        on_rail=True,
    ),
    # NCCL's PXN: data go to the GPU beside that NIC first.
    NicPolicy(
        name="rail-local",
        does="the NIC with the number of the receiver's, which is dealt as one-per-rank",
        assign=one_per_rank,
        by_peer=True,
    ),
)
