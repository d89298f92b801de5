"""Collectives of the AI stack under placements and NIC policies: nccl-tests or rccl-tests.

The bytes of the NICs decide whether the stack obeyed a policy. `-S nic_settings='NAME=VALUE ...'` judges settings of
your own in place of those that railyard knows. Leaves out: plugins of NCCL that choose NICs by themselves.
"""

from __future__ import annotations

import dataclasses

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from checks.application import ApplicationCheck
from railyard.jobs.partition import Partition
from railyard.placements.nics.stacks import stacks


class CclCheck(ApplicationCheck):
    """One collective of a library, its sizes by powers of two, and the NIC policies that the library can express."""

    tags = {"ccl"}
    torus = "dual-rail-small"
    allocation = "contiguous"
    placements = ["cart-create@scattered"]
    grid = [2, 2, 2]
    ranks_per_node = 2

    #: The communication library whose variables choose the NICs: gloo, nccl or nccl-socket.
    #:
    #: :type: :class:`str`
    #: :default: by check
    nic_stack = variable(str)

    #: Smallest and largest message in bytes, as nccl-tests counts it: a power of two.
    #:
    #: :type: :class:`int`
    #: :default: by `scale`
    smallest = variable(int, value=0)
    largest = variable(int, value=0)

    #: Timed and untimed collectives of each size.
    #:
    #: :type: :class:`int`
    #: :default: by `scale`
    iterations = variable(int, value=0)
    warmups = variable(int, value=-1)

    # What starts the ranks leaves by any NIC, some 10 KiB of a node: the rest must be a hundred times as much.
    small = {"smallest": 1 << 16, "largest": 1 << 17, "iterations": 10, "warmups": 1}
    standard = {"smallest": 1 << 10, "largest": 1 << 28, "iterations": 20, "warmups": 5}

    def _partition(self) -> Partition:
        """Return the partition with the library's stack in place of MPI's, whose messages only start the ranks."""
        where = super()._partition()
        features = [self.nic_stack, *(name for name in where.features if name not in stacks())]
        return dataclasses.replace(where, features=features)

    def _sizes(self) -> list[str]:
        self.parameters = {
            **self.parameters,
            "operation": self.operation,
            "iterations": self.iterations,
            "smallest_bytes": self.smallest,
            "largest_bytes": self.largest,
        }
        words = {"-b": self.smallest, "-e": self.largest, "-f": 2, "-n": self.iterations, "-w": self.warmups}
        return [str(word) for pair in words.items() for word in pair]


@rfm.simple_test
class ccl_nccl(CclCheck):
    """One collective of NCCL or RCCL by nccl-tests or rccl-tests built with MPI=1, a rank per GPU, data checked."""

    descr = "NCCL or RCCL: one collective under NIC policies"
    valid_systems = ["+torus %origin=measured"]
    benchmark = "nccl_tests"
    program = "all_reduce_perf"
    nic_stack = "nccl"
    nics = ["library-default", "local-nic"]

    #: The collective: its program is NAME_perf.
    operation = parameter(["all_reduce", "all_gather", "reduce_scatter", "alltoall"])

    @run_after("init")
    def choose_program(self) -> None:
        self.program = f"{self.operation}_perf"

    @run_after("setup")
    def choose_options(self) -> None:
        self.options = [*self._sizes(), "-g", "1", "-c", "1"]
