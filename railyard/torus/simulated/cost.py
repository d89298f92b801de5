"""Estimate the memory and the time of this machine that a simulated collective needs, before it starts.

All ranks of a simulation are one process, so their buffers add up. Each message takes some time of this machine.
Models: send and receive buffers of every rank, copies of messages that wait for their receiver, the ranks' stacks, and
the number of messages times the time of one. Leaves out what the benchmark and SimGrid need otherwise (some ten MiB).
"""

from __future__ import annotations

from dataclasses import dataclass

from railyard.torus.simulated import smpi
from railyard.torus.simulated.smpi import SimulationLimits

#: Seconds per message of a large collective, a rough value for one idle processor.
MESSAGE_S = 500e-6
#: Blocks in the buffers of a rank per rank of its group: to send, received, and in transit.
BLOCKS = {"alltoall": 3.0, "allgather": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationCost:
    """The peak memory in bytes, and the time on this machine in seconds, of a simulation."""

    memory_bytes: float = 0.0
    time_s: float = 0.0

    def __add__(self, later: SimulationCost) -> SimulationCost:
        """Return the cost of one simulation after another: the larger memory, the sum of the times."""
        peak_bytes = max(self.memory_bytes, later.memory_bytes)
        return SimulationCost(memory_bytes=peak_bytes, time_s=self.time_s + later.time_s)

    def excess(self, limits: SimulationLimits) -> str:
        """Return in words which limit is exceeded; an empty text if none is."""
        gib = self.memory_bytes / 2**30
        if gib > limits.memory_gib:
            return f"it would take about {gib:.3g} GiB of memory, of {limits.memory_gib:g}"
        if self.time_s > limits.time_s:
            return f"it would take about {self.time_s:.0f} s of this machine's time, of {limits.time_s:g}"
        return ""


def collective(name: str, groups: int, ranks: int, *, size_bytes: int, rounds: int) -> SimulationCost:
    """Return the cost of a collective in `groups` groups of `ranks` ranks at once, `rounds` times.

    `size_bytes` is the block for each pair (alltoall) or each rank's contribution (allgather). Other collectives pass
    2 messages per rank in each of about log2(ranks) steps, and their buffers are small.
    """
    stacks_bytes = groups * ranks * smpi.STACK_KIB * 1024.0
    if name not in BLOCKS:
        messages = 2.0 * groups * ranks * ranks.bit_length()
        return SimulationCost(memory_bytes=stacks_bytes, time_s=messages * rounds * MESSAGE_S)
    pairs = float(groups * ranks * ranks)
    memory_bytes = BLOCKS[name] * pairs * size_bytes + stacks_bytes
    return SimulationCost(memory_bytes=memory_bytes, time_s=pairs * rounds * MESSAGE_S)
