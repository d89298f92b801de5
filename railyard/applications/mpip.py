"""Read mpiP's report: the share of time that a program spends in MPI, by class of call, and how large its messages are.

mpiP counts the time of persistent sends and not their bytes. So `parse` adds those that railyard's own library counted
(benchmarks/persistent, the file `railyard-persistent/1` of docs/formats.md) to mpiP's messages from point to point. A
file whose numbers contradict each other is refused.

Models: the report of mpiP 3.5 run with `MPIP=-k 0 -e -p -y -d` (no call sites, so a line for each MPI function; plain
decimals; histograms of sizes). Shares are of all ranks' time between MPI_Init and MPI_Finalize. What a collective sends
is what mpiP counts: the caller's own buffer. The histogram of time in collectives must add up to the times of the
calls. The released 3.5 adds bytes there (LLNL/mpiP issue 35, mended later by commit c22011b), so it is not measured.
Leaves out: call sites, files, one-sided calls beyond their class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from railyard.applications.reading import NUMBER, Output, UnreadableError, finite, single, whole
from railyard.base.errors import InputError
from railyard.records import json_io, units
from railyard.records.benchmark import Series, Unmeasured
from railyard.records.json_io import Json
from railyard.records.units import Fom

#: Options of mpiP, in its environment variable.
OPTIONS = "-k 0 -e -p -y -d"

SHARE = units.fom("mpi_time_percent", "%", "neither")
SIZE = units.fom("message_bytes", "bytes", "lower")
MESSAGES = units.fom("messages_count", "count", "neither")
SENT = units.fom("sent_percent", "%", "neither")
PERSISTENT = units.fom("persistent_messages_count", "count", "neither")
PERSISTENT_SIZE = units.fom("persistent_message_bytes", "bytes", "lower")
PERSISTENT_SIZES = units.fom("persistent_messages_percent", "%", "neither")
COLLECTIVE_TIME = units.fom("collective_time_percent", "%", "neither")
#: Title of the histogram of time in collectives, and how many rows the lists of a report have at most.
COLLECTIVES = "Aggregate Collective Time"
MOST_ROWS = 20
#: Largest size of mpiP's first bin in bytes.
SMALLEST_BIN = 7


class CallClass(StrEnum):
    """The poster's two classes, and what is neither."""

    POINT_TO_POINT = "point-to-point"
    COLLECTIVE = "collective"
    OTHER = "other"


_POINT_TO_POINT = re.compile(
    r"[BSR]?[sS]end(_init)?|I[bsr]?send|I?m?recv|Recv(_init)?|Mrecv|Sendrecv(_replace)?|I?m?probe|Probe|Mprobe"
    r"|(Wait|Test)(all|any|some)?|Start(all)?|Request_free"
)
_COLLECTIVE = re.compile(
    r"I?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce|reduce_scatter(_block)?|(ex)?scan"
    r"|neighbor_(allgatherv?|alltoall[vw]?))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One run's profile as series."""

    series: Sequence[Series] = ()
    not_measured: Sequence[Unmeasured] = ()


def call_class(function: str) -> CallClass:
    """Return the class of an MPI function named as mpiP names it, without `MPI_`."""
    if _POINT_TO_POINT.fullmatch(function):
        return CallClass.POINT_TO_POINT
    return CallClass.COLLECTIVE if _COLLECTIVE.fullmatch(function) else CallClass.OTHER


def parse(text: str, source: str, sends: Sends | None = None) -> Profile:
    """Return the profile in a report; raises InputError for one that is cut off or lacks its options.

    `sends` are the launch's persistent sends; None if they were not counted.
    """
    output = Output(source=source, text=text)
    output.token("mpiP", r"(@ mpiP)")
    output.token("end", r"(@--- End of Report) -*")
    total = output.lines(rf"   \* +{NUMBER} +{NUMBER} +{NUMBER}")
    if len(total) != 1:
        raise InputError(source, "MPI Time", problem=f"{len(total)} lines of totals", valid="one")
    share = finite(total[0].group(3), source, "MPI%")
    wrong = _wrong_histogram(output)
    series = [single(SHARE, share), *_shares(output), *_messages(output, sends)]
    series += _histogram(SENT, _sent(output, sends))
    series += [] if wrong else _histogram(COLLECTIVE_TIME, _bins(output, COLLECTIVES))
    series += _persistent(sends) if sends else []
    return Profile(
        series=series, not_measured=[Unmeasured(fom=COLLECTIVE_TIME, labels={}, reason=wrong)] if wrong else []
    )


def _section(output: Output, title: str) -> str:
    """Return the lines under a heading up to the next one; empty if the report lacks the heading."""
    match = re.search(rf"^@--- {re.escape(title)}[^\n]*\n-+\n(.*?)(?=^-{{20,}}\n@---)", output.text, re.M | re.S)
    return match[1] if match else ""


def _wrong_histogram(output: Output) -> str:
    """Return why the histogram of time in collectives is not used, in one line; empty if it adds up.

    Both lists end at twenty rows, so that a full one may lack a little.
    """
    times = [line for line in _times(output) if call_class(line[1]) is CallClass.COLLECTIVE]
    rows = [line for line in _rows(output, COLLECTIVES) if call_class(line[1]) is CallClass.COLLECTIVE]
    of_calls, of_bins = sum(float(line[4]) for line in times), sum(float(line[2]) for line in rows)
    full = max(len(_rows(output, COLLECTIVES)), len(_times(output))) >= MOST_ROWS
    room = 0.006 * (len(times) + len(rows)) + (0.1 * max(of_calls, of_bins) if full else 0)
    if abs(of_calls - of_bins) <= room:
        return ""
    version = output.lines(r"@ Version +: (\S+)")
    mpip = f"mpiP {version[0][1]}" if version else "mpiP"
    of_mpi = "of the time in MPI by sizes of collectives"
    return f"{mpip} reports {of_bins:.3f} % {of_mpi}, but {of_calls:.2f} % by their calls"


def _times(output: Output) -> list[re.Match[str]]:
    """Return the rows of the section on time: function, milliseconds, percent of all time, percent of that in MPI."""
    row = rf"^(\w+) +\d+ +{NUMBER} +{NUMBER} +{NUMBER} +(\d+)"
    return list(re.finditer(row, _section(output, "Aggregate Time"), re.M))


def _shares(output: Output) -> Iterator[Series]:
    """Yield the percent of all time in MPI, by class, of the at most twenty functions that mpiP lists."""
    sums = dict.fromkeys(CallClass, 0.0)
    times = dict.fromkeys(CallClass, 0.0)
    for line in _times(output):
        times[call_class(line[1])] += finite(line[2], output.source, "Time")
        sums[call_class(line[1])] += finite(line[3], output.source, "App%")
    for kind, percent in sums.items():
        if times[kind] or kind is not CallClass.OTHER:
            yield single(SHARE, round(percent, 2), **{"class": str(kind)})


def _totals(output: Output) -> tuple[dict[CallClass, int], dict[CallClass, float]]:
    """Return number and bytes of the messages that mpiP counted, by class."""
    row = rf"^(\w+) +\d+ +(\d+) +{NUMBER} +{NUMBER} +{NUMBER}"
    counts, totals = dict.fromkeys(CallClass, 0), dict.fromkeys(CallClass, 0.0)
    for line in re.finditer(row, _section(output, "Aggregate Sent Message Size"), re.M):
        counts[call_class(line[1])] += whole(line[2], output.source, "Count")
        totals[call_class(line[1])] += finite(line[3], output.source, "Total")
    return counts, totals


def _messages(output: Output, sends: Sends | None) -> Iterator[Series]:
    """Yield number and mean size of messages, by class; persistent sends count as point-to-point."""
    counts, totals = _totals(output)
    if sends:
        counts[CallClass.POINT_TO_POINT] += sends.total.messages
        totals[CallClass.POINT_TO_POINT] += sends.total.size_bytes
    for kind, count in counts.items():
        if count:
            yield single(MESSAGES, count, **{"class": str(kind)})
            yield single(SIZE, totals[kind] / count, **{"class": str(kind)})


def _persistent(sends: Sends) -> Iterator[Series]:
    """Yield number, mean size and histogram of the persistent sends alone; without any, only the number 0."""
    total = sends.total
    yield single(PERSISTENT, total.messages)
    if total.messages:
        yield single(PERSISTENT_SIZE, total.size_bytes / total.messages)
    bins: dict[int, float] = {}
    for largest, amount in sends.sizes.items():
        bins[_bin(largest)] = bins.get(_bin(largest), 0.0) + 100 * amount.messages / total.messages
    yield from _histogram(PERSISTENT_SIZES, bins)


def _sent(output: Output, sends: Sends | None) -> dict[int, float]:
    """Return the percent of all bytes that were sent from point to point, by bin, with those of persistent sends.

    All bytes are those of every class: mpiP's percents add up to the share of point-to-point messages alone.
    """
    bins = _bins(output, "Aggregate Point-To-Point Sent")
    if not sends or not sends.total.size_bytes:
        return bins
    of_mpip = sum(_totals(output)[1].values())
    all_bytes = of_mpip + sends.total.size_bytes
    shares = {largest: percent * of_mpip / all_bytes for largest, percent in bins.items()}
    for largest, amount in sends.sizes.items():
        shares[_bin(largest)] = shares.get(_bin(largest), 0.0) + 100 * amount.size_bytes / all_bytes
    return shares


def _bin(largest: int) -> int:
    """Return mpiP's bin of a class of sizes, by its largest: the first bin of mpiP ends with 7 bytes."""
    return max(largest, SMALLEST_BIN)


def _bins(output: Output, title: str) -> dict[int, float]:
    """Return largest size -> percent of each bin, over all functions and sizes of communicators."""
    bins: dict[int, float] = {}
    for line in _rows(output, title):
        largest = whole(line[3], output.source, "Data Size")
        bins[largest] = bins.get(largest, 0.0) + finite(line[2], output.source, title)
    return bins


def _rows(output: Output, title: str) -> list[re.Match[str]]:
    """Return the rows of a histogram: function, percent, largest size of the bin."""
    row = rf"^(\w+) +{NUMBER} +\d+ - +\d+ +\d+ - +(\d+)"
    return list(re.finditer(row, _section(output, title), re.M))


def _histogram(fom: Fom, bins: Mapping[int, float]) -> Iterator[Series]:
    for largest, percent in sorted(bins.items()):
        yield single(fom, round(percent, 3), size_bytes=largest)


FORMAT = "railyard-persistent/1"
#: The largest message, far above any that an MPI can send.
MOST = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number of messages, and their bytes together."""

    messages: int = 0
    size_bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(messages=self.messages + other.messages, size_bytes=self.size_bytes + other.size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """The persistent sends of one launch: of each rank, and of all ranks by the largest size of a class in bytes."""

    ranks: tuple[Amount, ...] = ()
    sizes: Mapping[int, Amount] = field(default_factory=dict)

    @property
    def total(self) -> Amount:
        """Return the messages of all sizes."""
        return sum(self.sizes.values(), Amount())


def load_persistent(path: Path, ranks: int) -> Sends:
    """Return the sends in a launch's file; raises InputError for one that is absent or is not of so many ranks."""
    if not path.is_file():
        why = "no such file: the program did not end MPI, or its railyard-witness is of an earlier version"
        raise UnreadableError(path.name, "persistent sends", why)
    return parse_persistent(json_io.read(path), path.name, ranks)


def parse_persistent(document: Json, source: str, ranks: int) -> Sends:
    """Return the sends in a document; raises InputError naming the field that is wrong."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        format_name = document.get("format") if isinstance(document, dict) else document
        raise InputError(source, "format", str(format_name), FORMAT)
    rows = _sends_rows(document, source, "ranks", "rank")
    if [number for number, _ in rows] != list(range(ranks)):
        raise InputError(source, "ranks", problem=f"{len(rows)} ranks", valid=f"ranks 0 to {ranks - 1} in order")
    classes, before = _sends_rows(document, source, "sizes", "size_bytes"), -1
    for index, (largest, amount) in enumerate(classes):
        place, smallest = f"{source}: sizes[{index}]", (largest + 1) // 2
        if largest & (largest + 1) or largest <= before:
            raise InputError(place, "size_bytes", largest, "one less than a power of two, in ascending order")
        if not amount.messages or not smallest <= amount.size_bytes / amount.messages <= largest:
            problem = f"{amount.messages} messages of {amount.size_bytes} bytes"
            raise InputError(place, "bytes", problem=problem, valid=f"messages of {smallest} to {largest} bytes")
        before = largest
    sends = Sends(ranks=tuple(amount for _, amount in rows), sizes=dict(classes))
    by_rank = sum(sends.ranks, Amount())
    if sends.total != by_rank:
        problem = f"{sends.total.messages} messages of {sends.total.size_bytes} bytes"
        valid = f"{by_rank.messages} messages of {by_rank.size_bytes} bytes, as the ranks have"
        raise InputError(source, "sizes", problem=problem, valid=valid)
    return sends


def _sends_rows(document: Mapping[str, Json], source: str, name: str, key: str) -> list[tuple[int, Amount]]:
    """Return the rows of a list: the number under `key`, and an amount."""
    rows = document.get(name)
    if not isinstance(rows, list):
        raise InputError(source, name, problem="no list", valid=f"a list of objects with {key}, messages, bytes")
    amounts = []
    for index, row in enumerate(rows):
        place = f"{source}: {name}[{index}]"
        number = _whole(row, key, place, 2**64 - 1)  # a class of sizes may end where 64 bits do
        messages, size_bytes = _whole(row, "messages", place, MOST), _whole(row, "bytes", place, MOST)
        amounts.append((number, Amount(messages=messages, size_bytes=size_bytes)))
    return amounts


def _whole(row: Json, name: str, place: str, most: int) -> int:
    """Return a number of a row; raises InputError for anything but a whole number from 0 to `most`."""
    number = row.get(name) if isinstance(row, dict) else None
    if type(number) is not int or not 0 <= number <= most:  # a truth value is an integer for Python
        raise InputError(place, name, number, f"a whole number from 0 to {most:,}")
    return number
