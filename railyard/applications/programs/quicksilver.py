"""Read Quicksilver: segments of particle tracks per second, and its own tests of CORAL-2's problems.

Models: standard output. Verified are three of its tests: ratios of reactions, balance of collisions and facet
crossings, no particle lost. The rate must be the segments of all cycles over the longest time of tracking. Leaves out:
its fourth test, a homogeneous fluence, which needs more particles than small runs have; its result is a parameter.
"""

from __future__ import annotations

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, single, whole
from railyard.records import units

RATE = units.fom("segments_per_s", "1/s", "higher")
#: Lines that a right run prints.
VERIFIED = (
    r"PASS:: Absorption / Fission / Scatter Ratios maintained with 1% tolerance",
    r"PASS:: Collision to Facet Crossing Ratio maintained even balanced within 1% tolerance",
    r"PASS:: No Particles Lost During Run",
)
#: A line of the table of cycles: eleven counts after the cycle's number, the last of them the segments.
CYCLE = rf" +\d+(?: +\d+){{10}} +(\d+)(?: +{NUMBER}){{4}}"
TRACKING = rf"cycleTracking +\d+ +(?:\S+) +(?:\S+) +{NUMBER} +.*"
MICRO = 1e-6


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    rate = output.number("segments_per_s", rf"Figure Of Merit +{NUMBER} \[Num Segments / Cycle Tracking Time\]")
    fluence = output.token("fluence_homogeneous", "(PASS|FAIL):: Fluence .*")
    missing = [line for line in VERIFIED if not output.lines(line)]
    fault = f"no line matches {missing[0]!r}, which a right run prints" if missing else ""
    if not fault and (tracking_us := output.number("cycleTracking", TRACKING)) and (cycles := output.lines(CYCLE)):
        segments = sum(whole(line[1], output.source, "num_seg") for line in cycles)
        fault = disagreement("Figure Of Merit", rate, segments / (tracking_us * MICRO), tracking_us)
    return Reading(
        program="Quicksilver",
        version="1.0",
        ranks=output.whole("ranks", r"Number of MPI ranks     : (\d+)"),
        series=[single(RATE, rate)],
        fault=f"Quicksilver: {fault}" if fault else "",
        parameters={"fluence_homogeneous": fluence},
    )
