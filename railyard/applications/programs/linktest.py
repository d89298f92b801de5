"""Read LinkTest (Forschungszentrum Juelich): time and bandwidth of messages between all pairs of tasks.

Models: standard output of version 1 (`mpilinktest`) and of version 2 (`linktest`): minimum, average and maximum over
all pairs, and the bisection bandwidth of version 2. Time x rate must be one message size in all three. Leaves out: the
SION file with the matrix, the slowest pairs, all-to-all.
"""

from __future__ import annotations

import re

from railyard.applications.reading import NUMBER, Output, Reading, UnreadableError, finite, precision, single
from railyard.records import units

LATENCY = units.fom("latency_us", "us", "lower")
BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
BISECTION = units.fom("bisection_bandwidth_gbyte_s", "GB/s", "higher")
#: Microseconds and GB/s of the units that LinkTest prints; its MB and GB of version 1 are powers of two.
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
GBYTES = {
    "MB": 2**20 * 1e-9,
    **{f"{letter}iB": 2.0**power * 1e-9 for letter, power in zip("KMGT", (10, 20, 30, 40), strict=True)},
}
RESULT = rf"RESULT: (Min|Max|Avg) Time: +{NUMBER} ?(ns|us|ms|s) +\( *{NUMBER} (MB|[KMGT]iB)/s\).*"
AGGREGATED = rf"Aggregated Results: .* avg\. bisection bw: +{NUMBER} (MB|[KMGT]iB)/s"


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    rows = {line[1]: line for line in output.lines(RESULT)}
    if set(rows) != {"Min", "Max", "Avg"}:
        why = f"lacks the lines `RESULT: Min Time: ...`; the output ends with {output.last_line()!r}"
        raise UnreadableError(source, "RESULT", why)
    tasks = output.lines(r"linktest: Number of MPI-Task: +(\d{1,9})")
    series, sizes = [], []
    for word, name in (("Avg", "average"), ("Min", "minimum"), ("Max", "maximum")):
        time, rate = _pair(source, rows[word])
        sizes.append((time * rate, precision(rows[word][2]) + precision(rows[word][4])))
        series += [single(LATENCY, time, statistic=name), single(BANDWIDTH, rate, statistic=name)]
    if bisection := output.lines(AGGREGATED):
        value = finite(bisection[-1][1], source, "bisection bw") * GBYTES[bisection[-1][2]]
        series.append(single(BISECTION, value))
    smallest, largest = min(sizes), max(sizes)
    room = 1.01 * (smallest[1] + largest[1])
    fault = ""
    if not largest[0] <= smallest[0] * (1 + room):
        fault = f"LinkTest: times x rates are messages of {smallest[0] * 1e3:.6g} and {largest[0] * 1e3:.6g} bytes"
    return Reading(
        program="LinkTest",
        version="1" if "MB" in rows["Avg"][0] else "2",
        ranks=int(tasks[0][1]) if len(tasks) == 1 else None,
        series=series,
        fault=fault,
    )


def _pair(source: str, row: re.Match[str]) -> tuple[float, float]:
    """Return time in microseconds and rate in GB/s of a line of results."""
    time = finite(row[2], source, f"{row[1]} Time") * MICROSECONDS[row[3]]
    return time, finite(row[4], source, f"{row[1]} Time") * GBYTES[row[5]]
