"""Collectives of PyTorch's Gloo, on processors alone, under placements and NIC policies (benchmarks/gloo)."""

from __future__ import annotations

import shutil
import subprocess

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from checks.applications.ccl import CclCheck
from railyard.base.checkout import CHECKOUT
from railyard.records.record import Software


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
    #:
    #: :type: :class:`str`
    #: :default: ``'python3'``
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
