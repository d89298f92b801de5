"""The order `optimised` on dragonflies, dragonfly+, fat trees and a kind of the tests' own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.topology import flies
from support.topology.mesh import mesh
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import Traffic, stencil
from railyard.placements.orders import optimiser, refine
from railyard.placements.orders.allocation import allocate, occupied
from railyard.placements.orders.rank_orders import Effort, PlacementJob, orders
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology

PAYLOAD = PROTOCOLS["payload"]
QUICK = Effort(trials_per_rank=50)
DRAGONFLY = {"groups": 8, "routers": 4, "cables": 2}
KINDS = {
    "dragonfly": flies.made("dragonfly", DRAGONFLY, nodes=4),
    "nodes by a third group": flies.made(
        "dragonfly", {**DRAGONFLY, "routes": {"valiant_share": 0.5, "spread": "nodes"}}, nodes=4
    ),
    "packets by third groups": flies.made(
        "dragonfly", {**DRAGONFLY, "routes": {"valiant_share": 0.5, "spread": "packets"}}, nodes=4
    ),
    "by load": flies.made("dragonfly", {**DRAGONFLY, "routes": {"spread": "load"}}, nodes=4),
    "dragonfly+": flies.made("dragonfly_plus", {"groups": 6, "leaves": 4, "spines": 2}, nodes=4),
    "fat tree": flies.made(
        "fat_tree", {"levels": [{"children": 4, "oversubscription": 2}, {"children": 4, "parents": 2}]}, nodes=4
    ),
    "two levels": catalog.load("dual-rail-small"),
    "mesh": mesh(4, 6),
}
TORUS = gemini("3x4x5", nodes_per_router=2).to_dict()
every_kind = pytest.mark.parametrize("topology", KINDS.values(), ids=KINDS)


def job_on(topology: Topology) -> PlacementJob:
    """Return a job of four ranks per node on two thirds of a machine's nodes."""
    granted = occupied(allocate(topology, "contiguous"), 67, 3)
    return PlacementJob(allocation=granted, grid=(4, len(granted.indices)), ranks_per_node=4, seed=1)


@every_kind
@pytest.mark.built
def test_the_slowest_link_is_below_every_order(topology: Topology) -> None:
    """Or below half of the slowest host link, where a shorter way is worth more."""
    job = job_on(topology)
    sent = stencil(job.grid, (64.0, 1.0))
    nodes = optimiser.optimised(replace(job, traffic=sent, effort=QUICK))
    assert sorted(nodes.tolist()) == sorted(np.repeat(job.allocation.indices, 4).tolist())
    found = load(topology, nodes, sent, PAYLOAD)
    kinds = ["plain", "cart-create", "random"]
    kinds += ["by-group"] if topology.has_groups else []
    others = {kind: load(topology, orders()[kind].place(job), sent, PAYLOAD).slowest_s for kind in kinds}
    assert found.slowest_s <= max(min(others.values()), found.slowest_host_s / 2)
    assert found.slowest_s < 0.8 * others["random"]


@pytest.mark.built
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(flies.groups(), flies.trees(), st.just(TORUS)), st.integers(0, 2**32 - 1))
@example(TORUS, 5)
def test_refinement_agrees_with_the_model(document: flies.Document, seed: int) -> None:
    """Asymmetric random traffic; routes that are the same for every packet.

    On a torus with two nodes per router the routes are those of the C code, and 20,000 trials improve on the start.
    """
    topology = catalog.parse(document, source="test")
    count = len(topology.nodes)
    if not topology.is_static or count < 2:
        return
    rng = np.random.default_rng(seed)
    granted = occupied(allocate(topology, "contiguous"), 80, seed)
    ranks = 3 * len(granted.indices)
    ends = rng.integers(0, ranks, (2, 200)).astype(np.int32)
    ends = ends[:, ends[0] != ends[1]]
    sizes = np.asarray(rng.integers(1, 1000, ends.shape[1]), dtype=np.float64)
    sent = Traffic(ranks=ranks, source=ends[0], target=ends[1], size_bytes=sizes)
    problem = refine.problem(granted, 3, sent)
    start = rng.permutation(np.repeat(np.arange(len(granted.indices), dtype=np.int32), 3)).astype(np.int32)
    trials = 20_000 if document is TORUS else 500
    better = refine.refine(problem, start, trials=trials, power=8, node_share=0.1, seed=1, host_weight=0.5)
    for at in (start, better):
        loads = load(topology, granted.indices[at], sent, PAYLOAD)
        assert refine.seconds(problem, at) == pytest.approx((loads.slowest_s, loads.slowest_host_s, loads.link_s.sum()))
    if document is TORUS:
        assert refine.seconds(problem, better)[0] < refine.seconds(problem, start)[0]


@every_kind
def test_neighbourhoods_are_switches_and_groups(topology: Topology) -> None:
    allocation = job_on(topology).allocation
    table = refine.problem(allocation, 1, stencil((1,), (1.0,)))
    router = topology.router_of_node[allocation.indices]
    for node, (first, end, group_first, group_end) in enumerate(table.near.tolist()):
        assert set(table.by_switch[first:end]) == set(np.flatnonzero(router == router[node]))
        if topology.has_groups:
            group = topology.groups[router]
            assert set(table.by_switch[group_first:group_end]) == set(np.flatnonzero(group == group[node]))


def test_more_routes_than_memory_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine, "MOST_PAIRS", 100)
    with pytest.raises(InputError, match="at most") as error:
        optimiser.optimised(replace(job_on(KINDS["dragonfly"]), effort=QUICK))
    assert "\n" not in str(error.value)
