"""Read the OSU Micro-Benchmarks: every line of every curve, with the data validated at each size.

Models: standard output of the programs of `PROGRAMS`, run with `-c` where they can validate: a size whose column
`Validation` is not Pass makes the run unverified. One-sided programs, barriers and osu_init validate nothing. MB/s
become GB/s by moving the point (OSU's MB are 1e6 bytes). Columns are found by their heads, so that a program with full
statistics (`-f`) gives minimum and maximum as well; osu_init prints one line of whole milliseconds. A build for a GPU
names its library in the title: the parameter `accelerator`. Columns that determine each other must agree; a rate that
is printed as 0.00 is not measured. Leaves out: graphs, percentiles, PAPI.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.applications import reading
from railyard.applications.reading import NUMBER, Output, Reading, disagreement
from railyard.base.errors import InputError
from railyard.records import units
from railyard.records.benchmark import Series, Unmeasured
from railyard.records.units import Fom

#: Collective -> its words in titles.
_COLLECTIVES: Mapping[str, str] = {
    **{name: name.capitalize() for name in ("allgather", "allgatherv", "allreduce", "barrier", "gather", "gatherv")},
    **{name: name.capitalize() for name in ("reduce", "reduce_scatter", "reduce_scatter_block")},
    **{name: name.capitalize() for name in ("scatter", "scatterv")},
    **{f"alltoall{kind}": f"All-to-All{kind} Personalized Exchange" for kind in ("", "v", "w")},
    "bcast": "Broadcast",
}
_NEIGHBOURS: Mapping[str, str] = {
    name: name.capitalize() for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
}
#: Programs of one rank's access to another's memory, with their titles: these have no option that validates data.
ONE_SIDED: Mapping[str, str] = {
    "osu_put_latency": "_Put{} Latency Test",
    "osu_get_latency": "_Get{} Latency Test",
    "osu_get_acc_latency": "_Get_accumulate{} Latency Test",
    "osu_acc_latency": "_Accumulate{} Latency Test",
    "osu_cas_latency": "_Compare_and_swap{} Latency Test",
    "osu_fop_latency": "_Fetch_and_op{} Latency Test",
    "osu_put_bw": "_Put{} Bandwidth Test",
    "osu_get_bw": "_Get{} Bandwidth Test",
    "osu_put_bibw": "_Put{} Bi-directional Bandwidth Test",
}
#: Program -> the title that it prints after "# OSU MPI"; {} is where a build for a GPU names its library.
PROGRAMS: Mapping[str, str] = {
    "osu_latency": "{} Latency Test",
    "osu_bw": "{} Bandwidth Test",
    "osu_bibw": "{} Bi-Directional Bandwidth Test",
    "osu_latency_persistent": "{} Latency Persistent Test",
    "osu_bw_persistent": "{} Bandwidth Persistent Test",
    "osu_bibw_persistent": "{} Bi-Directional Bandwidth Persistent Test",
    "osu_latency_mt": "{} Multi-threaded Latency Test",
    "osu_latency_mp": "{} Multi-process Latency Test",
    "osu_multi_lat": "{} Multi Latency Test",
    "osu_mbw_mr": "{} Multiple Bandwidth / Message Rate Test",
    **{f"osu_{name}": f"{{}} {words} Latency Test" for name, words in _COLLECTIVES.items()},
    **{f"osu_i{name}": f"{{}} Non-blocking {words} Latency Test" for name, words in _COLLECTIVES.items()},
    **{f"osu_{name}_persistent": f"{{}} {words} Persistent Latency Test" for name, words in _COLLECTIVES.items()},
    "osu_ialltoall": "{} Non-blocking All-to-All Latency Test",
    **{f"osu_neighbor_{name}": f"{{}} Neighborhood {words} Latency Test" for name, words in _NEIGHBOURS.items()},
    **{
        f"osu_ineighbor_{name}": f"{{}} Non-blocking Neighborhood {words} Latency Test"
        for name, words in _NEIGHBOURS.items()
    },
    "osu_neighbor_alltoallv": "{} Neighborhood All-to-Allv Latency Test",
    "osu_neighbor_alltoallw": "{} All-to-Allw Personalized Exchange Latency Test",
    "osu_init": "{} Init Test",
    **ONE_SIDED,
}
#: Programs without messages.
WITHOUT_SIZES = frozenset({"osu_barrier", "osu_ibarrier", "osu_barrier_persistent", "osu_init"})
#: The line of osu_init.
INIT = re.compile(r"nprocs: [0-9]+, min: ([0-9]+) ms, max: ([0-9]+) ms, avg: ([0-9]+) ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Describes a column that is read: its FOM, how far its decimal point moves, and whether 0 is not a measurement."""

    fom: Fom
    places: int = 0
    rate: bool = False


LATENCY = units.fom("latency_us", "us", "lower")
BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
#: Head of a column, as printed -> what it is.
COLUMNS: Mapping[str, Column] = {
    "Latency (us)": Column(fom=LATENCY),
    "Avg Latency(us)": Column(fom=LATENCY),
    "Min Latency(us)": Column(fom=units.fom("min_latency_us", "us", "lower")),
    "Max Latency(us)": Column(fom=units.fom("max_latency_us", "us", "lower")),
    "Overall(us)": Column(fom=LATENCY),
    "Pure Comm.(us)": Column(fom=units.fom("communication_us", "us", "lower")),
    "Overlap(%)": Column(fom=units.fom("overlap_percent", "%", "neither")),
    "Bandwidth (MB/s)": Column(fom=BANDWIDTH, places=-3, rate=True),
    "MB/s": Column(fom=BANDWIDTH, places=-3, rate=True),
    "min ms": Column(fom=units.fom("min_init_s", "s", "lower"), places=-3, rate=True),
    "max ms": Column(fom=units.fom("max_init_s", "s", "lower"), places=-3, rate=True),
    "avg ms": Column(fom=units.fom("init_s", "s", "lower"), places=-3, rate=True),
    "Messages/s": Column(fom=units.fom("rate_message_s", "messages/s", "higher"), rate=True),
}
#: Columns that are not figures of their own: an unknown one may be a known figure in another unit, so it is an error.
OTHERS = re.compile(
    r"Size|Validation|Iterations|Compute\(us\)|P[0-9.]+ Tail (Lat|BW).*|PAPI.*"
    r"|(Coll|MPI|Init|Min Comm|Max Comm)[\w. ]*\(us\)"
)
PASS = "Pass"
#: Columns of a non-blocking collective: the last is made of the others.
OVERLAP = ("Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)")


def parser(program: str, sizes: Sequence[int] | None, device: str = "") -> reading.Parser:
    """Return the parser of one program, whose output must have one line per size.

    `sizes` is empty for a barrier, and None for whatever was run. `device` is the memory that was requested with OSU's
    option -d; empty for the host's.
    """
    return lambda text, _, source: _parse(program, sizes, device, Output(source=source, text=text))


def _parse(program: str, sizes: Sequence[int] | None, device: str, output: Output) -> Reading:
    call, words = PROGRAMS[program].split("{}")
    title = rf"# OSU MPI{call}(-[A-Z]+)?(?i:{re.escape(words)}) v(\S+)"
    output.token("title", title)
    match = output.lines(title)[0]
    version, accelerator = match[2], (match[1] or "").removeprefix("-").lower()  # the GPU library, such as `cuda`
    heads, rows = _table(output)
    fault = ""
    if device and accelerator != device and not (device == "managed" and accelerator):
        fault = f"{program}: built for {accelerator or 'no GPU'}, but device={device} was requested"
    if not fault and "Validation" in heads:
        at = heads.index("Validation")
        if wrong := next((row for row in rows if row[at] != PASS), None):
            fault = f"{program}: wrong data at {wrong[0]} bytes: validation says {wrong[at]}"
    contradictions = (_contradiction(program, dict(zip(heads, row, strict=True))) for row in rows)
    fault = fault or next(filter(None, contradictions), "")
    printed = [reading.whole(row[0], output.source, "Size") for row in rows] if "Size" in heads and not fault else []
    wanted = printed if sizes is None else list(sizes)
    if not fault and (printed != wanted or not rows):
        missing = next((size for size in wanted if size not in printed), "a line of figures")
        problem = f"lacks {missing} after {output.last_line()!r}"
        raise InputError(output.source, "table", problem=problem, valid="output to the end")
    unknown = next((head for head in heads if head not in COLUMNS and not OTHERS.fullmatch(head)), None)
    if unknown is not None:
        raise InputError(output.source, "column", unknown, f"columns of {', '.join(COLUMNS)}")
    columns = [] if fault else list(_columns(output.source, heads, rows))
    if not fault and not columns:
        raise InputError(output.source, "table", ", ".join(heads), f"one of the columns {', '.join(COLUMNS)}")
    return Reading(
        program=program,
        version=version,
        ranks=None,
        series=[one for one in columns if isinstance(one, Series)],
        fault=fault,
        parameters={"accelerator": accelerator} if accelerator else {},
        not_measured=[one for one in columns if isinstance(one, Unmeasured)],
    )


def _table(output: Output) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of the table; `# Size` is the head `Size`. InputError for a row that is cut off."""
    lines = [line.strip() for line in output.text.split("\n")[:-1]]  # what follows the last line's end is cut off
    if starts := [match.groups() for line in lines if (match := INIT.fullmatch(line))]:
        return ["min ms", "max ms", "avg ms"], [list(row) for row in starts]
    at = next((n for n, line in enumerate(lines) if _is_head(line)), None)
    if at is None:
        problem = f"missing after {output.last_line()!r}"
        raise InputError(output.source, "table", problem=problem, valid="output to the end")
    heads = re.split(r"\s{2,}", lines[at].removeprefix("#").strip())
    numbered = [(n, lines[n].split()) for n in range(at + 1, len(lines)) if re.match(r"[0-9]", lines[n])]
    # All cells of a row but the validation are numbers: another program's line is none.
    judged = [head != "Validation" for head in heads]
    rows = [
        row
        for _, row in numbered
        if len(row) == len(heads)
        and all(re.fullmatch(NUMBER, cell, re.ASCII) for cell in itertools.compress(row, judged))
    ]
    for number, row in numbered:
        numbers = len(row) > 1 and all(re.fullmatch(NUMBER, word, re.ASCII) for word in row[:2])
        if numbers and row not in rows:
            problem = f"{len(row)} words for the columns {', '.join(heads)}"
            raise InputError(f"{output.source}: line {number + 1}", "table", problem=problem, valid="a whole row")
    tables, first = sum(map(_is_head, lines)), [row[0] for row in rows]
    rises = first == sorted(set(first), key=lambda size: (len(size), size))
    if tables > 1 and not (rises and heads[0] == "Size"):  # each thread of osu_latency_mt prints the heads
        problem = f"{tables} tables, as of several datatypes (-T)"
        raise InputError(output.source, "table", problem=problem, valid="one")
    return heads, rows


def _is_head(line: str) -> bool:
    return line.startswith(("# Size", "# Avg Latency", "# Overall(us)"))


def _contradiction(program: str, row: Mapping[str, str]) -> str:
    """Return that two columns of a row contradict each other, in one line; empty if none do."""
    values = {head: float(token) for head, token in row.items() if head != "Validation"}
    if values.get("MB/s") and {"Messages/s", "Size"} <= set(values):
        determined = values["Messages/s"] * values["Size"] * 1e-6
        name = f"{program}: MB/s at {row['Size']} bytes"
        return disagreement(name, row["MB/s"], determined, row["Messages/s"])
    if set(OVERLAP) <= set(values) and values["Pure Comm.(us)"]:
        overall, compute, pure, overlap = (values[head] for head in OVERLAP)
        determined = max(0.0, 100 * (1 - (overall - compute) / pure))
        if not abs(determined - overlap) <= 0.01 + (2 + determined / 50) / pure:
            return f"{program}: overlap is {overlap:g} %, but its times give {determined:.2f} %"
    low, mean, high = (values.get(f"{word} Latency(us)") for word in ("Min", "Avg", "Max"))
    if low is not None and mean is not None and high is not None and not low <= mean <= high:
        return f"{program}: average latency is {mean:g} us, but minimum and maximum are {low:g} and {high:g} us"
    return ""


def _columns(source: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Series | Unmeasured]:
    """Yield the figures of every row; a rate that was rounded to zero is not measured."""
    for row in rows:
        labels = {"size_bytes": int(row[0])} if heads[0] == "Size" else {}
        for head, token in zip(heads, row, strict=True):
            if column := COLUMNS.get(head):
                value = reading.shifted(token, column.places, source, head)
                if not value and column.rate:
                    reason = f"the program printed {token} {head}"
                    yield Unmeasured(fom=column.fom, labels=labels, reason=reason)
                else:
                    yield Series(fom=column.fom, labels=labels, samples=(value,))
