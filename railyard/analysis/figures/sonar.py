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

Points = dict[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Size in bytes -> median of one FOM, for one kind of ping and payload."""

    name: str
    points: Mapping[int, float]


def drawings(case: Case) -> list[Drawing]:
    """Efficiency and counted bytes; nothing when no launch left them."""
    efficiency = curves_of(case, EFFICIENCY)
    sent, received = curves_of(case, SENT, " sent"), curves_of(case, RECEIVED, " received")
    if not efficiency:
        return []
    return [_efficiency(efficiency), _bytes(sent, received)]


def curves_of(case: Case, fom: str, suffix: str = "") -> list[Curve]:
    """Return the curves of a FOM, in the order of their names."""

    def point(labels: Mapping[str, Label]) -> tuple[str, int] | None:
        is_one = {"ping", "payload", "size_bytes"} <= labels.keys()
        return (f"{labels['ping']}, {labels['payload']}{suffix}", int(labels["size_bytes"])) if is_one else None

    curves: dict[str, Points] = {}
    for (name, size), value in sorted(cases.medians(case, fom, point).items()):
        curves.setdefault(name, {})[size] = value
    return [Curve(name=name, points=points) for name, points in curves.items()]


def _efficiency(curves: Sequence[Curve]) -> Drawing:
    title = "Bandwidth efficiency by message size"
    return Drawing(
        name="efficiency",
        title=title,
        description=f"{title}: payload over the bytes that the source's counters saw. {_statement(curves)}",
        paint=lambda figure: _paint(figure.subplots(), curves, title, "%", logarithmic=False),
        data=_data(curves, "%"),
        statement=_statement(curves),
        foms=CLAIMED,
    )


def _bytes(sent: Sequence[Curve], received: Sequence[Curve]) -> Drawing:
    curves = [*sent, *received]
    title = "Bytes counted at the source for one message"
    return Drawing(
        name="counted",
        title=title,
        description=f"{title}, by message size, sent and received.",
        paint=lambda figure: _paint(figure.subplots(), curves, title, "bytes", logarithmic=True),
        data=_data(curves, "bytes"),
        statement=_protocols(sent, received),
        foms=CLAIMED,
    )


def _protocols(sent: Sequence[Curve], received: Sequence[Curve]) -> str:
    """Return the protocols of each kind of ping: sizes, bytes on the wire for each byte, and header."""
    parts = []
    for out, back in zip(sent, received, strict=False):
        fitted = find(out.points, back.points)
        texts = [
            f"{size_text(protocol.smallest)} to {size_text(protocol.largest)} {protocol.bytes_per_byte:.3g} bytes "
            f"per byte and a header of {protocol.header_bytes:.0f}"
            for protocol in fitted
        ]
        parts.append(f"{out.name.removesuffix(' sent')}: " + ", ".join(texts))
    return f"The counters show these protocols by message size: {'; '.join(parts)}." if parts else ""


def _statement(curves: Sequence[Curve]) -> str:
    """Return the ends of each curve in words."""
    parts = []
    for curve in curves:
        small, *_, large = curve.points if len(curve.points) > 1 else (*curve.points, *curve.points)
        ends = (percent(curve.points[size], signed=False) for size in (small, large))
        parts.append(
            f"{curve.name}: " + ", ".join(f"{e} at {size_text(s)}" for e, s in zip(ends, (small, large), strict=True))
        )
    return "The payload is this share of the bytes counted: " + "; ".join(parts) + "."


def _paint(axes: Axes, curves: Sequence[Curve], title: str, unit: str, *, logarithmic: bool) -> None:
    for series, curve in enumerate(curves):
        axes.plot(
            list(curve.points),
            list(curve.points.values()),
            linestyle=svg.DASHES[series % len(svg.DASHES)],
            marker=svg.MARKERS[series % len(svg.MARKERS)],
            markersize=4.5,
            linewidth=1.6,
            color=svg.sentinel(series),
            label=svg.clean(curve.name),
        )
    sizes = sorted({size for curve in curves for size in curve.points})
    painting.size_axis(axes, sizes)
    if logarithmic and all(value > 0 for curve in curves for value in curve.points.values()):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("message size")
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.legend(loc="best", handlelength=2.6)


def _data(curves: Sequence[Curve], unit: str) -> DataTable:
    columns = ("curve", "size (bytes)", unit)
    return DataTable(
        columns=columns,
        rows=[(curve.name, str(size), f"{value:.6g}") for curve in curves for size, value in curve.points.items()],
        numbers=frozenset(columns[1:]),
    )


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
        protocols.append(_protocol(sizes[start:end], sent, received))
        start = end
    return protocols


def _is_one(sizes: Sequence[int], *curves: Mapping[int, float]) -> bool:
    """Return whether a straight line fits each curve over these sizes, within `TOLERANCE`."""
    return all(_error(sizes, curve) <= TOLERANCE for curve in curves)


def _error(sizes: Sequence[int], curve: Mapping[int, float]) -> float:
    """Return the largest relative difference from the best line."""
    bytes_, header, slope = np.array([curve[size] for size in sizes]), *_line(sizes, curve)
    differences = np.abs(header + slope * np.array(sizes) - bytes_)
    return float((differences / np.maximum(bytes_, 1.0)).max())


def _line(sizes: Sequence[int], curve: Mapping[int, float]) -> tuple[float, float]:
    """Return header and slope of least relative squares; of one size its bytes are all header."""
    if len(sizes) == 1:
        return curve[sizes[0]], 0.0
    weights = 1 / np.maximum(np.array([curve[size] for size in sizes]), 1.0)
    terms = np.stack([weights, weights * np.array(sizes)], axis=1)
    wanted = weights * np.array([curve[size] for size in sizes])
    header, slope = np.linalg.lstsq(terms, wanted, rcond=None)[0]
    return float(header), float(slope)


def _protocol(sizes: Sequence[int], *curves: Mapping[int, float]) -> Protocol:
    lines = [_line(sizes, curve) for curve in curves]
    return Protocol(
        smallest=sizes[0],
        largest=sizes[-1],
        header_bytes=sum(header for header, _ in lines),
        bytes_per_byte=sum(slope for _, slope in lines),
    )
