"""Make series of what a virtual torus counted during a launch: Pedretti et al., CUG'13, Figures 6 and 7.

Models: `railyard torus counters --json` between two moments on the network `router`. Each router's stalls are added up
by class of link (host, X, Y, Z). The figures are the mean over routers and the most of any router, as in the paper.
An input stall belongs to the router at which packets arrived, an output stall to the one that they were to leave.
Leaves out: bytes of the management network.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from railyard.applications.reading import single
from railyard.base.errors import InputError
from railyard.records import units
from railyard.records.benchmark import Series
from railyard.torus.virtual import counters
from railyard.torus.virtual.counters import CounterReading, LinkCounter

#: What a counted case has in its parameter `counted_by`.
COUNTED_BY = "virtual torus"
HOST = "H"
INJECTED = units.fom("injected_bytes", "bytes", "lower")
MOST_INJECTED = units.fom("most_injected_bytes", "bytes", "lower")
CLASSES: Mapping[str, str] = {HOST: "host", "X": "X", "Y": "Y", "Z": "Z"}


def read(path: Path) -> list[Series]:
    """Return a launch's series; InputError for a file that is missing, cut off, or without stalls."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        valid = "what `railyard torus counters NAME --since FILE --json` prints"
        raise InputError(path.name, "", problem=str(error), valid=valid) from error
    return series(counters.from_dict(document, path.name))


def series(reading: CounterReading) -> list[Series]:
    """Return the bytes that routers injected, and their stalls by class of link; InputError without stalls."""
    if any(link.input_stall_ns is None for link in reading.links):
        valid = "counters of a torus with --network router, whose buffers are finite"
        raise InputError(reading.torus, "input_stall_ns", problem="not counted", valid=valid)
    sent = _by_router((link.target, link.bytes) for link in reading.links if _is(link, HOST, "+"))
    series = [single(INJECTED, _mean(sent)), single(MOST_INJECTED, max(sent.values()))]
    for letter, name in CLASSES.items():
        # Nanoseconds that packets waited at each router after they had come by links of a class, and for which its
        # outgoing links were idle because a buffer was full.
        arrived = [link for link in reading.links if _is(link, letter, "+" if letter == HOST else "")]
        left = [link for link in reading.links if _is(link, letter, "-" if letter == HOST else "")]
        for kind, stalls in (
            ("input", _by_router((link.target, link.input_stall_ns or 0) for link in arrived)),
            ("output", _by_router((link.source, link.output_stall_ns or 0) for link in left)),
        ):
            if stalls:
                for which, value in (("mean", _mean(stalls)), ("most", max(stalls.values()))):
                    fom = units.fom(f"{which}_{kind}_stall_us", "us", "lower")
                    series.append(single(fom, value / 1e3, links=name))
    return series


def _is(link: LinkCounter, letter: str, direction: str) -> bool:
    return link.dimension == letter and direction in ("", link.direction)


def _by_router(amounts: Iterable[tuple[str, int]]) -> Counter[str]:
    sums = Counter[str]()
    for router, amount in amounts:
        sums[router] += amount
    return sums


def _mean(sums: Mapping[str, int]) -> float:
    return sum(sums.values()) / len(sums)
