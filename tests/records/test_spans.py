"""The spread of a launch over switches and groups: recorded from coordinates, and refused where it is another."""

from __future__ import annotations

from typing import Any

import pytest
from support import evidence, forgeries

from railyard.records import rules, spans
from railyard.records.spans import Proximity, Spans

GRID = [4, 4]
FLY = evidence.good(
    order="contiguous",
    origin="measured",
    topology="dragonfly-72",
    grid=GRID,
    placements=["plain", "plain@few-groups:2", "plain@even-groups:4"],
)
#: A group of dragonfly-72 has 8 nodes.
WANTED = {
    "plain": Spans(switches=8, groups=2, group_nodes={"0": 8, "1": 8}),
    "plain@even-groups:4": Spans(switches=8, groups=4, group_nodes={"0": 4, "1": 4, "2": 4, "3": 4}),
}


def test_a_record_of_a_dragonfly_names_switches_groups_and_nodes_per_group() -> None:
    found = {launch.placement: launch.spans for launch in FLY.launches if launch.is_result}
    assert {name: found[name] for name in WANTED} == WANTED
    assert not [each for each in rules.faults(FLY) if each.field.endswith(".spans")]


@pytest.mark.parametrize(
    "change", [{"groups": 1}, {"groups": None, "group_nodes": None}, {"switches": 9}, {"group_nodes": {"0": 16}}, None]
)
def test_a_mutated_spread_is_refused(change: dict[str, Any] | None) -> None:
    forge = forgeries.in_first(spans=None) if change is None else forgeries.put("launches.0.spans", **change)
    (text,) = (each.text for each in rules.faults(forgeries.changed(FLY, forge)) if each.field.endswith(".spans"))
    assert "the nodes have" in text


def test_a_torus_has_switches_and_no_groups() -> None:
    torus = evidence.good(origin="measured", topology="gemini-2x2x2", grid=[2, 2, 2], placements=["plain"])
    assert torus.launches[0].spans == Spans(switches=8, groups=None, group_nodes=None)


def test_relations_of_two_hosts_from_the_nearest() -> None:
    hosts = ("a", "b", "c.other", "d", "e")
    nodes = spans.coordinates(
        {"name": name, "coordinate": place}
        for name, place in {"a": [0, 0, 0], "b.site": [0, 0, 0], "c": [0, 1, 0], "d": [1, 0, 0], "e": None}.items()
    )
    at = spans.places(hosts, nodes)
    found = [spans.proximity("a", other, at, has_groups=True) for other in hosts]
    assert found == [Proximity.NODE, Proximity.SWITCH, Proximity.GROUP, Proximity.OTHER_GROUP, None]
    assert spans.proximity("a", "d", at, has_groups=False) == Proximity.OTHER_SWITCH


def test_a_short_name_that_two_nodes_share_is_no_place() -> None:
    nodes = {"n1.left": (0, 0, 0), "n1.right": (1, 0, 0)}
    assert spans.places({"n1", "n1.other"}, nodes) == {}
    assert spans.places({"n1.right"}, nodes) == {"n1.right": (1, 0, 0)}


def test_without_every_coordinate_there_is_no_spread() -> None:
    at = {"a": (0, 0, 0)}
    assert spans.of_hosts({"a", "b"}, at, has_groups=True) is None
    assert spans.of_hosts(set(), at, has_groups=True) is None
