"""Read LULESH 2.0: zones per second of a Sedov blast wave, and whether its result is right.

Models: standard output of `lulesh2.0`. Verified is what LLNL-TR-641973 demands: the three measures of symmetry below
1e-8 and, for a run to the end, the final origin energy to the six digits that are printed. That energy follows from the
edge of the whole mesh alone (edge of a domain times the cube root of the ranks). Leaves out: runs cut short by `-i`,
where symmetry alone is judged, and edges that are not in the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from railyard.applications.reading import NUMBER, Output, Reading, finite, single
from railyard.base.errors import InputError
from railyard.records import units

FOM = units.fom("fom_zone_s", "z/s", "higher")
ELAPSED = units.fom("elapsed_s", "s", "lower")
SYMMETRY_LIMIT = 1e-8

#: Edge of the whole mesh -> (iterations to the end, final origin energy as printed). LLNL's reference results; 15 and
#: 20 by one domain.
KNOWN: Mapping[int, tuple[int, str]] = {
    5: (72, "7.853665e+03"),
    10: (231, "2.720531e+04"),
    15: (400, "5.702894e+04"),
    20: (575, "9.668856e+04"),
    30: (932, "2.025075e+05"),
    45: (1477, "4.234875e+05"),
    50: (1662, "5.124778e+05"),
    70: (2402, "9.417145e+05"),
    90: (3145, "1.482403e+06"),
}


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    del left
    output = Output(source=source, text=text)
    edge = output.whole("Problem size", r"   Problem size        =  (\d+)")
    ranks = output.whole("MPI tasks", r"   MPI tasks           =  (\d+)")
    iterations = output.whole("Iteration count", r"   Iteration count     =  (\d+)")
    energy = output.token("Final Origin Energy", rf"   Final Origin Energy = +{NUMBER}")
    finite(energy, source, "Final Origin Energy")
    elapsed = output.number("Elapsed time", rf"Elapsed time         = +{NUMBER} \(s\)")
    fom = output.number("FOM", rf"FOM                  = +{NUMBER} \(z/s\)")
    threads = output.lines(r"Num threads: (\d+)")
    fault = _asymmetry(output) or _wrong_energy(edge * _cube_root(ranks, source), iterations, energy)
    series = [single(FOM, fom), single(ELAPSED, elapsed)]
    return Reading(
        program="LULESH",
        version="2.0",
        ranks=ranks,
        series=[] if fault else series,
        fault=fault,
        parameters={
            "edge": edge,
            "iterations": iterations,
            **({"threads": int(threads[0][1])} if len(threads) == 1 else {}),
        },
    )


def _asymmetry(output: Output) -> str:
    """Return the first measure of symmetry that is too large, in one line; empty if none is."""
    for name in ("MaxAbsDiff", "TotalAbsDiff", "MaxRelDiff"):
        value = output.number(name, rf"        {name} +=  *{NUMBER}")
        if value >= SYMMETRY_LIMIT:
            return f"LULESH: {name} is {value:g}, to be below {SYMMETRY_LIMIT:g}: the blast is not symmetric"
    return ""


def _wrong_energy(edge: int, iterations: int, energy: str) -> str:
    """Return what is wrong with the final energy, in one line; empty if it is right, or if no reference is known."""
    reference = KNOWN.get(edge)
    if reference is None or reference[0] != iterations or float(reference[1]) == float(energy):
        return ""
    return f"LULESH: final origin energy is {energy}, to be {reference[1]} for a mesh of edge {edge}"


def _cube_root(ranks: int, source: str) -> int:
    root = round(math.cbrt(ranks))
    if root**3 != ranks:
        raise InputError(source, "MPI tasks", ranks, "a cube of a whole number")
    return root
