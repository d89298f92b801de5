"""The picture of the network: its loads are the model's, large networks stay small files, unknown ones have none."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import pytest
from support.commands import CHECKOUT

from railyard.analysis.cases import cases
from railyard.analysis.figures import network
from railyard.analysis.figures.drawing import svg_file
from railyard.placements.arrays import np
from railyard.placements.linkload import model, traffic
from railyard.placements.linkload.patterns import make
from railyard.placements.topology import catalog
from railyard.records.store import archive
from railyard.reference import pictures

HALO = [record for record in archive.load_all(CHECKOUT / "results" / "example") if record.case.benchmark == "halo"]


def test_the_example_says_why_random_is_slower() -> None:
    (drawing,) = network.drawings(cases.group(HALO[:1])[0])
    assert [row[0] for row in drawing.data.rows] == ["plain", "cart-create", "random"]
    slowest = [float(row[2].replace(",", "")) for row in drawing.data.rows]
    assert slowest[2] == 3 * slowest[0] == 3 * slowest[1]
    assert "plain" in drawing.statement and "random" in drawing.statement
    ElementTree.fromstring(svg_file(drawing))


def test_a_cable_that_flapped_has_one_mark_with_its_times() -> None:
    words = "silent for 2 s every 10 s"
    faults = [f"up leaf0>spine1: {words}", f"down spine1>leaf0: {words}", "n0-0-0: injection at 20 %"]
    torus = {**HALO[0].provenance["torus"], "faults": faults}
    record = dataclasses.replace(HALO[0], provenance={**HALO[0].provenance, "torus": torus})
    (drawing,) = network.drawings(cases.group([record])[0])
    assert drawing.statement.endswith(f"up leaf0>spine1 {words}; down spine1>leaf0 {words}.")
    assert svg_file(drawing).count(words) == len(drawing.data.rows) + 2  # a panel each, two in words
    assert words not in svg_file(network.drawings(cases.group(HALO[:1])[0])[0])


def test_a_topology_of_another_file_has_no_picture() -> None:
    record = HALO[0]
    assert record.case.topology
    other = dataclasses.replace(record.case.topology, sha256="0" * 64)
    changed = dataclasses.replace(record, case=dataclasses.replace(record.case, topology=other))
    assert network.drawings(cases.group([changed])[0]) == []


@pytest.mark.parametrize(
    ("name", "grid"), [("gemini-4x4x4", (4, 4, 4)), ("dragonfly-72", (4, 4, 4)), ("titan", (8, 8, 8))]
)
def test_each_kind_of_network_is_drawn_with_a_line_per_loaded_cable(name: str, grid: tuple[int, ...]) -> None:
    topology = catalog.load(name)
    sent = make("stencil6", grid, size_bytes=traffic.face_bytes(64, len(grid)))
    nodes = np.arange(sent.ranks, dtype=np.int64)
    panel = network.Panel(
        placement="plain", nodes=nodes, loads=model.load(topology, nodes, sent, model.PROTOCOLS["payload"])
    )
    text = svg_file(network.drawing([panel]))
    assert len(text) < 600_000, "a page of many cases stays small"
    places = network.layout(topology).points
    assert len(places) <= network.MOST_CELLS and len(set(places.values())) == len(places)


def test_the_pictures_of_the_readme_are_those_of_today() -> None:
    for path, draw in pictures.PICTURES.items():
        assert path.read_text() == draw(), f"{path}: run: make tables"
