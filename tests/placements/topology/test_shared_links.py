"""What other programs on a program's links cost it, by the link-load model."""

from __future__ import annotations

import pytest

from railyard.base.errors import InputError
from railyard.placements.linkload.shared import Flow, slowdown
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology

#: One node a router; links along Y are half as fast as those along X.
DOCUMENT = {
    "name": "flat-7x7",
    "nodes_per_router": 1,
    "rails": 1,
    "tile_rates_gbyte_s": {"cable": 1.0, "host": 1.0},
    "dimensions": {
        "X": {"extent": 7, "tiles": 2, "pattern": ["cable"]},
        "Y": {"extent": 7, "tiles": 1, "pattern": ["cable"]},
        "Z": {"extent": 1, "tiles": 1, "pattern": ["cable"]},
    },
    "host": {"tiles": 8},
    "hop_latency_us": 0.1,
}


def flow(source: str, target: str, size: float) -> Flow:
    return Flow(source=source, target=target, in_flight_bytes=size)


@pytest.fixture(scope="module")
def torus() -> Topology:
    return catalog.parse(DOCUMENT, source="test")


def test_a_full_link_is_shared_as_the_bytes_in_flight_are(torus: Topology) -> None:
    victim = [flow("n0-0-0", "n2-0-0", 100.0)]
    for beside, factor in ((50.0, 1.5), (100.0, 2.0), (400.0, 5.0)):
        assert slowdown(torus, victim, [flow("n1-0-0", "n3-0-0", beside)]) == pytest.approx(factor)


def test_all_loads_of_a_link_count(torus: Topology) -> None:
    victim = [flow("n0-0-0", "n2-0-0", 100.0)]
    two = [flow("n1-0-0", "n3-0-0", 100.0), flow("n1-1-0", "n3-1-0", 100.0), flow("n1-0-0", "n2-2-0", 50.0)]
    assert slowdown(torus, victim, two) == pytest.approx(2.5)


def test_a_load_on_other_links_and_one_against_the_direction_cost_nothing(torus: Topology) -> None:
    victim = [flow("n0-0-0", "n2-0-0", 100.0)]
    beside = [
        flow("n1-1-0", "n3-1-0", 900.0),
        flow("n2-0-0", "n1-0-0", 900.0),
        flow("n2-0-0", "n4-0-0", 900.0),
    ]
    assert slowdown(torus, victim, beside) == 1.0


def test_a_load_on_a_link_that_is_not_the_slowest_costs_nothing_until_it_is(
    torus: Topology,
) -> None:
    victim = [flow("n0-0-0", "n1-1-0", 100.0)]
    assert slowdown(torus, victim, [flow("n0-0-0", "n1-0-0", 20.0)]) == 1.0
    assert slowdown(torus, victim, [flow("n0-0-0", "n1-0-0", 900.0)]) > 1.5


def test_the_link_of_a_node_counts_too(torus: Topology) -> None:
    victim = [flow("n0-0-0", "n2-0-0", 100.0)]
    incast = [flow(f"n2-{y}-0", "n2-0-0", 1000.0) for y in (1, 2, 5, 6)]
    assert slowdown(torus, victim, incast) > 2


def test_a_node_that_there_is_not_is_named(torus: Topology) -> None:
    with pytest.raises(
        InputError, match=r"slowdown: node: 'n9-0-0' is not valid; expected a node of flat-7x7"
    ):
        slowdown(torus, [flow("n9-0-0", "n0-0-0", 1.0)], [])
    with pytest.raises(InputError, match="no flow"):
        slowdown(torus, [], [])
