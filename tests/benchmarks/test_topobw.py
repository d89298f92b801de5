"""topobw on this machine and on a virtual torus: who is tested when, what is said of a fault, what is refused.

Over shared memory rates mean nothing, so the tolerance there is 99 %; faults are found on the torus, whose links
have rates.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.benchmark_runs import BIN, MPICC, ROOT, Outcome, Pretend, assert_refused, block, document
from support.commands import Run
from support.topology.topologies import gemini

from railyard.placements.launchers import files
from railyard.placements.topology.catalog import load
from railyard.torus.engines import router
from railyard.torus.virtual import counters, lifecycle

#: Names of pretended hosts have no address.
UNSEEN = ["--routes", "off"]
QUICK = ["--size", "1KiB", "--messages", "2", "--repeats", "1", "--tolerance", "99", *UNSEEN]
LOAD = ["--size", "64KiB", "--messages", "2"]
#: For large faults: the pauses before further retests only take time.
NAMING = ["--tolerance", "5", "--retests", "3"]


def links_of(read: dict[str, Any]) -> list[dict[str, Any]]:
    links: list[dict[str, Any]] = read["verdict"]["links"]
    return links


# ---- which links, in which phases ----


@pytest.mark.parametrize(("ranks", "extents"), [(2, (2, 1, 1)), (4, (4, 1, 1)), (5, (1, 5, 1)), (8, (2, 2, 2))])
def test_every_link_is_tested_once(pretend: Pretend, ranks: int, extents: tuple[int, int, int]) -> None:
    read = pretend(block(*extents)).measured("topobw", ranks, *QUICK)
    x, y, z = extents
    wanted = [link.name for link in gemini(f"{x}x{y}x{z}").links()]
    assert Counter(link["link"] for link in links_of(read)) == Counter(wanted)
    assert read["verdict"] == read["verdict"] | {"status": "rates sound", "findings": []}
    assert {s["fom"] for s in read["series"]} == {"bandwidth_gbyte_s", "missing_percent"}
    assert all(min(s["samples"]) > 0 for s in read["series"] if s["fom"] == "bandwidth_gbyte_s")


@pytest.mark.parametrize(("extent", "count"), [(2, 2), (3, 6), (4, 4), (5, 6), (7, 6), (8, 4)])
def test_no_router_sends_and_receives_at_once_in_phases_that_do_not_grow_with_the_ring(
    pretend: Pretend, extent: int, count: int
) -> None:
    """A slow node's own data would delay its answers, and a sound link towards it would look slow."""
    read = pretend(block(1, 1, extent)).measured("topobw", extent, *QUICK)
    assert len(links_of(read)) == (2 * extent if extent > 2 else 2)
    phases: dict[str, list[str]] = {}
    for link in links_of(read):
        phases.setdefault(link["phase"], []).append(link["link"].split()[1])
    for links in phases.values():
        ends = [end for link in links for end in link.split(">")]
        assert len(set(ends)) == len(ends)
    assert len(phases) == count


def test_both_nodes_of_a_router_share_its_links(pretend: Pretend) -> None:
    read = pretend(block(2, 1, 2, nodes_per_router=2)).measured("topobw", 8, *QUICK)
    assert {link["sharing"] for link in links_of(read)} == {"shared"}
    first = links_of(read)[0]
    assert first["link"] == "X+ 0,0,0>1,0,0"
    assert first["pairs"] == [{"from": "n0", "to": "n4"}, {"from": "n1", "to": "n5"}]


def test_ranks_of_one_node_send_through_its_first(pretend: Pretend) -> None:
    read = pretend(block(2, 1, 1)).measured("topobw", 4, *QUICK, per_node=2)
    assert [link["sharing"] for link in links_of(read)] == ["exclusive", "exclusive"]


def test_a_partial_allocation_says_what_it_does_not_contain(pretend: Pretend) -> None:
    outcome = pretend(block(3, 2, 1, torus="8 2 1")).run("topobw", 6, *QUICK)
    assert outcome.status == 0, outcome
    assert "X  not tested: 24 links without a rank at both ends" in outcome.out
    assert "Y  not tested: 10 links" in outcome.out


def test_links_files_say_class_and_expectation(pretend: Pretend, sanitized: Path, tmp_path: Path) -> None:
    topology = gemini("1x4x1")
    (tmp_path / "links").write_text(files.links(topology))
    read = pretend(block(1, 4, 1)).measured("topobw", 4, *QUICK, "--links", f"{tmp_path}/links", folder=sanitized)
    assert {link["link"]: link["class"] for link in links_of(read)} == {
        link.name: str(link.link_class) for link in topology.links()
    }
    expected = {link["class"]: link["expected_gbyte_s"] for link in links_of(read)}
    assert expected["mezzanine"] == pytest.approx(2 * expected["cable"], rel=1e-9)


# ---- wrong input ----


def test_an_allocation_without_neighbours_is_refused(pretend: Pretend) -> None:
    text = "torus 4 4 1\nn0 0 0 0\nn1 2 0 0\nn2 1 1 0\n"
    assert_refused(pretend(text).run("topobw", 3), "topobw", "no two of the 3 ranks", "neighbouring", "4x4x1")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["no line host"]),
        ("host 1\n", ["no line for the link X+ 0,0,0>1,0,0"]),
        ("host 1\nlink X+ 0 0 0 cable\n", ["line 2", "link X+ x y z CLASS RATE"]),
        ("host 1\nlink W+ 0 0 0 cable 1\n", ["line 2"]),
        ("host 1\nlink X+ 2 0 0 cable 1\n", ["line 2", "a router of the torus"]),
        ("host 1\nlink X+ 0 0 0 cable -1\n", ["line 2", "above 0"]),
        ("host 1\nswitch 3\n", ["line 2"]),
    ],
)
def test_wrong_links_files_are_refused(pretend: Pretend, tmp_path: Path, text: str, parts: list[str]) -> None:
    (tmp_path / "links").write_text(text)
    outcome = pretend(block(2, 1, 1)).run("topobw", 2, "--links", f"{tmp_path}/links")
    assert_refused(outcome, "topobw", f"--links {tmp_path}/links", *parts)


# ---- faults on the virtual torus ----


def on_torus(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that makes a virtual torus."""
    as_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")
    marked: Callable[..., None] = pytest.mark.torus(as_root(test))
    return marked


class Bench:
    """A 4x2x2 virtual torus, on which faults come and go."""

    def __init__(self, railyard: Run, name: str, folder: Path) -> None:
        self.railyard, self.name, self.folder = railyard, name, folder
        topology = load(str(folder / "topology.yml"))
        (folder / "coordinates").write_text(files.coordinates(topology))
        (folder / "links").write_text(files.links(topology))

    def fault(self, *arguments: str) -> None:
        done = self.railyard("torus", "fault", self.name, *arguments)
        assert done.returncode == 0, done.stderr

    def topobw(self, *arguments: str) -> tuple[Outcome, dict[str, Any]]:
        """One launch on all nodes, without a fault left afterwards."""
        path = self.folder / "output.json"
        files = ["--coordinates", f"{self.folder}/coordinates", "--links", f"{self.folder}/links"]
        done = self.railyard(
            *("torus", "mpirun", self.name, "-q", "-np", "16", str(BIN / "topobw"), *files, *LOAD),
            *("--json", str(path), *arguments),
        )
        self.fault("--restore")
        read = document(path) if path.exists() else {}
        path.unlink(missing_ok=True)
        return Outcome(status=done.returncode, out=done.stdout, err=done.stderr), read


def benches(railyard: Run, folder: Path, *options: str) -> Iterator[Bench]:
    """Yield a bench on a torus of 16 nodes."""
    name = f"t{os.getpid()}-{folder.name}"
    text = json.dumps(gemini("4x2x2").to_dict())  # JSON is YAML
    (folder / "topology.yml").write_text(text)
    up = [str(folder / "topology.yml"), "--name", name, "--rate-scale", "0.0001", *options]
    done = railyard("torus", "up", *up)
    assert done.returncode == 0, done.stderr
    yield Bench(railyard, name, folder)
    railyard("torus", "down", name)


@pytest.fixture(scope="module")
def bench(railyard: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from benches(railyard, tmp_path_factory.mktemp("topobw"))


@pytest.fixture(scope="module")
def kernel(railyard: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The same with the kernel as the network: what forwards is a namespace, where a test can cut a cable unseen."""
    yield from benches(railyard, tmp_path_factory.mktemp("kernel"), "--network", "kernel")


NOBODY = "02:00:00:00:00:99"
OPPOSITE = {"+": "-", "-": "+"}


@contextmanager
def dead_cable(torus: str, direction: str, one: str, other: str) -> Iterator[None]:
    """Send packets for the next router to a hardware address that nobody has; `X+`, `1,0,0`, `2,0,0`."""
    ends = [(one, direction), (other, direction[0] + OPPOSITE[direction[1]])]
    ports = [(f"railyard.{torus}.r{router.replace(',', '-')}", port.lower()) for router, port in ends]
    # Of the router at the other end: address, "lladdr", hardware address.
    known = {(namespace, port): _neighbours(namespace, "show", "dev", port).split() for namespace, port in ports}

    def send_to(hardware: str = "") -> None:
        for (namespace, port), (address, _, usual, *_) in known.items():
            told = ["lladdr", hardware or usual, "nud", "permanent", "dev", port]
            _neighbours(namespace, "replace", address, *told)

    send_to(NOBODY)
    try:
        yield
    finally:
        send_to()


def _neighbours(namespace: str, *words: str) -> str:
    command = ["ip", "-netns", namespace, "neigh", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def findings(read: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    return [(f["component"], f["state"], f["links"]) for f in read["verdict"]["findings"]]


@on_torus
def test_a_sound_torus_is_sound(bench: Bench) -> None:
    outcome, read = bench.topobw("--tolerance", "5")
    assert outcome.status == 0, outcome  # the guard may warn of a busy machine
    assert {link["routers"] for link in links_of(read)} == {2}
    assert "Z  limited by the nodes: a loss below 33 % of a link is not seen" in outcome.out
    assert "verdict: sound; losses not seen: below 5 % on X, 5 % on Y, 33 % on Z" in outcome.out
    assert read["verdict"]["unseen_percent"] == pytest.approx({"X": 5, "Y": 5, "Z": 32.8}, abs=0.05)


@on_torus
@pytest.mark.parametrize(
    ("link", "options", "missing"),
    [
        ("X+ 1,1,0>2,1,0", ["--lanes-lost", "1"], 100 / 3),
        ("Y- 3,1,1>3,0,1", ["--lanes-lost", "2", "--of-tiles", "1/4"], 100 / 6),
    ],
)
def test_a_slow_link_is_named_with_what_is_missing(bench: Bench, link: str, options: list[str], missing: float) -> None:
    bench.fault(link, *options)
    outcome, read = bench.topobw(*NAMING)
    assert outcome.status == 5, outcome
    assert findings(read) == [("link", "slow", [link])]
    assert read["verdict"]["findings"][0]["missing_percent"] == pytest.approx(missing, abs=4)
    assert any(line.startswith(f"topobw: link {link} (") for line in outcome.err.splitlines()), outcome.err


@on_torus
def test_a_cable_that_is_down_is_named_though_packets_go_round_it(bench: Bench) -> None:
    bench.fault("X+ 1,0,0>2,0,0", "--down")
    outcome, read = bench.topobw(*NAMING)
    assert outcome.status == 5, outcome
    assert ("cable", "detour", ["X+ 1,0,0>2,0,0", "X- 2,0,0>1,0,0"]) in [
        (component, state, sorted(links)) for component, state, links in findings(read)
    ]


@on_torus
def test_a_dead_link_without_a_detour_ends_in_a_verdict_that_names_it(kernel: Bench) -> None:
    ends = ("3,1,1", "3,0,1")
    with dead_cable(kernel.name, "Y-", *ends):
        outcome, read = kernel.topobw("--tolerance", "20", "--deadline", "6")
    assert outcome.status == 5, outcome
    ((component, state, links),) = findings(read)
    assert (component, state, len(links)) == ("cable", "no answer", 2)
    assert [sorted(link.split()[1].split(">")) for link in links] == 2 * [sorted(ends)]
    assert f"topobw: cable {links[0]} (" in outcome.err
    assert "no answer within 6 s: down, or slower than" in outcome.err


@on_torus
@pytest.mark.parametrize("network", ["router", "kernel"])
def test_a_link_that_is_all_but_dead_behind_everybodys_back_is_named_with_its_direction(
    railyard: Run, torus_name: str, tmp_path: Path, network: str
) -> None:
    """One byte per second; its first packets pass on the kernel, and MPI's own messages need it."""
    (tmp_path / "topology.yml").write_text(json.dumps(gemini("4x2x2").to_dict()))
    done = railyard("torus", "up", str(tmp_path / "topology.yml"), "--name", torus_name, "--network", network)
    assert done.returncode == 0, done.stderr
    bench = Bench(railyard, torus_name, tmp_path)
    hide_rate(torus_name, "r1-0-0", "x-", 1)
    outcome, read = bench.topobw("--tolerance", "20", "--deadline", "6")
    assert outcome.status == 5, outcome
    assert findings(read) == [("link", "no answer", ["X- 1,0,0>0,0,0"])]


def hide_rate(torus: str, host: str, port: str, rate_byte_s: int) -> None:
    """Change the rate of a link of a torus that is up, and nothing that railyard compares with."""
    state = router.state(torus, lifecycle.RUN / torus)
    if state is None:
        shaper = f"tbf rate {8 * rate_byte_s}bit burst 2829 limit 33554432"
        command = f"tc -n railyard.{torus}.{host} qdisc replace dev {port} root {shaper}"
        subprocess.run(command.split(), check=True)
        return
    (lifecycle.RUN / torus / "router.hidden").write_text(f"{host} {port} {rate_byte_s}\n")
    os.kill(state.process, signal.SIGHUP)
    while counters.snapshots(torus)[1][host, port].rate_byte_s != rate_byte_s:
        time.sleep(0.05)


def test_routes_that_no_datagram_shows_are_no_sound_verdict(pretend: Pretend) -> None:
    """The hosts' names are made up, so no datagram arrives."""
    outcome = pretend(block(2, 1, 1)).run("topobw", 2, *QUICK[: -len(UNSEEN)])
    assert outcome.status == 6, outcome
    assert "verdict: not judged" in outcome.out
    assert outcome.err.startswith("topobw: not judged: 2 of 2 links, the first is X+ 0,0,0>1,0,0: no datagram")
    rows = [line for line in outcome.out.splitlines() if " X" in line and ">" in line]
    assert sum(row.endswith("not judged") for row in rows) == 2


@on_torus
def test_a_link_read_once_before_another_gave_no_answer_is_no_finding(kernel: Bench) -> None:
    """A busy machine makes one reading slow, and after a dead link there is no second one."""
    slow = "X+ 1,1,0>2,1,0"
    kernel.fault(slow, "--lanes-lost", "1")
    with dead_cable(kernel.name, "Z+", "0,0,0", "0,0,1"):
        outcome, read = kernel.topobw("--tolerance", "20", "--deadline", "6")
    assert outcome.status == 5, outcome
    assert [state for _, state, _ in findings(read)] == ["no answer"]
    assert {link["link"]: link["state"] for link in links_of(read)}[slow] == "disturbed"
    assert f"note: link {slow}: " in outcome.out
    assert "another link gave no answer before this was proven" in outcome.out


@on_torus
def test_slow_links_that_deliver_are_measured_not_called_down(bench: Bench) -> None:
    """One transfer takes more than a second on every link, and --deadline allows one."""
    large = ["--size", "1MiB", "--messages", "2", "--repeats", "1", "--retests", "3", "--tolerance", "60"]
    outcome, read = bench.topobw(*large, "--deadline", "1")
    assert outcome.status == 0, outcome
    assert "its time limit is raised from --deadline 1;" in outcome.err
    assert {link["state"] for link in links_of(read)} == {"sound"}
    assert all(link["seconds"] > 1 for link in links_of(read))


@on_torus
def test_a_node_that_sends_slowly_explains_all_its_links(bench: Bench) -> None:
    bench.fault("n2-1-0", "--injection", "50")
    outcome, read = bench.topobw(*NAMING)
    assert outcome.status == 5, outcome
    ((component, state, links),) = findings(read)
    assert (component, state) == ("node", "slow")
    assert {link.split()[1].split(">")[0] for link in links} == {"2,1,0"}
    assert "router 2,1,0 or its node n2-1-0 sending" in outcome.err


# ---- soak ----

SOAK = ["--size", "64", "--messages", "1", "--repeats", "9", "--retests", "0", "--tolerance", "60", *UNSEEN]


def test_a_soak_names_the_unstable_link_and_writes_every_round(
    pretend: Pretend, sanitized: Path, tmp_path: Path
) -> None:
    """Times are pretended: rank 2 takes twice as long in every third round, all others always the same."""
    torus, rounds, path = pretend(block(8, 1, 1)), tmp_path / "rounds", tmp_path / "t.json"
    words: list[str | Path] = [*SOAK, "--soak", "1", "--stream", rounds, "--json", path]
    outcome = torus.run("topobw", 8, *words, folder=sanitized, RAILYARD_TEST_SLOW="2")
    assert outcome.status == 5 and "unstable: " in outcome.err, outcome
    read = document(path)
    states = {link["link"]: link["state"] for link in links_of(read)}
    unstable = {link for link, state in states.items() if state == "unstable"}
    assert unstable == {"X+ 2,0,0>3,0,0", "X- 2,0,0>1,0,0"} and set(states.values()) == {"unstable", "sound"}
    names, *lines = (json.loads(line) for line in rounds.read_text().splitlines())
    assert names["links"] == list(states)
    assert [line["round"] for line in lines] == list(range(len(lines))) and len(lines) % 9 == 0
    assert all(link["rounds"] == len(lines) for link in links_of(read))
    for name, rate in zip(names["links"], lines[1]["rates_gbyte_s"], strict=True):
        assert rate == pytest.approx(64e-9 / (2e-3 if name in unstable else 1e-3))


def test_without_a_soak_an_unstable_link_is_no_failure(pretend: Pretend, sanitized: Path) -> None:
    """Two dips of six rounds, as the peers have none: a note, since so few rounds prove nothing."""
    words = [*SOAK, "--repeats", "6"]
    outcome = pretend(block(8, 1, 1)).run("topobw", 8, *words, folder=sanitized, RAILYARD_TEST_SLOW="2")
    assert outcome.status == 0, outcome
    assert "note: link X+ 2,0,0>3,0,0: unstable in 2 of 6 rounds; --soak SECONDS decides" in outcome.out


# ---- disturbed links ----

ONE_ROUND = ["--size", "64", "--messages", "1", "--repeats", "1", "--retests", "5", *UNSEEN]
#: Over the median time of all links, on a virtual dragonfly of 72 nodes beside thirty busy processes. Without a fault:
#: the eleven slowest transfers of three launches, as if all had been of one link. With one of four lanes lost: its
#: eight readings.
DISTURBED = "1.211,1.144,1.128,1.068,1.046,1.044,1.044,1.043,1.041,1.041,1.04"
LANE_LOST = "1.332,1.334,1.359,1.389,1.398,1.333,1.332,1.339"


def recorded(pretend: Pretend, folder: Path, times: str) -> Outcome:
    torus = pretend(block(8, 1, 1))
    return torus.run("topobw", 8, *ONE_ROUND, folder=folder, RAILYARD_TEST_SLOW="2", RAILYARD_TEST_TIMES=times)


def test_times_that_differ_as_recorded_beside_load_are_a_note_and_no_fault(pretend: Pretend, sanitized: Path) -> None:
    outcome = recorded(pretend, sanitized, DISTURBED)
    assert outcome.status == 0, outcome
    assert "verdict: rates sound" in outcome.out
    assert "note: link X+ 2,0,0>3,0,0: 3.8 % missing at best, but its times differ too much" in outcome.out


@pytest.mark.parametrize(("times", "missing"), [(LANE_LOST, 24.9), ("1.062,1.060,1.063,1.061,1.060,1.062", 5.7)])
def test_a_lost_lane_beside_the_same_load_and_a_steady_loss_are_named(
    pretend: Pretend, sanitized: Path, times: str, missing: float
) -> None:
    outcome = recorded(pretend, sanitized, times)
    assert outcome.status == 5 and "2,0,0" in outcome.err and f"{missing} % missing" in outcome.err, outcome


# ---- tests that the links file lists ----

LISTED = """host 25
test 0 local 25 2 local:r0-0>r0-1 n0>n1 ,local:r0-0>r0-1,node:n0:sending,node:n1:receiving, ,
test 0 global 25 2 global:r0-2>r1-0 n2>n3 ,global:r0-2>r1-0,node:n2:sending,node:n3:receiving, ,
test 1 local 25 2 local:r0-1>r0-0 n1>n0,n3>n2 ,local:r0-1>r0-0, ,node:n1:sending,
test 63 global 25 3 pair:n0>n9 n0>n9 ,global:r0-2>r1-0, ,
"""


def test_listed_tests_run_in_their_phases(pretend: Pretend, tmp_path: Path) -> None:
    """A test with a node that has no rank is counted as not tested."""
    (tmp_path / "links").write_text(LISTED)
    links = ["--links", str(tmp_path / "links")]
    read = pretend(block(4, 1, 1)).measured("topobw", 4, *QUICK, *links)
    assert [(link["link"], link["phase"], link["class"], link["sharing"]) for link in links_of(read)] == [
        ("local r0-0>r0-1", "0", "local", "exclusive"),
        ("global r0-2>r1-0", "0", "global", "exclusive"),
        ("local r0-1>r0-0", "1", "local", "shared"),
    ]
    dimensions = {s["labels"]["dimension"] for s in read["series"]}
    assert dimensions == {"local", "global"}
    outcome = pretend(block(4, 1, 1)).run("topobw", 4, *QUICK, *links)
    assert "switches 4x1x1, 3 links in 2 phases" in outcome.out
    assert "global  not tested: 1 links without a rank at both ends" in outcome.out


@pytest.mark.parametrize(
    "line",
    [
        "test 64 local 25 2 a:b n0>n1 ,a:b, ,",
        "test 0 local 0 2 a:b n0>n1 ,a:b, ,",
        "test 0 local 25 2 a:b n0>n1 a:b ,",
        "test 0 local 25 2 a:b n0>n1 ,a:b,",
        "test 0 local 25 2 a:b n0>n1 ,a:b, , more",
    ],
)
def test_a_wrong_listed_test_is_one_line(pretend: Pretend, tmp_path: Path, line: str) -> None:
    (tmp_path / "links").write_text(f"host 25\n{line}\n")
    outcome = pretend(block(2, 1, 1)).run("topobw", 2, *QUICK, "--links", tmp_path / "links")
    assert_refused(outcome, "topobw", "line 2", "test PHASE CLASS RATE ROUTERS NAME PAIRS PARTS CROSSED")


@pytest.fixture(scope="module")
def blamed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[list[str]]]:
    """Return the findings of tests/data/blame_program.c: component, rank, links."""
    program = tmp_path_factory.mktemp("blame") / "blame_program"
    sources = [ROOT / "tests/data/blame_program.c"]
    sources += [ROOT / "benchmarks/topobw/verdict" / name for name in ("blame.c", "verdict.c")]
    sources += [BIN.parent / "librailyard.a", BIN.parent / "librailyard-counters.a"]
    words: list[str | Path] = [MPICC, "-O2", "-std=gnu11", f"-I{ROOT / 'benchmarks'}", "-o", program]
    subprocess.run([*words, *sources, "-lm", "-ldl"], check=True)
    limited = ["sh", "-c", 'ulimit -d 1048576; exec "$@"', "sh", str(program)]

    def findings(arguments: str) -> list[list[str]]:
        command = [*limited, *arguments.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return [line.split() for line in done.stdout.splitlines()]

    return findings


def test_a_hundred_thousand_ranks_with_many_slow_nodes_are_judged_at_once(
    blamed: Callable[[str], list[list[str]]],
) -> None:
    """101,306 ranks on 37x37x37 routers, about 200 slow nodes: each is named with its 12 links, in less than 1 GiB."""
    findings = blamed("37 37 37 2 200 1 1")
    assert 190 <= len(findings) <= 200
    assert {component for component, _, _ in findings} == {"node"}
    assert min(int(links) for _, _, links in findings) >= 10  # two neighbours share a cable
    assert len({rank for _, rank, _ in findings}) == len(findings)


@pytest.mark.parametrize(("y_rate", "links"), [(0.4, 8), (0.5, 8), (0.9, 12)])
def test_links_slower_than_a_slow_node_do_not_clear_it(
    blamed: Callable[[str], list[list[str]]], y_rate: float, links: int
) -> None:
    """A node that injects half as fast as others cannot slow a link of less, so that link proves nothing."""
    findings = blamed(f"6 6 6 1 1 1 {y_rate}")
    assert [(component, int(count)) for component, _, count in findings] == [("node", links)]
