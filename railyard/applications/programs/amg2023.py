"""Read AMG2023 (LLNL/AMG2023, Spack's `amg2023`): set-up and solve rates of an algebraic multigrid solver.

Models: standard output of `amg -problem 1` and `-problem 2`, the releases with one figure of merit `FOM` and the first
ones with `FOM_1`. Verified is that the solver converged. The figure of merit is made of the two rates, and must agree
with them; despite its title the solve rate has no iterations in it. Leaves out: Caliper's regions, memory pools.
"""

from __future__ import annotations

from railyard.applications.programs import amg
from railyard.applications.reading import NUMBER, Output, Reading

ONE_FOM = r"Figure of Merit \(FOM\): nnz_AP / \(Setup Phase Time \+ (?:(\d) \* )?Solve Phase Time\) "


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    problem = output.whole("Problem ID", r"  Problem ID    = (\d)")
    formula = output.lines(rf"{ONE_FOM}{NUMBER}")  # without it, as in the first releases, the mean of the rates

    def fom(setup: float, solve: float) -> float:
        return 1 / (1 / setup + int(formula[0][1] or 1) / solve) if formula else (setup + solve) / 2

    return amg.reading(output, "AMG2023", "2023", fom, problem=problem)
