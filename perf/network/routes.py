"""Load and latency of chosen routes in the router's network alone: no TCP, no MPI, no machine.

Every node offers cells at random times (a Poisson process) at a share of its NIC's rate. After a warm-up, the mean
latency of the cells that begin in a window and the rate at which cells arrive in it are measured, as J. Kim et al. do
("Technology-driven, highly-scalable dragonfly topology", ISCA'08). A cell's time is 1; so is the latency of a hop.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.placements.arrays import Ints, np
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native.programs import ROUTER
from railyard.torus.plan import addresses, router_description
from railyard.torus.plan.plan import ETHERNET_BYTES, Shape

SHAPE = Shape(network="router", latency_scaled=True)
CELL_BYTES = SHAPE.mtu_bytes + ETHERNET_BYTES
HEADERS = 54
RATE_GBYTE_S = 25.0
CELL_NS = CELL_BYTES / (RATE_GBYTE_S * SHAPE.rate_scale)
WARM_UP, WINDOW = 200, 400  # in cells' times
SEED = 1
LOADS = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)

MANY = ("fixed", "minimal-adaptive", "valiant", "ugal-local", "ugal-global")
RULES: Mapping[str, tuple[str, ...]] = {
    "dragonfly": MANY,
    "torus": MANY,
    "fat tree": ("fixed", "hashed", "sprayed", "minimal-adaptive"),
}
#: What the networks have in common, then each one: a balanced dragonfly (p = h = 2, a = 4), an 8x8 torus, and a tree of
#: 8 leaves and 8 spines.
COMMON: Mapping[str, Any] = {
    "hop_latency_us": CELL_BYTES / RATE_GBYTE_S / 1e3,
    "tile_rates_gbyte_s": dict.fromkeys(("local", "global", "cable", "host"), RATE_GBYTE_S),
    "host": {"tiles": 1},
}
_RING = {"extent": 8, "tiles": 1, "pattern": ["cable"]}
NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "dragonfly": {"nodes_per_router": 2, "dragonfly": {"groups": 9, "routers": 4, "cables": 1}},
    "torus": {"dimensions": {"X": _RING, "Y": _RING, "Z": {**_RING, "extent": 1}}},
    "fat tree": {"nodes_per_router": 8, "tree": {"leaves": 8}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one rule does at one offered load: mean latency and arrivals of each node, in cells' times."""

    network: str
    pattern: str
    rule: str
    offered: float
    latency: float
    accepted: float


def measure(console: Console) -> dict[str, Any]:
    """Print a table for every network and pattern, and where one rule's latency crosses another's."""
    points = []
    for network in NETWORKS:
        for pattern in ("uniform", "adversarial", "permutation", "incast"):
            of_pattern = list(_points(network, pattern))
            console.print(_table(network, pattern, of_pattern))
            points += of_pattern
    for line in crossings(points):
        console.print(line)
    return {"points": [{name: getattr(p, name) for name in Point.__slots__} for p in points]}


def crossings(points: list[Point]) -> Iterator[str]:
    """Yield for every network, pattern and rule the largest load that it accepts, and from where on it beats fixed."""
    for network, pattern in dict.fromkeys((p.network, p.pattern) for p in points):
        fixed = {
            p.offered: p for p in points if (p.network, p.pattern, p.rule) == (network, pattern, "fixed")
        }
        for rule in RULES[network]:
            own = [p for p in points if (p.network, p.pattern, p.rule) == (network, pattern, rule)]
            better = [p.offered for p in own if p.latency < 0.95 * fixed[p.offered].latency]
            accepted = max(p.accepted for p in own)
            since = f"; below the latency of fixed from load {min(better):g}" if better else ""
            yield f"{network}, {pattern}, {rule}: accepts {accepted:.3f}{since}"


def _points(network: str, pattern: str) -> list[Point]:
    return [point(network, pattern, rule, load) for rule in RULES[network] for load in LOADS]


def point(network: str, pattern: str, rule: str, offered: float) -> Point:
    """Run one rule at one offered load, a share of the rate of every NIC."""
    topology = chosen(network, rule)
    draw = np.random.default_rng(SEED)
    count = len(topology.nodes)
    times = np.sort(draw.uniform(0, WARM_UP + WINDOW, draw.poisson(offered * count * (WARM_UP + WINDOW))))
    source = draw.integers(0, count, len(times))
    target = _targets(topology, network, pattern, source, draw=draw)
    sent = source != target
    columns = times[sent] * CELL_NS, source[sent], target[sent], np.full(sent.sum(), CELL_BYTES - HEADERS)
    entered, due = run(topology, columns)
    begins, arrives = entered / CELL_NS, due / CELL_NS
    inside = begins >= WARM_UP
    arrived = ((arrives >= WARM_UP) & (arrives < WARM_UP + WINDOW)).sum()
    return Point(
        network=network,
        pattern=pattern,
        rule=rule,
        offered=offered,
        latency=float((arrives - begins)[inside].mean()),
        accepted=float(arrived / count / WINDOW),
    )


def chosen(network: str, rule: str, *, seed: int = 1) -> Topology:
    """Return one of the networks with a rule."""
    routes = {"choose": rule, "seed": seed}
    document = {"name": network.replace(" ", "-"), **COMMON, **NETWORKS[network], "routes": routes}
    return catalog.parse(document, source=network)


def permuted(draw: np.random.Generator, count: int) -> Ints:
    """Return a target for every node: a random circle through all of them."""
    return np.roll(order := draw.permutation(count), 1)[np.argsort(order)]


def _targets(
    topology: Topology, network: str, pattern: str, source: Ints, *, draw: np.random.Generator
) -> Ints:
    """Return the target of every message."""
    count = len(topology.nodes)
    if pattern == "uniform":
        return (source + draw.integers(1, count, len(source))) % count
    if pattern == "permutation":
        return permuted(draw, count)[source]
    if pattern == "incast":  # all of 8 neighbours to the last of them, which sends nothing by its NIC
        return source // 8 * 8 + 7
    if network == "dragonfly":  # to the next group: 8 nodes share one global cable
        return (source // 8 + 1) % 9 * 8 + draw.integers(0, 8, len(source))
    if network == "torus":  # tornado: three routers along X, all the same way round
        return (source + 3 * 8) % count
    leaf, slot = (
        source // 8,
        source % 8,
    )  # all of a leaf to the slots that one spine serves, each to another leaf
    return (leaf + slot) % 8 * 8 + leaf


def run(topology: Topology, columns: tuple[Any, Ints, Ints, Ints]) -> tuple[Any, Any]:
    """Return when each message entered and arrived, in nanoseconds, from its time, source, target and bytes."""
    address = [addresses.node_address(topology, node, 0) for node in topology.nodes]
    messages = zip(*(column.tolist() for column in columns), strict=True)
    lines = "".join(f"{at:.0f} {2 * a} {address[b]} {size}\n" for at, a, b, size in messages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "description"
        path.write_text(router_description.description(topology, SHAPE, Faults(), namespace_prefix="/"))
        command = [str(ROUTER), "--simulate", str(path)]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    rows = [line.split()[1:4] for line in done.stdout.splitlines() if line.startswith("message ")]
    arrivals = np.array(rows, dtype=np.float64)
    return arrivals[:, 1], arrivals[:, 2]


def _table(network: str, pattern: str, points: list[Point]) -> Table:
    """Return the table of a network and pattern: latency, and in brackets what is accepted of the offered load."""
    table = Table(title=f"{network}, {pattern}: mean latency (accepted load)")
    table.add_column("offered", justify="right")
    for rule in RULES[network]:
        table.add_column(rule, justify="right")
    for load in LOADS:
        row = [f"{p.latency:.1f} ({p.accepted:.2f})" for p in points if p.offered == load]
        table.add_row(f"{load:.2f}", *row)
    return table
