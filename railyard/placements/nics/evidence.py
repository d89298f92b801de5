"""Judge whether a launch used the NICs of its policy: compare bytes per node and NIC with the ranks that sent them.

A NIC counts all its node's bytes, so the proof is as fine as the policy is coarse on a node. Where all ranks of a node
send through the same NIC, `SHARE` of the node's bytes must have left by it. Where they do not, that share must have
left by the NICs assigned together, each of these must have carried a hundredth at least, and under `stripe` two
fifths of its even share. Which of a node's ranks used which of its NICs cannot be seen from its bytes.

Leaves out what is not payload: acknowledgements leave by the NIC of the rank that received, and count there. A node
that sent less than `NOISE_BYTES` proves nothing. Bytes that the ranks counted themselves include what MPI sent to set
itself up, `SETUP_BYTES` per rank at most, by any NIC.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.base.verdict import Verdict

SHARE = 0.99
NOISE_BYTES = 20_000
SETUP_BYTES = 4096
LEAST_STRIPE = 0.4  # Open MPI sends the first 64 KiB of a message through one NIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """A rank, its node, and the NICs (names) that its policy lets it send through; none: the library decides.

    It represents `ranks` ranks of the node that have the same NICs, of which it is the first.
    """

    rank: int
    node: str
    nics: tuple[str, ...]
    ranks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The verdict, and in one line why it is not `obeyed`."""

    verdict: Verdict
    reason: str = ""


def senders(hosts: Sequence[str], local_ranks: Sequence[int], assigned: Sequence[tuple[str, ...]]) -> list[Sender]:
    """Return one sender for the ranks of each node that have the same NICs, in the order of first ranks.

    `hosts` and `local_ranks` are by rank, `assigned` are the NICs of each local rank.
    """
    numbers = {nics: number for number, nics in enumerate(dict.fromkeys(assigned))}
    of_local = [numbers[nics] for nics in assigned]
    of_rank = map(of_local.__getitem__, local_ranks) if len(numbers) > 1 else itertools.repeat(0, len(hosts))
    keys = list(zip(hosts, of_rank, strict=True))
    counts = Counter(keys)  # in the order of first ranks
    first = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))
    different = list(numbers)
    return [Sender(rank=first[key], node=key[0], nics=different[key[1]], ranks=count) for key, count in counts.items()]


def judge(
    senders: Sequence[Sender], sent_bytes: Mapping[tuple[str, str], int] | None, *, setup_bytes: int = 0
) -> Found:
    """Return whether the ranks sent through their assigned NICs; `sent_bytes` is None if no bytes were counted.

    `setup_bytes` per rank may have left by any NIC of its node. A node must have sent twice as much to be judged.

    The reason names the first rank that used another NIC. A policy that assigns no NIC
    cannot be disobeyed, and gives `cannot-tell`.
    """
    if sent_bytes is None:
        return Found(verdict=Verdict.CANNOT_TELL, reason="nobody counted the bytes of the NICs")
    if not any(sender.nics for sender in senders):
        return Found(verdict=Verdict.CANNOT_TELL, reason="the policy leaves the NIC to the library")
    named = {nic for sender in senders for nic in sender.nics}
    if named.isdisjoint(seen := {nic for _, nic in sent_bytes}):
        both = f"the NICs counted are {', '.join(sorted(seen)) or 'none'}, the policy's {', '.join(sorted(named))}"
        return Found(verdict=Verdict.CANNOT_TELL, reason=f"{both}: name them in the partition's extras: nics")
    on_node: dict[str, list[Sender]] = {}
    for sender in senders:
        on_node.setdefault(sender.node, []).append(sender)
    sent: dict[str, dict[str, int]] = {}
    for (node, nic), size in sent_bytes.items():
        sent.setdefault(node, {})[nic] = size
    judgement = Found(verdict=Verdict.OBEYED)
    for node, here in on_node.items():
        of_node = _judge_node(here, sent.get(node, {}), setup_bytes * sum(sender.ranks for sender in here))
        if of_node.verdict == Verdict.NOT_OBEYED:
            return of_node
        if judgement.verdict == Verdict.OBEYED:
            judgement = of_node
    return judgement


def _judge_node(senders: Sequence[Sender], sent: Mapping[str, int], setup_bytes: int) -> Found:
    node, total = senders[0].node, sum(sent.values())
    if total < NOISE_BYTES + 2 * setup_bytes:
        return Found(verdict=Verdict.CANNOT_TELL, reason=f"{node} sent {total} bytes, too few to tell")
    allowed = {nic for sender in senders for nic in sender.nics}
    inside = sum(sent.get(nic, 0) for nic in allowed)
    if inside < SHARE * total - setup_bytes:
        wrong = max((nic for nic in sent if nic not in allowed), key=lambda nic: sent[nic])
        return _differs(senders[0], wrong, sent[wrong] / total)
    if len(allowed) == 1:
        return Found(verdict=Verdict.OBEYED)
    for sender in senders:  # of several NICs none may be idle
        for nic in sender.nics:
            carried = sent.get(nic, 0)
            if carried < 0.01 * total + (setup_bytes if carried < total / 10 else 0):
                other = max(sent, key=lambda name: sent[name])
                return _differs(sender, other, sent[other] / total)
            if len(sender.nics) > 1 and carried < LEAST_STRIPE * total / len(allowed):
                reason = f"{sender.node}: {nic} carried {100 * carried / total:.1f} % of a stripe"
                return Found(verdict=Verdict.NOT_OBEYED, reason=f"rank {sender.rank} on {reason}")
    return Found(verdict=Verdict.OBEYED)


def _differs(sender: Sender, nic: str, share: float) -> Found:
    left = f"{100 * share:.1f} % of the node's bytes left by {nic}, asked {','.join(sender.nics)}"
    return Found(verdict=Verdict.NOT_OBEYED, reason=f"rank {sender.rank} on {sender.node}: {left}")
