"""Faults and heat maps of the kinds with groups and of fat trees, as on a torus."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.topology import flies

from railyard.base.errors import InputError
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import fault_words
from railyard.placements.topology.base import Topology
from railyard.torus.plan import plan

SPREAD = {"groups": 4, "routers": 3, "routes": {"valiant_share": 0.5, "spread": "packets"}}
FIXED = {
    "dragonfly": flies.made("dragonfly", {"groups": 9, "routers": 4}),
    "valiant": flies.made("dragonfly", {"groups": 5, "routers": 4, "routes": {"valiant_share": 0.5}}, rails=2),
    "dragonfly+": flies.made("dragonfly_plus", {"groups": 4, "leaves": 3, "spines": 2, "cables": 2}),
    "fat tree": flies.made("fat_tree", {"levels": [{"children": 3, "parents": 2}, {"children": 2, "parents": 2}]}),
}
GROUPS = flies.made("groups", {"nodes": [[2, 2], [2, 1, 1]]})


@pytest.mark.parametrize("topology", FIXED.values(), ids=FIXED)
def test_a_fault_is_written_as_on_a_torus(topology: Topology) -> None:
    link = next(iter(topology.links()))
    faults = fault_words.parse(topology, f"'{link.name}' --down")
    assert faults.down == {link.name, topology.reverse(link).name}
    assert plan.make(topology, plan.Shape(rate_scale=1e-4), faults)


@pytest.mark.parametrize(
    ("topology", "reason"),
    [(GROUPS, "one with wiring; the kind groups has none"), (flies.made("dragonfly", SPREAD), "spread: nodes")],
    ids=["groups", "packets"],
)
def test_a_fault_needs_fixed_routes(topology: Topology, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as error:
        fault_words.parse(topology, "'global r0-0>r1-0' --down")
    assert str(error.value).startswith("link") and "\n" not in str(error.value)


@pytest.mark.parametrize("kind", FIXED)
def test_the_heat_map_has_a_panel_for_each_type_of_link(kind: str, tmp_path: Path) -> None:
    """Its title names the slowest link of the type; the slowest of all is the model's."""
    from railyard.placements.linkload import heatmap

    topology, path = FIXED[kind], tmp_path / "links.svg"
    placed = place("plain", allocate(topology, "contiguous"), (6, 2))
    loads = load(topology, placed.indices, stencil((6, 2), (1e6,)), PROTOCOLS["payload"])
    heatmap.draw(loads, "a title", path)
    drawn = path.read_text()
    assert "a title" in drawn and f"slowest {loads.slowest_s * 1e3:.3g} ms" in drawn
    types = {f"{link.name.split()[0]} ({topology.joins(link)})" for link in topology.first_rail}
    assert drawn.count("slowest") == len(types) and all(name in drawn for name in types)


def test_the_cell_of_a_pair_of_groups_is_its_slowest_cable() -> None:
    from railyard.placements.linkload import heatmap

    fly = flies.made("dragonfly", {"groups": 3, "routers": 2, "cables": 2})
    links = [link for link in fly.first_rail if link.link_class == "global"]
    values = heatmap._matrix([(link, float(number)) for number, link in enumerate(links)])
    assert values.shape == (3, 3)
    for source in range(3):
        for target in range(3):
            ends = (source, target)
            ms = [n for n, k in enumerate(links) if (k.source.coordinate[0], k.target.coordinate[0]) == ends]
            assert values[ends] == max(ms) if ms else values[ends] != values[ends]
