"""Collectives of the AI stack under placements and NIC policies: nccl-tests or rccl-tests, and Gloo of PyTorch.

The bytes of the NICs decide whether the stack obeyed a policy. `-S nic_settings='NAME=VALUE ...'` judges settings of
your own in place of those that railyard knows. Leaves out: plugins of NCCL that choose NICs by themselves.
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from checks.application import ApplicationCheck
from railyard.base.checkout import CHECKOUT
from railyard.jobs.partition import Partition
from railyard.placements.nics.stacks import stacks
from railyard.records.record import Software


class CclCheck(ApplicationCheck):
    """One collective of a library, its sizes by powers of two, and the NIC policies that the library can express."""

    tags = {"ccl"}
    torus = "dual-rail-small"
    allocation = "contiguous"
    placements = ["cart-create@scattered"]
    grid = [2, 2, 2]
    ranks_per_node = 2

    #: The communication library whose variables choose the NICs: gloo, nccl or nccl-socket.
    #: :default: by check
    nic_stack = variable(str)

    #: Smallest and largest message in bytes, as nccl-tests counts it: a power of two.
    #: :default: by `scale`
    smallest = variable(int, value=0)
    largest = variable(int, value=0)

    #: Timed and untimed collectives of each size.
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


@rfm.simple_test
class ccl_gloo(CclCheck):
    """One collective of PyTorch's Gloo, on processors alone, data checked."""

    descr = "Gloo of PyTorch: one collective under NIC policies"
    benchmark = "nccl_tests"
    program = "gloo_perf.py"
    nic_stack = "gloo"
    nics = ["nic-0", "nic-1", "stripe"]
    launches = 1

    #: The collective.
    operation = parameter(["all_reduce", "alltoall"])

    #: The Python that has PyTorch.
    python = variable(str, value="python3")

    @run_after("init")
    def choose_program(self) -> None:
        self.programs = str(CHECKOUT / "benchmarks/gloo")

    @run_after("setup")
    def need_pytorch(self) -> None:
        """Skip where Python has no PyTorch, which no list of packages of railyard contains: its wheels are large."""
        script = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
        if shutil.which(self.python) is None or subprocess.run([self.python, "-c", script], check=False).returncode:
            self.skip(f"no PyTorch in {self.python}: -S python=PATH names a Python that has it (pip install torch)")

    @run_after("setup")
    def choose_options(self) -> None:
        self.options = [self.operation, *self._sizes()]

    def _program(self, index: int, whose: Software) -> list[str]:
        words = super()._program(index, whose)
        start = len(words) - len(self.options) - 1
        return [*words[:start], self.python, *words[start:]]
