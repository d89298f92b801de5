"""Read HP2P (CEA): bandwidth and latency between all pairs while the network is busy, and bisection bandwidth.

Models: standard output, minimum, average and maximum. MB are 2^20 bytes. The largest bandwidth must be the message over
the shortest time, the smallest that over the longest. Leaves out: standard deviations, efficiencies, the HTML page.
"""

from __future__ import annotations

from railyard.applications.reading import MIB_GBYTE, NUMBER, Output, Reading, disagreement, single
from railyard.records import units

LATENCY = units.fom("latency_us", "us", "lower")
BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
BISECTION = units.fom("bisection_bandwidth_gbyte_s", "GB/s", "higher")
STATISTICS = {"Avg": "average", "Min": "minimum", "Max": "maximum"}
#: Figure -> what the program calls it, its unit, and that unit in the figure's.
FIGURES = {
    BANDWIDTH: ("bandwidth", "MB/s", MIB_GBYTE),
    LATENCY: ("latency", "us", 1.0),
    BISECTION: ("bisection bandwidth", "MB/s", MIB_GBYTE),
}


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    del left
    output = Output(source=source, text=text)
    size = output.whole("Message size", r" Message size +: (\d+)")
    iterations = output.whole("Number of iteration", r" Number of iteration +: (\d+)")
    output.token("end", r" (===============)")
    printed = {
        (words, statistic): output.number(f"{statistic} {words}", rf" {statistic} {words} +: {NUMBER} {unit}")
        for words, unit, _ in FIGURES.values()
        for statistic in STATISTICS
    }
    fault = ""
    for rate, time in (("Max", "Min"), ("Min", "Max")):
        latency = printed["latency", time]
        if not fault and latency > 0:
            determined = size / latency * 1e6 / 2**20
            fault = disagreement(f"HP2P: {rate} bandwidth", printed["bandwidth", rate], determined, latency)
    return Reading(
        program="HP2P",
        version="unknown",
        ranks=None,
        series=[
            single(fom, printed[words, word] * factor, statistic=name)
            for fom, (words, _, factor) in FIGURES.items()
            for word, name in STATISTICS.items()
        ],
        fault=fault,
        parameters={"message_bytes": size, "iterations": iterations},
    )
