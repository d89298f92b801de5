"""Routes that the network chooses: the field `routes`, the ways between routers, and the loads that are expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.launchers import files
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.chosen.rules import RULES, SHORTEST

pytestmark = pytest.mark.unit


def chosen(topology: Topology, choose: str, **more: Any) -> Topology:
    document = topology.to_dict() | {"routes": {"choose": choose, **more}}
    return catalog.parse(document, source="here")


def link_bytes(topology: Topology, message: tuple[int, int, float], *gone: str) -> dict[str, float]:
    """Return the expected bytes of each link by name, of a message (node, node, bytes) where some links are dead."""
    source, target, size = (np.array([part]) for part in message)
    carried = topology.carry(topology.router_of_node[source], target, size, gone=frozenset(gone))
    flat = carried.link_bytes.ravel()
    return {name: float(flat[place]) for name, place in topology.link_places.items() if flat[place]}


@pytest.mark.parametrize("choose", RULES)
def test_a_document_and_a_name_lead_to_the_same_topology(choose: str) -> None:
    topology = catalog.load(f"dragonfly-72+{choose}")
    assert topology.routes.choose == choose
    assert catalog.parse(topology.to_dict(), source="here") == topology


@pytest.mark.parametrize(
    ("name", "routes", "line"),
    [
        ("gemini-4x4x4", {"choose": "best"}, "expected one of fixed, hashed, sprayed"),
        ("gemini-4x4x4", {"order": "strict"}, "routes.choose: missing"),
        ("gemini-4x4x4", {"choose": "sprayed", "order": "strict"}, "expected restored with choose: sprayed"),
        (
            "gemini-4x4x4",
            {"choose": "hashed", "order": "restored"},
            "expected strict or flowlet TIME, such as flowlet 10us with choose: hashed",
        ),
        ("gemini-4x4x4", {"choose": "hashed", "order": "flowlet"}, "routes.order: 'flowlet' is not valid"),
        ("fat-tree-54", {"choose": "valiant"}, "expected fixed, hashed, sprayed, minimal-adaptive"),
    ],
)
def test_wrong_routes_are_one_line(name: str, routes: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as error:
        catalog.parse(catalog.load(name).to_dict() | {"routes": routes}, source="here")
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_routes_of_a_dragonflys_own_exclude_chosen_ones() -> None:
    document = catalog.load("dragonfly-72").to_dict() | {"routes": {"choose": "hashed"}}
    document["dragonfly"]["routes"] = {"valiant_share": 0.5, "spread": "nodes"}
    with pytest.raises(InputError, match=r"fixed with routes of the kind's own"):
        catalog.parse(document, source="here")


@pytest.mark.parametrize("choose", SHORTEST[1:])
def test_a_message_is_divided_among_the_shortest_ways_of_a_torus(choose: str) -> None:
    """From 0,0 to 1,1 half of it goes along X first; from 0,0 to 1,0 all of it does."""
    topology = chosen(gemini("3x3x1"), choose)
    assert link_bytes(topology, (0, 4, 8.0)) == {
        "X+ 0,0,0>1,0,0": 4.0,
        "Y+ 0,0,0>0,1,0": 4.0,
        "X+ 0,1,0>1,1,0": 4.0,
        "Y+ 1,0,0>1,1,0": 4.0,
    }
    assert link_bytes(topology, (0, 3, 8.0)) == {"X+ 0,0,0>1,0,0": 8.0}


def test_hashed_messages_go_straight_on_and_sprayed_ones_turn() -> None:
    """Of the three ways over 2 x 1 links two turn once; a spray divides at every router."""
    hashed, sprayed = (link_bytes(chosen(gemini("5x5x1"), choose), (0, 11, 8.0)) for choose in ("hashed", "sprayed"))
    assert "Y+ 1,0,0>1,1,0" not in hashed and hashed["X+ 1,0,0>2,0,0"] == 4.0
    assert sprayed["Y+ 1,0,0>1,1,0"] == 2.0 and sprayed["X+ 1,0,0>2,0,0"] == 2.0


def test_valiant_uses_every_third_group_alike_and_two_cables() -> None:
    topology = catalog.load("dragonfly-72+valiant")
    sent = link_bytes(topology, (0, 8, 7.0))
    into = [size for name, size in sent.items() if name.startswith("global r0-")]
    assert into == pytest.approx([1.0] * 7)
    assert sum(size for name, size in sent.items() if name.startswith("global")) == pytest.approx(14.0)
    assert "global r0-0>r1-0" not in sent
    within = link_bytes(topology, (0, 2, 7.0))
    assert within == {"local r0-0>r0-1": 7.0}


@pytest.mark.parametrize("name", ["gemini-2x2x2", "dragonfly-72", "fat-tree-54"])
@pytest.mark.parametrize("choose", list(RULES)[1:])
def test_shortest_ways_are_as_long_as_fixed_routes_and_others_are_not_shorter(name: str, choose: str) -> None:
    topology = catalog.load(name)
    if choose not in topology.choices:
        return
    count = len(topology.nodes)
    node = np.arange(count, dtype=np.int64)
    fixed, of = (
        one.carry(topology.router_of_node[node], (node + count // 3) % count, np.ones(count))
        for one in (topology, chosen(topology, choose))
    )
    if choose in SHORTEST:
        assert (of.longest, of.link_bytes.sum()) == (fixed.longest, pytest.approx(fixed.link_bytes.sum()))
    else:
        assert of.longest >= fixed.longest and of.link_bytes.sum() >= fixed.link_bytes.sum() * (1 - 1e-9)


def test_ugal_is_never_slower_than_minimal_or_valiants_ways() -> None:
    """All nodes send to the next group: one cable for each pair of groups, against all of them."""
    base = catalog.load("dragonfly-72")
    node = np.arange(72, dtype=np.int64)
    slowest = {}
    for choose in ("minimal-adaptive", "valiant", "ugal-local"):
        topology = chosen(base, choose)
        carried = topology.carry(topology.router_of_node[node], (node + 8) % 72, np.ones(72))
        slowest[choose] = float(carried.link_bytes.max())
    assert slowest["minimal-adaptive"] == pytest.approx(8.0)
    assert slowest["ugal-local"] < slowest["valiant"] < slowest["minimal-adaptive"] / 3


def test_dead_links_are_no_ways() -> None:
    topology = chosen(gemini("3x3x1"), "sprayed")
    sent = link_bytes(topology, (0, 4, 8.0), "X+ 0,0,0>1,0,0", "X- 1,0,0>0,0,0")
    assert sent == {"Y+ 0,0,0>0,1,0": 8.0, "X+ 0,1,0>1,1,0": 8.0}


def test_a_shortest_way_crosses_one_global_cable() -> None:
    topology = catalog.load("dragonfly-72+sprayed")
    assert topology.ways().distance.max() == 16 + 2


def test_a_rule_replaces_the_routes_of_the_file() -> None:
    """alps-like.yml sends half of the packets by a third group."""
    assert "routes" in catalog.load("alps-like").to_dict()["dragonfly"]
    chosen = catalog.load("alps-like+minimal-adaptive").to_dict()
    assert "routes" not in chosen["dragonfly"] and chosen["routes"]["choose"] == "minimal-adaptive"


@pytest.mark.parametrize(
    "name", ["dragonfly-72+sprayed", "fat-tree-54+hashed", "gemini-4x4x4+valiant", "gemini-4x4x4+ugal-local"]
)
def test_topobw_refuses_routes_that_would_hide_the_link_under_test(name: str) -> None:
    with pytest.raises(InputError, match=r"topobw: routes.choose: '[a-z-]+' is not valid; expected fixed"):
        files.links(catalog.load(name))


@pytest.mark.parametrize("name", ["gemini-2x2x2", "gemini-3x3x3", "gemini-4x2x6-two-nodes"])
def test_a_torus_with_shortest_ways_is_tested_because_a_neighbour_has_but_one(name: str) -> None:
    topology = catalog.load(f"{name}+minimal-adaptive")
    assert files.links(topology) == files.links(catalog.load(name))
    chosen = topology.ways()
    neighbours = set(zip(chosen.source.tolist(), chosen.target.tolist(), strict=True))
    one_way = {(here, end) for here, end, links in chosen.sets(chosen.distance) if len(links) == 1}
    assert neighbours <= one_way
