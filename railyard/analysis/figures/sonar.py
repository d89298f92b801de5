"""Counters' view of messages of known size: bytes a ping and bandwidth efficiency (Pedretti et al. 2013, Figure 5).

Models: medians over the soundings of all good launches; a line for each kind of ping and payload. Leaves out: the
packets and the destination's counters; the records have them.

Protocols: within one the bytes sent and received are each a straight line over the message size: a header and a share
for each byte of payload. They are the fewest runs of consecutive sizes in which both lines fit every size within a
tolerance; Pedretti et al., section V-D, found four by eye. Leaves out protocols within which the bytes are not a line,
and two protocols with the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.text import percent, size_text
from railyard.records.benchmark import Label

EFFICIENCY = "efficiency_percent"
SENT, RECEIVED = "source_sent_bytes", "source_received_bytes"
CLAIMED = frozenset(
    {
        EFFICIENCY,
        *(
            f"{end}_{way}_{unit}"
            for end in ("source", "destination")
            for way in ("sent", "received")
            for unit in ("bytes", "packets_count")
        ),
    }
)

#: Kind of ping and payload -> size in bytes -> median of one FOM, by name and by size.
Curves = dict[str, dict[int, float]]


def drawings(case: Case) -> list[Drawing]:
    """Return the figures of efficiency and of counted bytes; nothing when no launch left them."""
    efficiency, sent, received = (_curves(case, fom) for fom in (EFFICIENCY, SENT, RECEIVED))
    if not efficiency:
        return []
    title, counted = "Bandwidth efficiency by message size", "Bytes counted at the source for one message"
    statement, ends = _statement(efficiency), {" sent": sent, " received": received}
    curves = {f"{name}{end}": points for end, of_end in ends.items() for name, points in of_end.items()}
    words = f"{title}: payload over the bytes that the source's counters saw. {statement}"
    return [
        _drawing("efficiency", title, words, statement, curves=efficiency, unit="%"),
        _drawing(
            "counted",
            counted,
            f"{counted}, by message size, sent and received.",
            _protocols(sent, received),
            curves=curves,
            unit="bytes",
        ),
    ]


def _curves(case: Case, fom: str) -> Curves:
    """Return the curves of a FOM, in the order of their names."""

    def point(labels: Mapping[str, Label]) -> tuple[str, int] | None:
        is_one = {"ping", "payload", "size_bytes"} <= labels.keys()
        return (f"{labels['ping']}, {labels['payload']}", int(labels["size_bytes"])) if is_one else None

    curves: Curves = {}
    for (name, size), value in sorted(cases.medians(case, fom, point).items()):
        curves.setdefault(name, {})[size] = value
    return curves


def _drawing(name: str, title: str, description: str, statement: str, *, curves: Curves, unit: str) -> Drawing:
    columns = ("curve", "size (bytes)", unit)
    rows = [(of, str(size), f"{value:.6g}") for of, points in curves.items() for size, value in points.items()]
    return Drawing(
        name=name,
        title=title,
        description=description,
        paint=lambda figure: _paint(figure.subplots(), curves, title, unit),
        data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:])),
        statement=statement,
        foms=CLAIMED,
    )


def _protocols(sent: Curves, received: Curves) -> str:
    """Return the protocols of each kind of ping: sizes, bytes on the wire for each byte, and header."""
    parts = []
    for name in filter(received.__contains__, sent):
        texts = [
            f"{size_text(protocol.smallest)} to {size_text(protocol.largest)} {protocol.bytes_per_byte:.3g} bytes "
            f"per byte and a header of {protocol.header_bytes:z.0f}"
            for protocol in find(sent[name], received[name])
        ]
        parts.append(f"{name}: " + ", ".join(texts))
    return f"The counters show these protocols by message size: {'; '.join(parts)}." if parts else ""


def _statement(curves: Curves) -> str:
    """Return the ends of each curve in words."""
    parts = []
    for name, points in curves.items():
        ends = (min(points), max(points))
        texts = (f"{percent(points[size], signed=False)} at {size_text(size)}" for size in ends)
        parts.append(f"{name}: {', '.join(texts)}")
    return "The payload is this share of the bytes counted: " + "; ".join(parts) + "."


def _paint(axes: Axes, curves: Curves, title: str, unit: str) -> None:
    for series, (name, points) in enumerate(curves.items()):
        axes.plot(
            list(points),
            list(points.values()),
            linestyle=svg.DASHES[series % len(svg.DASHES)],
            marker=svg.MARKERS[series % len(svg.MARKERS)],
            markersize=4.5,
            linewidth=1.6,
            color=svg.sentinel(series),
            label=svg.clean(name),
        )
    painting.size_axis(axes, sorted({size for points in curves.values() for size in points}))
    if unit == "bytes" and all(value > 0 for points in curves.values() for value in points.values()):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("message size")
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.legend(loc="best", handlelength=2.6)


#: Largest difference of a size's bytes from its protocol's line, as a share of the bytes.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A run of message sizes, its header in bytes (both ways) and the bytes on the wire for each byte of payload."""

    smallest: int
    largest: int
    header_bytes: float
    bytes_per_byte: float


def find(sent: Mapping[int, float], received: Mapping[int, float]) -> list[Protocol]:
    """Return the protocols by message size, smallest first; of the sizes that both curves have."""
    sizes = sorted(size for size in sent.keys() & received.keys() if size > 0)
    protocols, start = [], 0
    while start < len(sizes):
        end = start + 1
        while end < len(sizes) and _is_one(sizes[start : end + 1], sent, received):
            end += 1
        lines = [_line(sizes[start:end], curve) for curve in (sent, received)]
        protocols.append(
            Protocol(
                smallest=sizes[start],
                largest=sizes[end - 1],
                header_bytes=sum(header for header, _ in lines),
                bytes_per_byte=sum(slope for _, slope in lines),
            )
        )
        start = end
    return protocols


def _is_one(sizes: Sequence[int], *curves: Mapping[int, float]) -> bool:
    """Return whether a straight line fits each curve over these sizes, within `TOLERANCE` of the bytes of each."""
    for curve in curves:
        bytes_, (header, slope) = np.array([curve[size] for size in sizes]), _line(sizes, curve)
        differences = np.abs(header + slope * np.array(sizes) - bytes_)
        if (differences / np.maximum(bytes_, 1.0)).max() > TOLERANCE:
            return False
    return True


def _line(sizes: Sequence[int], curve: Mapping[int, float]) -> tuple[float, float]:
    """Return header and slope of least relative squares; of one size its bytes are all header."""
    if len(sizes) == 1:
        return curve[sizes[0]], 0.0
    bytes_ = np.array([curve[size] for size in sizes])
    slope, header = np.polyfit(sizes, bytes_, 1, w=1 / np.maximum(bytes_, 1.0))
    return float(header), float(slope)
