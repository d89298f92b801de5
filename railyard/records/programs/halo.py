"""Make the options of `halo` from the parameters of a case; relate its figures, and the bytes of an iteration."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence

from railyard.placements.arrays import np
from railyard.records.json_io import Json
from railyard.records.programs.base import CLOCKS, SMALL, Given, Kind, Program, Run, Word, numbers, outside, words


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.option("--grid", "grid", "x")
    yield from given.option("--cells", "cells", "x")
    yield from given.option("--variants", "variants")
    yield from given.timing(warmups=None)
    yield from given.options("--order", "--stencil", "--values", "--memory")
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


#: Variants that pack the faces themselves, and those that send messages.
PACKS = frozenset({"manual", "persistent", "copy"})
EXCHANGES = frozenset({"manual", "persistent", "datatypes", "neighbours"})
#: The most by which the parts of iterations, each of the rank where it takes longest, may add up to more than these:
#: other ranks wait in their exchange for one that packs.
MOST_PARTS = 2.0
FIGURES = ("iteration_us", "pack_us", "unpack_us", "exchange_us", "wait_us", "bandwidth_gbyte_s")


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: series, samples, bytes and parts of an iteration."""
    variants = words(run.parameters.get("variants")) or ["manual"]
    for variant in variants:
        labels = {"variant": variant} if len(variants) > 1 else {}
        yield from run.lacks(_figures(variant), **labels)
    if run.parameters.get("scale", SMALL) == SMALL:  # at other scales the time limits the samples
        yield from run.counts(run.parameters.get("repeats"), FIGURES)
    several = [{"variant": variant} for variant in variants] if len(variants) > 1 else [{}]
    if strange := next((one for one in run.series if dict(one.labels) not in several and one.fom in FIGURES), None):
        yield f"{strange.fom} at {dict(strange.labels)}, which is no variant of the case"
    size = exchanged_bytes(run.parameters)
    for _, (whole, pack, unpack, exchange, wait, rates) in run.points(*FIGURES):
        if rates:
            yield from _payload(rates, whole, size)
        most = [(1 + CLOCKS) * time_us for time_us in whole]
        for name, part in (("pack", pack), ("unpack", unpack), ("exchange", exchange), ("wait", wait)):
            if any(map(operator.gt, part, most)):
                yield f"{name}_us is longer than the iteration"
        if pack and unpack and exchange:
            rest = [a - b - c for a, b, c in zip(whole, pack, unpack, strict=False)]
            yield from outside("exchange_us", exchange, rest, whole, room=CLOCKS)
            together = sum(map(sum, (pack, unpack, exchange))) / sum(whole)
            if together > MOST_PARTS:
                yield f"pack_us, exchange_us and unpack_us together are {together:.2f} times the iterations"
        if any(map(operator.gt, wait, [(1 + CLOCKS) * time_us for time_us in exchange])):
            yield "wait_us is longer than exchange_us, of which it is a part"


def _figures(variant: str) -> list[str]:
    packing, exchange = ["pack_us", "unpack_us"], ["exchange_us", "wait_us", "bandwidth_gbyte_s"]
    return ["iteration_us", *(packing if variant in PACKS else []), *(exchange if variant in EXCHANGES else [])]


def _payload(rates: Sequence[float], times: Sequence[float], size: int | None) -> Iterator[str]:
    """Yield a line unless each rate times its time is the bytes of an iteration, or one number if none is known."""
    if len(rates) != len(times):
        yield "bandwidth_gbyte_s has not as many samples as there are times"
        return
    sizes = [1e3 * rate * time for rate, time in zip(rates, times, strict=True)]
    expected = sizes[0] if size is None else size
    if wrong := next((one for one in sizes if abs(one - expected) > 1e-3 * expected), None):
        yield f"{wrong:.0f} bytes in an iteration; expected {expected:.0f}"


def sent(run: Run) -> Iterator[tuple[str, float]]:
    """Yield the bytes of the faces that left each host, in the timed iterations of all variants that exchange."""
    grid, cells = numbers(run.parameters.get("grid")), numbers(run.parameters.get("cells"))
    values = run.parameters.get("values", 1)
    if run.parameters.get("order", "row-major") != "row-major" or len(cells) != len(grid):
        return  # the MPI library maps the ranks to the grid
    if math.prod(grid) != len(run.ranks) or type(values) is not int:
        return
    iterations = sum(len(samples) for _, (samples,) in run.points("bandwidth_gbyte_s"))
    hosts = np.asarray(run.ranks.host_of, dtype=np.int64).reshape(grid)
    faces = np.zeros(len(run.ranks.hosts))
    for axis, count in enumerate(cells):
        for step in (1, -1):
            leaves = hosts != np.roll(hosts, step, axis)
            np.add.at(faces, hosts[leaves], 8 * values * math.prod(cells) // count)
    yield from zip(run.ranks.hosts, (iterations * faces).tolist(), strict=True)


PROGRAM = Program(
    name="halo",
    noun="the halo exchange",
    options=options,
    needs={"grid": Kind.INTEGERS, "cells": Kind.INTEGERS, "repeats": Kind.INTEGER},
    may={
        "variants": Kind.TEXTS,
        "values": Kind.INTEGER,
        "face_memory_bytes": Kind.INTEGER,
        **dict.fromkeys(("order", "stencil", "memory"), Kind.TEXT),
    },
    figures=dict.fromkeys(FIGURES, "variant"),
    contradictions=contradictions,
    sent=sent,
    follows={"bandwidth_gbyte_s": ("iteration_us",)},
)
