"""Rail-optimised networks against a walk by hand, the router's counters, and what a user asks of loads per NIC."""

from __future__ import annotations

import dataclasses
import ipaddress
import itertools
import json
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.packets.simulated import simulated
from support.topology import flies

from railyard.base.errors import InputError, RunError
from railyard.placements.linkload import counted
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.patterns import make
from railyard.placements.linkload.rails import RankNics
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.nics import policies
from railyard.placements.orders.allocation import allocate, scheduled
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import Effort
from railyard.placements.topology import catalog, link_tests
from railyard.placements.topology.base import Router, Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native import messages as native
from railyard.torus.plan import addresses

#: Payload of a cell of the router, and the whole cell: packets of 2,500 bytes, 40 of them TCP/IP's, and Ethernet's 14.
PAYLOAD_BYTES, CELL_BYTES = 2460, 2514
POLICIES = ("nic-0", "one-per-rank", "nearest", "round-robin", "rail-local", "stripe")


@st.composite
def machines(draw: st.DrawFn) -> flies.Document:
    """Draw a machine of up to 16 rails and 128 NICs: one network, two planes, or rails without a way across."""
    nodes, rails = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
    planes = draw(st.sampled_from(sorted({1, rails} | ({2} if rails % 2 == 0 else set()))))
    pods, leaves = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    spines = 0 if pods * leaves == 1 and planes == rails and draw(st.booleans()) else draw(st.integers(1, 4))
    part = {"pods": pods, "leaves": leaves, "spines": spines, "planes": planes}
    return flies.document("rail_optimised", part, nodes=nodes, rails=rails)


def arrives(document: flies.Document, out: int, into: int) -> int:
    """Return the rail on which a packet arrives."""
    planes: int = document["rail_optimised"]["planes"]
    return into // planes * planes + out % planes


def way(document: flies.Document, start: tuple[int, int], end: tuple[int, int]) -> list[str]:
    """Return the names of the links from a NIC (node, rail) to a NIC, by the sentences of the kind's document."""
    part, nodes = document["rail_optimised"], document["nodes_per_router"]
    leaves, rail = part["leaves"], arrives(document, start[1], end[1])
    here, there = start[0] // nodes, end[0] // nodes
    if (here, start[1]) == (there, rail):
        return []
    leaf = end[1] * part["pods"] * leaves + there
    spine = (leaf * nodes + end[0] % nodes) % part["spines"]
    top = f"spine{start[1] % part['planes']}-{spine}"
    names = [f"leaf{at // leaves}-{at % leaves}" for at in (here, there)]
    ends = [f"up {names[0]}>{top}", f"down {top}>{names[1]}"]
    return [text + (f"@{of}" if of else "") for text, of in zip(ends, (start[1], rail), strict=True)]


def nic_names(topology: Topology) -> list[tuple[int, int]]:
    """Return every NIC as (node, rail)."""
    return [(node, rail) for node in range(len(topology.nodes)) for rail in range(topology.rails)]


def drawn(document: flies.Document, seed: int, policy: str, ranks_per_node: int = 4) -> tuple[Traffic, RankNics]:
    """Return random traffic of ranks in the order of nodes, and their NICs."""
    topology, random = catalog.parse(document, source="test"), np.random.default_rng(seed)
    ranks = ranks_per_node * len(topology.nodes)
    source, target = random.integers(0, ranks, (2, 40))
    apart = source != target
    sent = Traffic(
        ranks=ranks,
        source=source[apart].astype(np.int32),
        target=target[apart].astype(np.int32),
        size_bytes=random.integers(1, 9, len(source))[apart] * 20.0 * PAYLOAD_BYTES,
    )
    on = policies.host(topology, ranks_per_node)
    return sent, policies.rank_nics(policies.parse(policy, topology.rails), on)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(machines(), st.integers(0, 1000), st.sampled_from(POLICIES))
def test_links_equal_a_walk_by_hand(document: flies.Document, seed: int, policy: str) -> None:
    sent, nics = drawn(document, seed, policy)
    topology = catalog.parse(document, source="test")
    loads = load(topology, np.repeat(np.arange(len(topology.nodes)), 4), sent, PROTOCOLS["gemini-put"], nics=nics)
    exact, out, into = Counter[str](), Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for one, other, size in zip(sent.source.tolist(), sent.target.tolist(), sent.size_bytes.tolist(), strict=True):
        if one // 4 == other // 4:
            continue
        own, others = nics.assigned[(other if nics.by_peer else one) % 4], nics.assigned[other % 4]
        for turn, nic in enumerate(own):
            to = nic if nic in others else others[turn % len(others)]
            start, end = (one // 4, nic), (other // 4, arrives(document, nic, to))
            for ends, share in (((start, end), 1.5), ((end, start), 9 / 64)):
                out[ends[0]] += share * size / len(own)
                into[ends[1]] += share * size / len(own)
                exact.update(dict.fromkeys(way(document, *ends), share * size / len(own)))
    ours = {link.name: size for link, size, _ in loads.slowest(loads.link_s.size)}
    assert set(exact) <= set(ours)
    for name, size in ours.items():
        assert size == pytest.approx(exact[name]), name
    for node, rail in nic_names(topology):
        assert loads.host_out_bytes[rail, node] == pytest.approx(out[node, rail])
        assert loads.host_in_bytes[rail, node] == pytest.approx(into[node, rail])


@pytest.mark.built
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(machines(), st.integers(0, 1000), st.sampled_from(POLICIES))
def test_links_equal_the_routers_counters_on_machines_drawn_at_random(
    document: flies.Document, seed: int, policy: str
) -> None:
    """Messages are whole cells long, so that the bytes are equal to the byte."""
    sent, nics = drawn(document, seed, policy)
    topology = catalog.parse(document, source="test")
    node = np.repeat(np.arange(len(topology.nodes)), 4)
    loads = load(topology, node, sent, PROTOCOLS["payload"], nics=nics)
    if nics.policy == "stripe" and topology.rails > 1:
        return  # messages in parts, which `Message` leaves out
    sends = [
        native.Message(source=one // 4, target=other // 4, size_bytes=int(size), rails=_rails(nics, one, other))
        for one, other, size in zip(sent.source.tolist(), sent.target.tolist(), sent.size_bytes.tolist(), strict=True)
        if one // 4 != other // 4
    ]
    if not sends:
        return
    sent_bytes = simulated(topology, sends).sent_bytes
    for link, size, _ in loads.slowest(loads.link_s.size):
        assert sent_bytes[link.name] * PAYLOAD_BYTES == pytest.approx(size * CELL_BYTES, abs=1), link.name


def _rails(nics: RankNics, one: int, other: int) -> tuple[int, int]:
    into = nics.assigned[other % 4][0]
    return (into if nics.by_peer else nics.assigned[one % 4][0]), into


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(machines(), st.randoms(use_true_random=False))
def test_every_nic_is_reached_around_a_dead_cable_or_a_line_says_who_is_cut_off(
    document: flies.Document, random: Random
) -> None:
    topology = catalog.parse(document, source="test")
    cables = [link for link in topology.links() if link.step > 0]
    if not cables:
        return
    dead = random.sample(cables, min(len(cables), random.randint(1, 3)))
    gone = [*dead, *map(topology.reverse, dead)]
    try:
        around = topology.detours(gone, 0)
    except RunError as error:
        assert "no route from leaf" in str(error) and "\n" not in str(error)
        return
    names = {link.name for link in gone}
    for router, end in itertools.product([r for r in topology.routers if not r.level], topology.destinations):
        links = list(topology.walk(router, end, around))
        assert len(links) in (0, 2) and not names & {link.name for link in links}
    usual = load_of_all(topology, Faults())
    assert load_of_all(topology, Faults(down=frozenset(names))) == pytest.approx(usual)


def load_of_all(topology: Topology, faults: Faults) -> float:
    """Return the bytes on all links when every node sends to the next by its last NIC; a detour is as long."""
    count = len(topology.nodes)
    ring = make("allgather", (count,), size_bytes=(1.0,))
    nics = RankNics(policy="last", assigned=((topology.rails - 1,),))
    loads = load(topology, np.arange(count), ring, PROTOCOLS["payload"], faults=faults, nics=nics)
    return float(loads.link_bytes.sum())


@pytest.mark.parametrize("rails_count", [1, 4, 5, 8, 9, 16])
def test_addresses_of_up_to_sixteen_rails_are_apart(rails_count: int) -> None:
    for topology in (
        flies.made("rail_optimised", {"pods": 3, "spines": 2}, rails=rails_count),
        flies.made("tree", {"leaves": 5}, rails=rails_count),
    ):
        networks = [ipaddress.ip_network(addresses.rail_prefix(topology, rail)) for rail in range(rails_count)]
        assert all(not one.overlaps(other) for one, other in itertools.combinations(networks, 2))
        own = [addresses.node_address(topology, node, rail) for node in topology.nodes for rail in range(rails_count)]
        own += [addresses.router_address(topology, router) for router in topology.routers]
        assert len(set(own)) == len(own)


def test_bytes_that_other_nics_carried_are_named_and_those_of_the_model_are_not(tmp_path: Path) -> None:
    """Counters are made from the model's bytes with headers: as wished, by half of the NICs, by two NICs exchanged."""
    topology = flies.made("rail_optimised", {"pods": 2, "spines": 2}, nodes=2, rails=8)
    node, on = np.repeat(np.arange(4), 8), policies.host(topology, 8)
    sent = make("alltoall", (4, 8), size_bytes=(1e6,), within="X")
    right = policies.rank_nics(policies.parse("one-per-rank", 8), on)
    half = RankNics(policy="half", assigned=tuple((k // 2 * 2,) for k in range(8)))
    loads = load(topology, node, sent, PROTOCOLS["payload"], nics=right)
    exchanged = np.where(node == 1, np.arange(32) % 8 ^ 1, np.arange(32) % 8) + 8 * node

    def judged(nics: RankNics, sent: Traffic, rounds: int = 3) -> counted.Comparison:
        own = load(topology, node, sent, PROTOCOLS["payload"], nics=nics)
        names = {}
        for at, rail in nic_names(topology):
            leaf = topology.router_name(Router(coordinate=topology.nodes[at].coordinate, rail=rail))
            name = f"H+ {topology.nodes[at].name}>{leaf}" + (f"@{rail}" if rail else "")
            names[name] = float(own.host_out_bytes[rail, at])
        names |= {link.name: size for link, size, _ in own.slowest(own.link_s.size)}
        links = [{"name": name, "bytes": rounds * size + 66 * 700, "packets": 700} for name, size in names.items()]
        path = tmp_path / "counted.json"
        path.write_text(json.dumps({"since": "before", "links": links}))
        return counted.compared(loads, counted.read(path), 1e6)

    assert judged(right, sent) == dataclasses.replace(judged(right, sent), findings=(), rounds=3)
    few = judged(half, sent).findings
    assert few[0] == "4 NICs of a node carry bytes in place of 8; idle: nic1, nic3, nic5, nic7"
    assert len(few) == 9 and "n0-0-0 nic1 sent 0 MB, expected 9 MB" in few
    other = Traffic(
        ranks=32,
        source=exchanged[sent.source].astype(np.int32),
        target=exchanged[sent.target].astype(np.int32),
        size_bytes=sent.size_bytes,
    )
    crossed = judged(right, other).findings
    assert "messages cross rails or pods" in crossed[0] and "leaf0-0" in crossed[1]
    late = judged(right, sent, rounds=0).findings
    assert late == ("0 % of one round's bytes were counted: the traffic did not run in this time",)


def test_nothing_crosses_rails_where_the_receivers_nic_decides_and_crossing_is_refused_on_rail() -> None:
    topology = flies.made("rail_optimised", {"pods": 1, "spines": 2}, nodes=4, rails=8)
    everyone = make("alltoall", (32,), size_bytes=(1.0,))
    node, on = np.repeat(np.arange(4), 8), policies.host(topology, 8)
    crossing, local = (
        load(topology, node, everyone, PROTOCOLS["payload"], nics=policies.rank_nics(policies.parse(name, 8), on))
        for name in ("one-per-rank", "rail-local")
    )
    assert crossing.link_bytes.sum() > 0 and local.link_bytes.sum() == 0
    assert (local.host_out_bytes == crossing.host_out_bytes).all(), "every NIC sends as much"
    with pytest.raises(InputError, match=r"rank \d+ \(rail \d\) to rank \d+ \(rail \d\)"):
        load(topology, node, everyone, PROTOCOLS["payload"], nics=policies.rank_nics(policies.parse("on-rail", 8), on))


def test_neighbours_by_rail_share_a_nic_and_pods_stay_together() -> None:
    topology = flies.made("rail_optimised", {"pods": 2, "spines": 2}, nodes=2, rails=4)
    allocation = allocate(topology, "contiguous")
    by_rail, by_pod = (place(name, allocation, (16,), ranks_per_node=4) for name in ("by-rail", "by-pod-rail"))
    assert by_rail.local_ranks.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert by_pod.indices.tolist() == [0, 1] * 4 + [2, 3] * 4
    assert by_pod.local_ranks.tolist() == [0, 0, 1, 1, 2, 2, 3, 3] * 2


def test_pods_of_unlike_size_in_a_shuffled_list_of_nodes_keep_each_rank_on_a_nic_of_its_own() -> None:
    """The scheduler's list has three nodes of one pod and one of the other, in any order."""
    topology = flies.made("rail_optimised", {"pods": 2, "spines": 1}, nodes=3, rails=4)
    listed = scheduled(topology, np.array([4, 2, 0, 1], dtype=np.int64))
    nics = policies.rank_nics(policies.parse("one-per-rank", 4), policies.host(topology, 4))
    sent = make("allreduce", (16,), size_bytes=(1e6,))
    for name in ("by-rail", "by-pod-rail"):
        placed = place(name, listed, (16,), ranks_per_node=4)
        assert sorted(zip(placed.indices.tolist(), placed.local_ranks.tolist(), strict=True)) == [
            (node, slot) for node in (0, 1, 2, 4) for slot in range(4)
        ]
        loads = load(topology, placed.indices, sent, PROTOCOLS["payload"], nics=nics)
        assert (loads.host_out_bytes.sum(axis=0) > 0).tolist() == [True, True, True, False, True, False]
    pods = place("by-pod-rail", listed, (16,), ranks_per_node=4).indices // 3
    assert pods.tolist() == [0] * 12 + [1] * 4


@pytest.mark.built
@pytest.mark.parametrize("seed", range(3))
def test_optimised_is_never_above_a_named_order_with_the_ranks_nics(seed: int) -> None:
    random = np.random.default_rng(seed)
    topology = flies.made("rail_optimised", {"pods": 3, "spines": int(random.integers(1, 4))}, nodes=3, rails=4)
    allocation = allocate(topology, "random", seed=seed)
    grid = (6, 6)
    nics = policies.rank_nics(policies.parse("one-per-rank", 4), policies.host(topology, 4))
    sent = make("stencil6", grid, size_bytes=(1e6,))
    slowest = {}
    effort = Effort(nics=nics, trials_per_rank=50)
    for name in ["cart-create", "plain", "by-group", "by-switch", "by-rail", "by-pod-rail", "hilbert", "optimised:1"]:
        placed = place(name, allocation, grid, ranks_per_node=4, seed=1, traffic=sent, effort=effort)
        slowest[name] = load(topology, placed.indices, sent, PROTOCOLS["payload"], nics=nics).slowest_s
    assert slowest["optimised:1"] <= min(slowest.values()) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("part", "rails_count", "words"),
    [
        ({"pods": 2}, 4, "either spines or oversubscription"),
        ({"pods": 2, "spines": 2, "oversubscription": 1}, 4, "either spines or oversubscription"),
        ({"pods": 2, "oversubscription": 3}, 4, "a divisor of nodes_per_router: 1, 2"),
        ({"pods": 2, "spines": 2, "planes": 3}, 4, "a divisor of the 4 rails"),
        ({"pods": 2, "spines": 0}, 4, "1 or more where a plane has 8 leaves"),
        ({"pods": 1, "spines": 0}, 4, "1 or more where a plane has 4 leaves"),
    ],
)
def test_a_document_that_is_wrong_names_its_field(part: flies.Document, rails_count: int, words: str) -> None:
    with pytest.raises(InputError) as refused:
        flies.made("rail_optimised", part, rails=rails_count)
    assert words in str(refused.value) and "rail_optimised" in str(refused.value)


def test_rails_alone_need_no_spine() -> None:
    topology = flies.made("rail_optimised", {"pods": 1, "spines": 0, "planes": 8}, nodes=4, rails=8)
    assert not list(topology.links()) and len(topology.routers) == 8
    assert topology.reached(3) == range(8), "a leaf passes every address of a node on to the NIC on its rail"
    assert topology.last_router(topology.destination((0, 0, 0), 0, 5), 2) == Router(coordinate=(0, 0, 0), rail=2)


def test_topobw_tests_every_cable_of_the_rail_that_it_is_for() -> None:
    topology = flies.made("rail_optimised", {"pods": 2, "spines": 2}, nodes=2, rails=8)
    for rail in (0, 5):
        planned = link_tests.tests(topology, rail)
        named = {test.name for phase in planned.phases for test in phase if not test.name.startswith("pair:")}
        own = {link.name.replace(" ", ":", 1) for link in topology.links() if link.rail == rail}
        assert named | {name.replace(" ", ":", 1) for name in planned.unused} == own and len(named) > 4
