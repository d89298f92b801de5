"""Read AMG (amg2013's successor in Spack's recipe `amg2013`): set-up and solve rates of an algebraic multigrid solver.

Models: standard output of `amg -problem 1`. Verified is that the solver converged: the final relative residual norm is
at most its tolerance. The figure of merit is the program's: (set-up rate + 3 x solve rate) / 4, in non-zeros per
second; it must agree with its parts. Leaves out: problem 2, whose figure of merit is another.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, single
from railyard.records import units
from railyard.records.json_io import Json

FOM = units.fom("fom_per_s", "1/s", "higher")
SETUP = units.fom("setup_per_s", "1/s", "higher")
SOLVE = units.fom("solve_per_s", "1/s", "higher")
#: The driver's fixed tolerance.
TOLERANCE = 1e-8


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    return reading(Output(source=source, text=text), "AMG", "1.2", lambda setup, solve: (setup + 3 * solve) / 4)


def reading(
    output: Output, program: str, version: str, of_rates: Callable[[float, float], float], **more: Json
) -> Reading:
    """Return the reading of a solver; `of_rates` is its figure of merit by the rates of set-up and solve."""
    grid = output.token("(Px, Py, Pz)", r"    \(Px, Py, Pz\) = \((\d{1,9}, \d{1,9}, \d{1,9})\)")
    norm = output.number("Final Relative Residual Norm", rf"Final Relative Residual Norm = {NUMBER}")
    iterations = output.whole("Iterations", r"Iterations = (\d+)")
    fom = output.number("Figure of Merit", rf"Figure of Merit \((?:FOM_1|FOM)\): (?:nnz_AP .*\) )?{NUMBER}")
    setup = output.number("FOM_Setup", rf"FOM_Setup: nnz_AP / Setup Phase Time: {NUMBER}")
    solve = output.number("FOM_Solve", rf"FOM_Solve: nnz_AP(?: \* [Ii]terations)? / Solve Phase Time: {NUMBER}")
    fault = ""
    if norm > TOLERANCE:
        fault = f"{program}: final relative residual norm is {norm:g}, to be at most {TOLERANCE:g}"
    elif setup > 0 and solve > 0:
        fault = disagreement(f"{program}: FOM", fom, of_rates(setup, solve), setup, solve)
    return Reading(
        program=program,
        version=version,
        ranks=math.prod(int(part) for part in grid.split(",")),
        series=[single(FOM, fom), single(SETUP, setup), single(SOLVE, solve)],
        fault=fault,
        parameters={**more, "iterations": iterations},
    )
