"""Read STREAM: memory bandwidth of four kernels, the best of their repetitions.

Models: standard output of stream.c 5.10 and its like. Verified is the program's comparison of its arrays. A rate must
be the bytes of a kernel's arrays over its shortest time; MB are 1e6 bytes. Leaves out: several copies on one node, each
of which prints a whole output.
"""

from __future__ import annotations

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, finite, shifted, single
from railyard.records import units

BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
#: Kernel -> arrays that it reads and writes.
KERNELS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
VALIDATES = r"Solution Validates: avg error less than \S+ on all (?:three )?arrays"


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    del left
    output = Output(source=source, text=text)
    version = output.token("version", r"STREAM version \$Revision: (\S+) \$")
    size = output.whole("bytes per array element", r"This system uses (\d+) bytes per array element\.")
    elements = output.whole("Array size", r"Array size = (\d+) \(elements\).*")
    threads = output.lines(r"Number of Threads counted = (\d{1,9})")
    rates = {kernel: _row(output, kernel) for kernel in KERNELS}
    failed = output.lines(r"(Failed Validation on array .*)")
    fault = f"STREAM: {failed[0][1]}" if failed else ""
    if not fault and not output.lines(VALIDATES):
        fault = f"STREAM: no line matches {VALIDATES!r}, which a right run prints"
    for kernel, (rate, time) in rates.items():
        if not fault and float(time) > 0:
            determined = KERNELS[kernel] * size * elements / float(time) * 1e-6
            fault = disagreement(f"STREAM: {kernel}", rate, determined, time)
    return Reading(
        program="STREAM",
        version=version,
        ranks=None,
        series=[]
        if fault
        else [single(BANDWIDTH, shifted(rate, -3, source, k), kernel=k) for k, (rate, _) in rates.items()],
        fault=fault,
        parameters={
            "array_bytes": size * elements,
            **({"threads": int(threads[0][1])} if len(threads) == 1 else {}),
        },
    )


def _row(output: Output, kernel: str) -> tuple[str, str]:
    """Return the rate and the shortest time of a kernel, as printed; raises InputError without them."""
    pattern = rf"{kernel}: +{NUMBER} +(?:\S+) +{NUMBER} +(?:\S+)"
    output.token(kernel, pattern)
    row = output.lines(pattern)[0]
    finite(row[2], output.source, kernel)
    return row[1], row[2]
