"""The virtual torus on the real kernel: what it reports is what was planned; nothing stays behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT, Run, environment, in_checkout, refused
from support.nobody import as_nobody, home_for_nobody, no_namespaces_for_nobody
from support.topology.topologies import gemini
from support.topology.tori import folder_kib, host_network, inside, running_count, status, up
from support.waiting import LIMIT_S, wait_until

from railyard.base.errors import InputError
from railyard.placements.topology import catalog
from railyard.torus.engines import netns, router
from railyard.torus.plan import plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle


@pytest.mark.parametrize(
    ("network", "options", "hosts"), [("router", [], 8 + 1), ("kernel", ["--network", "kernel"], 8 + 8 + 1)]
)
def test_up_list_status_down_leave_the_machine_as_it_was(
    *, railyard: Run, torus_name: str, network: str, options: list[str], hosts: int
) -> None:
    """The router is the default: one process, and no router is a namespace."""
    if network == "router" and router.missing():
        pytest.skip(router.missing())
    before = host_network()
    assert f"network {network}" in up(railyard, torus_name, "--rate-scale", "0.000125", *options)
    assert len(netns.namespaces(torus_name)) == hosts
    listed = json.loads(railyard("torus", "list", "--json").stdout)
    assert {"name": torus_name, "topology": "gemini-2x2x2", "state": "up", "nodes": 8, "rate_scale": 0.000125} in listed
    report = status(railyard, torus_name)
    assert report["sound"] and report["shapers"] == report["shapers_planned"] == 2 * 12 + 2 * 8
    assert (report["network"], report["namespaces"], report["processes"]) == (network, hosts, 0)
    assert report["latency_scaled"] or network == "kernel"
    assert host_network() == before
    folder = lifecycle.RUN / torus_name
    assert subprocess.check_output(["stat", "-f", "-c", "%T", folder], text=True).strip() == "tmpfs"
    assert railyard("torus", "down", torus_name).returncode == 0
    assert netns.namespaces(torus_name) == [] and not folder.exists()
    assert host_network() == before


def test_no_cables_two_ends_have_the_same_index_and_every_link_is_shaped_to_its_class_times_the_scale(
    small_kernel: str,
) -> None:
    """A cable with equal indices opens a second late, and the first launch loses packets in it."""
    for name in netns.namespaces(small_kernel):
        host = name.removeprefix(f"railyard.{small_kernel}.")
        for port in json.loads(inside(small_kernel, host, "ip", "-j", "link")):
            assert port["ifindex"] != port.get("link_index"), (host, port["ifname"])
    topo = catalog.load("gemini-2x2x2")
    for link in topo.links():
        queues = json.loads(inside(small_kernel, topo.router_name(link.source), "tc", "-j", "qdisc"))
        rates = {q["dev"]: 8 * q["options"]["rate"] for q in queues if q["kind"] == "tbf"}
        assert rates[link.port] == pytest.approx(link.rate_gbyte_s * 8e9 * 1e-3, rel=1e-6)


def test_hosts_have_their_own_name_and_find_each_other_by_name(railyard: Run, small: str) -> None:
    script = "hostname; ls /sys/class/net | tr '\\n' ' '; ping -c 1 -W 2 n1-1-1 >/dev/null && echo reached"
    done = railyard("torus", "exec", small, "n0-0-1", "--", "sh", "-c", script)
    assert done.stdout == "n0-0-1\nlo mgmt0 nic0 reached\n"


def test_two_tori_side_by_side_do_not_see_each_other(railyard: Run, small_kernel: str, torus_name: str) -> None:
    up(railyard, torus_name, "--rate-scale", "0.0005", "--network", "kernel")
    for name, rate in ((small_kernel, 85120000), (torus_name, 42560000)):
        queues = json.loads(inside(name, "n0-0-0", "tc", "-j", "qdisc"))
        assert [8 * q["options"]["rate"] for q in queues if q["kind"] == "tbf"] == [rate]


def test_up_is_idempotent_and_refuses_a_name_in_use(railyard: Run, small: str, tmp_path: Path) -> None:
    written = tmp_path / "torus.json"
    same = ["up", "gemini-2x2x2", "--name", small, "--rate-scale", "0.001"]
    again = railyard("torus", *same, "--status", str(written))
    assert again.returncode == 0 and "already up" in again.stdout
    assert written.read_text() == railyard("torus", "status", small, "--json").stdout
    automatic = railyard("torus", *same[:-2])
    assert "already up" in automatic.stdout, "whatever scale this machine would have now"
    other = railyard("torus", "up", "gemini-4x4x4", "--name", small)
    assert other.returncode == 2
    assert len(other.stderr.splitlines()) == 1 and small in other.stderr and "down" in other.stderr
    assert status(railyard, small)["sound"]


def test_mpirun_starts_each_rank_on_the_node_asked_for(railyard: Run, small: str, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("n1-1-0\nn0-0-0\nn0-1-1\n")
    where = ["-np", "3", "--map-by", "seq", "--hostfile", str(hosts), "--tag-output"]
    done = railyard("torus", "mpirun", small, *where, "--", "hostname")
    assert done.returncode == 0, done.stderr
    found = dict(re.findall(r"\[1,(\d)\]<stdout>:(\S+)", done.stdout))
    assert found == {"0": "n1-1-0", "1": "n0-0-0", "2": "n0-1-1"}


def test_the_data_of_ranks_take_little_memory(railyard: Run, small: str) -> None:
    """PMIx's own files are of 8 MiB for each node, in memory: on 343 nodes that is more than a small machine has."""
    assert 0 < folder_kib(railyard, small, "mpirun", "-np", "4") < 4096


def test_an_mpirun_that_a_link_leads_to_runs(small: str) -> None:
    """With /bin first on the PATH Open MPI took / for its prefix, and ended."""
    path = f"/bin:{os.environ['PATH']}"
    for words in (["mpirun", small], ["launch", small, "mpirun"]):
        done = in_checkout([str(BIN / "railyard"), "torus", *words, "-np", "2", "hostname"], PATH=path)
        assert done.returncode == 0 and len(done.stdout.split()) == 2, done.stderr


def test_a_stock_mpirun_line_runs_on_the_torus_and_passes_the_programs_exit_status_on(small: str) -> None:
    """What a third-party check or a Makefile does: no argument says torus."""
    path = f"{CHECKOUT}/railyard/torus/bin:{BIN}:{os.environ['PATH']}"
    everywhere = in_checkout(["mpirun", "-np", "8", "hostname"], RAILYARD_TORUS=small, PATH=path)
    assert sorted(everywhere.stdout.split()) == [n.name for n in catalog.load("gemini-2x2x2").nodes]
    failed = in_checkout(["mpirun", "-np", "2", "sh", "-c", "exit 7"], RAILYARD_TORUS=small, PATH=path)
    assert failed.returncode == 7


def test_no_rank_outlives_its_mpirun(railyard: Run, torus_name: str) -> None:
    up(railyard, torus_name)
    command = [str(BIN / "railyard"), "torus", "mpirun", torus_name, "-np", "4", "sleep", "987"]
    job = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: running_count("sleep 987") == 4, "all four ranks run")
    job.kill()
    wait_until(lambda: not running_count("sleep 987"), "no rank is left")
    assert job.wait(timeout=LIMIT_S) != 0


@pytest.mark.parametrize("after_s", [0.0, 0.2, 0.4])
def test_a_killed_up_leaves_only_what_down_all_removes(railyard: Run, torus_name: str, after_s: float) -> None:
    """SIGKILL at several moments; then the same name comes up whole, and goes."""
    command: list[str | Path] = [BIN / "railyard", "torus", "up", "gemini-4x4x4", "--name", torus_name]
    job = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (lifecycle.RUN / torus_name).exists() and job.poll() is None:
        time.sleep(0.001)
    time.sleep(after_s)
    job.kill()
    job.wait()
    if netns.namespaces(torus_name):
        assert torus_name in {t["name"] for t in json.loads(railyard("torus", "list", "--json").stdout)}
    up(railyard, torus_name, topology="gemini-4x4x4")
    assert status(railyard, torus_name)["sound"]
    assert railyard("torus", "down", torus_name).returncode == 0
    assert netns.namespaces(torus_name) == []


def test_a_namespace_without_its_file_is_found_by_down_all(torus_name: str) -> None:
    """As after a kill between two steps: the state is gone, a namespace is not."""
    subprocess.run(["ip", "netns", "add", f"railyard.{torus_name}.r0-0-0"], check=True)
    assert torus_name in lifecycle.names()
    lifecycle.down(torus_name)
    assert torus_name not in lifecycle.names()


def test_a_failed_up_removes_what_it_made(torus_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses a burst that the plan lets through; nothing stays."""
    monkeypatch.setattr(plan, "QUEUE_BYTES", -1)
    with pytest.raises(Exception, match="tc failed"):
        lifecycle.up(gemini("2x1x1"), name=torus_name, shape=Shape())
    assert netns.namespaces(torus_name) == [] and torus_name not in lifecycle.names()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["up", "gemini-9x9x9"], ["gemini-9x9x9", "gemini-4x4x4"]),
        (["up", "gemini-2x2x2", "--rate-scale", "1e-12"], ["--rate-scale", "1e-12", "from"]),
        (["up", "gemini-2x2x2", "--rate-scale", "50"], ["--rate-scale", "50", "from"]),
        (["up", "gemini-2x2x2", "--name", "No Such"], ["--name", "No Such", "lower case"]),
        (["up", "gemini-2x2x2", "--name", "lock"], ["--name", "lock", "not lock or launch"]),
        (["up", "gemini-2x2x2", "--name", "launch"], ["--name", "launch", "not lock or launch"]),
        (["up", "titan"], ["nodes: 19200", "at most 1023", "railyard sim"]),
        (["status", "nobody"], ["nobody"]),
        (["down", "nobody"], ["nobody"]),
        (["down"], ["--all"]),
        (["exec", "nobody", "n0-0-0", "true"], ["nobody"]),
    ],
)
def test_wrong_use_is_one_line_and_changes_nothing(railyard: Run, arguments: list[str], words: list[str]) -> None:
    refused(railyard("torus", *arguments), *words)
    assert not {"nobody", *arguments} & set(lifecycle.names())


def test_exec_names_the_hosts_there_are_and_srun_needs_slurm(railyard: Run, small: str) -> None:
    refused(railyard("torus", "exec", small, "n7-7-7", "true"), "n7-7-7", "n0-0-0")
    refused(railyard("torus", "srun", small, "hostname"), "--slurm")


def test_the_limits_of_the_rate_scale_are_the_kernels(torus_name: str) -> None:
    """Just inside both limits the kernel takes the rates as planned; just outside the plan refuses."""
    topo = gemini("2x1x1")
    with pytest.raises(InputError) as caught:
        plan.make(topo, Shape(rate_scale=1e9))
    low, high = map(float, re.findall(r"from (\S+) to ([^,]+),", str(caught.value))[0])
    for scale in (low * 1.05, high * 0.95):
        made, _ = lifecycle.up(topo, name=torus_name, shape=Shape(rate_scale=scale))
        queues = json.loads(inside(made.name, "n0-0-0", "tc", "-j", "qdisc"))
        rate = next(8 * q["options"]["rate"] for q in queues if q["kind"] == "tbf")
        assert rate == pytest.approx(topo.host_rate_gbyte_s * 8e9 * scale, rel=0.01)
        lifecycle.down(torus_name)
    for scale in (low * 0.9, high * 1.1):
        with pytest.raises(InputError):
            plan.make(topo, Shape(rate_scale=scale))


# An ordinary user. ----------------------------------------------------------------------------------------------------


@pytest.fixture
def home_of_nobody() -> Iterator[Path]:
    with home_for_nobody() as home:
        yield home


def test_an_ordinary_user_has_a_torus_too(home_of_nobody: Path) -> None:
    if reason := no_namespaces_for_nobody():
        pytest.skip(reason)
    made = as_nobody(home_of_nobody, "torus", "up", "gemini-2x2x2", "--name", "mine")
    assert made.returncode == 0, made.stderr
    assert netns.namespaces("mine") == []
    ran = as_nobody(home_of_nobody, "torus", "mpirun", "mine", "-np", "4", "hostname")
    assert sorted(ran.stdout.split()) == ["n0-0-0", "n0-0-1", "n0-1-0", "n0-1-1"], ran.stderr
    assert json.loads(as_nobody(home_of_nobody, "torus", "status", "mine", "--json").stdout)["sound"]
    assert as_nobody(home_of_nobody, "torus", "down", "mine").returncode == 0
    wait_until(lambda: not running_count("railyard-holder inf"), "the holder has ended")


def test_without_permission_for_namespaces_one_line_says_so(home_of_nobody: Path) -> None:
    """The kernel makes no user namespace for a process in a chroot."""
    chroot = ["unshare", "--mount", "sh", "-c", 'mount --rbind / /mnt && exec chroot /mnt "$@"', "sh"]
    done = as_nobody(home_of_nobody, "torus", "up", "gemini-2x2x2", within=chroot)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "no permission for namespaces" in done.stderr, done.stderr


def test_no_rank_looks_for_pci_devices_unless_the_caller_asks(
    railyard: Run, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a virtual machine that is a third of a launch's time, and none of them is a NIC of the torus."""
    monkeypatch.delenv("HWLOC_COMPONENTS", raising=False)
    asked = ("torus", "mpirun", small, "-np", "2", "printenv", "HWLOC_COMPONENTS")
    assert railyard(*asked).stdout.split() == ["-pci,-linuxio"] * 2
    assert railyard(*asked, HWLOC_COMPONENTS="linux,stop").stdout.split() == ["linux,stop"] * 2


@pytest.mark.skipif(shutil.which("mpiexec.mpich") is None, reason="no MPICH; Debian's package mpich has it")
def test_mpich_takes_the_toruss_nodes_where_no_option_names_hosts(railyard: Run, small: str) -> None:
    """Hydra would start all ranks on the head, which has no NIC."""
    for command in (("mpiexec", small), ("launch", small, "mpiexec.mpich")):
        everywhere = railyard("torus", *command, "-n", "8", "hostname")
        assert len(set(everywhere.stdout.split()) - {"head"}) == 8, everywhere.stdout
        named = railyard("torus", *command, "-hosts", "n1-1-1", "-n", "2", "hostname")
        assert named.stdout.split() == ["n1-1-1"] * 2
