"""Read the OSU Micro-Benchmarks: every line of every curve, with the data validated at each size.

Models: standard output of the programs of `PROGRAMS`, run with `-c` where they can validate: a size whose column
`Validation` is not Pass makes the run unverified. One-sided programs and barriers validate nothing. MB/s become
GB/s by moving the point (OSU's MB are 1e6 bytes). Columns are found by their heads, so that a program with full
statistics (`-f`) gives minimum and maximum as well. Leaves out: graphs, percentiles, PAPI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.applications import reading
from railyard.applications.reading import Output, Reading
from railyard.base.errors import InputError
from railyard.records import units
from railyard.records.benchmark import Series
from railyard.records.units import Fom

#: Program -> the title that it prints after "OSU MPI" and a space, or an underscore for a one-sided one.
PROGRAMS: Mapping[str, str] = {
    "osu_latency": "Latency Test",
    "osu_bw": "Bandwidth Test",
    "osu_bibw": "Bi-Directional Bandwidth Test",
    "osu_mbw_mr": "Multiple Bandwidth / Message Rate Test",
    "osu_alltoall": "All-to-All Personalized Exchange Latency Test",
    "osu_allgather": "Allgather Latency Test",
    "osu_allreduce": "Allreduce Latency Test",
    "osu_bcast": "Broadcast Latency Test",
    "osu_barrier": "Barrier Latency Test",
    "osu_put_latency": "Put Latency Test",
    "osu_get_latency": "Get latency Test",
    "osu_get_acc_latency": "Get_accumulate latency Test",
    "osu_ibarrier": "Non-blocking Barrier Latency Test",
    "osu_iallreduce": "Non-blocking Allreduce Latency Test",
    "osu_ialltoall": "Non-blocking All-to-All Latency Test",
}
#: Programs of one rank's access to another's memory: these have no option that validates data.
ONE_SIDED = frozenset({"osu_put_latency", "osu_get_latency", "osu_get_acc_latency"})
#: Programs without messages.
WITHOUT_SIZES = frozenset({"osu_barrier", "osu_ibarrier"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that is kept: the FOM, and how far its decimal point moves."""

    fom: Fom
    places: int = 0


LATENCY = units.fom("latency_us", "us", "lower")
BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
#: Head of a column, as printed -> what it is. Others are passed over.
COLUMNS: Mapping[str, Column] = {
    "Latency (us)": Column(fom=LATENCY),
    "Avg Latency(us)": Column(fom=LATENCY),
    "Min Latency(us)": Column(fom=units.fom("min_latency_us", "us", "lower")),
    "Max Latency(us)": Column(fom=units.fom("max_latency_us", "us", "lower")),
    "Overall(us)": Column(fom=LATENCY),
    "Pure Comm.(us)": Column(fom=units.fom("communication_us", "us", "lower")),
    "Overlap(%)": Column(fom=units.fom("overlap_percent", "%", "neither")),
    "Bandwidth (MB/s)": Column(fom=BANDWIDTH, places=-3),
    "MB/s": Column(fom=BANDWIDTH, places=-3),
    "Messages/s": Column(fom=units.fom("rate_message_s", "messages/s", "higher")),
}
PASS = "Pass"


def parser(program: str, sizes: Sequence[int]) -> reading.Parser:
    """Return the parser of one program, whose output must have one line per size; `sizes` is empty for a barrier."""

    def parse(text: str, left: str, source: str) -> Reading:
        del left
        return _parse(program, sizes, Output(source=source, text=text))

    return parse


def _parse(program: str, sizes: Sequence[int], output: Output) -> Reading:
    version = output.token("title", rf"# OSU MPI[ _]{re.escape(PROGRAMS[program])} v(\S+)")
    heads, rows = _table(output)
    if fault := _invalid(program, heads, rows):
        return Reading(program=program, version=version, ranks=None, series=[], fault=fault)
    printed = [int(row[0]) for row in rows] if "Size" in heads else []
    if printed != list(sizes) or not rows:
        missing = next((size for size in sizes if size not in printed), "a line of figures")
        raise InputError(
            output.source,
            "table",
            problem=f"lacks {missing} after {output.last_line()!r}",
            valid="output to the end",
        )
    return Reading(
        program=program, version=version, ranks=None, series=list(_series(output.source, heads, rows))
    )


def _table(output: Output) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of the table; `# Size` is the head `Size`. A row that is cut off is left out."""
    lines = [
        line.strip() for line in output.text.split("\n")[:-1]
    ]  # what follows the last line's end is cut off
    at = next((n for n, line in enumerate(lines) if _is_head(line)), None)
    if at is None:
        raise InputError(
            output.source, "table", problem=f"missing after {output.last_line()!r}", valid="output to the end"
        )
    heads = re.split(r"\s{2,}", lines[at].removeprefix("#").strip())
    rows = [line.split() for line in lines[at + 1 :] if re.match(r"\d", line)]
    return heads, [row for row in rows if len(row) == len(heads)]


def _is_head(line: str) -> bool:
    return line.startswith(("# Size", "# Avg Latency", "# Overall(us)"))


def _invalid(program: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if "Validation" not in heads:
        return ""
    at = heads.index("Validation")
    wrong = [row for row in rows if row[at] != PASS]
    return f"{program}: wrong data at {wrong[0][0]} bytes: validation says {wrong[0][at]}" if wrong else ""


def _series(source: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Series]:
    for row in rows:
        labels = {"size_bytes": int(row[0])} if heads[0] == "Size" else {}
        for head, token in zip(heads, row, strict=True):
            if column := COLUMNS.get(head):
                value = reading.shifted(token, column.places, source, head)
                yield Series(fom=column.fom, labels=labels, samples=(value,))
