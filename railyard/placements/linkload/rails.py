"""Messages of ranks as messages of NICs: which NIC of the sending node, which of the receiving one, how many bytes.

Models: rank by rank, the NICs that a policy assigns to it. A message is split evenly over the NICs of its sender. Each
part arrives at the same NIC where the receiver has it too, else at the receiver's NICs in turn. With `by_peer` the
receiver's NICs decide both ends, so that nothing crosses rails. Leaves out: libraries that split by size or load, and
how data reach the sending NIC inside a node.
"""

from __future__ import annotations

from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, Ints, np
from railyard.placements.linkload.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class RankNics:
    """The NICs of each local rank, as rails. `on_rail`: a message between ranks of different rails is an error."""

    policy: str
    assigned: tuple[tuple[int, ...], ...]
    by_peer: bool = False
    on_rail: bool = False

    def __post_init__(self) -> None:
        if not all(self.assigned):
            raise InputError("nics", "policy", self.policy, "one whose NICs are known without a launch")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NicMessages:
    """Messages between NICs; arrays of one shape, or (1,) for the one rail of all. Nodes are indices into `nodes`."""

    source: Ints
    target: Ints
    out_rail: Ints
    in_rail: Ints
    size_bytes: Floats


def local_ranks(nodes: Ints) -> Ints:
    """Return each rank's number among the ranks of its node, in the order of ranks; shape (ranks,)."""
    by_node = np.argsort(nodes, kind="stable")
    ordered = nodes[by_node]
    local = np.empty(len(nodes), dtype=np.int64)
    local[by_node] = np.arange(len(nodes)) - np.searchsorted(ordered, ordered, side="left")
    return local


def messages(nodes: Ints, traffic: Traffic, nics: RankNics | None) -> NicMessages:
    """Return the messages that leave a node, by NIC; rank k is on node `nodes[k]`. Without `nics` all take rail 0."""
    senders, receivers = nodes[traffic.source], nodes[traffic.target]
    leaves = senders != receivers
    if nics is None:
        first = np.zeros(1, dtype=np.int64)
        sizes = traffic.size_bytes[leaves]
        return NicMessages(
            source=senders[leaves], target=receivers[leaves], out_rail=first, in_rail=first, size_bytes=sizes
        )
    local = local_ranks(nodes)
    if len(local) and int(local.max()) >= len(nics.assigned):
        valid = f"at most {len(nics.assigned)} on a node, as many as have NICs"
        raise InputError("nics", "ranks", int(local.max()) + 1, valid)
    source, target, sizes = traffic.source[leaves], traffic.target[leaves], traffic.size_bytes[leaves]
    receiver = local[target]
    sender = receiver if nics.by_peer else local[source]
    # The NICs of each local rank, filled up with its first, and how many there are.
    count = np.array([len(own) for own in nics.assigned], dtype=np.int64)
    table = np.array([[*own, *own[:1] * (int(count.max()) - len(own))] for own in nics.assigned], dtype=np.int64)
    has = np.zeros((len(table), int(table.max()) + 1), dtype=bool)
    has[np.arange(len(table))[:, None], table] = True
    parts = list[tuple[Ints, Ints, Ints]]()
    for turn in range(table.shape[1]):
        rows = np.flatnonzero(turn < count[sender]).astype(np.int64)
        out = table[sender[rows], turn]
        other = table[receiver[rows], turn % count[receiver[rows]]]
        parts.append((rows, out, np.where(has[receiver[rows], out], out, other)))
    row, out, into = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if nics.on_rail and (crossing := np.flatnonzero(out != into)).size:
        first = row[crossing[0]]
        text = f"rank {source[first]} (rail {out[crossing[0]]}) to rank {target[first]} (rail {into[crossing[0]]})"
        raise InputError("nics", nics.policy, text, "messages between ranks of one rail alone")
    return NicMessages(
        source=nodes[source[row]],
        target=nodes[target[row]],
        out_rail=out,
        in_rail=into,
        size_bytes=sizes[row] / count[sender[row]],
    )
