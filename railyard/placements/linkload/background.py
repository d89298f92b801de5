"""Compute the share of each link that other jobs leave free, from counters that were read while those jobs ran.

A link that other jobs use for a share u of the time is modelled as a link with 1 - u of its rate. u is the bytes
counted between two readings, divided by the bytes that the link can transfer in that time. If stalls are counted, u
includes the time for which the link was idle because the buffer at its far end was full.

Reads the output of `railyard torus counters NAME --since FILE --json`, and the file that the counters library writes
for the routers of a torus (`railyard-counters-library/1`, groups `gemini` and `torus-links`), where links count the
bytes that arrive.

Leaves out: how other jobs react when a new job loads their links, and all rails but the first.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.arrays import Floats, np
from railyard.placements.linkload.model import LinkLoads
from railyard.placements.topology.base import Topology

#: The least that others leave: a link that is never idle is shared with a newcomer.
LEAST = 0.05
OF_A_TORUS = "railyard-counters/1"
OF_THE_LIBRARY = "railyard-counters-library/1"
FORMATS = f"{OF_A_TORUS} between two readings (--since FILE --json), or {OF_THE_LIBRARY}"
HOST = "H"
_COORDINATE = re.compile(r"\((\d+(?:,\d+)*)\)")


@dataclass(frozen=True, kw_only=True, eq=False)
class Background:
    """The share of its rate that others leave of each link, in the shape of `Topology.link_rates`."""

    left: Floats

    def added_to(self, loads: LinkLoads) -> LinkLoads:
        """Return the same loads on what others leave of the links."""
        return dataclasses.replace(loads, rate_gbyte_s=loads.rate_gbyte_s * self.left)


def read(path: Path, topology: Topology) -> Background:
    """Return what others leave of a topology's links; InputError in one line for a file without them."""
    source, places, left = str(path), topology.link_places, np.ones(topology.link_rates.shape)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("--background", source, problem=str(error), valid="a readable JSON file") from error
    try:
        if document["format"] not in (OF_A_TORUS, OF_THE_LIBRARY):
            raise InputError(source, "format", document["format"], FORMATS)
        is_of_a_torus = document["format"] == OF_A_TORUS
        shares = _of_a_torus(document, topology, source) if is_of_a_torus else _of_the_library(document)
        used = [(name, share) for name, share in shares if name in places]
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError("--background", source, problem=f"not such a document ({error})", valid=FORMATS) from error
    for name, share in used:
        left.flat[places[name]] = min(1.0, max(LEAST, 1 - share))
    if not used:
        raise InputError(source, "links", problem=f"no link of {topology.name}", valid="counters of its links")
    return Background(left=left)


def _of_a_torus(document: Mapping[str, Any], topology: Topology, source: str) -> Iterator[tuple[str, float]]:
    """Yield the share of each link between routers that was used between the two readings."""
    if document["topology"] != topology.sha256:
        raise InputError(source, "topology", document["topology"], f"{topology.name}, {topology.sha256}")
    if document["since"] is None:
        raise InputError(source, "since", problem="one reading alone", valid=FORMATS)
    between = datetime.fromisoformat(document["taken"]) - datetime.fromisoformat(document["since"])
    seconds = _above_0(between.total_seconds(), source, "taken")
    for link in document["links"]:
        if link["dimension"] != HOST:
            rate_byte_s = link["rate_mbit_s"] * 1e6 / 8
            sent_s = link["bytes"] / rate_byte_s if rate_byte_s else seconds  # a dead link has nothing left
            yield link["name"], (sent_s + (link.get("output_stall_ns") or 0) / 1e9) / seconds


def _of_the_library(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the share of each link by which something arrived at a router: X+ of a router is X- of the one beyond."""
    for leader in document["leaders"]:
        at = _COORDINATE.fullmatch(leader["leader"])
        for link in leader["links"]:
            beyond = _COORDINATE.fullmatch(link["remote"] or "")
            if at is None or beyond is None or not link["rate_gbyte_s"]:
                continue
            direction = link["link"][0] + {"+": "-", "-": "+"}[link["link"][1]]
            seconds = _above_0(document["seconds"], "background", "seconds")
            share = link["metrics"]["received_bytes"] / (link["rate_gbyte_s"] * 1e9 * seconds)
            yield f"{direction} {beyond[1]}>{at[1]}", share


def _above_0(seconds: float, source: str, field: str) -> float:
    if not seconds > 0:
        raise InputError(source, field, f"{seconds} s between the readings", "above 0")
    return seconds
