"""Compare the bytes that NICs and leaves counted with the link-load model's, and name what differs.

Models: the program sends its traffic a whole number of times, the rounds, which the sum over all NICs gives: a wrong
choice of NICs moves bytes and adds none. A part differs if it is off by half of the smallest message in all rounds.
Headers are taken off by the packets counted. Leaves out: traffic that no choice of NICs changes, such as an all-to-all
of all ranks, whose bytes show no exchange of two NICs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.linkload.model import LinkLoads

#: Bytes of a packet's headers: Ethernet, IP, and TCP with time stamps.
HEADERS_BYTES = 66
FORMATS = "what `railyard torus counters NAME --since FILE --json` prints"
#: The most findings of one kind that are listed.
LISTED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A NIC or one direction of a leaf: its bytes by the model in one round, and as counted."""

    name: str
    host: str
    rail: int
    model_bytes: float
    counted_bytes: float
    is_nic: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All parts, the rounds, the bytes by which a part may be off, and the findings: none if the model is right."""

    parts: tuple[Part, ...]
    rounds: float
    tolerance_bytes: float
    findings: tuple[str, ...]

    def off_bytes(self, part: Part) -> float:
        """Return the bytes of a part beyond those of the model."""
        return part.counted_bytes - self.rounds * part.model_bytes


def read(path: Path) -> dict[str, float]:
    """Return the payload of every link by name; InputError for another file than `FORMATS`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["since"] is None:
            raise InputError(str(path), "since", problem="one reading alone", valid=FORMATS)
        return {
            link["name"]: float(max(0, link["bytes"] - HEADERS_BYTES * link["packets"]))
            for link in document["links"]
        }
    except OSError as error:
        raise InputError("--counted", "", str(path), f"a readable file ({error.strerror})") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "--counted", str(path), problem=f"not such a document ({error})", valid=FORMATS
        ) from error


def compared(loads: LinkLoads, counted: Mapping[str, float], message_bytes: float) -> Comparison:
    """Return what differs; `message_bytes` is the smallest message. InputError for counters of other links."""
    parts = tuple(_parts(loads, counted))
    nics = [part for part in parts if part.is_nic]
    total = sum(part.model_bytes for part in nics)
    if not total:
        raise InputError("--counted", "traffic", problem="no message leaves a node", valid="one that does")
    ratio = sum(part.counted_bytes for part in nics) / total
    rounds = float(max(1, round(ratio)))
    tolerance = message_bytes * rounds / 2
    result = Comparison(parts=parts, rounds=rounds, tolerance_bytes=tolerance, findings=())
    if ratio < 0.5:
        few = f"{100 * ratio:.0f} % of one round's bytes were counted: the traffic did not run in this time"
        return replace(result, findings=(few,))
    return replace(result, findings=(*_nic_findings(result, nics), *_leaf_findings(result, parts)))


def _parts(loads: LinkLoads, counted: Mapping[str, float]) -> Iterator[Part]:
    topology = loads.topology
    names = {
        (name.split(" ")[1].split(">")[0], int(name.partition("@")[2] or 0)): size
        for name, size in counted.items()
        if name.startswith("H+ ")
    }
    for rail, sent in enumerate(loads.host_out_bytes):
        for node, size in zip(topology.nodes, sent.tolist(), strict=True):
            if (node.name, rail) not in names:
                raise InputError("--counted", "links", problem=f"no NIC {rail} of {node.name}", valid=FORMATS)
            yield Part(
                name=f"nic{rail}",
                host=node.name,
                rail=rail,
                model_bytes=size,
                counted_bytes=names[node.name, rail],
            )
    up, down = np.zeros((2, len(topology.routers)))
    for link in topology.links():
        up[topology.router_indices[link.source]] += counted.get(link.name, 0.0)
        down[topology.router_indices[link.target]] += counted.get(link.name, 0.0)
    routers = {topology.router_name(router): index for router, index in topology.router_indices.items()}
    for leaf in loads.leaves():
        index = routers[leaf.name]
        for way, model, size in (("up", leaf.up_bytes, up[index]), ("down", leaf.down_bytes, down[index])):
            yield Part(
                name=way,
                host=leaf.name,
                rail=leaf.rail,
                model_bytes=model,
                counted_bytes=float(size),
                is_nic=False,
            )


def _nic_findings(result: Comparison, nics: Sequence[Part]) -> Iterator[str]:
    tolerance = result.tolerance_bytes
    idle = [p for p in nics if result.off_bytes(p) < -tolerance and p.counted_bytes < tolerance]
    wrong = [p for p in nics if abs(result.off_bytes(p)) > tolerance]
    used = {p.rail for p in nics if p.counted_bytes >= tolerance}
    expected = {p.rail for p in nics if result.rounds * p.model_bytes >= tolerance}
    if idle and len(used) < len(expected):
        lacking = ", ".join(f"nic{rail}" for rail in sorted({p.rail for p in idle}))
        yield f"{len(used)} NICs of a node carry bytes in place of {len(expected)}; idle: {lacking}"
    for part in _worst(result, wrong):
        yield _line(result, part, "sent")


def _leaf_findings(result: Comparison, parts: Sequence[Part]) -> Iterator[str]:
    leaves = [p for p in parts if not p.is_nic and abs(result.off_bytes(p)) > result.tolerance_bytes]
    more = sum(max(0.0, result.off_bytes(p)) for p in leaves if p.name == "up")
    if more:
        yield f"{more / 1e6:.3g} MB more than expected leave leaves upwards: messages cross rails or pods"
    for part in _worst(result, leaves):
        yield _line(result, part, "sent upwards" if part.name == "up" else "got from above")


def _worst(result: Comparison, parts: Sequence[Part]) -> list[Part]:
    """Return the parts that lack most bytes, and those that have most too many."""
    by_bytes = sorted(parts, key=result.off_bytes)
    lacking = [part for part in by_bytes if result.off_bytes(part) < 0][: LISTED // 2]
    return lacking + [part for part in reversed(by_bytes) if result.off_bytes(part) > 0][: LISTED // 2]


def _line(result: Comparison, part: Part, does: str) -> str:
    name = f"{part.host} {part.name}" if part.is_nic else part.host
    expected = result.rounds * part.model_bytes
    return f"{name} {does} {part.counted_bytes / 1e6:.3g} MB, expected {expected / 1e6:.3g} MB"
