"""The link-load model: cases by hand, totals, paper scale, files that are wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import Run, refused
from support.packets import stalls
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.linkload import matrix, model, traffic
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.patterns import make
from railyard.placements.linkload.traffic import Traffic, stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import PlacementJob, orders
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.torus.modelled import programs

PAYLOAD = PROTOCOLS["payload"]


@settings(deadline=None, max_examples=30)
@given(st.sampled_from([(4, 4, 8), (2, 4, 8), (6, 2, 8)]), st.integers(0, 2), st.integers(0, 7))
def test_a_translation_by_the_pattern_changes_no_link_time(extents, dimension: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    """By 2 routers along X and Y, 8 along Z: ties and classes repeat, so the times are the same, moved."""
    topo = gemini("x".join(map(str, extents)))
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(len(topo.nodes))[:12]
    by = [2, 2, 8][dimension]
    at = topo.node_coordinates[nodes].copy()
    at[:, dimension] = (at[:, dimension] + by) % extents[dimension]
    moved = np.ravel_multi_index(tuple(at.T), extents)
    sent = make("alltoall", (12,), size_bytes=(100.0,), within="X")
    one, other = (load(topo, n, sent, PROTOCOLS["gemini-put"]).link_s for n in (nodes, moved))
    assert np.allclose(np.roll(one, by, axis=dimension), other)


def test_a_neighbour_exchange_on_its_own_torus_by_hand() -> None:
    """Custom: every link carries one face of 1 MB; the slowest is the Y cable of 4.68 GB/s."""
    topo = gemini("4x4x4")
    nodes = np.arange(64)
    loads = load(topo, nodes, stencil((4, 4, 4), (1e6,)), PAYLOAD)
    assert np.all(loads.link_bytes == 1e6)
    assert loads.slowest_s == pytest.approx(1e6 / 4.68e9)
    assert loads.slowest_host_s == pytest.approx(6e6 / 10.64e9)
    assert (loads.mean_dilation, loads.max_dilation) == (1, 1)
    assert np.all(loads.injected_bytes == 6e6)


def test_the_answer_takes_the_destinations_own_route_back() -> None:
    """From 0,0,0 to 1,1,0 data goes X then Y; the answer leaves 1,1,0 along X, so over 0,1,0."""
    topo = gemini("4x4x1")
    sent = Traffic(ranks=2, source=np.array([0]), target=np.array([1]), size_bytes=np.array([64.0]))
    nodes = np.array([0, topo.coordinates.index((1, 1, 0))])
    loads = load(topo, nodes, sent, PROTOCOLS["gemini-put"])
    assert {link.name: size for link, size, _ in loads.slowest(4)} == {
        "X+ 0,0,0>1,0,0": 96.0,
        "Y+ 1,0,0>1,1,0": 96.0,
        "X- 1,1,0>0,1,0": 9.0,
        "Y- 0,1,0>0,0,0": 9.0,
    }


def test_64_of_105_bytes_are_payload() -> None:
    for name in ("gemini-put", "gemini-get"):
        assert PROTOCOLS[name].forward + PROTOCOLS[name].backward == pytest.approx(105 / 64)


def test_stencils_have_the_neighbours_they_say() -> None:
    sizes = (4.0, 2.0, 1.0)
    assert len(make("stencil6", (4, 4, 4), size_bytes=sizes).source) == 64 * 6
    full = make("stencil27", (4, 4, 4), size_bytes=sizes)
    assert len(full.source) == 64 * 26
    assert full.total_bytes == 64 * (6 * 4 + 12 * 2 + 8 * 1)
    assert len(stencil((5, 1), (1.0, 1.0)).source) == 5 * 2
    assert stencil((2, 3), (1.0,)).matrix()[0, 3] == 2.0, "both neighbours of an extent of 2 are one rank"


def test_collectives_stay_in_their_groups() -> None:
    rows = make("alltoall", (2, 3, 2), size_bytes=(10.0,), within="Y")
    assert len(rows.source) == 12 * 2
    assert np.all(rows.source // 6 == rows.target // 6) and np.all(rows.source % 2 == rows.target % 2)
    whole = make("alltoall", (2, 3, 2), size_bytes=(10.0,))
    assert len(whole.source) == 12 * 11
    ring = make("allgather", (2, 3), size_bytes=(10.0,), within="XY")
    assert np.all(ring.size_bytes == 50.0) and len(ring.source) == 6
    assert make("allreduce", (4,), size_bytes=(100.0,)).size_bytes[0] == pytest.approx(150)


def test_pedretti_figure_6_a_remap_halves_the_injected_bytes() -> None:
    """MiniGhost's 27 neighbours, 16 ranks a node: 2x2x4 blocks against rank order (1x1x16), and random far worse."""
    topo = gemini("4x8x4", nodes_per_router=2)
    job = PlacementJob(allocation=allocate(topo), grid=(8, 8, 64), ranks_per_node=16, seed=1)
    sent = stencil((8, 8, 64), traffic.face_bytes(100, 3))
    arguments = {"cart-create": "", "blocks": "2x2x4", "random": ""}
    injected = {
        name: load(topo, orders()[name].place(replace(job, argument=argument)), sent, PAYLOAD).injected_bytes.sum()
        for name, argument in arguments.items()
    }
    assert injected["cart-create"] >= 2 * injected["blocks"]
    assert injected["random"] >= 2.5 * injected["blocks"]


def test_pedretti_figure_7_the_model_has_links_of_each_dimension_and_the_router_with_the_most() -> None:
    topo = gemini("4x4x8", nodes_per_router=2)
    nodes = orders()["cart-create"].place(PlacementJob(allocation=allocate(topo), grid=(8, 16, 32), ranks_per_node=16))
    found = programs.document(["minighost", "--grid", "8x16x32", "--cells", "8x8x8"], topo, nodes)
    value = {(s["fom"], s["labels"].get("dimension", "")): s["samples"][0] for s in found["series"]}
    slowest = {d: value["slowest_of_dimension_us", d] for d in "XYZ"}
    assert max(slowest.values()) == value["slowest_link_us", ""]
    assert all(0 < value["mean_of_dimension_us", d] <= slowest[d] for d in "XYZ")
    assert value["most_injected_bytes", ""] >= value["injected_bytes", ""] > 0


PAPER_SCALE = """
import resource, time
import numpy as np
from railyard.placements.linkload import traffic
from railyard.placements.orders.allocation import allocate
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.orders.rank_orders import orders
from railyard.placements.orders.rank_orders import PlacementJob
from railyard.placements.topology.base import LinkClass
from railyard.placements.topology.torus import Dimension, Torus
rates = dict(zip(LinkClass, (2.34, 1.88, 1.17, 1.33)))
x, y, z = (Dimension(extent=e, tiles=8, pattern=(LinkClass.CABLE,)) for e in (16, 12, 24))
topo = Torus(name="t", dimensions=(x, y, z), tile_rates_gbyte_s=rates, host_tiles=8, nodes_per_router=2)
job = dict(allocation=allocate(topo), grid=(64, 32, 64), ranks_per_node=16)
sent = traffic.stencil(job["grid"], traffic.face_bytes(100, 3))
def injected(kind, argument=""):
    nodes = orders()[kind].place(PlacementJob(argument=argument, **job))
    return load(topo, nodes, sent, PROTOCOLS["gemini-put"]).injected_bytes.max()
sticks, blocks = injected("cart-create"), injected("blocks", "2x2x4")
print(len(sent.source), sticks / blocks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def test_paper_scale_fits_in_two_gib_and_shows_the_remap() -> None:
    done = subprocess.run([sys.executable, "-c", PAPER_SCALE], capture_output=True, text=True, check=True)
    messages, gain, memory_bytes = map(float, done.stdout.split())
    assert messages == 131072 * 26
    assert gain >= 2
    assert memory_bytes < 2 << 30


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("wrong.csv", "0,1\n2,0,1\n", ["row 1", "3 entries", "2"]),
        ("wrong.csv", "0,1,2\n1,0,2\n", ["2 rows of 3", "square"]),
        ("wrong.csv", "0,-1\n1,0\n", ["row 0, column 1", "-1.0", "0 or more"]),
        ("wrong.csv", "0,nan\n1,0\n", ["nan", "finite"]),
        ("wrong.csv", "0,x\n1,0\n", ["row 0", "numbers"]),
        ("wrong.csv", "", ["nothing", "one line"]),
        ("wrong.csv", "0,1,1\n1,0,1\n1,1,0\n", ["3x3", "8x8"]),
        ("wrong.mtx", "%%MatrixMarket matrix\n", ["wrong.mtx", "Matrix Market"]),
        ("wrong.mtx", "%%MatrixMarket matrix coordinate real general\n8 8 1\n1 2 -4\n", ["-4.0"]),
    ],
)
def test_a_matrix_that_is_wrong_is_one_line(
    *, railyard: Run, tmp_path: Path, name: str, text: str, words: list[str]
) -> None:
    (tmp_path / name).write_text(text)
    refused(railyard("links", "gemini-2x2x2", "--grid", "2x2x2", "--matrix", str(tmp_path / name)), *words)


def test_a_measured_matrix_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("5,100,0\n0,0,200\n0,0,7\n")
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 100\n2 3 200\n")
    for name in ("m.csv", "m.mtx"):
        sent = matrix.read_traffic(tmp_path / name, 3)
        assert sent.matrix().toarray().tolist() == [[0, 100, 0], [0, 0, 200], [0, 0, 0]]


def test_links_as_json_and_as_a_picture(railyard: Run, tmp_path: Path) -> None:
    words = ["links", "gemini-2x2x2", "--grid", "2x2x2", "--placements", "plain,custom", "--sizes", "1000"]
    done = railyard(*words, "--json", "--plot", str(tmp_path / "map.svg"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {"plain", "custom"}
    assert len(document["custom"]["links"]) == 24
    assert document["custom"]["injected_bytes"]["max"] == 6000
    assert "<svg" in (tmp_path / "map.svg").read_text()


def test_ranks_of_traffic_and_placement_must_agree() -> None:
    with pytest.raises(InputError, match="as many as are placed"):
        model.load(gemini("2x2x2"), np.arange(8), stencil((3, 3), (1.0,)), PAYLOAD)


def minighost_us(topology: Topology, grid: tuple[int, int, int], order: str) -> float:
    """The slowest link in one exchange of MiniGhost with 16 ranks per node, on the first nodes of ALPS's walk."""
    nodes = place(order, allocate(topology, "snake"), grid, ranks_per_node=16).indices
    sent = make("stencil27", grid, size_bytes=traffic.face_bytes(64, 3))
    return 1e6 * load(topology, nodes, sent, PROTOCOLS["gemini-put"]).slowest_s


def test_minighosts_step_is_in_its_traffic_and_the_growth_when_remapped_in_the_wiring() -> None:
    """docs/simulated.md has more sizes: 32,768 to 131,072 ranks on Cielo, and with one rate for all links."""
    small, large = (32, 32, 32), (32, 64, 64)
    alike = stalls.torus(Y={"tiles": 8, "pattern": ["cable"]}, Z={"pattern": ["cable"]})
    default, even, remapped, evenly = (
        tuple(minighost_us(topology, grid, order) for grid in (small, large))
        for order in ("cart-create", "blocks:2x2x4")
        for topology in (catalog.load("cielo"), alike)
    )
    assert [round(time_us / 1e3, 2) for time_us in (*default, *even)] == [1.56, 3.13, 1.76, 3.49]
    assert [round(time_us / 1e3, 2) for time_us in (*remapped, *evenly)] == [0.79, 1.37, 1.26, 1.22]
