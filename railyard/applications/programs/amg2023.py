"""Read AMG2023 (LLNL/AMG2023, Spack's `amg2023`): set-up and solve rates of an algebraic multigrid solver.

Models: standard output of `amg -problem 1` and `-problem 2`, the releases with one figure of merit `FOM` and the first
ones with `FOM_1`. Verified is that the solver converged. The figure of merit is made of the two rates, and must agree
with them; despite its title the solve rate has no iterations in it. Leaves out: Caliper's regions, memory pools.
"""

from __future__ import annotations

import math

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, single
from railyard.records import units

FOM = units.fom("fom_per_s", "1/s", "higher")
SETUP = units.fom("setup_per_s", "1/s", "higher")
SOLVE = units.fom("solve_per_s", "1/s", "higher")
#: The driver's tolerance for both problems.
TOLERANCE = 1e-8
ONE_FOM = r"Figure of Merit \(FOM\): nnz_AP / \(Setup Phase Time \+ (?:(\d) \* )?Solve Phase Time\) "


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    problem = output.whole("Problem ID", r"  Problem ID    = (\d)")
    grid = output.token("(Px, Py, Pz)", r"    \(Px, Py, Pz\) = \((\d{1,9}, \d{1,9}, \d{1,9})\)")
    norm = output.number("Final Relative Residual Norm", rf"Final Relative Residual Norm = {NUMBER}")
    iterations = output.whole("Iterations", r"Iterations = (\d+)")
    setup = output.number("FOM_Setup", rf"FOM_Setup: nnz_AP / Setup Phase Time: {NUMBER}")
    solve = output.number("FOM_Solve", rf"FOM_Solve: nnz_AP(?: \* iterations)? / Solve Phase Time: {NUMBER}")
    fom = output.number("Figure of Merit", rf"Figure of Merit \((?:FOM_1|FOM)\): (?:nnz_AP .*\) )?{NUMBER}")
    fault = (
        "" if norm <= TOLERANCE else f"AMG2023: final relative residual norm is {norm:g}, to be at most {TOLERANCE:g}"
    )
    if not fault and setup > 0 and solve > 0:
        formula = output.lines(rf"{ONE_FOM}{NUMBER}")  # without it, as in the first releases, the mean of the rates
        determined = 1 / (1 / setup + int(formula[0][1] or 1) / solve) if formula else (setup + solve) / 2
        fault = disagreement("AMG2023: FOM", fom, determined, setup, solve)
    return Reading(
        program="AMG2023",
        version="2023",
        ranks=math.prod(int(part) for part in grid.split(",")),
        series=[single(FOM, fom), single(SETUP, setup), single(SOLVE, solve)],
        fault=fault,
        parameters={"problem": problem, "iterations": iterations},
    )
