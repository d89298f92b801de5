"""What a simulated collective takes of this machine, before it starts: memory and time.

All ranks of a simulation are one process, so their buffers add up; and each message costs some time of this machine.
Models: send and receive buffers of every rank, the copies of messages that wait for their receiver, the ranks'
stacks; messages times the time of one. Leaves out what the benchmark and SimGrid need besides (some ten MiB).
"""

from __future__ import annotations

from dataclasses import dataclass

from railyard.torus.simulated import smpi
from railyard.torus.simulated.smpi import SimulationLimits

#: Seconds per message of a large collective, by `python -m perf simulated` of commit 17cd6ed. Single figures differ
#: from it by up to a factor of two.
MESSAGE_S = 500e-6
#: What the buffers of a rank hold for each rank of its group, in blocks: to send, to receive, under way.
BLOCKS = {"alltoall": 3.0, "allgather": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationCost:
    """Bytes of memory at a time, and seconds of this machine's time."""

    memory_bytes: float = 0.0
    time_s: float = 0.0

    def __add__(self, later: SimulationCost) -> SimulationCost:
        """One after the other."""
        most = max(self.memory_bytes, later.memory_bytes)
        return SimulationCost(memory_bytes=most, time_s=self.time_s + later.time_s)

    def excess(self, limits: SimulationLimits) -> str:
        """In words what exceeds the limits; empty when nothing does."""
        gib = self.memory_bytes / 2**30
        if gib > limits.memory_gib:
            return f"it would take about {gib:.3g} GiB of memory, of {limits.memory_gib:g}"
        if self.time_s > limits.time_s:
            return f"it would take about {self.time_s:.0f} s of this machine's time, of {limits.time_s:g}"
        return ""


def collective(name: str, groups: int, ranks: int, *, size_bytes: int, rounds: int) -> SimulationCost:
    """A collective in so many groups of so many ranks at once, `rounds` times.

    `size_bytes` is the block for each pair (alltoall) or each rank's contribution (allgather). Others pass 2 messages a
    rank at least log2(ranks) times; their buffers are small.
    """
    if name not in BLOCKS:
        messages = 2.0 * groups * ranks * ranks.bit_length()
        return SimulationCost(memory_bytes=_stacks(groups * ranks), time_s=messages * rounds * MESSAGE_S)
    pairs = float(groups * ranks * ranks)
    return SimulationCost(
        memory_bytes=BLOCKS[name] * pairs * size_bytes + _stacks(groups * ranks),
        time_s=pairs * rounds * MESSAGE_S,
    )


def _stacks(ranks: int) -> float:
    return ranks * smpi.STACK_KIB * 1024.0
