"""Counters on a real virtual torus: sonar's bytes, and the ports of every router through the library, live."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.benchmark_runs import BIN, document
from support.commands import Run

from railyard.placements.topology.catalog import load
from railyard.torus.virtual import fidelity
from railyard.torus.virtual.counters import PROGRAM


@pytest.fixture
def router_trees(small_kernel: str, tmp_path: Path) -> Iterator[Path]:
    """A folder for each router, on which root has mounted that router's sysfs."""
    topology = load("gemini-2x2x2")
    mounted = []
    for router in topology.routers:
        name = topology.router_name(router)
        folder = tmp_path / "tree" / name
        folder.mkdir(parents=True)
        enter = ["nsenter", f"--net=/run/netns/railyard.{small_kernel}.{name}"]
        subprocess.run([*enter, "mount", "-t", "sysfs", "sysfs", folder], check=True)
        mounted.append(folder)
    yield tmp_path / "tree"
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


def test_routers_ports_are_counted_live(railyard: Run, small_kernel: str, router_trees: Path, tmp_path: Path) -> None:
    coordinates = f"/run/railyard/{small_kernel}/coordinates"
    variables = {
        "RAILYARD_COUNTERS_GROUP": "torus-links",
        "RAILYARD_COUNTERS_ROOT": str(router_trees),
        "RAILYARD_COUNTERS_COORDINATES": coordinates,
        "RAILYARD_COUNTERS_JSON": f"{tmp_path}/counted.json",
    }
    exported = [word for name in variables for word in ("-x", name)]
    load_options = ["--size", "64KiB", "--messages", "2", "--repeats", "1", "--tolerance", "99"]
    options = ["--coordinates", coordinates, *load_options, "--counters", f"{tmp_path}/counted"]
    program = str(BIN / "topobw")
    done = railyard("torus", "mpirun", small_kernel, "-q", "-np", "8", *exported, program, *options, **variables)
    assert done.returncode == 0, done.stderr
    leaders = json.loads((tmp_path / "counted.json").read_text())["leaders"]
    assert len(leaders) == 8 and all(len(leader["links"]) == 4 for leader in leaders)
    links = [link for leader in leaders for link in leader["links"] if link["link"] != "H0"]
    assert all(link["counters"]["RX_BYTES"] > 128 * 1024 for link in links), "each carried its test"
    assert all(link["counters"]["RX_BYTES"] < 2 * 128 * 1024 for link in links)
    assert "# 8 leaders, 32 links" in (tmp_path / "counted").read_text()


def test_sonar_sees_payload_headers_and_acknowledgements(railyard: Run, small_kernel: str, tmp_path: Path) -> None:
    path = tmp_path / "sonar.json"
    options = ["--pings", "send,put,get", "--sizes", "64KiB", "--payloads", "random", "--repeats", "2"]
    where = ["-np", "2", "--host", "n0-0-0,n1-1-1"]
    done = railyard("torus", "mpirun", small_kernel, "-q", *where, str(BIN / "sonar"), *options, "--json", str(path))
    assert done.returncode == 0, done.stderr
    seen = {(s["labels"]["ping"], s["fom"]): min(s["samples"]) for s in document(path)["series"]}
    packets = 64 * 1024 / (2500 - 52)
    for kind in ("send", "put", "get"):
        assert 64 * 1024 < seen[kind, "source_sent_bytes"] < 1.1 * 64 * 1024
        assert seen[kind, "source_sent_packets_count"] >= packets
        assert 85 < seen[kind, "efficiency_percent"] < 100 * 2448 / 2514


@pytest.mark.parametrize(
    "program",
    [
        "halo --dimensions 3 --cells 8",
        "pt2pt --units ranks --sizes 8KiB",
        "rowcol --sizes 1KiB --collectives allgather --splits all",
    ],
    ids=lambda words: words.split()[0],
)
def test_the_watcher_sees_when_a_benchmark_takes_its_timed_samples(railyard: Run, small: str, program: str) -> None:
    """Neither the start of the ranks nor their check of the data is a sample; all ranks begin and end together."""
    enough = ["--warmup-time", "0.3", "--min-time-per-point", "0.5", "--max-time-per-point", "1"]
    name, *options = program.split()
    watcher = subprocess.Popen([PROGRAM, small, "20"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        done = railyard("torus", "mpirun", small, "-q", "-np", "8", BIN / name, *options, *enough)
    finally:
        said, _ = watcher.communicate()
    assert done.returncode == 0, done.stderr
    watched = fidelity.intervals(said.splitlines())
    timed = [interval.timed for interval in watched if interval.rank_s]
    assert max(timed) == 8
    assert min(timed) == 0, "the start of the ranks and their warm-up are no samples"
    assert "\nb " in said
