"""Store the bytes that the NICs of a launch's nodes sent and received, as columns.

Models: a sequence of `NicBytes` that stores columns and builds a row only when it is accessed. Launches that counted
the same NICs share one list of them. Leaves out: the verdict on the bytes (`railyard.placements.nics.evidence`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

Json = Any
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NicBytes:
    """The bytes that one NIC of one node sent and received during a launch."""

    node: str
    nic: str
    tx_bytes: int
    rx_bytes: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Nics(Sequence[NicBytes]):
    """The NICs of a launch: `pairs` of node and NIC names, and the bytes that each sent and received."""

    pairs: Pairs = ()
    tx_bytes: Sequence[int] = ()
    rx_bytes: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, place: int) -> NicBytes: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[NicBytes, ...]: ...
    def __getitem__(self, place: int | slice) -> NicBytes | tuple[NicBytes, ...]:
        if isinstance(place, slice):
            return tuple(self[index] for index in range(*place.indices(len(self))))
        node, nic = self.pairs[place]
        return NicBytes(node=node, nic=nic, tx_bytes=self.tx_bytes[place], rx_bytes=self.rx_bytes[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # equality compares content, and the content may change, as in a list

    @property
    def sent(self) -> dict[tuple[str, str], int]:
        """Return (node, NIC) -> bytes sent."""
        return dict(zip(self.pairs, self.tx_bytes, strict=True))

    def only(self, nodes: Container[str]) -> Nics:
        """Return the NICs of these nodes."""
        indices = [index for index, (node, _) in enumerate(self.pairs) if node in nodes]
        return Nics(
            pairs=tuple(self.pairs[index] for index in indices),
            tx_bytes=[self.tx_bytes[index] for index in indices],
            rx_bytes=[self.rx_bytes[index] for index in indices],
        )

    @property
    def busy(self) -> set[str]:
        """Return the nodes with at least one NIC that sent a byte."""
        return {node for (node, _), sent in zip(self.pairs, self.tx_bytes, strict=True) if sent}


def of_rows(rows: Sequence[Mapping[str, Json]]) -> Nics:
    """Return the NICs from rows of JSON, one per NIC, as the file of a launch's NICs has them."""
    return Nics(
        pairs=tuple((row["node"], row["nic"]) for row in rows),
        tx_bytes=[row["tx_bytes"] for row in rows],
        rx_bytes=[row["rx_bytes"] for row in rows],
    )
