"""Read the matrices that `pt2pt --pairs` writes, also while it runs, and find what is worst in them.

Models: the file of docs/formats.md, mapped into memory, so that 10,000 nodes need no more than a matrix at a time. A
value of 0 is a pair that was not measured, which has no part in anything here.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from railyard.base.errors import InputError
from railyard.records.units import Better

MAGIC = b"railyard-pairs/1"
HEAD = struct.Struct("<16sQ")
VALUE = np.dtype("<f4")
#: An image has at most so many rows; each of its points is the worst of its pairs.
MOST_ROWS = 1000

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One test at one size: values [from, to] in `unit`, 0 where a pair was not measured."""

    test: str
    size_bytes: int
    unit: str
    better: Better
    values: Floats

    @property
    def measured(self) -> Floats:
        """Return the values of all pairs that were measured."""
        return self.values[self.values > 0]

    @property
    def median(self) -> float | None:
        """Return the median of the pairs that were measured; None if none was."""
        measured = self.measured
        return float(np.median(measured)) if measured.size else None

    def worst(self, count: int) -> list[tuple[int, int, float]]:
        """Return (from, to, value) of the worst pairs, the worst first."""
        source, target = np.nonzero(self.values)
        values = self.values[source, target]
        order = np.argsort(values if self.better is Better.HIGHER else -values, kind="stable")[:count]
        return [(int(source[at]), int(target[at]), float(values[at])) for at in order]

    def worst_nodes(self, count: int) -> list[tuple[int, float]]:
        """Return (node, median of its pairs, both ways) of the worst nodes, the worst first."""
        medians = []
        for node in range(len(self.values)):
            own = np.concatenate([self.values[node], self.values[:, node]])
            if (own := own[own > 0]).size:
                medians.append((node, float(np.median(own))))
        return sorted(medians, key=lambda one: one[1], reverse=self.better is Better.LOWER)[:count]

    def binned(self) -> Floats:
        """Return at most MOST_ROWS x MOST_ROWS values, each the worst of its block; NaN where none was measured."""
        step = -(-len(self.values) // MOST_ROWS)
        starts = np.arange(0, len(self.values), step)
        if self.better is Better.LOWER:
            worst = np.maximum.reduceat(np.maximum.reduceat(self.values, starts, axis=0), starts, axis=1)
            return np.where(worst > 0, worst, np.float32(np.nan))
        values = np.where(self.values > 0, self.values, np.float32(np.inf))
        worst = np.minimum.reduceat(np.minimum.reduceat(values, starts, axis=0), starts, axis=1)
        return np.where(np.isfinite(worst), worst, np.float32(np.nan))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """The nodes of a file, and a matrix for each point."""

    nodes: tuple[str, ...]
    points: tuple[Matrix, ...]


def read(path: Path) -> Matrices:
    """Return the matrices of a file; InputError names what is wrong with it."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD.size)
            magic, length = HEAD.unpack(head) if len(head) == HEAD.size else (b"", 0)
            if magic != MAGIC:
                raise InputError(
                    str(path), "", "", f"a file that begins with {MAGIC.decode()}: of pt2pt --pairs"
                )
            document: dict[str, Any] = json.loads(file.read(length))
        nodes = tuple(map(str, document["nodes"]))
        if len(set(nodes)) < len(nodes):  # --units ranks
            nodes = tuple(f"{name} rank {rank}" for rank, name in enumerate(nodes))
        shape = (len(document["points"]), len(nodes), len(nodes))
        start = -(-(HEAD.size + length) // VALUE.itemsize) * VALUE.itemsize
        values = np.memmap(path, dtype=VALUE, mode="r", offset=start, shape=shape)
        points = tuple(
            Matrix(
                test=point["test"],
                size_bytes=point["size_bytes"],
                unit=point["unit"],
                better=Better(point["better"]),
                values=matrix,
            )
            for point, matrix in zip(document["points"], values, strict=True)
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise InputError(str(path), "", problem=str(error), valid="a whole file of pt2pt --pairs") from error
    return Matrices(nodes=nodes, points=points)
