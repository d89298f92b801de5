"""A virtual torus on several machines is that of one machine, and its verdicts include the wire."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT, HUNG_S, environment, executable
from support.mpis.installed import INSTALLED
from support.waiting import wait_until

from railyard.base.errors import InputError, RunError
from railyard.placements.topology import catalog
from railyard.torus.plan import parts
from railyard.torus.plan.parts import Machine, Parts
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import locks, machines, packet_budget

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")
MPIS = {mpi.name: mpi for mpi in INSTALLED}
HALO = ("--grid", "2x2x2", "--cells", "16", "--repeats", "3")
#: By half of this a first hop is longer than any wire of the test, also beside other tests.
SCALE = "0.00005"
ALONE = ["unshare", "--net", "--mount", "--uts", "sh", "-c"]
INSIDE = ["--net", "--mount", "--uts"]
#: What a machine does first: nothing of the real one's tori is seen, and it waits until it is ended.
OWN = "hostname {name} && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && echo ready && exec sleep inf"


@dataclasses.dataclass(frozen=True)
class Machines:
    """Machines that run, by name, and the options of `torus up` that use all of them, from the first."""

    folder: Path
    pids: dict[str, int]

    @property
    def options(self) -> list[str]:
        return ["--hosts", str(self.folder / "hosts"), "--reach", f"{self.folder}/reach {{host}}"]

    def command(self, machine: str, *words: str) -> list[str]:
        in_checkout = ["sh", "-c", 'cd "$0" && exec "$@"', str(CHECKOUT)]  # nsenter goes to the root of the mounts
        return ["nsenter", "-t", str(self.pids[machine]), *INSIDE, *in_checkout, *words]

    def run(self, machine: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the checkout on a machine."""
        command = self.command(machine, *words)
        return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=HUNG_S, check=False)

    def railyard(self, *words: str, on: str = "one") -> subprocess.CompletedProcess[str]:
        return self.run(on, str(BIN / "railyard"), *words)

    def left(self) -> list[str]:
        """Return the namespaces of tori that are left on any machine."""
        return [name for machine in self.pids for name in self.run(machine, "ls", "/run/netns").stdout.split()]


@contextlib.contextmanager
def several(names: Sequence[str], folder: Path) -> Iterator[Machines]:
    """Run machines that reach each other, the first at 10.99.0.1, with a file of them."""
    started = [subprocess.Popen([*ALONE, OWN.format(name=name)], stdout=subprocess.PIPE) for name in ("switch", *names)]
    try:
        for process in started:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        switch, *others = [process.pid for process in started]
        _ip(switch, "link add bridge type bridge", "link set bridge up")
        for number, pid in enumerate(others, start=1):
            wire = f"link add w{number} type veth peer name eth0 netns {pid}"
            _ip(switch, wire, f"link set w{number} master bridge up")
            _ip(pid, f"addr add 10.99.0.{number}/24 dev eth0", "link set lo up", "link set eth0 up")
        lines = [f"{name} 10.99.0.{number}\n" for number, name in enumerate(names, start=1)]
        (folder / "hosts").write_text("".join(lines))
        for name, pid in zip(names, others, strict=True):
            (folder / name).write_text(str(pid))
        script = f'#!/bin/sh\npid=$(cat "{folder}/$1"); shift\nexec nsenter -t "$pid" {" ".join(INSIDE)} "$@"\n'
        executable(folder / "reach", script)
        yield Machines(folder, dict(zip(names, others, strict=True)))
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _ip(pid: int, *lines: str) -> None:
    """Run lines of `ip -batch` in the network of a process."""
    batch = ["nsenter", "-t", str(pid), "--net", "ip", "-batch", "-"]
    subprocess.run(batch, input="\n".join(lines), text=True, check=True)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two machines with a torus. They know nothing of this one's launches, which wait until they are gone."""
    with locks.turn(), several(("one", "two"), tmp_path_factory.mktemp("machines")) as running:
        up = running.railyard("torus", "up", "gemini-2x2x2", "--name", "t", "--rate-scale", SCALE, *running.options)
        assert up.returncode == 0, up.stderr
        assert "on 2 machines: 4 cables between them" in up.stdout
        yield running


@as_root
def test_four_machines_carry_a_program_and_leave_nothing(tmp_path: Path) -> None:
    """It is the first test, because those of two machines keep the turn until the last of them."""
    ranks = ("torus", "mpirun", "t", "-np", "8", "build/benchmarks-openmpi/bin/halo", *HALO)
    with locks.turn(), several(("one", "two", "three", "four"), tmp_path) as four:
        up = four.railyard("torus", "up", "gemini-2x2x2", "--name", "t", "--rate-scale", SCALE, *four.options)
        assert up.returncode == 0 and "on 4 machines: 8 cables between them" in up.stdout, up.stderr
        launched = four.railyard(*ranks)
        assert launched.returncode == 0 and "every ghost cell verified" in launched.stdout, launched.stderr
        assert four.railyard("torus", "down", "t").returncode == 0
        assert four.left() == []


@as_root
@pytest.mark.parametrize("name", ["openmpi 4", "mpich 5"])
def test_programs_run_across_machines_and_every_byte_is_counted(two: Machines, tmp_path: Path, name: str) -> None:
    mpi = MPIS[name]
    if why := mpi.absent():
        pytest.skip(why)
    before = tmp_path / "before.json"
    before.write_text(two.railyard("torus", "counters", "t", "--json").stdout)
    evidence = tmp_path / "evidence.json"
    ranks = ("torus", "launch", "t", mpi.program, "-n", "8", str(mpi.halo), *HALO)
    launched = two.run("one", "env", f"RAILYARD_EVIDENCE={evidence}", str(BIN / "railyard"), *ranks)
    assert launched.returncode == 0 and "8 ranks on 8 hosts" in launched.stdout, launched.stderr
    counted = two.railyard("torus", "counters", "t", "--since", str(before), "--json")
    assert counted.returncode == 0, counted.stderr
    sent = {link["name"]: link["bytes"] for link in json.loads(counted.stdout)["links"]}
    faces = (3 + 3) * 2 * 16 * 16 * 8  # the first three iterations verify the data
    assert all(sent[name] >= faces / 2 for name in ("X+ 0,0,0>1,0,0", "X- 1,1,1>0,1,1"))
    wire = json.loads(evidence.read_text())["wire"]
    assert wire["cells"] >= 8 * faces / 2 / 2514 and wire["clock_error_us"] > 0


@as_root
def test_a_fault_on_a_cable_between_machines_is_known_to_both(two: Machines) -> None:
    assert two.railyard("torus", "fault", "t", "X- 1,0,0>0,0,0", "--lanes-lost", "1").returncode == 0
    for machine in two.pids:
        report = json.loads(two.railyard("torus", "status", "t", "--json", on=machine).stdout)
        assert report["sound"] and report["faults"] == ["X- 1,0,0>0,0,0: 1 lane(s) lost in 8 tile(s)"]
    assert two.railyard("torus", "fault", "t", "--restore").returncode == 0


@as_root
def test_auto_asks_the_machines(two: Machines) -> None:
    up = two.railyard("torus", "up", "gemini-2x2x2", "--name", "auto", *two.options)
    assert up.returncode == 0, up.stderr
    assert json.loads(two.railyard("torus", "status", "auto", "--json").stdout)["rate_scale"] <= 1e-4
    assert two.railyard("torus", "down", "auto").returncode == 0


@as_root
def test_a_program_on_a_node_of_another_machine_runs_there(two: Machines) -> None:
    assert two.railyard("torus", "exec", "t", "n1-1-1", "hostname").stdout == "n1-1-1\n"
    assert two.railyard("torus", "exec", "t", "n1-1-1", "false").returncode == 1


@as_root
def test_cells_that_come_late_make_a_launch_void(two: Machines) -> None:
    """The wire has less than a tenth of the rate that the cut cables use."""
    slow = ["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "400kbit", "burst", "3000", "limit", "4mb"]
    assert two.run("two", *slow).returncode == 0
    ranks = ("-np", "8", "build/benchmarks-openmpi/bin/halo", "--grid", "2x2x2", "--cells", "32", "--repeats", "3")
    launched = two.railyard("torus", "mpirun", "t", *ranks)
    assert two.run("two", "tc", "qdisc", "del", "dev", "eth0", "root").returncode == 0
    assert re.search(r"times (up to|may be) \d+(\.\d)? % too long", launched.stderr), launched.stderr
    assert "void" in launched.stderr


@as_root
def test_the_end_of_one_machines_router_ends_the_launch_with_its_name_and_down_removes_all(two: Machines) -> None:
    ranks = ("-np", "8", "build/benchmarks-openmpi/bin/halo", "--grid", "2x2x2", "--cells", "16", "--repeats", "100000")
    command = two.command("one", str(BIN / "railyard"), "torus", "mpirun", "t", *ranks)
    launch = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: "halo" in two.run("two", "sh", "-c", "cat /proc/[0-9]*/comm").stdout, "ranks run")
    process = "od -An -tu8 -j16 -N8 /run/railyard/t/router.counters"  # railyard/torus/native/router/counters.h
    assert two.run("two", "sh", "-c", f"kill -9 $({process})").returncode == 0
    _, complaint = launch.communicate()
    assert launch.returncode != 0 and "cannot hear the router of two" in complaint, complaint
    assert two.railyard("torus", "down", "t").returncode == 0
    assert two.left() == []


@pytest.mark.unit
@pytest.mark.parametrize(
    ("topology", "count", "most", "links"),
    [
        ("gemini-4x4x4", 4, 16, 128),
        ("gemini-3x3x3", 2, 14, 52),
        ("gemini-7x7x7", 8, 86, 616),
        ("dragonfly-72", 2, 36, 40),
        ("fat-tree-54", 3, 18, 36),
    ],
)
def test_machines_have_equal_parts_that_cut_few_cables(topology: str, count: int, most: int, links: int) -> None:
    """`links` are those between slabs and blocks of a torus, groups of a dragonfly, and levels of a tree."""
    topo = catalog.load(topology)
    machine_of = parts.divide(topo, count)
    nodes = Counter(machine_of[node.name] for node in topo.nodes)
    assert set(nodes) == set(range(count)) and max(nodes.values()) <= most
    assert set(machine_of) == {*(n.name for n in topo.nodes), *map(topo.router_name, topo.routers)}
    assert len(parts.cut(topo, machine_of)) <= links


@pytest.mark.unit
@pytest.mark.parametrize(
    ("topology", "count", "field"),
    [("gemini-2x2x2", 1, "machines"), ("gemini-2x2x2", 9, "machines"), ("dragonfly-72+ugal-global", 2, "routes")],
)
def test_what_cannot_be_divided_is_refused(topology: str, count: int, field: str) -> None:
    with pytest.raises(InputError, match=field):
        parts.check(catalog.load(topology), count)


@pytest.mark.unit
def test_a_router_without_the_key_is_not_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "CONNECT_S", 2.0)
    both = (Machine(name="one", address="127.0.0.1"), Machine(name="two", address="127.0.0.1"))
    here = Parts(machines=both, own=0, head=0, reach=("false",))
    with machines.listening(here, b"key") as listener:
        ports = {0: listener.address[1]}
        stranger = threading.Thread(target=_connect, args=(dataclasses.replace(here, own=1), ports))
        stranger.start()
        with pytest.raises(RunError, match="cannot be connected"), machines.connected(here, listener, b"key", ports):
            pass
        stranger.join()


def _connect(here: Parts, ports: dict[int, int]) -> None:
    with (
        machines.listening(here, b"other") as listener,
        pytest.raises(RunError),
        machines.connected(here, listener, b"other", ports),
    ):
        pass


@pytest.mark.unit
@pytest.mark.parametrize(("wire_s", "scale"), [(1e-5, 1e-4), (5e-4, 5e-5)])
def test_auto_is_what_the_slowest_machine_carries_of_an_equal_part_and_the_wire(
    monkeypatch: pytest.MonkeyPatch, wire_s: float, scale: float
) -> None:
    both = Parts(machines=(Machine(name="one", address="127.0.0.1"),) * 2, own=0, head=0, reach=("false",))
    assert 0 < machines.wire_s(both) < machines.WIRE_LIMIT_S
    monkeypatch.setattr(machines, "wire_s", lambda _: wire_s)
    monkeypatch.setattr(machines, "on_others", lambda *_: ["4e6\n"])
    monkeypatch.setattr(packet_budget, "cached_packets_s", lambda _: 9e6)
    topo = catalog.load("gemini-4x4x4")
    assert packet_budget.auto_scale(topo, Shape(), ranks_per_node=1, parts=both) == pytest.approx(scale)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "wrong"), [("one 127.0.0.1\ntwo nowhere.invalid\n", "line 2"), ("one 10.255.255.1\n", "addresses")]
)
def test_a_file_of_machines_is_refused_by_its_line(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "hosts").write_text(text)
    with pytest.raises(InputError, match=wrong):
        machines.parts_here(machines.read(tmp_path / "hosts"), machines.SSH)


@pytest.mark.unit
def test_words_for_a_remote_shell_are_one_text_and_for_srun_they_are_words() -> None:
    both = (Machine(name="one", address="10.0.0.1"), Machine(name="two", address="10.0.0.2"))
    here = Parts(machines=both, own=0, head=0, reach=machines.SSH)
    assert machines.command(here, both[1], ["sh", "-c", "echo a b"])[-2:] == ["two", "sh -c 'echo a b'"]
    by_slurm = dataclasses.replace(here, reach=machines.SRUN)
    assert machines.command(by_slurm, both[1], ["sh", "-c", "echo a b"])[-4:] == ["--quiet", "sh", "-c", "echo a b"]
