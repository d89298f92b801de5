"""Every kind of fault on both networks and three kinds of topology, with one launch of each program.

On each topology and network one torus is up, and its faults change under it: lanes lost, a cable down that packets go
round, a cable that has no way round (refused), a node that injects slowly. The full product has 198 launches
and takes five minutes. So each fault on each torus meets two of the eleven programs, in such a way that each program
meets each fault, each network and each topology. The mini-application is a stand-in that prints a recorded output of
LULESH (tests/data/applications/replay.c). No time is asserted: a launch may be void by load, and by nothing else.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.benchmark_runs import BIN, MORE, QUICK
from support.commands import TESTS, VARIABLES, Run
from support.topology import flies, tori
from support.topology.topologies import gemini

from railyard.placements.topology.base import Link, Topology

TOPOLOGIES = {
    "torus": gemini("4x2x1").to_dict(),
    "dragonfly": flies.document("dragonfly", {"groups": 4, "routers": 2}, nodes=1),
    "fat-tree": flies.document(
        "fat_tree", {"levels": [{"children": 2, "parents": 2}, {"children": 2, "parents": 1}]}, nodes=2
    ),
}
NETWORKS = ("router", "kernel")
FAULTS = ("lanes-lost", "detour", "injection")
#: Other words than usual: on a network messages take time, and topobw's show what a link lost.
FEW = ["--sizes", "8,1KiB", "--repeats", "1", "--warmups", "0", "--warmup-time", "0", "--min-time-per-point", "0"]
OWN = {
    "hops": [*FEW, "--window", "4", "--batch", "1"],
    "paths": [*FEW, "--window", "4"],
    "rowcol": [*FEW, "--start", "barrier"],
    "contention": [*FEW, "--groups", "ranks", "--window", "4"],
    "pt2pt": [*FEW, "--units", "ranks", "--window", "4", "--batch", "1"],
    "congestor": ["--pattern", "alltoall", "--size", "1KiB", "--rounds", "5"],
    "sonar": [*MORE["sonar"], "--settle", "0"],
    "topobw": ["--size", "64KiB", "--messages", "2", "--tolerance", "20", "--retests", "3"],
}
WORDS = QUICK | MORE | OWN
PROGRAMS = [*WORDS, "replay"]
RECORDED = TESTS / "data/applications/lulesh-8.out"


def programs(topology: str, network: str, fault: str) -> list[str]:
    """Return the programs of one cell of the table: of six tori, a program meets the next one with the next fault."""
    cells = [(kind, NETWORKS[i % 2]) for i, kind in enumerate([*TOPOLOGIES, *TOPOLOGIES])]
    cell = cells.index((topology, network)) - FAULTS.index(fault)
    return [name for i, name in enumerate(PROGRAMS) if i % len(cells) == cell % len(cells)]


def test_each_program_meets_each_fault_network_and_topology() -> None:
    met = {
        (name, word)
        for topology in TOPOLOGIES
        for network in NETWORKS
        for fault in FAULTS
        for name in programs(topology, network, fault)
        for word in (topology, network, fault)
    }
    assert met == {(name, word) for name in PROGRAMS for word in (*TOPOLOGIES, *NETWORKS, *FAULTS)}


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mini-application's stand-in, and what it prints."""
    folder = tmp_path_factory.mktemp("replay")
    source = TESTS / "data/applications/replay.c"
    subprocess.run(["mpicc.openmpi", "-o", folder / "replay", source], check=True)
    (folder / "0.out").write_bytes(RECORDED.read_bytes())
    return folder


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A torus that is up, and the files that describe it."""

    railyard: Run
    name: str
    topology: Topology
    folder: Path
    replay: Path

    def launch(self, program: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
        """Launch a program on all nodes; return what came of it, and the evidence."""
        words = [str(BIN / program), *WORDS.get(program, [])]
        if program in ("hops", "paths", "rowcol", "topobw"):
            words += ["--coordinates", str(self.folder / "coordinates")]
        if program == "topobw":
            words += ["--links", str(self.folder / "links")]
        if program == "replay":
            witness = "RAILYARD_WITNESS=launch-0.witness"
            words = ["env", f"REPLAY={self.replay}", witness, f"{self.replay}/replay"]
        evidence = self.folder / "evidence"
        evidence.unlink(missing_ok=True)
        ranks = str(len(self.topology.nodes))
        done = self.railyard(
            *("torus", "mpirun", self.name, "-q", "-np", ranks, *words), RAILYARD_EVIDENCE=str(evidence)
        )
        return done, json.loads(evidence.read_text())

    def launch_soundly(self, program: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
        """Launch a program again while load makes it void: one that finds a fault is not repeated."""
        for _ in range(int(VARIABLES["RAILYARD_ATTEMPTS"])):
            done, evidence = self.launch(program)
            if done.returncode == 0 or evidence["guard"]["verdict"] != "void":
                break
        return done, evidence

    def fault(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.railyard("torus", "fault", self.name, *words)

    def faults(self) -> list[str]:
        """Return the faults that the torus's status names, which is what a record has; it must be sound with them."""
        report = tori.status(self.railyard, self.name)
        assert report["sound"], report
        return list(report["faults"])


@pytest.fixture
def bench(railyard: Run, torus_name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Bench:
    kind, network = request.param
    replay = request.getfixturevalue("replay")
    options = ("--rate-scale", "0.0003", "--network", network)
    topology = tori.up_described(railyard, torus_name, tmp_path, TOPOLOGIES[kind], *options)
    return Bench(railyard=railyard, name=torus_name, topology=topology, folder=tmp_path, replay=replay)


@pytest.mark.parametrize(
    "bench", [(kind, network) for kind in TOPOLOGIES for network in NETWORKS], ids="-".join, indirect=True
)
def test_every_kind_of_fault_ends_in_its_verdict(bench: Bench, request: pytest.FixtureRequest) -> None:
    kind, network = request.node.callspec.params["bench"]
    link = bench.topology.first_rail[0]
    faults = {
        "lanes-lost": ([link.name, "--lanes-lost", "2"], f"{link.name}: 2 lane(s) lost"),
        "detour": ([link.name, "--down"], f"{link.name}: down"),
        "injection": ([bench.topology.nodes[0].name, "--injection", "40"], "injection at 40 %"),
    }
    for fault, (words, named) in faults.items():
        done = bench.fault(*words)
        assert done.returncode == 0, done.stderr
        assert any(named in text for text in bench.faults()), bench.faults()
        if fault == "detour":
            refuse_the_last_way(bench, link)
        for program in programs(kind, network, fault):
            check(program, fault, *bench.launch_soundly(program))
        assert bench.fault("--restore").returncode == 0 and bench.faults() == []


def refuse_the_last_way(bench: Bench, dead: Link) -> None:
    """Take the cables of a router down, one after the other: the last one is refused, and nothing changes."""
    others = [link for link in bench.topology.first_rail if link.source == dead.source and link != dead]
    for link in others:
        before, done = bench.faults(), bench.fault(link.name, "--down")
        if done.returncode:
            assert re.fullmatch(r"railyard: error: .*no route .*\n", done.stderr), done.stderr
            assert bench.faults() == before
            break
    else:
        raise AssertionError(f"{dead.source}: all of its cables are down, and none was refused")
    for other in others[: others.index(link)]:
        assert bench.fault(other.name, "--restore").returncode == 0


def check(program: str, fault: str, done: subprocess.CompletedProcess[str], evidence: dict[str, Any]) -> None:
    """Check how a launch ended: every program but topobw works on a slower network; topobw names the fault."""
    where = f"{program}, {fault}: {done.stdout[-2000:]}{done.stderr}"
    assert "Traceback" not in done.stderr, where
    guard = evidence["guard"]
    assert guard["verdict"] != "void" or guard["by_load"], where
    if program == "replay":
        assert (done.returncode, done.stdout) == (0, RECORDED.read_text()), where
    elif program == "topobw":
        expected = (5, True)  # a detour by another spine, too, with as many routers and the same rate
        assert (done.returncode, "topobw: " in done.stderr) == expected or guard["verdict"] == "void", where
    else:
        assert done.returncode == 0, where
