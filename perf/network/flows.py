"""Measure when flows of 1 MB end in the router's network alone, to be held beside other simulators of networks.

Every node sends a flow to another (a permutation, from ten seeds), or the first 32 send one to node 63 (an incast). All
begin at once. The time of the slowest flow is divided by that of a flow alone, so headers and units cancel.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from perf.network.routes import RULES, chosen, permuted, run
from railyard.placements.arrays import Ints, np

FLOW_BYTES = 1_000_000
SEEDS = range(1, 11)
INCAST, TARGET = 32, 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The slowest flow of a permutation (mean, least and most of the seeds) and of an incast; a flow alone is 1."""

    network: str
    rule: str
    permutation: tuple[float, float, float]
    incast: float


def measure(console: Console) -> list[dict[str, Any]]:
    """Print a row for each network and rule."""
    rows = [times(network, rule) for network in ("fat tree", "dragonfly") for rule in RULES[network]]
    table = Table("network", "rule", "permutation", "least", "most", f"incast of {INCAST}")
    for row in rows:
        table.add_row(row.network, row.rule, *(f"{value:.2f}" for value in (*row.permutation, row.incast)))
    console.print(table)
    return [asdict(row) for row in rows]


def times(network: str, rule: str) -> Times:
    """Run every seed of a network under a rule."""
    count = len(chosen(network, rule).nodes)
    alone = _slowest_ns(network, rule, np.array([0]), np.array([TARGET]), seed=1)
    nodes = np.arange(count)
    permutations = [
        _slowest_ns(network, rule, nodes, permuted(np.random.default_rng(seed), count), seed=seed) / alone
        for seed in SEEDS
    ]
    incast = _slowest_ns(network, rule, np.arange(INCAST), np.full(INCAST, TARGET), seed=1) / alone
    spread = float(np.mean(permutations)), min(permutations), max(permutations)
    return Times(network=network, rule=rule, permutation=spread, incast=incast)


def _slowest_ns(network: str, rule: str, source: Ints, target: Ints, *, seed: int) -> float:
    sizes = np.full(len(source), FLOW_BYTES)
    _, due_ns = run(chosen(network, rule, seed=seed), (np.zeros(len(source)), source, target, sizes))
    return float(due_ns.max())
