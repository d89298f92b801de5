"""The simulated torus: the same C sources on SimGrid, its network against the model's, the paper's rates, bad input."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.benchmark_runs import document
from support.commands import CHECKOUT, Run, refused
from support.reframe import ReFrame, into, reframe_in
from support.topology.topologies import gemini

from railyard.placements.launchers import files
from railyard.placements.linkload import model, traffic
from railyard.placements.linkload.patterns import make
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults, find_link
from railyard.records.store import archive
from railyard.torus.simulated import calibration, network, smpi

PROGRAMS = CHECKOUT / "build/benchmarks-simgrid/bin"
PATH = f"{PROGRAMS}:{os.environ['PATH']}"
AT_ONCE = ("--warmup-time", "0", "--min-time-per-point", "0")  # simulated time does not vary
BANDWIDTH = ("--coordinates", "coordinates", "--tests", "bandwidth", "--repeats", "1", *AT_ONCE)
simulates = pytest.mark.skipif(bool(smpi.missing()), reason=smpi.missing() or "SimGrid is there")
GEMINI, PLAIN = calibration.load("gemini"), calibration.load("plain")

Simulate = Callable[..., dict[str, Any]]


@pytest.fixture
def simulate(railyard: Run, tmp_path: Path) -> Simulate:
    """Run `railyard sim OPTIONS TOPOLOGY PROGRAM ...` in a folder with the topology's coordinates and links."""
    if smpi.missing():
        pytest.skip(smpi.missing())

    def run(topology: str, *words: str, options: tuple[str, ...] = (), status: int = 0) -> dict[str, Any]:
        loaded = catalog.load(topology)
        (tmp_path / "coordinates").write_text(files.coordinates(loaded))
        (tmp_path / "links").write_text(files.links(loaded))
        with contextlib.chdir(tmp_path):
            done = railyard("sim", *options, topology, *words, "--json", "out.json", PATH=PATH)
        assert done.returncode == status, done.stdout + done.stderr
        return {**document(tmp_path / "out.json"), "said": done.stdout + done.stderr}

    return run


def on(folder: Path, *nodes: str) -> tuple[str, str]:
    """Options that place ranks on these nodes, one by one."""
    (folder / "ranks").write_text("".join(f"{node}\n" for node in nodes))
    return "--hostfile", "ranks"


def middle(found: dict[str, Any], fom: str, **labels: object) -> float:
    """The middle sample of the one series that has these labels."""
    (series,) = [each for each in found["series"] if each["fom"] == fom and labels.items() <= each["labels"].items()]
    samples: list[float] = sorted(series["samples"])
    return samples[len(samples) // 2]


# ---- the programs ----

OPTIONS = {
    "halo": ["--cells", "8", "--variants", "manual,datatypes,copy"],  # SMPI has no neighbourhood collectives
    "hops": ["--coordinates", "coordinates", "--sizes", "64KiB", "--window", "8", *AT_ONCE],
    "paths": ["--coordinates", "coordinates", "--sizes", "64KiB", "--window", "8", *AT_ONCE],
    "rowcol": ["--coordinates", "coordinates", "--sizes", "1KiB", *AT_ONCE],
    "contention": ["--sizes", "1KiB", *AT_ONCE],
    "pt2pt": ["--sizes", "1KiB", "--window", "8", *AT_ONCE],
    # The node that sends stops only when all have measured: SMPI's MPI_Test calls a request that is over unfinished.
    "pt2pt --pattern fan-out": ["--sizes", "1KiB", "--window", "8", *AT_ONCE],
    "topobw": ["--coordinates", "coordinates", "--links", "links", "--size", "64KiB", "--routes", "off"],
}


@pytest.mark.parametrize("program", OPTIONS)
def test_a_program_repeats_bit_for_bit_with_its_ranks_in_place(program: str, simulate: Simulate) -> None:
    words = [*program.split(), *OPTIONS[program], "--repeats", "2"]
    first, again = simulate("gemini-2x2x2", *words), simulate("gemini-2x2x2", *words)
    assert first["verified"] is True
    assert [rank["host"] for rank in first["ranks"]] == [n.name for n in catalog.load("gemini-2x2x2").nodes]
    assert first["series"] == again["series"] and first["series"]


# ---- the network ----


def parsed(topology: Topology, faults: Faults | None = None) -> dict[tuple[str, str], list[str]]:
    """Host and host -> the links between their routers, as the description lists them."""
    text = network.render(topology, topology.nodes, faults or Faults(), PLAIN)
    links, hosts, routes = [], [], {}
    for line in text.splitlines():
        word, *rest = line.split(" ")
        if word == "link":
            links.append(" ".join(rest[2:]))
        elif word == "host":
            hosts.append((int(rest[2]), int(rest[3]), rest[6]))
        elif word == "r":
            point, address, *way = map(int, rest)
            routes[point, address] = [links[number] for number in way]
    return {
        (source, target): routes.get((point, address), []) for point, _, source in hosts for _, address, target in hosts
    }


@pytest.mark.parametrize(
    "topology",
    [gemini("4x3x2"), gemini("5x4x1", 2), gemini("2x2x3", 1, 2), catalog.load("dual-rail-small")],
    ids=["torus", "two nodes", "rails", "fat tree"],
)
def test_routes_are_those_of_the_placements_room(topology: Topology) -> None:
    found = parsed(topology)
    for rail in range(topology.rails):
        for source in topology.nodes:
            for target in topology.nodes:
                wanted = topology.route(source.coordinate, target.coordinate, rail=rail, slot=target.slot)
                names = [link.name for link in wanted]
                assert found[network.nic_name(source, rail), target.name] == names


def test_routes_go_round_a_cable_that_is_down() -> None:
    topology = gemini("4x4x1")
    dead = find_link(topology, "X+ 0,0,0>1,0,0")
    faults = Faults().take_down(topology, dead)
    found = parsed(topology, faults)
    assert not any(name in faults.down for way in found.values() for name in way)
    assert found["n0-0-0", "n1-0-0"] and found["n0-1-0", "n1-1-0"] == ["X+ 0,1,0>1,1,0"]


def test_what_two_nodes_of_a_router_share_is_none_of_their_own_traffic() -> None:
    text = network.render(gemini("2x1x1", 2), gemini("2x1x1", 2).nodes, Faults(), GEMINI)
    assert text.count(" router-out ") == text.count(" router-in ") == 2
    assert " router-" not in network.render(gemini("2x1x1"), gemini("2x1x1").nodes, Faults(), GEMINI)


@pytest.mark.parametrize("kind", ["plain", "custom"])
def test_link_loads_are_those_of_the_model(kind: str, simulate: Simulate, tmp_path: Path) -> None:
    """The bytes of two iterations more, link by link; payload, as the model's protocol of that name counts."""
    granted = allocate(catalog.load("gemini-4x4x4"), "snake")
    placed = place(kind, granted, (4, 4, 4))
    options = (*on(tmp_path, *(node.name for node in placed.nodes)), "--link-bytes", "bytes.json")
    counted = []
    for repeats in ("1", "3"):
        simulate("gemini-4x4x4", "halo", "--grid", "4x4x4", "--cells", "32", "--repeats", repeats, options=options)
        entries = json.loads((tmp_path / "bytes.json").read_text())["links"]
        counted.append({entry["link"]: entry["bytes"] for entry in entries})
    sent = make("stencil6", (4, 4, 4), size_bytes=traffic.face_bytes(32, 3))
    loads = model.load(granted.topology, placed.indices, sent, model.PROTOCOLS["payload"])
    for link, size, _ in loads.slowest(loads.link_s.size):
        iteration = (counted[1].get(link.name, 0) - counted[0].get(link.name, 0)) / 2
        assert iteration == pytest.approx(size, rel=0.01, abs=200), link.name  # the barrier's few bytes


# ---- the published rates ----


def test_links_carry_what_ezell_and_pena_measured(simulate: Simulate) -> None:
    words = ["hops", "--coordinates", "coordinates", "--sizes", "0,4MiB", "--window", "16"]
    words += ["--repeats", "1", *AT_ONCE]
    found = simulate("gemini-4x4x4", *words, "--warmups", "0")
    rate = {d: middle(found, "bandwidth_gbyte_s", test="bandwidth", dimension=d, hops=1) for d in "XZ"}
    assert rate["X"] == pytest.approx(5.946, rel=0.02)  # Ezell, Figure 6: X cable, exclusive
    assert rate["Z"] == pytest.approx(6.762, rel=0.02)  # Z backplane, single sender
    near, far = (middle(found, "latency_us", dimension="Z", hops=h, size_bytes=0) for h in (1, 2))
    assert far - near == pytest.approx(0.1, abs=0.01)  # Peña et al., section 4.1
    assert 1.5 <= near <= 1.7


def test_two_paths_add_up_along_y_and_not_along_x(simulate: Simulate) -> None:
    """Peña et al., Figure 4; and the two nodes of a router send what Ezell measured along Z."""
    words = ["paths", *BANDWIDTH, "--sizes", "1MiB"]
    seen = simulate("gemini-4x4x4-two-nodes", *words, "--window", "16", "--paths", "1,2", "--hops", "1")
    cases = itertools.product("XYZ", (1, 2))
    rate = {(d, paths): middle(seen, "aggregate_bandwidth_gbyte_s", dimension=d, paths=paths) for d, paths in cases}
    assert rate["Y", 2] / rate["Y", 1] == pytest.approx(2, rel=0.03)
    assert rate["X", 2] / rate["X", 1] == pytest.approx(1, rel=0.03)
    assert rate["Z", 2] == pytest.approx(2 * 4.118, rel=0.03)


ALONG_AXES = ["hops", *BANDWIDTH, "--sizes", "1MiB", "--window", "16", "--warmups", "0"]


def on_axes(folder: Path) -> tuple[str, str]:
    return on(folder, *(node.name for node in allocate(catalog.load("gemini-24x1x24"), "axes").nodes))


def test_rate_falls_with_distance_as_pena_measured(simulate: Simulate, tmp_path: Path) -> None:
    """Figure 3a: along Z 100 % up to 3 hops, 70 % from 4 to 6, below 50 % beyond, where X is as fast."""
    seen = simulate("gemini-24x1x24", *ALONG_AXES, "--hops", "1,3,5,9", options=on_axes(tmp_path))
    lengths = itertools.product("XZ", (1, 3, 5, 9))
    rate = {(d, hops): middle(seen, "bandwidth_gbyte_s", dimension=d, hops=hops) for d, hops in lengths}
    assert rate["Z", 3] / rate["Z", 1] == pytest.approx(1, abs=0.02)
    assert rate["Z", 5] / rate["Z", 1] == pytest.approx(0.7, abs=0.03)
    assert rate["Z", 9] / rate["Z", 1] < 0.5
    assert rate["X", 9] == pytest.approx(rate["Z", 9], rel=0.03)


def test_flows_share_a_link_equally_whatever_their_latency(simulate: Simulate, tmp_path: Path) -> None:
    """Both leave by one NIC, one goes 1 hop and one 3. SimGrid's own shares follow the latency: 3.2 and 2.7 GB/s."""
    words = ["contention", "--groups", "ranks", "--pairs", "1", "--tests", "bandwidth", "--sizes", "1MiB"]
    words += ["--window", "4", "--repeats", "1", "--warmups", "0", *AT_ONCE]
    found = simulate("gemini-4x4x4", *words, options=on(tmp_path, "n0-0-0", "n0-0-0", "n1-0-0", "n1-1-1"))
    near, far = (middle(found, "pair_bandwidth_gbyte_s", to=to) for to in ("n1-0-0", "n1-1-1"))
    assert far == pytest.approx(near, rel=0.01)


def test_a_calibration_may_limit_what_distance_costs_a_rate(simulate: Simulate, tmp_path: Path) -> None:
    """At most twice a link's time: the rate at 9 hops is then that at 5, and not a third less."""
    limit = "reach_most_times:\n  value: 2\n  source: a test's\n"
    (tmp_path / "limited.yml").write_text((calibration.FOLDER / "gemini.yml").read_text() + limit)
    options = (*on_axes(tmp_path), "--calibration", "limited.yml")
    found = simulate("gemini-24x1x24", *ALONG_AXES, "--hops", "5,9", options=options)
    near, far = (middle(found, "bandwidth_gbyte_s", dimension="X", hops=hops) for hops in (5, 9))
    assert far == pytest.approx(near, rel=0.02)


def test_packing_takes_what_one_core_moves(simulate: Simulate) -> None:
    """2 x 2 faces of 32x32 cells alone in their lines, 2 x 2 of them in whole lines; each packed and unpacked."""
    found = simulate("gemini-2x2x2", "halo", "--cells", "32", "--repeats", "1", "--warmups", "0")
    cells = 32 * 32
    moved = 2 * cells * (64 + 8) + 4 * cells * (8 + 8)  # bytes, in each direction
    for fom in ("pack_us", "unpack_us"):
        assert middle(found, fom) == pytest.approx(1e6 * moved / (GEMINI.core_gbyte_s * 1e9), rel=0.02)


def test_ranks_of_a_node_share_its_memory_banks_when_they_pack(simulate: Simulate, tmp_path: Path) -> None:
    """Sixteen cores of an XK7 could move more than its one bank."""
    words = ["halo", "--cells", "32", "--repeats", "1", "--warmups", "0"]
    ranks = on(tmp_path, *["n0-0-0"] * 16, *["n1-0-0"] * 16)
    usual, shared = (
        middle(simulate("gemini-2x2x2", *words, options=(*ranks, "--calibration", name)), "pack_us")
        for name in ("gemini", "gemini-xk7")
    )
    assert shared == pytest.approx(usual * GEMINI.core_gbyte_s / (50 / 16), rel=0.02)


def test_the_banks_limit_packing_where_their_cores_could_move_more() -> None:
    xe6, xk7 = calibration.load("gemini-xe6"), calibration.load("gemini-xk7")
    assert dataclasses.replace(xe6, name="", memory_banks=None, sha256="") == dataclasses.replace(
        GEMINI, name="", sha256=""
    )
    assert [each.packing_gbyte_s(1) for each in (GEMINI, xe6, xk7)] == [GEMINI.core_gbyte_s] * 3
    assert [each.packing_gbyte_s(16) for each in (xe6, xk7)] == [GEMINI.core_gbyte_s, 50 / 16]
    assert xe6.packing_gbyte_s(32) == 50 / 16
    assert len({each.sha256 for each in (GEMINI, xe6, xk7)}) == 3


def test_long_alltoall_of_an_odd_number_of_ranks_needs_a_ring(simulate: Simulate, tmp_path: Path) -> None:
    words = ["rowcol", "--coordinates", "coordinates", "--splits", "X", "--collectives", "alltoall"]
    words += ["--sizes", "64KiB", "--repeats", "1"]
    options = (*on(tmp_path, "n0-0-0", "n1-0-0", "n2-0-0"), "--algorithms", "alltoall:ring")
    assert simulate("gemini-4x4x4", *words, options=options)["verified"] is True


def test_lost_lanes_and_limited_injection_cost_their_share(simulate: Simulate) -> None:
    words = ["hops", *BANDWIDTH, "--sizes", "4MiB"]
    words += ["--dimensions", "X", "--hops", "1", "--warmups", "0"]
    sound = middle(simulate("gemini-4x4x4", *words), "bandwidth_gbyte_s")
    fault = "'X+ 0,0,0>1,0,0' --lanes-lost 1"
    worn = middle(simulate("gemini-4x4x4", *words, options=("--faults", fault)), "bandwidth_gbyte_s")
    slow = middle(simulate("gemini-4x4x4", *words, options=("--faults", "--injection 25")), "bandwidth_gbyte_s")
    assert worn / sound == pytest.approx(2 / 3, rel=0.02)
    assert slow == pytest.approx(6.762 / 4, rel=0.03)


def test_topobw_names_the_link_that_lost_lanes(simulate: Simulate) -> None:
    words = ["topobw", *OPTIONS["topobw"], "--messages", "4", "--repeats", "1"]
    found = simulate("gemini-4x4x4", *words, options=("--faults", "'X+ 1,2,3>2,2,3' --lanes-lost 1"), status=5)
    (finding,) = found["verdict"]["findings"]
    assert "1,2,3" in finding["text"]


def test_a_rail_is_chosen_by_the_sender(simulate: Simulate, tmp_path: Path) -> None:
    options = (*on(tmp_path, "n0-0.nic1", "n1-0"), "--link-bytes", "bytes.json")
    found = simulate("dual-rail-small", "hops", "--sizes", "1MiB", "--repeats", "1", *AT_ONCE, options=options)
    assert [rank["host"] for rank in found["ranks"]] == ["n0-0", "n1-0"]
    names = {entry["link"] for entry in json.loads((tmp_path / "bytes.json").read_text())["links"]}
    assert {"out n0-0.nic1", "in n1-0.nic1", "out n1-0", "in n0-0", "up leaf0>spine0@1"} <= names


# ---- bad input ----


@pytest.mark.simgrid
@simulates
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gemini-9x9x9", "halo"], "topology: 'gemini-9x9x9'"),
        (["--ranks", "9", "gemini-2x2x2", "halo"], "--ranks: 9 is not valid; expected at most 8"),
        (["gemini-2x2x2", "true"], "a program that smpicc built"),
        (["gemini-2x2x2", "no-such-program"], "PROGRAM: 'no-such-program'"),
        (["--calibration", "none", "gemini-2x2x2", "halo"], "--calibration: 'none'"),
        (
            ["--hostfile", "none", "gemini-2x2x2", "halo"],
            "none: cannot be read (No such file or directory); expected a text file",
        ),
        (["--algorithms", "alltoall", "gemini-2x2x2", "halo"], "--algorithms: 'alltoall'"),
        (["--algorithms", "sort:ring", "gemini-2x2x2", "halo"], "--algorithms: 'sort:ring'"),
        (["--faults", "'X+ 0,0,0>1,0,0' --broken", "gemini-2x2x2", "halo"], "--faults: \"'X+ 0,0,0>1,0,0' --broken\""),
        (["--memory-limit", "0.001", "gemini-2x2x2", "halo"], "--memory-limit: '0.001'"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, railyard: Run) -> None:
    refused(railyard("sim", *words, PATH=PATH), said)


@pytest.mark.simgrid
@simulates
def test_a_limit_ends_a_simulation(railyard: Run) -> None:
    words = ["gemini-4x4x4", "halo", "--cells", "64", "--repeats", "100000"]
    done = railyard("sim", "--time-limit", "1", *words, PATH=PATH)
    assert done.returncode == 1 and "raise --time-limit" in done.stderr and done.stderr.count("\n") == 1
    done = railyard("sim", "--memory-limit", "0.2", *words[:3], "128", PATH=PATH)
    assert done.returncode == 1 and "(--memory-limit)" in done.stderr and done.stderr.count("\n") == 1


def test_without_simgrid_one_line_says_so_and_the_files_and_the_line_for_it_are_written(
    railyard: Run, tmp_path: Path
) -> None:
    (tmp_path / "halo").symlink_to("/bin/true")
    done = railyard("sim", "gemini-2x2x2", "halo", PATH=f"{tmp_path}")
    assert done.returncode == 1 and "make simulated" in done.stderr and done.stderr.count("\n") == 1
    done = railyard("sim", "--keep", str(tmp_path / "kept"), "gemini-2x2x2", "halo", PATH=f"{tmp_path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "smpirun -np 8" in done.stdout and (tmp_path / "kept/network").is_file()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("base: nothing\nname: mine\n", "'nothing'"),
        (
            (calibration.FOLDER / "gemini.yml").read_text().replace("value: 0.6355", "value: 1.6355"),
            r"mine\.yml: payload_share\.value: 1\.6355",
        ),
    ],
    ids=["unknown base", "wrong value"],
)
def test_a_wrong_calibration_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "mine.yml").write_text(text)
    with pytest.raises(ValueError, match=words):
        calibration.load(str(tmp_path / "mine.yml"))


def test_the_router_network_of_the_virtual_torus_takes_hop_latency_from_the_topology() -> None:
    """Its model adds the topology's over the rate scale; the kernel's hop costs what the kernel takes."""
    router, kernel = calibration.load("virtual-torus-router"), calibration.load("virtual-torus")
    topology = catalog.load("gemini-4x4x4")
    assert router.hop_us(topology) == topology.hop_latency_us != kernel.hop_us(topology)
    assert router.payload_share == kernel.payload_share
    assert router.endpoint_latency_us > topology.hop_latency_us


def test_every_calibrated_value_has_a_source() -> None:
    known = ["gemini", "gemini-xe6", "gemini-xk7", "plain", "virtual-torus", "virtual-torus-router"]
    assert calibration.known() == known
    assert GEMINI.payload_share == 0.6355 and PLAIN.router_gbyte_s is None and GEMINI.sha256 != PLAIN.sha256
    rendered = [network.render(gemini("4x1x1"), gemini("4x1x1").nodes, Faults(), each) for each in (GEMINI, PLAIN)]
    assert ["\nreach 3\n" in text for text in rendered] == ["reach" in text for text in rendered] == [True, False]


@pytest.mark.parametrize(
    ("groups", "ranks", "size_bytes", "words"),
    [(49, 7, 1 << 14, ""), (1, 343, 1 << 17, "about 43.3 GiB of memory"), (1, 4096, 1, "s of this machine's time")],
)
def test_an_alltoall_too_large_is_estimated_before_it_starts(
    groups: int, ranks: int, size_bytes: int, words: str
) -> None:
    excess = smpi.collectives_excess([("alltoall", groups, ranks, size_bytes)], rounds=4)
    assert words in excess and bool(words) == bool(excess)


# ---- the checks ----


@pytest.fixture
def reframe(tmp_path: Path) -> ReFrame:
    return reframe_in(tmp_path)


@simulates
def test_checks_end_in_records_or_say_what_is_missing(reframe: ReFrame, tmp_path: Path) -> None:
    names = ["halo_smoke", "halo_variants", "sonar_smoke", "multirail_smoke"]
    chosen = ["-n", "|".join(f"^{name}$" for name in names)]
    done = reframe("-r", "--system", "simtorus", *chosen, *into(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "smpi lacks MPI_Ineighbor_alltoallw, which halo needs here" in done.stdout
    assert "smpi lacks NIC counters, which sonar needs here" in done.stdout
    found = {record.case.check: record for record in archive.load_all(tmp_path / "archive")}
    assert set(found) == {"halo_smoke", "multirail_smoke"}
    halo, multirail = found["halo_smoke"], found["multirail_smoke"]
    assert halo.origin == "simulated" and halo.provenance["torus"]["calibration"] == "gemini"
    assert {launch.placement_verdict for launch in halo.launches} == {"obeyed"}
    assert {launch.nic_verdict for launch in multirail.launches} == {"obeyed"}  # by the bytes of every NIC
    assert all("railyard sim --hostfile" in launch.command for launch in halo.launches)


@simulates
@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ("rowcol_paper_long.sizes=4096,65536", "sizes up to 32767 apart from longer ones"),
        ("rowcol_paper.sizes=1048576", "GiB of memory, of 4; expected fewer or smaller"),
    ],
    ids=["two algorithms", "too large"],
)
def test_sizes_that_cannot_be_simulated_are_refused(reframe: ReFrame, tmp_path: Path, chosen: str, words: str) -> None:
    check = ["-n", f"{chosen.partition('.')[0]}$", "-S", chosen]
    done = reframe("-r", "--system", "simtorus", *check, *into(tmp_path))
    assert done.returncode != 0 and words in done.stdout
    assert not (tmp_path / "archive").exists()


def test_the_model_answers_in_a_programs_place(reframe: ReFrame, tmp_path: Path) -> None:
    """Pedretti et al., Figure 6: remapping to 2x2x4 more than halves what the routers inject."""
    two = "minighost_remap.placements=cart-create,blocks:2x2x4"
    done = reframe("-r", "--system", "linkload", "-n", "minighost_remap|halo_smoke", "-S", two, *into(tmp_path))
    assert done.returncode == 0, done.stdout
    found = {record.case.check: record for record in archive.load_all(tmp_path / "archive")}
    assert found["halo_smoke"].origin == "modelled"
    injected = {
        launch.placement: series.samples[0]
        for launch in found["minighost_remap"].launches
        for series in launch.series
        if series.fom == "injected_bytes"
    }
    assert injected["cart-create"] > 2 * injected["blocks:2x2x4"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hops", "--json", "o"], "PROGRAM: 'hops'"),
        (["halo"], "--json: missing"),
        (["halo", "--cells", "8", "--json", "o"], "--grid: missing"),
        (["halo", "cells", "8", "--json", "o"], "option: 'cells'"),
    ],
)
def test_what_the_model_cannot_answer_is_one_line(words: list[str], said: str, railyard: Run, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("n0-0-0\nn0-0-1\n")
    refused(railyard("model", "--hostfile", str(tmp_path / "hosts"), "gemini-2x2x2", *words), said)
