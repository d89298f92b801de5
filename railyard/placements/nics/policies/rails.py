"""The NIC policies of nodes with as many NICs as GPUs: a NIC for each rank, and messages that stay on their rail."""

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
