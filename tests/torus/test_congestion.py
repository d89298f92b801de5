"""A victim beside a congestor on a torus: what a shared link costs, what one that is not shared costs, and lost loads.

The ring has one node a router, so that the model of the links says exactly which are shared.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.commands import BIN, CHECKOUT, HUNG_S, Run, environment
from support.topology.tori import up
from support.waiting import wait_until

#: Eight routers in a ring, as the X dimension of a Gemini torus.
RING = """\
name: ring-8
nodes_per_router: 1
rails: 1
tile_rates_gbyte_s: {cable: 1.0, host: 1.33}
dimensions:
  X: {extent: 8, tiles: 1, pattern: [cable]}
  Y: {extent: 1, tiles: 1, pattern: [cable]}
  Z: {extent: 1, tiles: 1, pattern: [cable]}
host: {tiles: 8}
hop_latency_us: 0.1
"""
#: The victim sends from 0 to 2, over the links 0>1 and 1>2.
VICTIM = ("n0-0-0", "n2-0-0")
#: An incast's first rank receives: 1 to 3 shares the link 1>2 with the victim, 4 to 6 shares none.
SHARES = ("n3-0-0", "n1-0-0")
APART = ("n6-0-0", "n4-0-0")


@pytest.fixture(scope="module")
def ring(railyard: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("ring") / "ring-8.yml"
    path.write_text(RING)
    name = f"t{os.getpid()}-ring"
    up(railyard, name, "--rate-scale", "0.0004", topology=str(path))
    yield name
    railyard("torus", "down", name)


PROGRAMS = [CHECKOUT / "railyard/torus/bin", BIN, CHECKOUT / "build/benchmarks-openmpi/bin"]


def on(ring: str, **changes: str) -> dict[str, str]:
    """Return the environment of a job on the torus."""
    path = ":".join([*map(str, PROGRAMS), os.environ["PATH"]])
    return {**environment(RAILYARD_TORUS=ring, **changes), "PATH": path}


def mpirun(stem: str, hosts: Sequence[str], *program: str) -> str:
    Path(f"{stem}.hosts").write_text("".join(f"{host}\n" for host in hosts))
    placed = ["-np", str(len(hosts)), "--map-by", "seq", "--hostfile", f"{stem}.hosts", "--bind-to", "none"]
    return shlex.join(["mpirun", *placed, *program])


def victim(launch: str, repeats: int) -> str:
    bulk = ["--tests", "bandwidth", "--sizes", "32KiB", "--window", "4", "--windows", "1"]
    timing = ["--repeats", str(repeats), "--warmups", "1", "--warmup-time", "0", "--min-time-per-point", "0"]
    timing += ["--max-time-per-point", "0", "--json", f"{launch}.json"]
    return mpirun("victim", VICTIM, "pt2pt", "--pattern", "fan-out", *bulk, *timing)


def congestor(launch: str, name: str, hosts: Sequence[str], pattern: str = "incast") -> str:
    own = f"{launch}.{name}"
    files = ["--ready", f"{own}.ready", "--stop", f"{launch}.stop", "--json", f"{own}.json"]
    command = mpirun(own, hosts, "congestor", "--pattern", pattern, "--size", "32KiB", "--window", "4", *files)
    return f"--congestor={name}={command}"


def started(ring: str, launch: str, victim: str, *companions: str) -> subprocess.Popen[str]:
    words = [f"{BIN}/railyard", "launch-roles", launch, *companions, "--", *shlex.split(victim)]
    return into_a_file(ring, launch, words)


def into_a_file(ring: str, launch: str, words: Sequence[str]) -> subprocess.Popen[str]:
    """Start a launch whose output is a file: one that other work on this machine made void is repeated."""
    told = on(ring, RAILYARD_EVIDENCE=f"{launch}.evidence")
    with Path(f"{launch}.out").open("w") as out:
        return subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE, text=True, env=told)


def rate(ring: str, launch: str, congestor_hosts: Sequence[str] = ()) -> float:
    """Return the victim's bandwidth in bytes a second, alone or beside a congestor."""
    line = victim(launch, 8)
    if congestor_hosts:
        process = started(ring, launch, line, congestor(launch, "incast", congestor_hosts))
    else:
        process = into_a_file(ring, launch, shlex.split(line))
    _, err = process.communicate(timeout=HUNG_S)
    assert process.returncode == 0, err
    series = json.loads(Path(f"{launch}.json").read_text())["series"]
    (samples,) = (each["samples"] for each in series if each["fom"] == "aggregate_bandwidth_gbyte_s")
    return float(statistics.median(samples)) * 1e9


def sent(launch: str, hosts: Sequence[str]) -> int:
    said: dict[str, Any] = json.loads(Path(f"{launch}.roles").read_text())
    return sum(nic["tx_bytes"] for nic in said["nics"] if nic["node"] in hosts)


def test_a_shared_link_costs_what_the_model_says_and_another_link_costs_nothing(
    ring: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model: a full link is shared as the bytes in flight are; the victim has 4 x 32 KiB, and so has the load.

    The bounds are wide because other programs use this machine.
    """
    monkeypatch.chdir(tmp_path)
    alone, shared, apart = rate(ring, "alone"), rate(ring, "shared", SHARES), rate(ring, "apart", APART)
    print(f"alone {alone:.0f} B/s; factor {alone / shared:.3f} on a shared link, {alone / apart:.3f} on another")
    assert alone / shared == pytest.approx(2.0, rel=0.2)
    assert alone / apart == pytest.approx(1.0, abs=0.2)
    for launch, hosts in (("shared", SHARES), ("apart", APART)):
        assert sent(launch, hosts) > 10 * (32 << 10)
        assert not list(Path().glob(f"{launch}.incast.err")) or not Path(f"{launch}.incast.err").read_text()


def test_a_killed_congestor_voids_the_launch_and_nobody_stays(
    ring: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [congestor("lost", "one", SHARES), congestor("lost", "two", APART, "alltoall")]
    process = started(ring, "lost", victim("lost", 100_000), *lines)
    wait_until(lambda: len(ranks(tmp_path, "pt2pt")) == 2, "the victim to run")
    os.kill(ranks(tmp_path, "congestor")[0], signal.SIGKILL)
    _, err = process.communicate(timeout=HUNG_S)
    assert process.returncode == 75, err
    (line,) = [line for line in err.splitlines() if line.startswith("railyard: void: ")]
    assert "congestor one ended with status" in line or "congestor two ended with status" in line
    assert "while the victim ran" in line
    wait_until(lambda: not ranks(tmp_path, ""), "every rank to end")


def ranks(folder: Path, program: str) -> list[int]:
    """Return the ranks of a program that work in a folder, or of all."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            here = (path / "cwd").resolve() == folder
        except OSError:
            continue
        if here and words[0] in ({program.encode()} if program else {b"pt2pt", b"congestor"}):
            found.append(int(path.name))
    return found
