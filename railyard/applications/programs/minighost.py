"""Read MiniGhost: Gflop/s of a difference stencil with boundary exchange in three dimensions.

Models: standard output and the file `results.yaml`. Verified is the program's own check, that the heat put in is
conserved within its tolerance. The program prints the rate twice, under two names. The first is read, and must be the
operations over the time. Leaves out: its own profile of phases; mpiP gives one that is the same for all programs.
"""

from __future__ import annotations

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, single
from railyard.records import units

RATE = units.fom("total_gflop_s", "GFLOPS", "higher")
TIME = units.fom("time_s", "s", "lower")
WITHIN = r" *Computation within error tolerance\."
BEYOND = (
    r"Time step +(?:\d+|\*+) for spike +\d+ for variable +\d+"
    rf" the error is +{NUMBER}; error tolerance is +{NUMBER}\."
)


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output, wrote = Output(source=source, text=text), Output(source=f"{source}, results.yaml", text=left)
    beyond = [line for line in output.lines(BEYOND) if not float(line.group(1)) <= float(line.group(2))]
    fault = f"MiniGhost: the error is {beyond[0].group(1)}, its tolerance {beyond[0].group(2)}" if beyond else ""
    if not fault:
        output.token("Computation within error tolerance", f"({WITHIN})")
    ranks = wrote.whole("processes", r" processes: +(\d+)")
    rate = wrote.number("GFLOPS_Total", rf" GFLOPS_Total: +{NUMBER}")
    time_s = wrote.number("Total_time", rf" Total_time: +{NUMBER}")
    operations = wrote.number("FLOPS_Total", rf" FLOPS_Total: +{NUMBER}")
    if not fault and time_s:
        determined = operations / time_s * 1e-9
        fault = disagreement("MiniGhost: GFLOPS_Total", rate, determined, operations, time_s)
    series = [single(RATE, rate), single(TIME, time_s)]
    return Reading(program="MiniGhost", version="1.0", ranks=ranks, series=series, fault=fault)
