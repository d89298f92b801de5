"""Read mpiGraph (LLNL): bandwidth from every rank to every other, and how even it is.

Models: standard output. The figures are the mean, smallest and largest bandwidth of the two matrices, and the slowest
pair is a parameter, because n ranks have n^2 pairs. The printed maximum and average must agree with the matrix. The
average is the harmonic mean, that of the times. MB are 2^20 bytes. Leaves out: the report of crunch_mpiGraph.
"""

from __future__ import annotations

import math

from railyard.applications import reading
from railyard.applications.reading import MIB_GBYTE, NUMBER, Output, Reading, UnreadableError, single
from railyard.records import units
from railyard.records.benchmark import Series
from railyard.records.json_io import Json

BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
#: Kind of matrix -> the word after a rank's name.
KINDS = {"Send": "to", "Recv": "from"}
#: Largest relative difference between a printed figure and that of the matrix, which has three decimals.
ROUNDING = 1e-3


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    version = output.token("title", r"START mpiGraph v(\S+)")
    ranks = output.whole("Procs", r"Procs\s+(\d+)")
    size = output.whole("MsgSize", r"MsgSize\s+(\d+)")
    output.token("end", r"(END mpiGraph)")
    series: list[Series] = []
    fault, parameters = "", dict[str, Json](message_bytes=size)
    for kind in KINDS:
        names, matrix = _matrix(output, kind, ranks)
        printed = [output.number(f"{kind} {word}", rf"{kind} {word}\s+{NUMBER}") for word in ("max", "avg")]
        pairs = {(row, column): rate for row, line in enumerate(matrix) for column, rate in enumerate(line)}
        pairs = {pair: rate for pair, rate in pairs.items() if pair[0] != pair[1]}
        slowest = min(pairs, key=pairs.__getitem__)
        if not pairs[slowest] > 0:
            raise UnreadableError(source, kind, f"no bandwidth from {names[slowest[0]]} to {names[slowest[1]]}")
        mean = len(pairs) / math.fsum(1 / rate for rate in pairs.values())
        for word, value, wanted in zip(("max", "avg"), printed, (max(pairs.values()), mean), strict=True):
            if not fault and not abs(value - wanted) <= ROUNDING * wanted:
                fault = f"mpiGraph: {kind} {word} is {value:g} MB/s, but that of the matrix is {wanted:.6g} MB/s"
        parameters[f"slowest_{kind.lower()}"] = " ".join((names[slowest[0]], KINDS[kind], names[slowest[1]]))
        for statistic, rate in (("average", printed[1]), ("minimum", pairs[slowest]), ("maximum", printed[0])):
            series.append(single(BANDWIDTH, rate * MIB_GBYTE, direction=kind.lower(), statistic=statistic))
    return Reading(program="mpiGraph", version=version, ranks=ranks, series=series, fault=fault, parameters=parameters)


def _matrix(output: Output, kind: str, ranks: int) -> tuple[list[str], list[list[float]]]:
    """Return the names of the ranks and the bandwidths between them; raises InputError unless the matrix is whole."""
    rows = output.lines(rf"(\S+):(\d+) {KINDS[kind]}((?:\s+[0-9.]+)+)")
    if len(rows) != ranks or ranks < 2:
        why = f"{len(rows)} rows for {ranks} ranks; the output ends with {output.last_line()!r}"
        raise UnreadableError(output.source, kind, why)
    cells = [row[3].split() for row in rows]
    if wrong := next((words for words in cells if len(words) != ranks), None):
        raise UnreadableError(output.source, kind, f"a row of {len(wrong)} numbers for {ranks} ranks")
    return [row[1] for row in rows], [[reading.finite(word, output.source, kind) for word in words] for words in cells]
