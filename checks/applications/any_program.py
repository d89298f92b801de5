"""Any MPI program: what its ranks send is captured, and placements fitted to that are measured with others."""

from __future__ import annotations

import shlex
from pathlib import Path

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, variable

from checks.application import ApplicationCheck
from railyard.jobs import schedule
from railyard.records.record import Software


@rfm.simple_test
class fit_any(ApplicationCheck):
    """Time from MPI_Init to MPI_Finalize of a program that -S program names; `railyard fit` runs it."""

    descr = "Any MPI program: its time under placements, one of them fitted to what its ranks send"
    benchmark = "any_program"
    placements = ["scheduler", "plain"]
    maintainers = ["railyard"]

    #: Path of the program, or its name in -S programs or on the PATH; empty to skip this check.
    program = ""

    #: Its arguments, as a shell's words.
    arguments = variable(str, value="")

    #: Number of ranks, on the most cubic grid; 0 for the grid that -S grid gives.
    ranks = variable(int, value=8)

    #: Capture what the ranks send in each launch, into launch-NNN.matrix of the stage directory.
    captures = variable(typ.Bool, value=False)

    @run_after("init")
    def choose_machine(self) -> None:
        """Set the grid to the most cubic one of the ranks."""
        self.grid = self.grid or schedule.cubic(self.ranks)

    @run_after("init")
    def take_arguments(self) -> None:
        """Split the arguments, and the path into folder and name."""
        self.skip_if(not self.program, "no program: -S program=PATH, or run: railyard fit -- PROGRAM")
        self.options = shlex.split(self.arguments)
        path = Path(self.program)
        self.program, self.programs = (path.name, str(path.parent) if path.name != self.program else self.programs)
        self.parameters = {"program": self.program, "arguments": self.arguments}

    def _program(self, index: int, whose: Software) -> list[str]:
        stem = f"launch-{index:03d}"
        captured = [f"RAILYARD_MATRIX={stem}.matrix"] if self.captures else []
        return ["env", f"RAILYARD_TIME={stem}.left", *captured, *super()._program(index, whose)]
