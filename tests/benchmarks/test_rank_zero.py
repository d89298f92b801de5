"""Rank 0 of launches larger than this machine: the counters' report, and topobw's verdict on Titan."""

from __future__ import annotations

import subprocess

import pytest
from support.rank_zero import rank_zero, topobw_beside

from railyard.placements.topology import catalog

#: Bytes of a leader's part, from the sizes in benchmarks/counters: a heading, then seven links and their numbers.
PART_BYTES = 132 + 7 * (104 + 6 * 8)


def test_the_counters_report_of_10000_routers_needs_what_its_structures_say() -> None:
    small, large = rank_zero.counters(2_500), rank_zero.counters(10_000)
    for found in (small, large):
        assert (found["links"], found["counters"]) == (7, 6)
        # Gathered, then unpacked beside it; the rest is pages and buffers of files.
        twice_bytes = 2 * found["leaders"] * PART_BYTES
        assert twice_bytes * 0.9 < found["peak_bytes"] < twice_bytes + 3e6
    assert large["peak_bytes"] > 3 * small["peak_bytes"]


@pytest.mark.parametrize("bad", [(), ("0,0,0",), ("1,2,3", "3,0,2")])
def test_exactly_the_bad_routers_are_named_where_two_nodes_share_each(bad: tuple[str, ...]) -> None:
    """A node explains as many links as its router, but the router explains the other node's transfers, too."""
    found = rank_zero.topobw("gemini-4x4x4-two-nodes", bad)
    assert (found["ranks"], found["links"], found["transfers"]) == (128, 384, 768)
    assert sorted(text.split(" links")[0] for text in found["findings"]) == sorted(
        f"router {router}, 12" for router in bad
    )


def test_both_bad_routers_of_titan_are_named_and_nothing_else() -> None:
    found = rank_zero.topobw()
    assert (found["ranks"], found["links"], found["phases"]) == (19_200, 57_600, 14)
    assert [text.split(" links")[0] for text in found["findings"]] == ["router 3,4,5, 12", "router 17,9,20, 12"]
    # Of each rank: 14 phases with the routers on the way, and start and end of 13 rounds.
    assert found["gathered_bytes"] == 19_200 * 14 * (1 + 2 * 13) * 8
    assert found["peak_bytes"] < 200e6


def test_sound_links_look_slow_beside_the_traffic_of_other_jobs() -> None:
    none, loaded = topobw_beside.rows(("none", "incast"))
    assert (none["links"], none["bad_links"], none["findings"]) == (384, 0, [])
    assert none["least_left"] == pytest.approx(1)
    assert loaded["bad_links"] == 63 and loaded["findings"]  # docs/topobw.md
    assert loaded["least_left"] < 0.1 < loaded["median_left"]


def test_each_link_is_in_one_phase_in_which_no_router_sends_and_receives() -> None:
    """As in benchmarks/topobw/plan/plan.c, for rings of even length."""
    topology = catalog.load(topobw_beside.TORUS)
    phases = topobw_beside.phases(topology)
    assert len(phases) == 12
    assert sorted(link.name for links in phases for link in links) == sorted(link.name for link in topology.first_rail)
    for links in phases:
        assert not {link.source.coordinate for link in links} & {link.target.coordinate for link in links}


def test_shares_of_links_that_there_are_not_are_one_line() -> None:
    with pytest.raises(SystemExit, match="no share above 0 of a tested link"):
        rank_zero.topobw("gemini-4x4x4", (), left={"X+ 9,9,9>0,0,0": 0.5})


def test_wrong_input_is_one_line() -> None:
    for program in ("counters_rank_zero", "topobw_rank_zero"):
        done = subprocess.run([rank_zero.build(program)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith(f"usage: {program} ")
