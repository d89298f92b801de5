"""Routes that the router chooses, in its network alone: deadlocks, order, loads, and what a choice is good for."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from support.packets.ring import arrivals, routed
from support.packets.simulated import simulated
from support.topology.topologies import gemini

from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.chosen.rules import RULES
from railyard.placements.topology.faults import Faults
from railyard.torus.native.messages import Message
from railyard.torus.plan import addresses, router_description
from railyard.torus.plan.plan import HEALTHY, Shape

pytestmark = pytest.mark.built

CELL_PAYLOAD = 2460
WIRE = 2514 / CELL_PAYLOAD
ADAPTIVE = tuple(choose for choose in list(RULES)[1:] if choose != "hashed")
SMALL = {"torus": gemini("4x4x1"), "dragonfly": catalog.load("dragonfly-72"), "tree": catalog.load("fat-tree-54")}


def chosen(topology: Topology, choose: str, order: str = "") -> Topology:
    routes = {"choose": choose} | ({"order": order} if order else {})
    return catalog.parse(topology.to_dict() | {"routes": routes}, source="here")


def described(topology: Topology, *, buffer_cells: int = 8, faults: Faults = HEALTHY) -> str:
    shape = Shape(network="router", latency_scaled=True, buffer_cells=buffer_cells)
    return "\n".join([*router_description.lines(topology, shape, faults, path="/"), ""])


def crossing(topology: Topology, cells: int, *, others: int = 6, rounds: int = 1) -> str:
    """Return messages from every node to some others that are drawn once, in rounds: enough to fill all buffers."""
    address = [addresses.node_address(topology, node, 0) for node in topology.nodes]
    draw = random.Random(2)
    pairs = [(node, to) for node in range(len(address)) for to in draw.sample(range(len(address)), others)]
    return "".join(f"0 {2 * node} {address[to]} {cells * CELL_PAYLOAD}\n" for _ in range(rounds) for node, to in pairs)


@pytest.mark.parametrize(
    ("name", "arbitration", "choose", "fair"),
    [
        ("torus", None, "fixed", True),
        ("torus", None, "hashed", True),
        ("torus", None, "minimal-adaptive", False),
        ("torus", "turns", "fixed", False),
        ("dragonfly", None, "fixed", False),
        ("tree", None, "fixed", False),
    ],
)
def test_sources_take_turns_on_tori_whose_files_do_not_say_otherwise(
    name: str, arbitration: str | None, choose: str, fair: bool
) -> None:
    document = SMALL[name].to_dict() | {"routes": {"choose": choose}}
    document.pop("arbitration", None)
    topology = catalog.parse(document | ({"arbitration": arbitration} if arbitration else {}), source="here")
    assert catalog.parse(topology.to_dict(), source="here") == topology
    assert ("fair\n" in described(topology)) == fair


def test_every_gemini_takes_turns() -> None:
    geminis = [catalog.load(name) for name in catalog.known() if "arbitration" in catalog.load(name).to_dict()]
    assert {one.name for one in geminis} == {name for name in catalog.known() if catalog.load(name).rings}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("choose", list(RULES)[1:])
def test_everything_arrives_with_buffers_of_one_cell(tmp_path: Path, name: str, choose: str) -> None:
    if choose not in SMALL[name].choices:
        return
    topology = chosen(SMALL[name], choose)
    done = routed(tmp_path, described(topology, buffer_cells=1), crossing(topology, 60))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "choose"),
    [
        *itertools.product(["torus"], ["sprayed", "minimal-adaptive", "valiant"]),
        *itertools.product(["dragonfly"], ADAPTIVE),
    ],
)
def test_without_escape_channels_the_same_traffic_waits_for_ever(tmp_path: Path, name: str, choose: str) -> None:
    topology = chosen(SMALL[name], choose)
    text = described(topology, buffer_cells=1).splitlines(keepends=True)
    blocked = "".join(f"{line[:-2]}0\n" if line.startswith("choose ") else line for line in text)
    done = routed(tmp_path, blocked, crossing(topology, 300))
    assert done.returncode == 1
    assert "messages never arrive" in done.stderr


def test_a_spray_reorders_and_the_nic_restores(tmp_path: Path) -> None:
    topology = chosen(SMALL["torus"], "sprayed")
    restored = described(topology)
    words = next(line for line in restored.splitlines() if line.startswith("choose "))
    loose = restored.replace(words, words.replace("1 0 1 0 1", "1 0 0 0 1"))
    overtaken = []
    for text in (restored, loose):
        due = arrivals(routed(tmp_path, text, crossing(topology, 1, others=1, rounds=20)))
        flows = [[due[number] for number in range(node, len(due), 16)] for node in range(16)]
        overtaken.append(sum(b < a for flow in flows for a, b in itertools.pairwise(flow)))
    assert overtaken[0] == 0 < overtaken[1]


@pytest.mark.parametrize("choose", ["sprayed", "valiant"])
@pytest.mark.parametrize("name", ["torus", "dragonfly"])
def test_bytes_on_links_are_those_of_the_model(name: str, choose: str) -> None:
    """Every node sends to every 5th: random choices are within a few percent of what is expected of them."""
    topology = chosen(SMALL[name], choose)
    count = len(topology.nodes)
    pairs = [(a, b) for a in range(count) for b in range(a % 5, count, 5) if a != b]
    messages = [Message(source=a, target=b, size_bytes=20 * CELL_PAYLOAD) for a, b in pairs]
    source, target = (np.array(ends) for ends in zip(*pairs, strict=True))
    expected = topology.carry(topology.router_of_node[source], target, np.full(len(pairs), 20.0 * CELL_PAYLOAD))
    flat = expected.link_bytes.ravel()
    sent = simulated(topology, messages).sent_bytes
    model = np.array([flat[place] for place in topology.link_places.values()])
    counted = np.array([sent[name] / WIRE for name in topology.link_places])
    assert counted.sum() == pytest.approx(model.sum(), rel=0.02)
    assert np.abs(counted - model).mean() < 0.15 * model.mean()


def test_a_hashed_flow_takes_one_way_and_seeds_choose_others() -> None:
    ways = set()
    for seed in range(8):
        document = gemini("4x4x1").to_dict() | {"routes": {"choose": "hashed", "seed": seed}}
        topology = catalog.parse(document, source="here")
        sent = simulated(topology, [Message(source=0, target=5, size_bytes=50 * CELL_PAYLOAD)]).sent_bytes
        used = frozenset(name for name, size in sent.items() if size)
        assert len(used) == 2
        ways.add(used)
    assert len(ways) == 2


def test_a_flowlet_changes_its_way_after_a_silence_alone(tmp_path: Path) -> None:
    topology = chosen(gemini("4x4x1"), "hashed", "flowlet 10us")
    target = addresses.node_address(topology, topology.nodes[5], 0)
    gap_ns = round(10e3 / Shape().rate_scale)
    used = {}
    for name, step_ns in (("close", 4_000_000), ("apart", gap_ns + 40_000_000)):
        lines = "".join(f"{number * step_ns} 0 {target} {CELL_PAYLOAD}\n" for number in range(20))
        done = routed(tmp_path, described(topology), lines)
        links = [line.split() for line in done.stdout.splitlines() if line.startswith("link ")]
        used[name] = sum(int(words[2]) > 0 for words in links[2 * len(topology.nodes) :])
    assert used == {"close": 2, "apart": 4}


def test_adaptive_messages_use_both_ways_of_a_square() -> None:
    """Two nodes of one router send to another corner: over X alone they take twice as long."""
    base = gemini("3x3x1", 2)
    messages = [Message(source=slot, target=8 + slot, size_bytes=200 * CELL_PAYLOAD) for slot in (0, 1)]
    fixed, adaptive = (
        max(simulated(topology, messages).arrivals_s) for topology in (base, chosen(base, "minimal-adaptive"))
    )
    assert 1.8 < fixed / adaptive < 2.1


def test_ugal_goes_by_a_third_group_only_if_the_cable_is_busy() -> None:
    topology = catalog.load("dragonfly-72+ugal-local")
    alone = simulated(topology, [Message(source=0, target=8, size_bytes=CELL_PAYLOAD)]).sent_bytes
    assert sum(size > 0 for name, size in alone.items() if name.startswith("global")) == 1
    crowd = [Message(source=node, target=8 + node, size_bytes=100 * CELL_PAYLOAD) for node in range(8)]
    times = {
        choose: max(simulated(chosen(topology, choose), crowd).arrivals_s)
        for choose in ("minimal-adaptive", "ugal-local", "ugal-global")
    }
    assert times["ugal-local"] < 0.6 * times["minimal-adaptive"]
    assert times["ugal-global"] < 0.6 * times["minimal-adaptive"]


def test_a_dead_cable_is_no_way() -> None:
    topology = chosen(gemini("4x4x1"), "minimal-adaptive")
    link = topology.links_by_name["X+ 0,0,0>1,0,0"]
    faults = Faults().take_down(topology, link)
    messages = [Message(source=0, target=node, size_bytes=10 * CELL_PAYLOAD) for node in range(1, 16)]
    done = simulated(topology, messages, faults=faults)
    assert done.sent_bytes[link.name] == 0
    assert len(done.arrivals_s) == len(messages)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("choose sprayed", "choose best", "expected a kind of choice"),
        ("choose sprayed 1 0", "choose sprayed 1 9", "parts with valiant and ugal alone"),
        ("choose sprayed 1 0", "choose sprayed -1 0", "expected: choose KIND SEED"),
        ("way 4 5 ", "way 0 5 ", "expected: way ROUTER ROUTER LINK"),
        ("way 4 5 ", "way 4 5 0 ", "expected numbers of live links"),
        ("choose sprayed", "chose sprayed", "neither cell, buffer"),
    ],
)
def test_a_wrong_description_is_one_line(tmp_path: Path, old: str, new: str, line: str) -> None:
    description = described(chosen(gemini("4x1x1"), "sprayed"))
    assert old in description
    done = routed(tmp_path, description.replace(old, new, 1), "")
    assert done.returncode == 1
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_ways_in_a_circle_are_refused(tmp_path: Path) -> None:
    """Routers 0 and 1 of a ring send what is for router 2 to each other."""
    lines = described(chosen(gemini("4x1x1"), "sprayed")).splitlines()
    names = [line.split()[1] for line in lines if line.startswith(("node ", "router "))]
    first, second, end = (names.index(f"r{x}-0-0") for x in (0, 1, 2))
    links = [line.split() for line in lines if line.startswith("link ")]
    back = next(number for number, words in enumerate(links) if (int(words[1]), int(words[3])) == (second, first))
    lines = [f"way {second} {end} {back}" if line.startswith(f"way {second} {end} ") else line for line in lines]
    done = routed(tmp_path, "\n".join(lines) + "\n", "")
    assert done.returncode == 1
    assert "ways form a circle from r" in done.stderr
