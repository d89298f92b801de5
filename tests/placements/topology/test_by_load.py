"""Routes by load: the busiest link is never above minimal routes, Valiant's or any share, and often far below."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.topology import flies

from railyard.base.errors import InputError
from railyard.placements.topology.base import Topology

ROUTES: dict[str, dict[str, Any]] = {
    "minimal": {},
    "quarter": {"routes": {"valiant_share": 0.25, "spread": "packets"}},
    "half": {"routes": {"valiant_share": 0.5, "spread": "packets"}},
    "Valiant": {"routes": {"valiant_share": 1.0, "spread": "packets"}},
    "load": {"routes": {"spread": "load"}},
}


def machine(seed: int) -> tuple[str, dict[str, Any]]:
    """Draw a machine of a kind with groups."""
    chance = np.random.default_rng(seed)
    part: dict[str, Any] = {"groups": int(chance.integers(3, 9)), "cables": int(chance.integers(1, 4))}
    part |= {"arrangement": str(chance.choice(["consecutive", "palmtree"]))}
    if seed % 2:
        return "dragonfly", {**part, "routers": int(chance.integers(1, 5))}
    return "dragonfly_plus", {**part, "leaves": int(chance.integers(1, 4)), "spines": int(chance.integers(1, 4))}


def carried(topology: Topology, seed: int) -> Any:
    """Carry random messages; every third instance has one pair of groups that sends far more."""
    chance = np.random.default_rng(1000 + seed)
    routers, nodes = len(topology.coordinates), len(topology.nodes)
    count = int(chance.integers(1, 4 * nodes))
    source, node = chance.integers(0, routers, count), chance.integers(0, nodes, count)
    sizes = chance.integers(1, 1 << 20, count).astype(np.float64)
    if seed % 3 == 0:
        sizes[topology.groups[source] == 0] *= 50
    return topology.carry(source, node, sizes)


def busiest(topology: Topology, of: Any) -> float:
    return float((of.link_bytes / topology.link_rates).max())


@pytest.mark.parametrize("seed", range(20))
def test_the_busiest_link_is_never_above_minimal_valiant_or_any_share(seed: int) -> None:
    key, part = machine(seed)
    made = {name: flies.made(key, {**part, **routes}) for name, routes in ROUTES.items()}
    times = {name: busiest(topology, carried(topology, seed)) for name, topology in made.items()}
    assert times["load"] <= min(times.values()) * (1 + 1e-9)


def between_neighbours(topology: Topology) -> Any:
    """Every node of a group sends to the node with its number in the next group: the worst case of minimal routes."""
    nodes = len(topology.nodes)
    each = nodes // topology.group_count  # type: ignore[attr-defined]
    node = (np.arange(nodes) + each) % nodes
    return topology.carry(topology.router_of_node, node, np.full(nodes, 1e6))


def test_adversarial_traffic_goes_by_third_groups_and_even_traffic_does_not() -> None:
    part = {"groups": 9, "routers": 4}
    made = {name: flies.made("dragonfly", {**part, **routes}) for name, routes in ROUTES.items()}
    worst = {name: busiest(topology, between_neighbours(topology)) for name, topology in made.items()}
    assert worst["load"] < 0.5 * worst["minimal"]
    even = {}
    for name, topology in made.items():
        source, node = (at.ravel() for at in np.indices((36, 72)))
        even[name] = topology.carry(source, node, np.ones(36 * 72))
    assert even["load"].link_bytes.sum() < even["half"].link_bytes.sum()


def test_what_cannot_be_is_refused_and_the_document_comes_back() -> None:
    topology = flies.made("dragonfly", {"groups": 4, "routers": 2, "routes": {"spread": "load"}})
    assert topology.to_dict()["dragonfly"]["routes"] == {"spread": "load"}
    with pytest.raises(InputError, match="spread: nodes"):
        topology.check_static("torus up")
    for part in ({"groups": 2}, {"groups": 4, "routes": {"spread": "load", "valiant_share": 0.5}}):
        with pytest.raises(InputError, match=r"routes\.spread"):
            flies.made("dragonfly", {"routers": 2, "routes": {"spread": "load"}, **part})
