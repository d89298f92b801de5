"""Make the options of `halo` from the parameters of a case."""

from __future__ import annotations

from collections.abc import Iterator

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


PROGRAM = Program(name="halo", options=options)
