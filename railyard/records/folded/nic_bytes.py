"""Store the bytes that the NICs of a launch's nodes sent and received, as columns.

Models: columns, of which an iterator builds one `NicBytes` after another. Launches that counted the same NICs share one
list of them. Leaves out: the verdict on the bytes (`railyard.placements.nics.evidence`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NicBytes:
    """The bytes that one NIC of one node sent and received during a launch."""

    node: str
    nic: str
    tx_bytes: int
    rx_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nics:
    """The NICs of a launch: `pairs` of node and NIC names, and the bytes that each sent and received."""

    pairs: Pairs = ()
    tx_bytes: Sequence[int] = ()
    rx_bytes: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[NicBytes]:
        for (node, nic), sent, received in zip(self.pairs, self.tx_bytes, self.rx_bytes, strict=True):
            yield NicBytes(node=node, nic=nic, tx_bytes=sent, rx_bytes=received)

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
