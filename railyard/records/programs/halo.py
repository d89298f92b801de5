"""Make the options of `halo` from the parameters of a case, and the bytes that they give an iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from railyard.records.json_io import Json
from railyard.records.programs.base import Given, Program, Word


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--grid", "grid", "x")
    yield from given.option("--cells", "cells", "x")
    yield from given.option("--variants", "variants")
    yield from given.timing(warmups=None)
    yield from given.option("--order", "order")
    yield from given.option("--stencil", "stencil")
    yield from given.option("--values", "values")
    yield from given.option("--memory", "memory")
    yield from given.option("--face-memory", "face_memory_bytes", unit="B")


def exchanged_bytes(parameters: Mapping[str, Json]) -> int | None:
    """Return the bytes that a rank sends and receives in an iteration, which is what its bandwidth counts.

    None if the parameters have no cells, or a stencil that is not known here.
    """
    cells, stencil = parameters.get("cells"), parameters.get("stencil", "faces")
    if not isinstance(cells, list) or not all(type(count) is int and count > 0 for count in cells):
        return None
    inside = math.prod(cells)
    ghosts = {
        "faces": sum(2 * inside // count for count in cells),
        "full": math.prod(count + 2 for count in cells) - inside,
    }
    values = parameters.get("values", 1)
    return 2 * 8 * values * ghosts[stencil] if stencil in ghosts and type(values) is int else None


PROGRAM = Program(name="halo", options=options)
