"""Hops and routes: a metric, the closed form, the tie rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.topology.topologies import gemini

from railyard.placements.topology.base import Coordinate
from railyard.placements.topology.rings import step
from railyard.placements.topology.torus import Torus

EXTENTS = st.tuples(*[st.integers(1, 6)] * 3)


@st.composite
def tori_with_routers(draw: st.DrawFn) -> tuple[Coordinate, list[Coordinate]]:
    extents = draw(EXTENTS)
    one = st.tuples(*(st.integers(0, e - 1) for e in extents))
    return extents, draw(st.lists(one, min_size=3, max_size=3))


def torus(extents: Coordinate) -> Torus:
    return gemini("x".join(map(str, extents)))


def between(a: Coordinate, b: Coordinate, extents: Coordinate) -> int:
    return int(torus(extents).hops(np.array(a), np.array(b)))


@given(tori_with_routers())
def test_hops_are_a_metric(case: tuple[Coordinate, list[Coordinate]]) -> None:
    extents, (a, b, c) = case
    assert between(a, a, extents) == 0
    assert (between(a, b, extents) == 0) == (a == b)
    assert between(a, b, extents) == between(b, a, extents)
    assert between(a, c, extents) <= between(a, b, extents) + between(b, c, extents)


@given(EXTENTS)
def test_mean_hops_is_the_closed_form(extents: Coordinate) -> None:
    every = np.indices(extents).reshape(3, -1).T
    hops = torus(extents).hops(every[:, None], every[None, :])
    assert hops.mean() == pytest.approx(torus(extents).mean_hops())


@given(tori_with_routers())
def test_a_route_goes_x_then_y_then_z_the_shortest_way(case: tuple[Coordinate, list[Coordinate]]) -> None:
    extents, (a, b, _) = case
    links = torus(extents).route(a, b)
    assert [k.dimension for k in links] == sorted(k.dimension for k in links)
    assert len(links) == between(a, b, extents)
    assert all(one.target == two.source for one, two in itertools.pairwise(links))
    assert not links or (links[0].source.coordinate, links[-1].target.coordinate) == (a, b)


@pytest.mark.parametrize("extent", [2, 4, 6, 8])
def test_ties_go_plus_from_even_and_minus_from_odd_coordinates(extent: int) -> None:
    ways = [step(position, (position + extent // 2) % extent, extent) for position in range(extent)]
    assert ways == [1, -1] * (extent // 2)


def test_the_tie_rule_loads_both_directions_alike() -> None:
    topo = gemini("4x1x1")
    links = [k.name for c in topo.coordinates for k in topo.route(c, ((c[0] + 2) % 4, 0, 0))]
    assert sorted(links) == sorted(k.name for k in topo.links())
