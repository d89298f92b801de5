"""Measure whether placement still matters where a network chooses its routes, in the router's network alone.

Every rank sends all messages of an exchange at once, in random order. The exchange ends when the last cell has arrived.
Its time is divided by what a NIC alone needs. A draw seeds routes, orders and random placements, so that all rules see
the same ones.

Leaves out: MPI, TCP, and ranks that begin at different times.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from scipy import stats

from perf.network.routes import CELL_BYTES, HEADERS, SHAPE, run
from railyard.placements.arrays import Ints, np
from railyard.placements.linkload.patterns import make
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology

DRAWS = 10
RULES = ("fixed", "hashed", "minimal-adaptive", "valiant", "ugal-local")
#: One rank on each node. The first placement is the one with which the others are compared.
GRIDS = {"gemini-4x4x4": (4, 4, 4), "dragonfly-72": (9, 4, 2)}
PLACEMENTS = {
    "gemini-4x4x4": ("custom", "optimised", "random"),
    "dragonfly-72": ("by-group", "optimised", "random"),
}
#: The model's pattern, the dimensions of its groups, and the bytes of a message.
PATTERNS: Mapping[str, tuple[str, str, int]] = {
    "halo": ("stencil6", "", 1 << 16),
    "rows": ("alltoall", "X", 1 << 16),
    "alltoall": ("alltoall", "", 1 << 14),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The times of a placement under a rule, one of each draw, as multiples of what a NIC alone needs."""

    network: str
    pattern: str
    rule: str
    placement: str
    times: tuple[float, ...]


def measure(console: Console) -> list[dict[str, Any]]:
    """Print a table for each network: times of its first placement, and those of the others against them."""
    cases = []
    for network, (first, *others) in PLACEMENTS.items():
        table = Table("", "", *RULES, title=f"{network}: mean of {DRAWS} draws and its 95 % interval")
        for pattern in PATTERNS:
            base = [case(network, pattern, rule, first) for rule in RULES]
            table.add_row(pattern, f"{first}, time", *(_mean(one.times) for one in base))
            cases += base
            for placement in others:
                other_cases = [case(network, pattern, rule, placement) for rule in RULES]
                ratios = [
                    [a / b for a, b in zip(one.times, of.times, strict=True)]
                    for one, of in zip(other_cases, base, strict=True)
                ]
                table.add_row("", f"{placement} / {first}", *map(_mean, ratios))
                cases += other_cases
        console.print(table)
    return [asdict(one) for one in cases]


def case(network: str, pattern: str, rule: str, placement: str) -> Case:
    """Run all draws of a placement under a rule."""
    sent = _traffic(network, pattern)
    times = []
    for seed in range(1, DRAWS + 1):
        nodes = _nodes(network, pattern, placement, seed if placement == "random" else 1)
        order = np.random.default_rng(seed).permutation(len(sent.source))
        ends = nodes[sent.source[order]], nodes[sent.target[order]]
        times.append(_exchange(_chosen(network, rule, seed), ends, size_bytes=PATTERNS[pattern][2]))
    return Case(network=network, pattern=pattern, rule=rule, placement=placement, times=tuple(times))


def _exchange(topology: Topology, ends: tuple[Ints, Ints], *, size_bytes: int) -> float:
    """Return the time of an exchange of messages from sources to targets."""
    source, target = ends
    sizes = np.full(len(source), size_bytes)
    _, due_ns = run(topology, (np.zeros(len(source)), source, target, sizes))
    cells = math.ceil(size_bytes / (CELL_BYTES - HEADERS))
    bytes_of_nic = np.bincount(source).max() * (size_bytes + cells * HEADERS)
    return float(due_ns.max() * topology.host_rate_gbyte_s * SHAPE.rate_scale / bytes_of_nic)


@functools.cache
def _chosen(network: str, rule: str, seed: int) -> Topology:
    document = catalog.load(network).to_dict() | {"routes": {"choose": rule, "seed": seed}}
    return catalog.parse(document, source=network)


@functools.cache
def _traffic(network: str, pattern: str) -> Traffic:
    name, within, size_bytes = PATTERNS[pattern]
    return make(name, GRIDS[network], size_bytes=(size_bytes,), within=within)


@functools.cache
def _nodes(network: str, pattern: str, placement: str, seed: int) -> Ints:
    """Return the node of each rank. The placement knows usual routes alone, as one that was chosen by hand does."""
    allocation = allocate(catalog.load(network))
    return place(placement, allocation, GRIDS[network], seed=seed, traffic=_traffic(network, pattern)).indices


def _mean(values: Sequence[float]) -> str:
    """Return the mean with its interval by Student's t."""
    mean, error = float(np.mean(values)), float(stats.sem(values))
    half = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return f"{mean:.2f} ±{half:.2f}"
