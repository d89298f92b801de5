"""Read SNAP: sweeps of discrete ordinates through a regular mesh, as the program's output file has them.

Models: standard output and the output file of a run with a manufactured solution. Verified is the program's comparison
with that solution, and its line that every group has converged. The figure of merit is the program's inverse grind
time, which must be cells x angles x inner iterations of all groups / time of the solve. Leaves out: the shares of the
solver's phases.
"""

from __future__ import annotations

import math

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, shifted, single
from railyard.records import units

RATE = units.fom("cells_per_s", "1/s", "higher")
SOLVE = units.fom("solve_s", "s", "lower")
#: Largest difference from the manufactured solution. A cell of 0.01 leaves one of 0.0136 in the program's own test, for
#: 512 cells, 12 angles and 10 groups.
TOLERANCE = 0.03
#: From 1/ns to 1/s.
PLACES = 9
CONVERGED = " Success! Done in a SNAP!"
LARGEST = rf"    Manufactured/Computed Solutions Max Diff= +{NUMBER}"


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output, wrote = Output(source=source, text=text), Output(source=f"{source}, snap.out", text=left)
    ranks = wrote.whole("npey", r"     npey= +(\d+)") * wrote.whole("npez", r"     npez= +(\d+)")
    iterations = output.whole("No. Inners", r"  No\. Outers= *\d+ +No\. Inners= *(\d+)")
    error = wrote.number("Max Diff", LARGEST)
    solve_s = wrote.number("Solve", rf"    Solve +{NUMBER}")
    rate = wrote.number("Inverse Grind Time FOM", rf"  Inverse Grind Time FOM \(1/ns\) +{NUMBER}")
    cells_per_s = shifted(str(rate), PLACES, source, "Inverse Grind Time FOM")
    work = math.prod(wrote.whole(name, rf"    {name} = +(\d+)") for name in ("nx", "ny", "nz", "nang", "noct"))
    fault = "" if 0 <= error <= TOLERANCE else f"the largest difference is {error:g}, to be at most {TOLERANCE:g}"
    if not output.lines(CONVERGED):
        fault = f"no line {CONVERGED.strip()!r}, which a run prints that has converged"
    fault = f"SNAP: {fault}" if fault else ""
    if not fault and solve_s:
        determined = work * iterations / solve_s / 10**PLACES
        fault = disagreement("SNAP: inverse grind time", rate, determined, solve_s)
    return Reading(
        program="SNAP",
        version=wrote.token("Version Number", r" Version Number\.\. +(\S+)"),
        ranks=ranks,
        series=[single(RATE, cells_per_s), single(SOLVE, solve_s)],
        fault=fault,
        parameters={"iterations": iterations},
    )
