"""Read IOR: bandwidth of writes and reads of a parallel file system, a sample for every repetition.

Models: standard output of IOR 2.10 to 4, in its plain format, by the heads of columns. A rate must be the bytes of
all tasks over the whole time, unless a time limit cut the transfers short; the largest must be that of the summary.
Wrong data make the run unverified. Leaves out: JSON and CSV (`-O summaryFormat`), mdtest, operations per second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from railyard.applications import reading
from railyard.applications.reading import NUMBER, Output, Reading, UnreadableError, disagreement, finite
from railyard.records import units
from railyard.records.benchmark import Series

BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
#: MiB of the units that sizes are printed in.
MIB: Mapping[str, float] = {
    "bytes": 2.0**-20,
    "KiB": 2.0**-10,
    "MiB": 1,
    "GiB": 2**10,
    "TiB": 2**20,
    "PiB": 2**30,
}


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    del left
    output = Output(source=source, text=text)
    version = output.token("title", r"IOR-(\S+): MPI Coordinated Test of Parallel I/O")
    output.token("end", r"(?:Finished +: |Run finished: )(.+)")
    tasks = output.lines(r"[ \t]*(?:tasks|clients) +[:=] +(\d+)(?: \(.*\))?")
    rows = list(_rows(output))
    if not rows:
        raise UnreadableError(
            source, "Results", f"no row of figures; the output ends with {output.last_line()!r}"
        )
    wrong = output.lines(r".*(?:incorrect data|[Dd]ata check failed|unexpected value).*")
    fault = f"IOR: wrong data: {wrong[0][0].strip()[:80]}" if wrong else ""
    fault = fault or next(filter(None, _contradictions(output, rows)), "")
    samples: dict[str, list[float]] = {}
    for row in rows:
        rate = finite(row["bw(MiB/s)"], source, "bw(MiB/s)") * reading.MIB_GBYTE
        samples.setdefault(row["access"], []).append(rate)
    return Reading(
        program="IOR",
        version=version,
        ranks=int(tasks[0][1]) if len(tasks) == 1 and len(tasks[0][1]) < 10 else None,
        series=[
            Series(fom=BANDWIDTH, labels={"operation": operation}, samples=tuple(rates))
            for operation, rates in samples.items()
        ],
        fault=fault,
    )


def _rows(output: Output) -> Iterator[dict[str, str]]:
    """Yield the rows of reads and writes, by the heads of the table of results."""
    heads: list[str] = []
    for line in output.text.split("\n")[:-1]:
        words = line.split()
        if words[:2] == ["access", "bw(MiB/s)"]:
            heads = words
        elif words[:2] == ["Summary", "of"] or words[:1] == ["Operation"]:
            heads = []
        elif heads and words and words[0] in ("write", "read"):
            row = dict(zip(heads, words, strict=False))
            if len(words) < len(heads) or not re.fullmatch(NUMBER, row["bw(MiB/s)"], re.ASCII):
                raise UnreadableError(
                    output.source, "Results", f"a row that is cut off: {line.strip()[:60]!r}"
                )
            yield row


def _contradictions(output: Output, rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield why a rate is not that of the whole time, or the largest one not that of the summary, in one line."""
    sizes = output.lines(rf"[ \t]*aggregate filesize +[:=] +{NUMBER} (\w+)")
    limited = output.lines(r"(?i:.*stonewalling ?(?:time)?) *[:=].*")
    if len(sizes) == 1 and sizes[0][2] in MIB and not limited:
        size = finite(sizes[0][1], output.source, "aggregate filesize") * MIB[sizes[0][2]]
        for row in rows:
            time = row.get("total(s)", "0")
            if re.fullmatch(NUMBER, time, re.ASCII) and float(time) > 0 and size > 0:
                name = f"IOR: bandwidth of {row['access']}"
                yield disagreement(name, row["bw(MiB/s)"], size / float(time), time, sizes[0][1])
    for operation in ("write", "read"):
        rates = [row["bw(MiB/s)"] for row in rows if row["access"] == operation]
        for line in output.lines(rf"Max {operation.capitalize()}: +{NUMBER} MiB/sec.*") if rates else ():
            largest = max(rates, key=float)
            yield disagreement(f"IOR: Max {operation}", line[1], float(largest), largest)
