"""What `torus exec NODE -- traceroute` prints first on the network `router`: the links of the route, from the plan."""

from __future__ import annotations

from support.topology.topologies import gemini

from placements.topology import fault_words
from placements.topology.faults import Faults
from railyard.torus.virtual import hops

TORUS = gemini("4x2x2")


def test_traceroute_is_told_the_links_that_it_cannot_see() -> None:
    note = hops.note(TORUS, Faults(), "n0-0-0", ["/usr/bin/traceroute", "-n", "n1-1-0"])
    assert note.startswith("traceroute shows one hop, ")
    assert note.endswith("the route is: X+ 0,0,0>1,0,0, Y+ 1,0,0>1,1,0")


def test_the_route_goes_round_a_cable_that_is_down() -> None:
    faults = fault_words.parse(TORUS, "0,0,0>1,0,0 --down")
    note = hops.note(TORUS, faults, "n0-0-0", ["traceroute", "n1-1-0"])
    assert "0,0,0>1,0,0" not in note and note.endswith(">1,1,0")


def test_other_commands_and_unknown_ends_have_no_route() -> None:
    assert hops.note(TORUS, Faults(), "n0-0-0", ["ping", "n1-1-0"]) == ""
    assert "the route is" not in hops.note(TORUS, Faults(), "head", ["mtr", "10.0.0.1"])
