"""Compare the bytes that NICs and leaves counted with the link-load model's, and name what differs.

Models: the program sends its traffic a whole number of times, the rounds, which the sum over all NICs gives: a wrong
choice of NICs moves bytes and adds none. A part differs if it is off by half of the smallest message in all rounds.
Headers are taken off by the packets counted. Leaves out: traffic that no choice of NICs changes, such as an all-to-all
of all ranks, whose bytes show no exchange of two NICs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.linkload.model import LinkLoads
from railyard.placements.topology.parts import Router

#: Bytes of a packet's headers: Ethernet, IP, and TCP with time stamps.
HEADERS_BYTES = 66
FORMATS = "what `railyard torus counters NAME --since FILE --json` prints"
#: What a part of each way does, in the words of a finding.
WAYS = {"nic": "sent", "up": "sent upwards", "down": "got from above"}
#: The most NICs and leaves that are listed of those that lack bytes, and of those that have too many.
LISTED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A NIC, or a leaf upwards or downwards (`way`): bytes by the model in all rounds, and as counted."""

    name: str
    way: str
    rail: int
    model_bytes: float
    counted_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All parts, the rounds, the bytes by which a part may be off, and the findings: none if the model is right."""

    parts: tuple[Part, ...]
    rounds: int
    tolerance_bytes: float
    findings: tuple[str, ...]


def read(path: Path) -> dict[str, float]:
    """Return the payload of every link by name; InputError for another file than `FORMATS`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        since, links = document["since"], document["links"]
        sizes = {link["name"]: max(0.0, link["bytes"] - HEADERS_BYTES * link["packets"]) for link in links}
    except (OSError, KeyError, TypeError, ValueError) as error:
        problem = f"{path} is not such a document ({error})"
        raise InputError("--counted", "", problem=problem, valid=FORMATS) from error
    if since is None:
        raise InputError(str(path), "since", problem="one reading alone", valid=FORMATS)
    return sizes


def compared(loads: LinkLoads, counted: Mapping[str, float], message_bytes: float) -> Comparison:
    """Return what differs; `message_bytes` is the smallest message. InputError for counters of other links."""
    model_bytes, measured = float(loads.host_out_bytes.sum()), _measured(loads, counted)
    if not model_bytes:
        raise InputError("--counted", "traffic", problem="no message leaves a node", valid="one that does")
    ratio = float(measured.host_out_bytes.sum()) / model_bytes
    rounds = max(1, round(ratio))
    parts = tuple(
        Part(name=name, way=way, rail=rail, model_bytes=rounds * expected, counted_bytes=own)
        for name, way, rail, expected, own in _rows(loads, measured)
    )
    tolerance = message_bytes * rounds / 2
    few = f"{100 * ratio:.0f} % of one round's bytes were counted: the traffic did not run in this time"
    findings = (few,) if ratio < 0.5 else tuple(_findings(parts, tolerance))
    return Comparison(parts=parts, rounds=rounds, tolerance_bytes=tolerance, findings=findings)


def _measured(loads: LinkLoads, counted: Mapping[str, float]) -> LinkLoads:
    """Return loads with the counted bytes of NICs and links."""
    topology, out = loads.topology, np.zeros_like(loads.host_out_bytes)
    for rail, (index, node) in itertools.product(range(topology.rails), enumerate(topology.nodes)):
        router = topology.router_name(Router(coordinate=node.coordinate, rail=rail))
        name = f"H+ {node.name}>{router}" + (f"@{rail}" if rail else "")
        if name not in counted:
            raise InputError("--counted", "links", problem=f"no NIC {rail} of {node.name}", valid=FORMATS)
        out[rail, index] = counted[name]
    links = np.zeros_like(loads.link_bytes)
    for flat in np.flatnonzero(loads.rate_gbyte_s).tolist():
        links.flat[flat] = counted.get(loads.link(flat).name, 0.0)
    return replace(loads, host_out_bytes=out, link_bytes=links)


def _rows(loads: LinkLoads, measured: LinkLoads) -> Iterator[tuple[str, str, int, float, float]]:
    for rail, ways in enumerate(zip(loads.host_out_bytes, measured.host_out_bytes, strict=True)):
        for node, model, own in zip(loads.topology.nodes, *(way.tolist() for way in ways), strict=True):
            yield f"{node.name} nic{rail}", "nic", rail, model, own
    for leaf, other in zip(loads.leaves(), measured.leaves(), strict=True):
        yield leaf.name, "up", leaf.rail, leaf.up_bytes, other.up_bytes
        yield leaf.name, "down", leaf.rail, leaf.down_bytes, other.down_bytes


def _findings(parts: Sequence[Part], tolerance: float) -> Iterator[str]:
    """Yield the NICs that idle, the bytes that cross rails, and of each way the parts that are off most."""
    off = {part: part.counted_bytes - part.model_bytes for part in parts}
    nics = [part for part in parts if part.way == "nic"]
    idle = {p.rail for p in nics if off[p] < -tolerance and p.counted_bytes < tolerance}
    used, expected = (
        {p.rail for p in nics if size(p) >= tolerance}
        for size in (attrgetter("counted_bytes"), attrgetter("model_bytes"))
    )
    if idle and len(used) < len(expected):
        lacking = ", ".join(f"nic{rail}" for rail in sorted(idle))
        yield f"{len(used)} NICs of a node carry bytes in place of {len(expected)}; idle: {lacking}"
    up = [size for part, size in off.items() if part.way == "up"]
    more = sum(up)
    if max(up) > tolerance < more:
        yield f"{more / 1e6:.3g} MB more than expected leave leaves upwards: messages cross rails or pods"
    for ways in (("nic",), ("up", "down")):
        wrong = sorted((p for p in parts if p.way in ways and abs(off[p]) > tolerance), key=off.__getitem__)
        lacking_most, most = (p for p in wrong if off[p] < 0), (p for p in wrong[::-1] if off[p] > 0)
        for part in (*itertools.islice(lacking_most, LISTED), *itertools.islice(most, LISTED)):
            sizes = f"{part.counted_bytes / 1e6:.3g} MB, expected {part.model_bytes / 1e6:.3g} MB"
            yield f"{part.name} {WAYS[part.way]} {sizes}"
