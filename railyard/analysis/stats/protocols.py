"""Find an MPI library's protocols in the bytes that a NIC counts for messages of known size.

Models: within a protocol the bytes sent and received are each a straight line over the message size: a header and a
share for each byte of payload. Protocols are the fewest runs of consecutive sizes in which both lines fit every size
within a tolerance. Pedretti et al., CUG'13, section V-D, found four by eye. Leaves out: protocols within which the
bytes are not a line, and two protocols with the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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
