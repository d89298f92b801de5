"""Read the Intel MPI Benchmarks: times and rates of every benchmark by size and number of processes.

Models: standard output of IMB-MPI1, IMB-P2P, IMB-NBC, IMB-EXT and IMB-RMA of any release, with groups of `-multi`.
Columns are found by their heads. A MB has 2^20 bytes in early releases and 1e6 in later ones: the rate is compared
with size over time, which decides. A size that IMB gave up is not measured, with IMB's reason. A column `defects` that
is not 0 makes the run unverified. Leaves out: IMB-IO, IMB-MT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from railyard.applications import reading
from railyard.applications.reading import NUMBER, Output, Reading, UnreadableError, precision
from railyard.records import units
from railyard.records.benchmark import Label, Series, Unmeasured
from railyard.records.units import Fom

LATENCY = units.fom("latency_us", "us", "lower")
BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
RATE = units.fom("rate_message_s", "messages/s", "higher")
#: Head of a column -> the figure. The mean is the latency.
COLUMNS: Mapping[str, Fom] = {
    "t[usec]": LATENCY,
    "t_avg[usec]": LATENCY,
    "t_min[usec]": units.fom("min_latency_us", "us", "lower"),
    "t_max[usec]": units.fom("max_latency_us", "us", "lower"),
    "t_ovrl[usec]": LATENCY,
    "t_pure[usec]": units.fom("communication_us", "us", "lower"),
    "overlap[%]": units.fom("overlap_percent", "%", "neither"),
    "Mbytes/sec": BANDWIDTH,
    "Msg/sec": RATE,
}
#: Columns that are not figures: an unknown one may be a known figure in another unit.
OTHERS = (*("#bytes", "#repetitions", "Group", "defects"), "t_CPU[usec]")
#: Benchmark -> messages of a size in its rate, per time: the longest of all processes, or the only one.
TRANSFERS: Mapping[str, int] = {
    **dict.fromkeys(("PingPong", "PingPing", "Unidir_Put", "Unidir_Get", "Unidir_put", "Unidir_get"), 1),
    "Sendrecv": 2,
    "Exchange": 4,
}
#: What IMB prints before the name of a benchmark that runs in several groups at the same time.
IN_GROUPS = "Multi-"
#: First heads of a table: with `-multi 1`, each row has its group.
FIRST_HEADS = ("#bytes", "#repetitions", "Group")
#: The most characters of a reason in a record.
MOST_CHARACTERS = 200
#: Bytes of IMB's MB: of today's releases, and of the old ones.
MEGABYTES = (1e6, 2**20)


@dataclass(slots=True, kw_only=True)
class Table:
    """One benchmark on a number of processes: heads and rows as printed, sizes that failed with IMB's reason."""

    name: str
    labels: dict[str, Label]
    heads: Sequence[str] = ()
    rows: list[dict[str, str]] = field(default_factory=list)
    failed: list[tuple[dict[str, str], str]] = field(default_factory=list)


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    title = output.token("title", r"#\s+Intel ?\(R\) MPI Benchmarks? (.*), \S+ part")
    output.token("end", r"# (All processes entering MPI_Finalize)")
    tables = _tables(output)
    if not tables:
        raise UnreadableError(source, "table", f"no row of figures; the output ends with {output.last_line()!r}")
    # The first size of a MB that fits all rates, or else the first size and the rate that it does not fit.
    misfits = [next(filter(None, (_misfit(table, size) for table in tables)), "") for size in MEGABYTES]
    megabyte, fault = next(
        (pair for pair in zip(MEGABYTES, misfits, strict=True) if not pair[1]), (MEGABYTES[0], misfits[0])
    )
    wrong = [(table.name, row) for table in tables for row in table.rows if _number(row.get("defects", "0")) != 0]
    if wrong:
        name, row = wrong[0]
        fault = f"IMB: {name}: wrong data at {row.get('#bytes', '0')} bytes: {row['defects']} defects"
    figures = [] if fault else [one for table in tables for one in _figures(source, table, megabyte)]
    if not fault and not any(isinstance(one, Series) for one in figures):
        raise UnreadableError(source, "table", f"no figure: {tables[0].failed[0][1]}")
    return Reading(
        program="IMB",
        version=title,
        ranks=None,
        series=[one for one in figures if isinstance(one, Series)],
        fault=fault,
        not_measured=[one for one in figures if isinstance(one, Unmeasured)],
    )


def _tables(output: Output) -> list[Table]:
    tables: list[Table] = []
    is_open = False
    for number, line in enumerate(output.text.split("\n")[:-1], 1):
        words = line.split()
        if match := re.match(r"\s*# Benchmarking (\S+)", line):
            tables.append(Table(name=match[1], labels={"benchmark": match[1], "processes": 0}))
        elif tables and (match := re.match(r"\s*# #processes = (\d{1,9})\b", line)):
            tables[-1].labels["processes"] = int(match[1])
        elif tables and (match := re.match(r"\s*# \( (\d{1,9}) groups of (\d{1,9}) processes", line)):
            tables[-1].labels |= {"processes": int(match[2]), "groups": int(match[1])}
        elif tables and (match := re.match(r"\s*#\s+MODE: (\S+)", line)):
            tables[-1].labels["mode"] = match[1].lower()
        elif tables and words and words[0] in FIRST_HEADS:
            tables[-1].heads = words
            is_open = True
        elif line.lstrip().startswith("#"):
            is_open = False
        elif is_open and re.match(r"\s*[0-9]+(\s|$)", line):
            _add_row(tables[-1], line, f"{output.source}: line {number}")
    empty = [table.name for table in tables if not table.rows and not table.failed]
    if empty and empty != [table.name for table in tables]:
        raise UnreadableError(output.source, f"table {empty[0]}", "no row of figures")
    return [table for table in tables if table.rows or table.failed]


def _add_row(table: Table, line: str, where: str) -> None:
    """Add a row to a table, or the size that IMB gave up and why; InputError for a line that is neither."""
    words = line.split()
    if len(words) == len(table.heads):
        table.rows.append(dict(zip(table.heads, words, strict=True)))
        return
    match = re.fullmatch(r"\s*((?:[0-9]+\s+)+)([a-z][a-z-]+\..*|[a-z]+-[a-z]+;.*)", line.rstrip())
    if match is None:
        why = f"{len(words)} words for {len(table.heads)} columns: {line.strip()[:60]!r}"
        raise UnreadableError(where, table.name, why)
    table.failed.append((dict(zip(table.heads, match[1].split(), strict=False)), match[2][:MOST_CHARACTERS]))


def _number(token: str) -> float:
    """Return a printed number; NaN for another word."""
    return float(token) if re.fullmatch(NUMBER, token, re.ASCII) else float("nan")


def _misfit(table: Table, megabyte: float) -> str:
    """Return the first rate of a table that is not size over time, in one line; empty if all are."""
    transfers = None if "Msg/sec" in table.heads else TRANSFERS.get(table.name.removeprefix(IN_GROUPS))
    for row in table.rows:
        time = row.get("t_max[usec]", row.get("t[usec]", "0"))
        values = [_number(row.get(name, "0")) for name in ("Mbytes/sec", "#bytes")]
        if not transfers or not all(value > 0 for value in (*values, _number(time))):
            continue
        determined = transfers * values[1] / float(time) * 1e6 / megabyte
        room = precision(row["Mbytes/sec"]) + precision(time)
        if abs(values[0] - determined) > 1.01 * room * determined + 1e-9:
            printed = f"{row['Mbytes/sec']} MB/s at {row['#bytes']} bytes"
            return f"IMB: {table.name}: {printed}, but the time gives {determined:.6g} MB/s"
    return ""


def _figures(source: str, table: Table, megabyte: float) -> Iterator[Series | Unmeasured]:
    foms = {head: COLUMNS[head] for head in table.heads if head in COLUMNS}
    if "t_avg[usec]" in foms:
        foms.pop("t[usec]", None)
    if unknown := [head for head in table.heads if head not in COLUMNS and head not in OTHERS]:
        raise UnreadableError(source, table.name, f"a column is not known: {' '.join(unknown)}")
    for row, reason in table.failed:
        for fom in foms.values():
            yield Unmeasured(fom=fom, labels=_labels(source, table, row), reason=reason)
    for row in table.rows:
        labels = _labels(source, table, row)
        for head, fom in foms.items():
            token = row[head]
            value = reading.finite(token, source, head)
            if fom in (BANDWIDTH, RATE) and not value:
                if labels.get("size_bytes"):
                    yield Unmeasured(fom=fom, labels=labels, reason=f"the program printed {token} {head}")
            else:
                factor = megabyte * 1e-9 if fom == BANDWIDTH else 1
                yield Series(fom=fom, labels=labels, samples=(value * factor,))


def _labels(source: str, table: Table, row: Mapping[str, str]) -> dict[str, Label]:
    """Return the labels of a row: its table's, its group and its size."""
    columns = {"Group": "group", "#bytes": "size_bytes"}
    own = {name: reading.whole(row[head], source, head) for head, name in columns.items() if head in row}
    return {**table.labels, **own}
