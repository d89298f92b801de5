"""`railyard torus throttle`: when a torus is congested, and that its nodes are released whatever ends the command."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT, HUNG_S, Run, environment
from support.topology.topologies import gemini
from support.tori import status, up
from support.waiting import wait_until

from railyard.base.errors import InputError
from railyard.placements.topology.faults import Faults
from railyard.torus.virtual import throttle
from railyard.torus.virtual.counters import CounterReading, LinkCounter
from railyard.torus.virtual.throttle import Throttle, ThrottleLimits

CONGESTOR = str(CHECKOUT / "build/benchmarks-openmpi/bin/congestor")


def counter(name: str, sent: int, input_stall_ns: int | None, output_stall_ns: int) -> LinkCounter:
    """Return a link of 8 Mbit/s, which sends a byte in 1,000 ns."""
    source, target = name.split(">")
    is_nic = source.startswith("n")
    return LinkCounter(
        name=name,
        source=source,
        target=target,
        coordinate=(0, 0, 0),
        rail=0,
        dimension="H" if is_nic or target.startswith("n") else "X",
        direction="+" if is_nic else "-",
        link_class="cable",
        rate_mbit_s=8.0,
        bytes=sent,
        input_stall_ns=input_stall_ns,
        output_stall_ns=output_stall_ns,
    )


def reading(*links: LinkCounter) -> CounterReading:
    return CounterReading(torus="t", topology="", taken="", since=None, links=links, lost=())


@pytest.mark.unit
def test_stalls_at_a_router_are_those_of_what_came_and_of_what_could_not_leave() -> None:
    found = throttle.ratios(
        reading(
            counter("n0>r0", 100, 30_000, 7_000),
            counter("r0>r1", 50, 9_000, 20_000),
            counter("r1>n1", 0, 0, 0),
        )
    )
    assert found == {"r0": pytest.approx(50_000 / 50_000), "r1": 0.0}


@pytest.mark.unit
def test_the_kernels_network_has_no_stalls_to_go_by() -> None:
    with pytest.raises(InputError, match="the kernel counts no stalls"):
        throttle.ratios(reading(counter("r0>r1", 50, None, 0)))


@pytest.mark.unit
def test_a_torus_is_throttled_and_released_after_a_whole_period_alone() -> None:
    watching = Throttle(ThrottleLimits(ratio=2.0, period_s=1.0, percent=50))
    samples = [
        (3, 0),
        (3, 0.6),
        (1, 0.8),
        (3, 1.2),
        (3, 2.1),
        (3, 2.2),
        (3, 5),
        (1, 6),
        (3, 6.5),
        (1, 7),
        (1, 8),
    ]
    changed = [at_s for ratio, at_s in samples if watching.changes(ratio, at_s)]
    assert changed == [2.2, 8]


@pytest.mark.unit
def test_a_node_that_sends_at_less_already_keeps_its_share() -> None:
    topology = gemini("2x2x2")
    slow = topology.nodes[0]
    torus = dataclasses.make_dataclass("T", ["topology", "faults"])(topology, Faults().throttle((slow,), 20))
    limited = throttle.throttled(torus, 50).injection_percent
    assert limited[slow.name] == 20 and {*limited.values()} == {20, 50} and len(limited) == 8


@pytest.mark.torus
@pytest.mark.parametrize("by", ["time", "SIGTERM"])
def test_a_congested_torus_is_throttled_during_a_launch_and_released_at_the_end(
    railyard: Run, torus_name: str, tmp_path: Path, by: str
) -> None:
    up(railyard, torus_name, "--rate-scale", "0.0001", "--network", "router")
    railyard_torus = [str(BIN / "railyard"), "torus"]
    ready = tmp_path / "ready"
    load = [*railyard_torus, "mpirun", torus_name, "-np", "8", CONGESTOR, "--pattern", "permutation"]
    load += ["--ready", str(ready)]
    watch = [*railyard_torus, "throttle", torus_name, "--above=0.01", "--for=0.5", "--to=40", "--json"]
    if by == "time":
        watch.append("--seconds=20")

    def faults() -> str:
        return str(status(railyard, torus_name)["faults"])

    with subprocess.Popen(
        load, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as sends:
        try:
            wait_until(ready.exists, "the load is there", limit_s=HUNG_S)
            with subprocess.Popen(watch, env=environment(), stdout=subprocess.PIPE, text=True) as watching:
                if by == "SIGTERM":
                    wait_until(lambda: "injection at 40 %" in faults(), "the nodes send at 40 %")
                    watching.send_signal(signal.SIGTERM)
                said = json.loads(watching.communicate(timeout=HUNG_S)[0])
        finally:
            sends.terminate()
    assert watching.returncode == 0
    assert said["changes"][0]["injection_percent"] == 40 and said["highest_ratio"] > 0.01
    assert faults() == "[]"


@pytest.mark.torus
def test_a_torus_of_the_kernels_network_is_refused_in_one_line(railyard: Run, small_kernel: str) -> None:
    done = railyard("torus", "throttle", small_kernel)
    assert done.returncode != 0 and "the kernel counts no stalls" in done.stderr
    assert "Traceback" not in done.stderr
