"""The topology model: conventions, published rates, files that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.topology import catalog
from railyard.placements.topology.base import LinkClass, Router
from railyard.placements.topology.rings import step


def test_shipped_topologies_round_trip() -> None:
    assert {"gemini-2x2x2", "gemini-4x4x4", "gemini-7x7x7", "titan"} <= set(catalog.known())
    for name in catalog.known():
        topo = catalog.load(name)
        assert topo.name == name
        assert catalog.parse(topo.to_dict(), source="again") == topo


def test_titan_is_25x16x24_with_two_nodes_a_router() -> None:
    topo = catalog.load("titan")
    assert (topo.extents, len(topo.routers), len(topo.nodes)) == ((25, 16, 24), 9600, 19200)


def test_rates_are_those_of_pedretti_table_2() -> None:
    """X 9.4, Y alternately 9.4 and 4.7, Z 15 with every eighth link 9.4 (GB/s)."""
    topo = gemini("4x4x8")
    rate = {(k.dimension, k.source.coordinate[k.dimension]): k.rate_gbyte_s for k in topo.links() if k.step > 0}
    assert rate[0, 0] == pytest.approx(9.4, rel=0.01)
    assert [rate[1, y] for y in range(4)] == pytest.approx([9.4, 4.7, 9.4, 4.7], rel=0.01)
    assert [rate[2, z] for z in range(7)] == pytest.approx([15] * 7, rel=0.01)
    assert rate[2, 7] == pytest.approx(9.4, rel=0.01)


def test_catalyst_has_two_rails_of_qdr_and_full_bisection() -> None:
    catalyst = catalog.load("catalyst-dual-rail")
    assert (len(catalyst.nodes), catalyst.rails, catalyst.layout) == (324, 2, "18 leaf and 18 spine switches")
    assert {link.rate_gbyte_s for link in catalyst.links()} == {4.0} == {catalyst.host_rate_gbyte_s}
    assert len(list(catalyst.links())) == 2 * 2 * 18 * 18


@pytest.mark.parametrize("extents", ["1x1x1", "2x2x2", "3x1x2", "4x4x4", "5x2x3"])
def test_links_are_the_edges_of_a_periodic_grid(extents: str) -> None:
    """NetworkX is the oracle; an extent of 2 has one cable between its routers."""
    topo = gemini(extents)
    ours = {frozenset((k.source.coordinate, k.target.coordinate)) for k in topo.links()}
    grid = nx.grid_graph(dim=tuple(reversed(topo.extents)), periodic=True)
    theirs = {frozenset(edge) for edge in grid.edges if edge[0] != edge[1]}
    assert ours == theirs
    assert len(list(topo.links())) == 2 * len(theirs)


def test_both_names_of_a_neighbour_in_an_extent_of_2_are_one_link() -> None:
    topo = gemini("4x2x4")
    router = Router(coordinate=(0, 0, 0))
    assert topo.link(router, 1, 1) == topo.link(router, 1, -1)
    assert topo.link(router, 1, 1).link_class == LinkClass.MEZZANINE


def test_both_directions_of_a_cable_have_one_class() -> None:
    topo = gemini("4x4x9")
    by_ends = {(k.source.coordinate, k.target.coordinate): k.link_class for k in topo.links()}
    assert all(by_ends[b, a] == link_class for (a, b), link_class in by_ends.items())


@pytest.mark.parametrize("extent", [2, 4, 6, 8])
def test_ties_go_plus_from_even_and_minus_from_odd_coordinates(extent: int) -> None:
    ways = [step(position, (position + extent // 2) % extent, extent) for position in range(extent)]
    assert ways == [1, -1] * (extent // 2)


def test_the_tie_rule_loads_both_directions_alike() -> None:
    topo = gemini("4x1x1")
    links = [k.name for c in topo.coordinates for k in topo.route(c, ((c[0] + 2) % 4, 0, 0))]
    assert sorted(links) == sorted(k.name for k in topo.links())


def test_identity_is_what_the_topology_says_not_how_the_file_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(catalog.load("gemini-2x2x2").to_dict(), sort_keys=True))
    assert catalog.load(str(path)).sha256 == catalog.load("gemini-2x2x2").sha256


def as_tree(cable: float | None = 1.0, **fields: int) -> Callable[[dict[str, Any]], None]:
    """Return a change of a torus to a fat tree with these fields."""

    def change(document: dict[str, Any]) -> None:
        del document["dimensions"]
        document |= {"tree": {"leaves": 2, **fields}, "nodes_per_router": 4}
        document["tile_rates_gbyte_s"] = {"host": 1.0} | ({"cable": cable} if cable else {})

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda d: d["dimensions"]["Y"].update(pattern=["copper"]),
            ["dimensions.Y.pattern", "copper", "classes with a rate", "mezzanine"],
        ),
        (lambda d: d["dimensions"]["X"].update(extent=0), ["dimensions.X.extent", "0", "at least 1"]),
        (lambda d: d["tile_rates_gbyte_s"].pop("cable"), ["dimensions.X.pattern", "cable", "backplane"]),
        (lambda d: d["tile_rates_gbyte_s"].pop("host"), ["tile_rates_gbyte_s", "host"]),
        (lambda d: d["tile_rates_gbyte_s"].update(cable=-1), ["tile_rates_gbyte_s.cable", "-1", "above 0"]),
        (lambda d: d.pop("host"), ["host"]),
        (lambda d: d.update(colour="red"), ["colour", "nodes_per_router"]),
        (lambda d: d.update(rails="two"), ["rails", "two", "integer"]),
        (lambda d: d.update(tree={"leaves": 2}), ["dimensions, tree", "exactly one of"]),
        (lambda d: d.pop("dimensions"), ["dimensions, tree", "exactly one of", "tree (fattree)"]),
        (as_tree(oversubscription=3), ["tree.oversubscription", "3", "1, 2, 4"]),
        (as_tree(leaves=0), ["tree.leaves", "0"]),
        (as_tree(cable=None), ["tile_rates_gbyte_s", "cable"]),
    ],
)
def test_a_wrong_file_is_one_line_with_file_field_value_and_valid(change, named, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    document = catalog.load("gemini-2x2x2").to_dict()
    change(document)
    path = tmp_path / "wrong.yml"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(InputError) as caught:
        catalog.load(str(path))
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in [str(path), *named]), message


@pytest.mark.parametrize("text", ["", "[]", "a: [", "\xff\xfe", "dimensions: 3"])
def test_what_is_no_topology_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.yml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"noise\.yml"):
        catalog.load(str(path))


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="gemini-4x4x4"):
        catalog.load("gemini-9")
