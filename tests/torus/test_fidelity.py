"""The guard: its verdict from what was seen, and on the kernel a launch that it must void and one that it must not."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest
from support.commands import BIN, CHECKOUT, VARIABLES, Run, environment
from support.topology import tori
from support.topology.topologies import gemini

from railyard.placements.topology import catalog
from railyard.torus.plan import plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import counters, error_bound, fidelity, kernel_limits, launch, lifecycle, packet_budget
from railyard.torus.virtual.counters import CounterReading
from railyard.torus.virtual.fidelity import GuardVerdict, WatchInterval

LINKS = tuple(dataclasses.replace(counter, rate_mbit_s=8.0) for counter, _, _ in counters.directed(gemini("2x1x1")))
QUIET = WatchInterval(seconds=0.1, idle=0.9, softirq=0, steal=0, link_share=0, packets=3, bytes=300)
AT_RATE = dataclasses.replace(QUIET, idle=0.0, softirq=0.3, link_share=0.95, packets=2000, bytes=4_000_000)
HELD_BACK = dataclasses.replace(AT_RATE, link_share=0.3)
IDLE = dataclasses.replace(HELD_BACK, idle=0.5)
#: One flow saturates one processor of many.
ONE_FULL = dataclasses.replace(HELD_BACK, idle=0.97, softirq=0.02, hot_idle=0.0, hot_softirq=0.9)
RANK_AND_PACKETS = dataclasses.replace(ONE_FULL, hot_softirq=0.2)
COMPUTING = dataclasses.replace(HELD_BACK, softirq=0.03)


#: No load that the error estimate would count.
UNLOADED = error_bound.bound()


def judged(intervals: Sequence[WatchInterval], reading: CounterReading) -> fidelity.GuardReport:
    return fidelity.judge(intervals, reading, UNLOADED, network="kernel")


def counted(**changes: object) -> CounterReading:
    first = dataclasses.replace(LINKS[0], **changes)  # type: ignore[arg-type]
    return CounterReading(torus="t", topology="", taken="", since=None, links=(first, *LINKS[1:]), lost=())


@pytest.mark.parametrize(
    ("intervals", "verdict"),
    [
        ([AT_RATE] * 10, GuardVerdict.OK),
        ([IDLE] * 10, GuardVerdict.OK),
        ([COMPUTING] * 20, GuardVerdict.OK),
        ([QUIET] * 10, GuardVerdict.OK),
        ([HELD_BACK] * 12, GuardVerdict.VOID),
        ([ONE_FULL] * 12, GuardVerdict.VOID),
        ([RANK_AND_PACKETS] * 12, GuardVerdict.OK),
        ([dataclasses.replace(ONE_FULL, link_share=0.95)] * 12, GuardVerdict.OK),
        ([HELD_BACK] * 12 + [AT_RATE] * 8, GuardVerdict.VOID),
        ([HELD_BACK] * 4 + [AT_RATE] * 6, GuardVerdict.OK),
        ([HELD_BACK] * 12 + [QUIET] * 100, GuardVerdict.VOID),
        ([HELD_BACK] * 4 + [QUIET] * 100, GuardVerdict.CANNOT_TELL),
        ([], GuardVerdict.CANNOT_TELL),
    ],
)
def test_a_busy_machine_voids_only_when_no_link_was_busy(intervals: list[WatchInterval], verdict: GuardVerdict) -> None:
    report = judged(intervals, counted())
    assert report.verdict == verdict
    assert bool(report.reasons) == (verdict != GuardVerdict.OK)


def test_a_link_far_below_its_rate_counts_as_traffic_when_packets_are_large() -> None:
    """At a large rate scale no link is ever busy, and still the machine is what limits."""
    assert dataclasses.replace(HELD_BACK, link_share=0.01).host_limited
    assert not dataclasses.replace(HELD_BACK, link_share=0.01, bytes=2000 * 70).host_limited


def test_an_interval_has_the_shares_of_all_processors_and_of_the_busiest() -> None:
    (one,) = fidelity.intervals(["t 0.1 20 10 4 0 0.3 a x+ 9 900 10 0 8"])
    assert (one.idle, one.softirq, one.hot_idle, one.hot_softirq) == (0.5, 0.2, 0.0, 0.8)


def test_a_dropped_packet_and_a_lost_byte_void_a_launch() -> None:
    dropped = judged([AT_RATE], counted(drops=3))
    assert dropped.verdict == GuardVerdict.VOID and "3 packets dropped, most on X+ 0,0,0>1,0,0" in dropped.reasons[0]
    lost = judged([AT_RATE], dataclasses.replace(counted(), lost=("X+ 0,0,0>1,0,0: 5 bytes sent, 4 received",)))
    assert lost.verdict == GuardVerdict.VOID and "not conserved: X+ 0,0,0>1,0,0" in lost.reasons[0]


@pytest.mark.parametrize("sent", [0, 1_000_000])
def test_a_cable_that_is_down_is_never_the_busiest_link(sent: int) -> None:
    """Its rate is 0 on the network `router`; what it sent came before it went down."""
    down = counted(rate_mbit_s=0.0, bytes=sent)
    busy = dataclasses.replace(LINKS[1], bytes=500_000)
    report = judged([AT_RATE] * 10, dataclasses.replace(down, links=(down.links[0], busy)))
    assert (report.verdict, report.busiest_link) == (GuardVerdict.OK, busy.name)
    assert report.busiest_link_share == pytest.approx(0.5)


def test_a_launch_is_void_by_load_where_nothing_else_is_wrong() -> None:
    held = judged([HELD_BACK] * 12, counted())
    assert held.by_load
    both = judged([HELD_BACK] * 12, counted(drops=3))
    assert len(both.reasons) == 2
    assert not both.by_load
    assert not judged([AT_RATE] * 12, counted()).by_load


@pytest.mark.parametrize(("timed", "verdict"), [(0, GuardVerdict.CANNOT_TELL), (8, GuardVerdict.VOID)])
def test_less_time_is_enough_where_ranks_show_when_they_take_samples(timed: int, verdict: GuardVerdict) -> None:
    """Without that, one of the few intervals is the start of the ranks."""
    assert judged([dataclasses.replace(HELD_BACK, timed=timed)] * 5, counted()).verdict == verdict


HALO: list[str | Path] = [
    CHECKOUT / "build/benchmarks-openmpi/bin/halo",
    *("--grid", "2x2x2", "--cells", "700x700x700", "--repeats", "12"),
]


def test_a_launch_beside_a_copy_that_load_made_void_is_launched_again_and_leaves_one_output(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """Links of 40 Gbit/s, which no machine of ours carries; the router drops nothing."""
    tori.up(railyard, torus_name, "--rate-scale", "0.5", "--network", "router")
    beside: list[str | Path] = [BIN / "railyard", "launch-roles", "launch-000", "--copy=copy=sh -c 'echo a copy'", "--"]
    told = environment(RAILYARD_EVIDENCE=f"{tmp_path}/evidence", RAILYARD_ATTEMPTS="2", RAILYARD_TORUS=torus_name)
    with (tmp_path / "out").open("w") as out:
        launch = [*beside, BIN / "railyard", "torus", "mpirun", torus_name, "-np", "8", *HALO]
        done = subprocess.run(
            launch, stdout=out, stderr=subprocess.PIPE, env=told, cwd=tmp_path, text=True, check=False
        )
    assert done.returncode == 0 and "this launch is void" in done.stderr, done.stderr
    guard = json.loads((tmp_path / "evidence").read_text())["guard"]
    assert (guard["verdict"], guard["by_load"], int(guard["attempts"])) == ("void", True, 2)
    assert (tmp_path / "out").read_text().count("iteration_us") == 1
    assert (tmp_path / "launch-000.copy.out").read_text() == "a copy\n"


@pytest.mark.parametrize(("seconds", "by_load", "again"), [(60, True, True), (600, True, False), (60, False, False)])
def test_a_long_launch_is_not_repeated_nor_one_that_something_else_made_void(
    seconds: float, by_load: bool, again: bool
) -> None:
    """A check's time limit counts for all attempts: a second one of 600 s would be cut off, and the first is lost."""
    seen = judged([HELD_BACK] * 12, counted())
    guard = dataclasses.replace(seen, watched_s=seconds, by_load=by_load)
    assert launch.is_worth_another(guard) == again


def test_a_number_of_attempts_that_is_wrong_is_one_line(railyard: Run, small: str) -> None:
    done = railyard("torus", "mpirun", small, "-np", "1", "true", RAILYARD_ATTEMPTS="many")
    assert done.returncode != 0
    assert "RAILYARD_ATTEMPTS" in done.stderr and "1 to 9" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_load_that_the_machine_can_carry_is_not_void_and_every_nic_is_in_its_evidence(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """Eight nodes exchange faces at a scale for small machines. Links of 40 Gbit/s and more: the tests above."""
    tori.up(railyard, torus_name, "--rate-scale", "0.00003")
    small = ["--grid", "2x2x2", "--cells", "32x32x32", "--repeats", "4"]
    launch = [BIN / "railyard", "torus", "mpirun", torus_name, "-np", "8", HALO[0], *small]
    told = environment(RAILYARD_EVIDENCE=f"{tmp_path}/evidence")
    with (tmp_path / "out").open("w") as out:  # into a file, so that one made void by other work is repeated
        done = subprocess.run(launch, stdout=out, stderr=subprocess.PIPE, env=told, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.endswith("launching again")]
    evidence = json.loads((tmp_path / "evidence").read_text())
    assert evidence["format"] == "railyard-evidence/1" and len(evidence["nics"]) == 8
    assert all(nic["tx_bytes"] > 0 and nic["rx_bytes"] > 0 for nic in evidence["nics"])
    assert int(evidence["guard"]["attempts"]) <= int(VARIABLES["RAILYARD_ATTEMPTS"])
    assert evidence["guard"]["verdict"] == "ok" and "this launch is void" not in "".join(said)


def test_both_directions_of_a_cable_are_measured_at_once(railyard: Run, torus_name: str, tmp_path: Path) -> None:
    """One window of half a second each way: one after the other it would be the rate of one direction."""
    hops, output = Path("build/benchmarks-openmpi/bin/hops").resolve(), tmp_path / "hops.json"
    railyard("torus", "up", "gemini-2x2x2", "--name", torus_name, "--rate-scale", "0.0001")
    timed = ["--windows", "1", "--warmups", "1", "--repeats", "3", "--min-time-per-point", "0"]
    points = ["--tests", "bandwidth,bibandwidth", "--sizes", "64KiB", "--window", "8"]
    launch = ["-np", "2", "--host", "n0-0-0,n1-0-0", str(hops), *points, *timed, "--json", str(output)]
    done = railyard("torus", "mpirun", torus_name, *launch)
    assert done.returncode == 0, done.stderr
    series = json.loads(output.read_text())["series"]
    rate = {each["labels"]["test"]: median(each["samples"]) for each in series if each["fom"] == "bandwidth_gbyte_s"}
    assert rate["bibandwidth"] > 1.5 * rate["bandwidth"]


@pytest.mark.parametrize(
    ("budget", "times", "scale"), [(1.5e6, 1, 3e-5), (4e6, 1, 5e-5), (8e6, 1, 1e-4), (1e6, 4, 5e-5), (8e6, 4, 1e-4)]
)
def test_the_scale_that_is_chosen_takes_at_most_a_fifteenth_of_what_the_machine_forwards_or_as_often_as_is_told(
    budget: float, times: float, scale: float
) -> None:
    topo = catalog.load("gemini-4x4x4")
    assert packet_budget.reserved_scale(topo, Shape(), budget, times=times) == pytest.approx(scale)
    wanted = packet_budget.demand_packets_s(topo, Shape(rate_scale=scale))
    assert budget / 40 < wanted <= times * budget / 15


@pytest.mark.parametrize(("hop_us", "ranks_per_node", "scale"), [(0.1, 1, 1e-4), (0.0, 1, 1e-4), (0.1, 4, 2e-5)])
def test_a_hop_takes_a_millisecond_however_many_packets_go_and_four_ranks_need_four_times_the_reserve(
    hop_us: float, ranks_per_node: int, scale: float
) -> None:
    topo = dataclasses.replace(catalog.load("gemini-2x2x2"), hop_latency_us=hop_us)
    chosen = packet_budget.reserved_scale(topo, Shape(), 1e9, ranks_per_node=ranks_per_node)
    assert chosen == pytest.approx(scale)


def test_a_machine_without_reserve_gets_the_least_scale_that_can_be_shaped() -> None:
    topo, shape = catalog.load("gemini-4x4x4"), Shape()
    least, _ = plan.rate_scales(topo, shape)
    scale = packet_budget.reserved_scale(topo, shape, 1000.0)
    assert least <= scale < 2 * least
    plan.make(topo, dataclasses.replace(shape, rate_scale=scale))


def measures(budgets: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, busy: bool) -> None:
    measured = iter(budgets)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(packet_budget, "measure_packets_s", lambda: next(measured))
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0 if busy else 0.0, 0.0, 0.0))


TRIES = packet_budget.BUSY_TRIES
MORE_EACH_TIME = [300.0 + k for k in range(TRIES)]


@pytest.mark.parametrize(
    ("busy", "budgets", "wanted"),
    [
        (True, [300.0, 500.0, 400.0], [300.0, 500.0, 500.0]),
        (False, [300.0, 500.0, 400.0], [300.0, 300.0, 300.0]),
        (True, MORE_EACH_TIME, [*MORE_EACH_TIME, *[300.0 + TRIES - 1] * 3]),
    ],
    ids=["busy", "quiet", "always busy"],
)
def test_a_budget_of_a_busy_machine_is_measured_a_few_times_again_and_the_largest_kept(
    *, busy: bool, budgets: list[float], wanted: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measures(budgets, monkeypatch, tmp_path, busy=busy)
    assert [packet_budget.cached_packets_s() for _ in wanted] == wanted


def test_a_busy_machine_is_not_measured_again_where_more_packets_would_not_change_the_scale(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measures([1e9, 2e9], monkeypatch, tmp_path, busy=True)
    small, large = catalog.load("gemini-2x2x2"), catalog.load("gemini-4x4x4")
    for topo in (small, small, large):
        assert packet_budget.auto_scale(topo, Shape(), ranks_per_node=1) == pytest.approx(1e-4)
    assert packet_budget.cached_packets_s() == 2e9


def test_a_torus_within_the_packet_budget_is_not_warned_of_and_the_better_scale_is_within(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topo, shape = gemini("4x4x4"), Shape()
    wanted = packet_budget.demand_packets_s(topo, shape)
    for share, warned in ((1.01, False), (1 / 3, True)):
        monkeypatch.setattr(packet_budget, "cached_packets_s", lambda budget=share * wanted: budget)
        told = packet_budget.advice(topo, shape)
        assert bool(told) == warned
    scale = float(told.rpartition("--rate-scale ")[2].split(",")[0])
    assert packet_budget.demand_packets_s(topo, Shape(rate_scale=scale)) == pytest.approx(wanted / 3, rel=0.06)


def test_a_torus_is_as_fast_as_this_machine_carries_which_is_measured_once(
    railyard: Run, tmp_path: Path, torus_name: str
) -> None:
    """Links that the machine cannot fill would make each figure the machine's own."""
    for _ in range(2):
        up = railyard("torus", "up", "gemini-2x2x2", "--name", torus_name, XDG_CACHE_HOME=str(tmp_path))
        assert up.returncode == 0, up.stderr
        made = lifecycle.get(torus_name)
        cache = tmp_path / "railyard/packet-budget.json"
        budget, written = json.loads(cache.read_text())["packets_per_s"], cache.stat().st_mtime_ns
        assert budget > 1000 and made.shape.rate_scale == packet_budget.reserved_scale(made.topology, Shape(), budget)
        railyard("torus", "down", torus_name)
        assert cache.stat().st_mtime_ns == written


def test_latency_is_scaled_where_the_topology_says_what_a_hop_costs() -> None:
    """The plan's delay is the hop's over the rate scale; whether the kernel has netem is asked of it."""
    topo = dataclasses.replace(gemini("2x1x1"), hop_latency_us=0.1)
    made = plan.make(topo, Shape(latency_scaled=True))
    router = next(n for n in made.namespaces if n.name == "r0-0-0")
    assert [shaper for shaper in router.shapers if (shaper.interface, shaper.delay_us) == ("x+", 800)]
    assert all(s.delay_us is None for n in plan.make(topo, Shape()).namespaces for s in n.shapers)
    assert not kernel_limits.can_scale(gemini("2x1x1"))
