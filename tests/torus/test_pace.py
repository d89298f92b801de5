"""How long real message sizes take on a virtual torus: the line of `up`, and rate scales as BYTES/TIME."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.topology import catalog
from railyard.torus.plan import pace, plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import kernel_limits

GEMINI = catalog.load("gemini-4x4x4")


@pytest.mark.parametrize(("rate_scale", "least"), [(1e-3, "200ms"), (1.25e-4, "200ms"), (8e-6, "3125ms")])
def test_tcp_sends_again_later_on_a_slower_torus(rate_scale: float, least: str) -> None:
    """With Linux's 200 ms ranks sent again what had only waited for other messages."""
    made = plan.make(GEMINI, Shape(network="router", rate_scale=rate_scale))
    of_nodes = [route.tcp for namespace in made.namespaces for route in namespace.routes if route.tcp]
    assert len(of_nodes) == len(GEMINI.nodes)
    assert all(f" rto_min {least}" in tcp for tcp in of_nodes)


@pytest.mark.parametrize(
    ("text", "size_bytes", "time_s"),
    [("8MB/100ms", 8e6, 0.1), ("1 GiB / 2s", 2**30, 2.0), ("64KiB/250us", 65536, 250e-6), ("0.5kB/1s", 500, 1)],
)
def test_at_the_scale_of_a_pace_a_nic_sends_so_much_in_that_time(text: str, size_bytes: float, time_s: float) -> None:
    rate = Shape(rate_scale=pace.scale(GEMINI, text)).rate_bit_s(GEMINI.host_rate_gbyte_s)
    assert 8 * size_bytes / rate == pytest.approx(time_s, rel=1e-3)


@pytest.mark.parametrize("text", ["8MB", "8MB/fast", "8 bananas/1s", "0MB/1s", "8MB/0s", "auto8"])
def test_other_texts_and_nothing_in_no_time_are_refused(text: str) -> None:
    assert (pace.times_auto(text), pace.times_auto("auto"), pace.times_auto("auto*2.5")) == (0, 1, 2.5)
    assert pace.scale(GEMINI, "0.000125") == 0.000125
    with pytest.raises(InputError, match=f"--rate-scale.*{text}"):
        pace.scale(GEMINI, text)


def test_the_line_of_up_names_a_scale_that_does_what_it_says() -> None:
    line = pace.line(GEMINI, Shape())
    assert "10.64 GB/s of a NIC are 10.6 Mbit/s: 8 MB take 6.02 s, on the real machine 0.752 ms" in line
    advised = re.search(r"--rate-scale (\S+) makes it (\S+) s", line)
    assert advised is not None
    scale = pace.scale(GEMINI, advised[1])
    assert f"({scale:.2g})" in line
    assert pace.line(GEMINI, Shape(rate_scale=scale)).split("8 MB take ")[1].startswith(f"{advised[2]} s")


def test_the_management_network_fills_no_table_of_neighbours() -> None:
    """The head knows every node and every node the head, for ever: entries that the kernel does not count."""
    made = plan.make(gemini("4x2x2"), Shape())
    hosts = {namespace.name: namespace for namespace in made.namespaces}
    macs = {port.namespace: port.mac for cable in made.cables for port in cable.ends if port.interface == "mgmt0"}
    addresses = dict(made.hosts)
    permanent = [line for line in hosts[plan.HEAD].ip if line.startswith("neigh")]
    assert permanent == [
        f"neigh replace {addresses[f'{node}.mgmt']} lladdr {mac} dev mgmt0 nud permanent" for node, mac in macs.items()
    ]
    to_head = f"neigh replace {addresses[plan.HEAD]} lladdr {plan.HEAD_MAC} dev mgmt0 nud permanent"
    assert all(to_head in hosts[node].ip for node in macs)
    assert any(f"address {plan.HEAD_MAC} type bridge" in line for line in hosts[plan.HEAD].ip)


def test_a_table_of_neighbours_that_is_too_small_is_named_before_anything_hangs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Linux 4.18 (RHEL 8) counts permanent entries; today's counts only what Slurm's daemons learn of each other."""
    made = plan.make(gemini("5x5x5"), Shape())
    old = kernel_limits.needed_neighbours(made, with_slurm=False, release="4.18.0-553.el8.x86_64")
    assert old == 125 * (6 + 1) + 125 * (1 + 1) + 125
    assert kernel_limits.needed_neighbours(made, with_slurm=False, release="6.1.0-25-amd64") == 0
    assert kernel_limits.needed_neighbours(made, with_slurm=True, release="5.14.0") == 250
    monkeypatch.setattr(kernel_limits, "SIZE", tmp_path / "gc_thresh3")
    monkeypatch.setattr(platform, "release", lambda: "5.14.0")
    for size, words in ((1024, ""), (128, "gc_thresh3=500")):
        kernel_limits.SIZE.write_text(f"{size}\n")
        advice = kernel_limits.neighbour_advice(made, with_slurm=True)
        assert words in advice and bool(advice) == bool(words)


@pytest.mark.parametrize("most", [0.0, 0.00003, 0.01])
def test_a_long_launch_prints_one_line_that_a_person_can_act_on(most: float) -> None:
    line = pace.estimate(0.00003, most)
    assert "takes 33,333 s here" in line and len(f"railyard: {line}") <= 120
    advised = re.search(r"RAILYARD_RATE_SCALE=([^\s,]+)", line)
    if most == 0.00003:
        assert advised is None and "carries no faster network" in line
    else:
        assert advised and (float(advised[1]) == most if most else pace.scale(GEMINI, advised[1]))
