"""Launches that name slow nodes and cables, by group tests, by all pairs, and by a ring that grows. Simulated.

Models: neighbours' rates with 3 % of noise, and 2 % of readings disturbed to between 30 and 90 %. A slow part has 20
or 50 % of its rate. All pairs: superbench's pair-wise pattern of N - 1 rounds. Growing ring: ROCm/cvs#280, a launch of
two nodes for each candidate, then a ring for each, whose slowest node decides. Leaves out: time (`docs/admission.md`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console

from railyard.admit import group_tests
from railyard.admit.group_tests import Admission, Pair, Rule
from railyard.placements.topology import catalog
from railyard.placements.topology.torus import Torus

SEEDS = 20
CLEAN = 50
#: Clean runs with as much disturbance as the rule assumes.
ASSUMED = 200
LARGE = 10_000
NOISE = 0.03
DISTURBED = 0.02


@dataclass
class Machine:
    """Nodes of which some are slow: launches return rates of pairs."""

    seed: int
    slow: Mapping[str, float]
    disturbed: float = DISTURBED
    launches: int = 0
    chance: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.chance = np.random.default_rng((57, self.seed))

    def launch(self, pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        """Return the rate of every pair, 1 without a fault."""
        self.launches += 1
        return {pair: self.rate((pair.one, pair.other, pair.path)) for pair in pairs}

    def rate(self, parts: Sequence[str]) -> float:
        """Return the rate of what all these parts take part in."""
        rate = min((self.slow.get(part, 1.0) for part in parts), default=1.0)
        rate *= math.exp(self.chance.normal(0, NOISE))
        return rate * (self.chance.uniform(0.3, 0.9) if self.chance.random() < self.disturbed else 1.0)


def nodes_of(count: int) -> list[str]:
    """Return names of nodes without a topology."""
    return [f"n{number}" for number in range(count)]


def drawn(parts: Sequence[str], count: int, seed: int) -> dict[str, float]:
    """Return `count` slow parts, of 20 and 50 % of their rate in turns."""
    chance = np.random.default_rng((5700, seed))
    some = chance.choice(len(parts), count, replace=False)
    return {parts[position]: (0.2, 0.5)[(seed + turn) % 2] for turn, position in enumerate(some)}


def on_list(
    count: int, slow: int, seed: int, disturbed: float = DISTURBED
) -> tuple[Admission, dict[str, float]]:
    """Admit nodes without a topology."""
    nodes = nodes_of(count)
    faults = drawn(nodes, slow, seed)
    machine = Machine(seed, faults, disturbed)
    pairs = group_tests.pairs_of_list(nodes)
    return group_tests.admit(nodes, pairs, machine.launch, every_path=False), faults


def torus() -> Torus:
    """Return gemini-4x4x4."""
    network = catalog.load("gemini-4x4x4")
    assert isinstance(network, Torus)
    return network


def on_torus(
    slow: int, cables: int, seed: int, disturbed: float = DISTURBED
) -> tuple[Admission, dict[str, float]]:
    """Admit the 64 nodes and 192 cables of gemini-4x4x4."""
    network = torus()
    nodes = [node.name for node in network.nodes]
    pairs = group_tests.pairs_of_torus(network, nodes)
    faults = drawn(nodes, slow, seed) | drawn([pair.path for pair in pairs], cables, seed)
    machine = Machine(seed, faults, disturbed)
    return group_tests.admit(nodes, pairs, machine.launch, every_path=True), faults


def named(admission: Admission) -> set[str]:
    """Return the slow parts that an admission names."""
    return {*admission.bad, *(pair.path for pair in admission.slow_paths)}


def all_pairs(count: int, slow: int, seed: int) -> tuple[set[str], int]:
    """Return the nodes whose median rate over all partners is low, and the launches of N - 1 rounds."""
    nodes = nodes_of(count)
    machine = Machine(seed, drawn(nodes, slow, seed))
    rates: dict[str, list[float]] = {node: [] for node in nodes}
    for turn in range(count - 1):
        ring = [nodes[0], *(nodes[1 + (position + turn) % (count - 1)] for position in range(count - 1))]
        half = [
            Pair(one=one, other=other, path="")
            for one, other in zip(ring[: count // 2], ring[: count // 2 - 1 : -1], strict=False)
        ]
        for pair, rate in machine.launch(half).items():
            rates[pair.one].append(rate or 0.0)
            rates[pair.other].append(rate or 0.0)
    return {node for node, own in rates.items() if np.median(own) < Rule().slow}, machine.launches


def growing_ring(count: int, slow: int, seed: int) -> tuple[set[str], int]:
    """Return the nodes that a ring which grows by one node at a time excludes, and its launches."""
    nodes = nodes_of(count)
    machine = Machine(seed, drawn(nodes, slow, seed))
    group = [nodes[0]]
    for candidate in nodes[1:]:
        if machine.rate([*group, candidate]) >= Rule().slow:
            group.append(candidate)
    return set(nodes) - set(group), 1 + 2 * (count - 1)


def measure(console: Console) -> list[dict[str, Any]]:
    """Print how often all faults and nothing else were named, and the launches of each way."""
    rows = []

    def add(what: str, way: str, results: Sequence[tuple[bool, int]]) -> None:
        right, launches = sum(good for good, _ in results), [count for _, count in results]
        row = {"machine": what, "way": way, "right": right, "runs": len(results)}
        row |= {"launches": float(np.median(launches)), "most": max(launches)}
        rows.append(row)
        console.print(
            f"{what:36} {way:12} all named, no other: {right:3} of {len(results):3}; launches: median "
            f"{np.median(launches):g}, most {max(launches)}"
        )

    for slow in (0, 1, 2, 3):
        seeds = range(SEEDS if slow else CLEAN)
        what = f"64 nodes, {slow} slow"
        add(what, "group tests", [_right(*on_list(64, slow, seed)) for seed in seeds])
        for way, run in (("all pairs", all_pairs), ("growing ring", growing_ring)):
            results = [(run(64, slow, seed), set(drawn(nodes_of(64), slow, seed))) for seed in seeds]
            add(what, way, [(names == faults, launches) for (names, launches), faults in results])
    for slow, cables in ((0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (2, 1)):
        seeds = range(SEEDS if slow + cables else CLEAN)
        what = f"64 nodes, {slow} slow, 192 cables, {cables} slow"
        add(what, "group tests", [_right(*on_torus(slow, cables, seed)) for seed in seeds])
    disturbed = [_right(*on_list(64, 0, seed, disturbed=Rule().disturbed)) for seed in range(ASSUMED)]
    add("64 nodes, 0 slow, 5 % disturbed", "group tests", disturbed)
    for slow in (0, 3, 100):
        add(f"{LARGE:,} nodes, {slow} slow", "group tests", [_right(*on_list(LARGE, slow, seed=0))])
    return rows


def _right(admission: Admission, faults: Mapping[str, float]) -> tuple[bool, int]:
    return named(admission) == set(faults) and not admission.undecided, admission.launches
