"""What every topology kind must keep, the shipped ones and one that only these tests know (`support.topology.mesh`)."""

from __future__ import annotations

import ast
import dataclasses
import ipaddress
import itertools
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.topology import flies
from support.topology.mesh import Mesh, mesh
from support.topology.topologies import gemini

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.placements.hosts import naming, sources
from railyard.placements.launchers import files
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import boxes
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Coordinate, Link, Router, Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.plan import addresses, plan
from railyard.torus.simulated import calibration, network
from railyard.torus.slurm import cluster

KINDS = {
    "torus": gemini("3x3x4", nodes_per_router=2, rails=2),
    "fat tree": catalog.load("dual-rail-small"),
    "mesh": mesh(3, 4, rails=2),
    "three levels": flies.made("fat_tree", {"levels": [{"children": 2, "parents": 2}, {"children": 2, "parents": 2}]}),
    "rail-optimised": flies.made("rail_optimised", {"pods": 3, "spines": 2}, rails=4),
}
every_kind = pytest.mark.parametrize("topology", KINDS.values(), ids=KINDS)
#: Their routes are not always shortest: a minimal route crosses one global cable, which another group's may undercut.
GROUPED = {
    "dragonfly": flies.made("dragonfly", {"groups": 5, "routers": 2, "cables": 2, "routes": {"valiant_share": 0.5}}),
    "dragonfly+": flies.made("dragonfly_plus", {"groups": 3, "leaves": 2, "spines": 2}, rails=2),
}
every_network = pytest.mark.parametrize("topology", [*KINDS.values(), *GROUPED.values()], ids=[*KINDS, *GROUPED])


@pytest.mark.parametrize(
    "topology", [*KINDS.values(), gemini("5x2x3"), gemini("4x4x1")], ids=[*KINDS, "5x2x3", "4x4x1"]
)
def test_hops_routes_and_networkx_agree(topology: Topology) -> None:
    graph: nx.Graph = nx.Graph((link.source, link.target) for link in topology.first_rail)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for source, target in itertools.product(topology.coordinates, repeat=2):
        shortest = lengths[Router(coordinate=source)][Router(coordinate=target)]
        assert int(topology.hops(np.array(source), np.array(target))) == shortest
        for slot in range(topology.nodes_at(target)):
            links = topology.route(source, target, slot=slot)
            assert len(links) == shortest
            assert all(one.target == other.source for one, other in itertools.pairwise(links))
    at = np.array(topology.coordinates)
    assert topology.mean_hops() == pytest.approx(topology.hops(at[:, None], at[None, :]).mean())


@every_network
def test_every_cable_is_two_links_that_are_each_others_reverse(topology: Topology) -> None:
    for link in topology.links():
        back = topology.reverse(link)
        assert (back.source, back.target) == (link.target, link.source) and topology.reverse(back) == link


@every_network
def test_every_node_has_one_cell(topology: Topology) -> None:
    indices = np.arange(len(topology.nodes))
    cells = topology.cells(indices)
    assert len(np.unique(cells, axis=0)) == len(indices)
    assert (topology.nodes_in(cells) == indices).all()
    assert (cells < np.array(topology.box_of_cells(topology.extents))).all()


@every_network
def test_a_waypoint_is_on_the_route(topology: Topology) -> None:
    for source, target in itertools.permutations(topology.coordinates, 2):
        passed = [link.target.coordinate for link in topology.route(source, target) if not link.target.level]
        corners = topology.waypoints(source, target)
        assert corners[-1] == target
        assert all(corner == source or corner in passed for corner in corners)


Networks = list[tuple[ipaddress.IPv4Network, Link]]


def follow(start: Router, end: Router, address: str, tables: dict[Router, Networks]) -> list[Link]:
    """Forward by the longest prefix of each router's table to the node's router, as the kernel does."""
    parsed, links, here = ipaddress.IPv4Address(address), list[Link](), start
    while here != end and len(links) < 20:
        fitting = [entry for entry in tables[here] if parsed in entry[0]]
        links.append(max(fitting, key=lambda entry: entry[0].prefixlen)[1])
        here = links[-1].target
    return links


@every_network
@pytest.mark.parametrize("dead", [False, True])
def test_the_kernels_tables_lead_where_the_routes_do(topology: Topology, dead: bool) -> None:
    cable = next(topology.links())
    around = topology.detours([cable, topology.reverse(cable)] if dead else [], 0)
    rail = [router for router in topology.routers if topology.plane_of(router) == 0]
    tables = {
        router: [(ipaddress.IPv4Network(p), k) for p, k in addresses.table(topology, router, around).items()]
        for router in rail
    }
    for router, node in itertools.product([r for r in rail if not r.level], topology.nodes[::3]):
        for address_rail in range(topology.rails):
            end = topology.destination(node.coordinate, node.slot, address_rail)
            wanted = list(topology.walk(router, end, around))
            address = addresses.node_address(topology, node, address_rail)
            assert follow(router, topology.last_router(end, router.rail), address, tables) == wanted
            assert not dead or not {cable, topology.reverse(cable)} & set(wanted)


def test_a_corner_that_is_cut_off_is_named() -> None:
    corner = mesh(2, 2)
    gone = [k for k in corner.links() if Router(coordinate=(0, 0)) in (k.source, k.target)]
    with pytest.raises(RunError, match="no route from r0-1 to r0-0"):
        corner.detours(gone, 0)


@every_network
def test_addresses_are_unique_and_in_the_rail(topology: Topology) -> None:
    hosts = [address for _, address in plan.make(topology, plan.Shape(rate_scale=1e-3)).hosts]
    assert len(set(hosts)) == len(hosts)
    for node, rail in itertools.product(topology.nodes, range(topology.rails)):
        own = ipaddress.ip_address(addresses.node_address(topology, node, rail))
        assert own in ipaddress.ip_network(addresses.rail_prefix(topology, rail))


@every_network
def test_every_room_takes_every_kind(topology: Topology) -> None:
    """Plan, simulation, scheduler and files are made of a kind that they do not know."""
    made = plan.make(topology, plan.Shape(rate_scale=1e-3))
    assert len(made.namespaces) == 1 + len(topology.routers) + len(topology.nodes)
    assert all(len(port) < 16 for space in made.namespaces for port in space.ports)
    macs = [end.mac for cable in made.cables for end in cable.ends]
    assert len(set(macs)) == len(macs)
    rendered = network.render(topology, topology.nodes, Faults(), calibration.load(topology.calibration))
    assert rendered.count("\nhost ") == len(topology.nodes) * topology.rails
    switches = cluster.files("x", topology, Path("/x"))["topology.conf"]
    assert all(f"{node.name}" in switches for node in topology.nodes)
    lines = files.coordinates(topology).splitlines()
    assert {len(line.split()) for line in lines} == {4} and len(lines) == 1 + len(topology.nodes)


@every_network
def test_names_of_a_coordinates_file_fit_every_kind(topology: Topology, tmp_path: Path) -> None:
    """Coordinates shorter than three are filled up with zeros in the file, and longer ones are written whole."""
    path = tmp_path / "coordinates"
    path.write_text(files.coordinates(topology))
    named = naming.named(topology, sources.read(path).coordinates)
    assert [node.name for node in named.nodes] == [node.name for node in topology.nodes]


def test_a_mesh_is_placed_upon() -> None:
    """Eleven routers with two nodes and one with one."""
    placed = place("hilbert", allocate(mesh(3, 4), "contiguous"), (23,))
    assert sorted(placed.indices) == list(range(23)) and placed.mean_hops() < 2


def test_custom_lays_a_grid_over_a_kind_with_two_coordinates() -> None:
    """It took every box for one of three dimensions, and ended with an IndexError."""

    class Even(Mesh):
        def nodes_at(self, coordinate: Coordinate) -> int:
            return self.nodes_per_router

    shape = mesh(3, 4)
    even = Even(**{field.name: getattr(shape, field.name) for field in dataclasses.fields(shape)})
    placed = place("custom", allocate(even, "contiguous"), (8, 3))
    assert placed.mean_hops() < 1.2 and sorted(placed.indices) == list(range(24))
    assert boxes.unfit(even, (8, 3), 1) == ""
    with pytest.raises(InputError, match="for custom on 3x8 nodes: 3x8, 8x3"):
        place("custom", allocate(even, "contiguous"), (4, 6))


def test_link_classes_are_the_files_own() -> None:
    document = gemini("2x2x2").to_dict()
    document["tile_rates_gbyte_s"]["optical"] = 5.0
    document["dimensions"]["X"]["pattern"] = ["optical"]
    loaded = catalog.parse(document, source="test")
    assert {k.link_class for k in loaded.links() if k.dimension == 0} == {"optical"}
    assert catalog.parse(loaded.to_dict(), source="test") == loaded


@pytest.mark.parametrize("module", sorted(parse.__module__ for parse in catalog.KINDS.values()))
def test_no_code_but_the_catalog_knows_a_kind(module: str) -> None:
    """So a new kind touches the catalog and the schema alone, beside its own file; the two oldest are used directly."""
    rooms = ("placements", "railyard", "analysis", "checks")
    package, _, name = module.rpartition(".")
    if name in {"torus", "fattree"}:
        return
    knowing = [
        path.relative_to(CHECKOUT)
        for room in rooms
        for path in CHECKOUT.joinpath(room).rglob("*.py")
        if path.name != "catalog.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and (
            node.module == f"{package}.{name}"
            or (node.module == package and name in {imported.name for imported in node.names})
        )
    ]
    assert not knowing
    assert set(catalog.KINDS) <= set(json.loads(catalog.SCHEMA.read_text())["properties"])
