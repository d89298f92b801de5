"""Read UMT2013: unknowns per second of a sweep through an unstructured mesh, as `SuOlsonTest` prints it.

Models: standard output of the Su-Olson problem. Verified is the material's energy where the analytic solution is known:
every printed error is at most `TOLERANCE`. The figure of merit must be unknowns x iterations / time of work.
Leaves out: the profile of temperatures in the file dump.out.
"""

from __future__ import annotations

import math

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, finite, single
from railyard.base.errors import InputError
from railyard.records import units

RATE = units.fom("unknowns_per_s", "1/s", "higher")
WORK = units.fom("work_s", "s", "lower")
#: Largest difference from the analytic solution: three times that of the two coarsest meshes that were run (0.0006 and
#: 0.00065, with two and three zones along each edge of a rank).
TOLERANCE = 0.002
ERRORS = rf" z= +{NUMBER} tInterpolated= +{NUMBER} tExact= *{NUMBER} error= *{NUMBER}"


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    ranks = output.whole("ranks", r" Executing UMT2013 Number of ranks =(\d+)")
    threads = output.whole("threads", r" and number of OMP threads  =(\d+)")
    unknowns = output.number("numUnknowns", rf"numUnknowns = {NUMBER}")
    work_s = output.number("cumulativeWorkTime", rf"cumulativeIterationCount= (?:\d+) cumulativeWorkTime={NUMBER} s\.")
    iterations = output.whole("cumulativeIterationCount", r"cumulativeIterationCount= (\d+) .*")
    rate = output.number("figure of merit", rf"figure of merit = {NUMBER}")
    errors = [finite(line.group(4), output.source, "error") for line in output.lines(ERRORS)]
    if not errors:
        valid = "a line ` z= ... error= ...` for each place where the solution is known"
        raise InputError(output.source, "error", problem="no error is printed", valid=valid)
    error = math.inf if any(error < 0 for error in errors) else max(errors)
    fault = "" if error <= TOLERANCE else f"UMT: the largest error is {error:g}, to be at most {TOLERANCE:g}"
    if not fault and work_s:
        fault = disagreement("UMT: figure of merit", rate, unknowns * iterations / work_s, unknowns, work_s)
    return Reading(
        program="UMT",
        version="2013",
        ranks=ranks,
        series=[single(RATE, rate), single(WORK, work_s)],
        fault=fault,
        parameters={"iterations": iterations, "unknowns": float(unknowns), "threads": threads},
    )
