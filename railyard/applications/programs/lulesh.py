"""Read LULESH 2.0: zones per second of a Sedov blast wave, and whether its result is right.

Models: standard output of `lulesh2.0`. Verified is what LLNL-TR-641973 demands of a run to the end: the three measures
of symmetry below 1e-8, and the final origin energy to the six digits that are printed. That energy follows from the
edge of the whole mesh alone (edge of a domain times the cube root of the ranks). A run that `-i` cuts short has
energies of 1e8 and more, in which the last digit alone is above 1e-8. For such runs, and for edges that are not in the
table, only the relative difference is judged. The figure of merit is thousands of zones per second. It must be
edge^3 x ranks x iterations / elapsed time, because release 2.0.3 counts zones in 32 bits. Leaves out: the grind time.
"""

from __future__ import annotations

import math

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, single
from railyard.base.errors import InputError
from railyard.records import units
from railyard.records.programs.third_party import LULESH_RUNS

FOM = units.fom("fom_kzone_s", "kzone_s", "higher")
ELAPSED = units.fom("elapsed_s", "s", "lower")
SYMMETRY_LIMIT = 1e-8
#: The program's measures of symmetry; the last one is relative.
ALL_MEASURES = ("MaxAbsDiff", "TotalAbsDiff", "MaxRelDiff")
#: LULESH prints 1000 / grind time in microseconds, and calls it z/s.
THOUSANDS = 1000


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    edge = output.whole("Problem size", r"   Problem size        =  (\d+)")
    ranks = output.whole("MPI tasks", r"   MPI tasks           =  (\d+)")
    iterations = output.whole("Iteration count", r"   Iteration count     =  (\d+)")
    energy = output.number("Final Origin Energy", rf"   Final Origin Energy = +{NUMBER}")
    elapsed_s = output.number("Elapsed time", rf"Elapsed time         = +{NUMBER} \(s\)")
    fom = output.number("FOM", rf"FOM                  = +{NUMBER} \(z/s\)")
    threads = output.lines(r"Num threads: (\d{1,9})")
    root = round(math.cbrt(ranks))
    if root**3 != ranks:
        raise InputError(source, "MPI tasks", ranks, "a cube of a whole number")
    mesh = edge * root
    complete = mesh in LULESH_RUNS and LULESH_RUNS[mesh][0] == iterations
    measures = {name: output.number(name, rf"        {name} +=  *{NUMBER}") for name in ALL_MEASURES}
    judged = ALL_MEASURES if complete else ALL_MEASURES[-1:]
    fault = ""
    if wrong := next((name for name in judged if measures[name] >= SYMMETRY_LIMIT), ""):
        limit = f"to be below {SYMMETRY_LIMIT:g}: the blast is not symmetric"
        fault = f"LULESH: {wrong} is {measures[wrong]:g}, {limit}"
    elif complete and float(LULESH_RUNS[mesh][1]) != energy:
        wanted = f"to be {LULESH_RUNS[mesh][1]} for a mesh of edge {mesh}"
        fault = f"LULESH: final origin energy is {energy}, {wanted}"
    elif elapsed_s:
        zones = edge**3 * ranks * iterations
        fault = disagreement("LULESH: FOM", fom, zones / elapsed_s / THOUSANDS, elapsed_s)
    return Reading(
        program="LULESH",
        version="2.0",
        ranks=ranks,
        series=[single(FOM, fom), single(ELAPSED, elapsed_s)],
        fault=fault,
        parameters={"edge": edge, "iterations": iterations}
        | ({"threads": int(threads[0][1])} if len(threads) == 1 else {}),
    )
