"""The error estimate of a launch: its terms from what railyard-counters prints, and what it makes of a verdict."""

from __future__ import annotations

import dataclasses

import pytest
from support.topology.topologies import gemini

from railyard.torus.virtual import counters, error_bound, fidelity
from railyard.torus.virtual.counters import CounterReading
from railyard.torus.virtual.fidelity import GuardVerdict, WatchInterval

TRAFFIC = WatchInterval(seconds=0.1, idle=0.5, softirq=0.01, steal=0, link_share=0.9, packets=2000, bytes=4_000_000)
ROUTER_LINES = [
    "r 77 0 0 0 0 0 0 1000000",
    "h late_ns 2 3000 2000 1000:1 2000:1",
    "h late_ppm 2 3000 2000 1000:1 2000:1",
    "t 0.1 20 10 1 0 0.9 a x+ 2000 4000000",
    "r 77 100 100 0 0 0 0 101000000",
    "h late_ns 102 1003000 80000 1000:1 2000:1 8192:98 65536:2",
    "h late_ppm 102 1003000 80000 1000:1 2000:1 10240:98 65536:2",
]


def counted() -> CounterReading:
    links = tuple(dataclasses.replace(counter, rate_mbit_s=8.0) for counter, _, _ in counters.directed(gemini("2x1x1")))
    return CounterReading(torus="t", topology="", taken="", since=None, links=links, lost=())


def test_terms_add_up_and_the_largest_is_named() -> None:
    bound = error_bound.bound(waiting_share=0.02, steal_share=0.03, throttled_share=0.01)
    assert bound.percent == pytest.approx(bound.waiting_percent + 3 + 1) == pytest.approx(6)
    assert bound.worst == "the machine's own host took processor time"


def test_no_more_than_the_busiest_link_was_idle_can_be_the_machines() -> None:
    """That link needs its bytes over its rate on any machine."""
    bound = error_bound.bound(waiting_share=0.2, busiest_link_share=0.97)
    assert bound.percent == bound.idle_percent == pytest.approx(3.0)
    assert bound.waiting_percent == pytest.approx(20.0)


def test_lateness_is_what_was_added_during_the_launch_and_none_without_a_router() -> None:
    assert error_bound.lateness(["t 0.1 20 10 1 0 0.9 a x+ 2000 4000000"]) is None
    found = error_bound.lateness(ROUTER_LINES)
    assert found is not None
    assert (found["chunks"], found["median_us"], found["p99_us"]) == (100, 8.192, 65.536)
    assert found["mean_percent"] == pytest.approx(1.0)
    assert found["median_percent"] == pytest.approx(1.024)


BUSY, QUIET = "t 0.1 20 10 1 0 0.9 a x+ 2000 4000000 10 5 1", "t 0.1 20 10 1 0 0.0 a x+ 3 300 10 9 0"


@pytest.mark.parametrize(
    "lines",
    [
        [QUIET, "w 0.1 64 1 2 3 0", BUSY, "w 0.1 64 4 5 6 0"],
        [BUSY, "w 0.1 64 1 2 3 0", BUSY, "w 0.1 64 4 5 6 64", QUIET, "w 0.1 64 7 8 9 64"],
    ],
    ids=["traffic", "timed samples"],
)
def test_only_looks_during_traffic_count_and_of_a_launch_that_shows_its_timed_samples_these_alone(
    lines: list[str],
) -> None:
    """The start of the ranks, the check of the data and the results load the processors, and are no measurement."""
    (interval,) = fidelity.measured(fidelity.intervals(lines))
    assert [interval.rank_s, interval.wait_s] == pytest.approx([6.4, 5e-9])


def test_the_busiest_link_of_the_timed_samples_is_what_limits_the_bound() -> None:
    topology = gemini("2x1x1")
    lines = ["t 0.1 20 10 1 0 0.9 a x+ 2000 4000000", "b 1.2000 0.9000 r0-0-0 x+"]
    assert fidelity._busiest_while_timed(lines, topology) == ("X+ 0,0,0>1,0,0", 0.9)
    assert fidelity._busiest_while_timed(lines[:1], topology) is None


@pytest.mark.parametrize(
    ("waiting_share", "network", "intervals", "verdict"),
    [
        (0.02, "router", 20, GuardVerdict.OK),
        (0.2, "router", 20, GuardVerdict.VOID),
        (0.2, "router", 5, GuardVerdict.CANNOT_TELL),
        (0.2, "kernel", 20, GuardVerdict.OK),
    ],
)
def test_a_launch_beyond_its_bound_is_void_on_the_router(
    waiting_share: float, network: str, intervals: int, verdict: GuardVerdict
) -> None:
    bound = error_bound.bound(waiting_share=waiting_share)
    judged = fidelity.judge([TRAFFIC] * intervals, counted(), bound, network=network)
    assert judged.verdict == verdict
    assert judged.error_bound_percent == pytest.approx(100 * waiting_share)
    assert bool(judged.warning) == (waiting_share > 0.1)


@pytest.mark.parametrize(
    ("taken", "reason"),
    [
        ({"steal_share": 0.2}, "host took 20 %"),
        ({"throttled_share": 0.3}, "cpu.max) took 30 %"),
        ({"steal_share": 0.02, "throttled_share": 0.02}, ""),
    ],
)
def test_what_others_take_of_the_processors_voids_a_launch_on_the_kernel_too(
    taken: dict[str, float], reason: str
) -> None:
    judged = fidelity.judge([TRAFFIC] * 20, counted(), error_bound.bound(None, **taken), network="kernel")
    assert judged.verdict == (GuardVerdict.VOID if reason else GuardVerdict.OK)
    assert reason in "".join(judged.reasons)


def test_what_the_router_did_not_hand_over_voids_a_launch() -> None:
    lines = ["r 77 10 10 0 0 0 0 5", "r 77 30 20 3 0 7 0 9"]
    assert error_bound.not_handed_over(lines) == ("3 chunks lost on links that went down; 7 chunks refused by a node")
    no_load = error_bound.bound()
    judged = fidelity.judge([TRAFFIC] * 20, counted(), no_load, network="router", carrier="the router ended")
    assert (judged.verdict, judged.reasons) == (GuardVerdict.VOID, ("the router ended",))
