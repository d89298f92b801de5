"""Read nccl-tests and rccl-tests: time and bandwidths of one collective by size, out of place and in place.

Models: standard output (`all_reduce_perf` and its like, of any release), or the JSON that `-J FILE` writes. Columns are
found by their heads. Verified is `Out of bounds values : 0` and no wrong element where data were checked. The bandwidth
of the algorithm must be size over time, the average bandwidth that of the rows. Rates that were rounded to 0.00, and
those of one rank on a bus, are not measured. Leaves out: times of single iterations, `-T` timestamps.

The log of NCCL or RCCL gives algorithm, protocol and channels of each collective, and the NICs of each rank: the lines
of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET,TUNING in the program's own output. `AllReduce: BYTES Bytes -> Algo
RING proto SIMPLE channel{Lo..Hi}={0..23}`, or with numbers in place of words in early releases, which name no channels.
`Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA` gives a rank's NIC, `NET/IB : Using [0]mlx5_0:1/IB` its name on
that host. Leaves out: NCCL_DEBUG_FILE, and receiving NICs.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.applications import reading
from railyard.applications.reading import NUMBER, Output, Reading, UnreadableError, disagreement
from railyard.base.errors import InputError
from railyard.records import json_io, units
from railyard.records.benchmark import Label, Series, Unmeasured
from railyard.records.json_io import Json

AVERAGE = units.fom("average_bus_bandwidth_gbyte_s", "GB/s", "higher")
BUS = units.fom("bus_bandwidth_gbyte_s", "GB/s", "higher")
ALGORITHM = units.fom("algorithm_bandwidth_gbyte_s", "GB/s", "higher")
TIME = units.fom("time_us", "us", "lower")
#: Columns of one half of a row in the text, which are members of `Row`. Early releases print the largest `error` for
#: `wrong`, and judge it by bounds of their own.
TEXT_COLUMNS = ("time", "algbw", "busbw", "wrong")
#: What is printed where nothing ran out of place.
BLANK = " " * 32
PLACES = ("out-of-place", "in-place")
#: The beginning of a row, a line of NCCL's log, and such a line with a row after it.
STARTS_ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s")
LOGGED = re.compile(r"\bNCCL (?:INFO|WARN|TRACE)\b")
LOGGED_ROW = re.compile(LOGGED.pattern + r".*\s[0-9]+ +[0-9]+ +\w+ +\w+ +-?[0-9]")
#: Operations whose algorithm bandwidth is not size over time.
IRREGULAR = frozenset({"alltoallv", "hypercube"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One size, out of place or in place, with the numbers as printed; `wrong` is N/A where data were not checked."""

    labels: Mapping[str, Label]
    time: str
    algbw: str
    busbw: str
    wrong: str

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return int(self.labels["size_bytes"])


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number.

    What NCCL logged in the output of its choices and NICs is among the parameters.
    """
    run = _parsed(text, left, source)
    return dataclasses.replace(run, parameters={**run.parameters, **reported(text)})


def _parsed(text: str, left: str, source: str) -> Reading:
    output = Output(source=source, text=left or text)
    if output.text.lstrip().startswith("{"):
        return _of_json(output)
    bad = output.token("Out of bounds values", r"# Out of bounds values +: \d+ (OK|FAILED)") == "FAILED"
    average = output.token("Avg bus bandwidth", rf"# Avg bus bandwidth +: {NUMBER}(?: (?:OK|FAILED))?")
    title = output.lines(r"# (nccl|rccl|gloo)-tests version (\S+).*")
    starts = output.lines(r"# Collective test starting: (\S+?)(?:_perf)?")
    return _reading(
        source,
        program=f"{title[0][1]}-tests" if title else "nccl-tests",
        version=title[0][2] if title else "unknown",
        operation=starts[0][1] if starts else "",
        ranks=len(output.lines(r"# +Rank +\d+ .* on .*")) or None,
        rows=list(_rows(output)),
        average=average,
        out_of_bounds=bad,
    )


def _rows(output: Output) -> Iterator[Row]:
    """Yield the halves of every row of the table, whose columns have the names in its head."""
    heads: list[str] = []
    for number, line in enumerate(output.text.split("\n")[:-1], 1):
        words = line.split()
        if words[:3] == ["#", "size", "count"]:
            names = {"#wrong": "wrong", "cputime": "time"}
            heads = [names.get(word, word) for word in words[1:]]
        elif heads and (STARTS_ROW.match(line) or LOGGED_ROW.search(line)):
            if LOGGED.search(line):
                why = "a row of the table that is broken by a line of NCCL; unset NCCL_DEBUG, or set NCCL_DEBUG_FILE"
                raise UnreadableError(f"{output.source}: line {number}", "table", why)
            yield from _halves(f"{output.source}: line {number}", heads, line)


def _halves(source: str, heads: Sequence[str], line: str) -> Iterator[Row]:
    words = line.split()
    if len(words) == len(heads) - 1 and "redop" in heads:
        heads = [head for head in heads if head != "redop"]  # blank for an operation without one
    if len(words) == len(heads) - len(TEXT_COLUMNS) and BLANK in line:
        at = heads.index("time")
        words = [*words[:at], *["N/A"] * len(TEXT_COLUMNS), *words[at:]]
    if len(words) < len(heads) or heads.count("time") != len(PLACES):
        why = f"{len(words)} words for the columns {' '.join(heads)}"
        raise UnreadableError(source, "table", f"a row that is not understood: {why}")
    judged = zip(heads, words, strict=False)  # `error` is a deviation, which `Out of bounds values` judges
    words = ["0" if head == "error" and word != "N/A" else word for head, word in judged]
    heads = ["wrong" if head == "error" else head for head in heads]
    labels: dict[str, Label] = {"size_bytes": reading.whole(words[0], source, "size")}
    named = dict(zip(heads, words, strict=False))
    labels |= {key: named[key] for key in ("type", "redop") if named.get(key, "none") != "none"}
    starts = [index for index, head in enumerate(heads) if head == "time"]
    for where, start in zip(PLACES, starts, strict=True):
        cells = dict(zip(heads[start:], words[start:], strict=False))
        first = {head: words[start + heads[start:].index(head)] for head in TEXT_COLUMNS if head in cells}
        if len(first) == len(TEXT_COLUMNS) and first["time"] != "N/A":  # a place that was not run
            yield Row(labels={**labels, "place": where}, **first)


def _of_json(output: Output) -> Reading:
    """Return the reading of the file that `-J` writes; raises InputError naming the member that is wrong."""
    try:
        document = json_io.loads(output.text, output.source)
        results = document["results"]
        outside, average = document["out_of_bounds"], document["average_bus_bandwidth"]["bandwidth"]
        rows = [
            Row(
                labels={
                    "size_bytes": reading.whole(str(row["size"]), output.source, "size"),
                    **{key: row[key] for key in ("type", "redop") if row[key] != "none"},
                    "place": where,
                },
                time=str(half["cpu_time"] if "cpu_time" in half else half["time"]),
                algbw=str(half["alg_bw"]),
                busbw=str(half["bus_bw"]),
                wrong="N/A" if half["nwrong"] is None else str(half["nwrong"]),
            )
            for row in results
            for where, half in zip(PLACES, (row["out_of_place"], row["in_place"]), strict=True)
            if half is not None
        ]
        code = document.get("nccl_version")  # of 2.27.7 it is 22707
        is_release = isinstance(code, int) and code >= 10000
        return _reading(
            output.source,
            program="nccl-tests",
            version=f"NCCL {code // 10000}.{code // 100 % 100}.{code % 100}" if is_release else "unknown",
            operation=str(document.get("args", [""])[0]).rpartition("/")[2].removesuffix("_perf"),
            ranks=len(document.get("devices", [])) or None,
            rows=rows,
            average=str(average),
            out_of_bounds=str(outside["okay"]) != "true",
        )
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        why = f"not the JSON of nccl-tests: {type(error).__name__}: {error}"
        raise UnreadableError(output.source, "results", f"{why}; the file ends with {output.last_line()!r}") from error


def _reading(
    source: str,
    *,
    program: str,
    version: str,
    operation: str,
    ranks: int | None,
    rows: Sequence[Row],
    average: str,
    out_of_bounds: bool,
) -> Reading:
    if not rows:
        raise UnreadableError(source, "table", "no row of figures")
    fault = f"{program}: values are out of bounds" if out_of_bounds else ""
    mean = reading.finite(average, source, "Avg bus bandwidth")
    if not fault:
        faults = (_wrong(source, program, operation, row) for row in rows)
        fault = next(filter(None, faults), "")
        rates = [float(row.busbw) for row in rows if re.fullmatch(NUMBER, row.busbw, re.ASCII)]
        room = math.fsum(0.006 + rate * 0.006 for rate in rates) / len(rates) if rates else math.inf
        determined = math.fsum(rates) / len(rates) if rates else mean
        if not fault and not abs(mean - determined) <= room:
            of_rows = f"that of the rows is {determined:.6g} GB/s"
            fault = f"{program}: the average bus bandwidth is {mean:g} GB/s, but {of_rows}"
    figures = [] if fault else [*_whole(AVERAGE, {}, (mean,), average), *_figures(source, rows)]
    return Reading(
        program=program,
        version=version,
        ranks=ranks,
        series=[one for one in figures if isinstance(one, Series)],
        fault=fault,
        parameters={
            **({"operation": operation} if operation else {}),
            "data_checked": "yes" if any(row.wrong != "N/A" for row in rows) else "no",
        },
        not_measured=[one for one in figures if isinstance(one, Unmeasured)],
    )


def _wrong(source: str, program: str, operation: str, row: Row) -> str:
    """Return what is wrong with a row, in one line; empty if nothing is."""
    where = f"{row.size} bytes, {row.labels['place']}"
    if row.wrong != "N/A" and reading.finite(row.wrong, source, "wrong") != 0:
        return f"{program}: {row.wrong} wrong elements at {where}"
    time, rate = (reading.finite(token, source, where) for token in (row.time, row.algbw))
    if operation in IRREGULAR or not rate or time <= 0:
        return ""
    return disagreement(f"{program}: algbw at {where}", row.algbw, row.size / time * 1e-3, row.time)


def _figures(source: str, rows: Sequence[Row]) -> Iterator[Series | Unmeasured]:
    """Yield the figures by size and place; a size that was run several times has several samples."""
    groups: dict[tuple[tuple[str, Label], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.labels.items()), []).append(row)
    for key, group in groups.items():
        for fom, column in ((BUS, "busbw"), (ALGORITHM, "algbw"), (TIME, "time")):
            tokens = [getattr(row, column) for row in group]
            values = tuple(reading.finite(token, source, fom) for token in tokens)
            yield from _whole(fom, dict(key), values, tokens[0])


def _whole(
    fom: units.Fom, labels: dict[str, Label], values: tuple[float, ...], printed: str
) -> Iterator[Series | Unmeasured]:
    """Yield the figure; a rate of 0 was rounded, or is that of one rank, which sends nothing."""
    if fom is not TIME and 0 in values:
        yield Unmeasured(fom=fom, labels=labels, reason=f"the program printed {printed} GB/s")
    else:
        yield Series(fom=fom, labels=labels, samples=values)


#: NCCL's numbers of algorithms and protocols (NCCL_ALGO, NCCL_PROTO in its user guide).
ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
PROTOCOLS = ("LL", "LL128", "SIMPLE")
_HOST = r"^(?:.*?[ >])?([\w.-]+):\d+(?::\d+)? \[\d+\] NCCL INFO "
_CHOICE = re.compile(
    r"NCCL INFO (\w+): (\d+) Bytes -> Algo (\w+) proto (\w+)(?:.*?channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\})?"
)
_SEND = re.compile(
    _HOST + r"Channel \d+(?:/\d+)? : (\d+)\[\w+\] -> \d+\[\w+\] \[send\] via NET/\w+/(\d+)", re.MULTILINE
)
_USING = re.compile(_HOST + r"NET/\w+ ?: Using (\[0\].*)$", re.MULTILINE)
_NIC = re.compile(r"\[(\d+)\](?:=\{\[\d+\] )?([\w.-]+)")
_CHANNELS = re.compile(r"NCCL INFO (\d+) coll channels")


def reported(text: str) -> dict[str, Json]:
    """Return what a log has of `collectives`, `channels` and `nics_of_ranks`; empty without a log."""
    collectives = list[Json]()
    for name, size, algorithm, protocol, low, high in dict.fromkeys(_CHOICE.findall(text)):
        entry: dict[str, Json] = {
            "collective": name,
            "size_bytes": int(size),
            "algorithm": _word(algorithm, ALGORITHMS),
            "protocol": _word(protocol, PROTOCOLS),
        }
        collectives.append(entry | ({"channels": int(high) - int(low) + 1} if high else {}))
    names = {host: dict(_NIC.findall(nics)) for host, nics in _USING.findall(text)}
    by_rank: dict[int, list[str]] = {}
    for host, rank, number in _SEND.findall(text):
        name = names.get(host, {}).get(number, f"net{number}")
        if name not in by_rank.setdefault(int(rank), []):
            by_rank[int(rank)].append(name)
    nics = {str(rank): list[Json](by_rank[rank]) for rank in sorted(by_rank)}
    channels = sorted({int(count) for count in _CHANNELS.findall(text)})
    return {
        **({"collectives": collectives} if collectives else {}),
        **({"channels": channels[0] if len(channels) == 1 else list[Json](channels)} if channels else {}),
        **({"nics_of_ranks": nics} if nics else {}),
    }


def _word(text: str, words: tuple[str, ...]) -> str:
    """Return an algorithm or protocol in capitals; a number is one of the words."""
    return words[int(text)] if text.isdecimal() and int(text) < len(words) else text.upper()
