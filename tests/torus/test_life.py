"""Life and death of a torus: whatever is killed at whatever moment, status is truthful and `down` removes all of it.

Every kill is real. What could harm the machine if it went wrong runs in a machine of its own: network, process numbers
and /run of a sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT, HUNG_S, Run, command_lines, environment, in_checkout, without_waits
from support.nobody import as_nobody, home_for_nobody, no_namespaces_for_nobody
from support.topology import tori
from support.topology.topologies import gemini
from support.waiting import wait_until

from railyard.base.errors import InputError
from railyard.placements.topology import catalog
from railyard.torus.engines import netns
from railyard.torus.plan import plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import kernel_limits, lifecycle, locks, packet_budget, rootless, status

#: How often a test tries again when the command ended before the kill could meet it.
TRIES = 6


def sandbox(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script as the first process of a machine of its own, with an empty /run.

    Its kernel is the real one. Of the setting that `up` changes it has a copy, which is on.
    """
    setting = f"! test -e {kernel_limits.AUTOGROUP} || mount --bind /run/setting {kernel_limits.AUTOGROUP}"
    own_run = "mount -t tmpfs tmpfs /run && mkdir -p /run/netns /run/railyard && echo 1 >/run/setting"
    prepared = f"{own_run}\n{setting}\n{script}"
    alone = ["unshare", "--net", "--pid", "--fork", "--mount", "--mount-proc", "bash", "-c", prepared]
    return in_checkout(alone)


def started(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    words, pipe = [f"{BIN}/railyard", "torus", *arguments], subprocess.PIPE
    return subprocess.Popen(words, env=environment(**variables), stdout=pipe, stderr=pipe, text=True)


def state(railyard: Run, name: str) -> str:
    """What `torus list` calls a torus; empty for one that is not there."""
    listed = json.loads(railyard("torus", "list", "--json").stdout)
    return next((torus["state"] for torus in listed if torus["name"] == name), "")


def own_words(errors: str) -> list[str]:
    return without_waits(errors).splitlines()


def test_down_ends_nobody_outside_when_a_name_leads_to_the_machines_own_network() -> None:
    """A container's process number that was used again makes such a name."""
    done = sandbox(
        "sleep 300 & touch /run/netns/railyard.x.n0-0-0\n"
        "mount --bind /proc/1/ns/net /run/netns/railyard.x.n0-0-0\n"
        "railyard torus down x && kill -0 $! && test ! -e /run/netns/railyard.x.n0-0-0 && echo survived"
    )
    assert done.stdout.splitlines()[-1:] == ["survived"], done.stdout + done.stderr


def test_a_container_whose_number_was_used_again_configures_nothing_on_the_machine() -> None:
    """A node's first process that is in the machine's own network: `up` refuses before it sets anything there."""
    program = (
        "import os\n"
        "from railyard.placements.topology import catalog\n"
        "from railyard.torus.engines import netns\n"
        "from railyard.torus.plan import plan\n"
        "netns.create('x', plan.make(catalog.load('gemini-2x2x2'), plan.Shape()), lambda _: None, "
        "{'n0-0-0': os.getpid()})\n"
    )
    done = sandbox(
        f'ip link add mgmt0 type dummy; {sys.executable} -c "{program}"; ip -o addr show up; '
        "cat /proc/sys/net/ipv6/conf/all/disable_ipv6"
    )
    assert "ended while the torus was made" in done.stderr, done.stderr
    assert done.stdout.split() == ["0"], done.stdout


def test_down_from_within_a_torus_is_one_line(railyard: Run, small: str) -> None:
    done = railyard("torus", "exec", small, "n0-0-0", "--", str(BIN / "railyard"), "torus", "down", small)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "inside the torus" in done.stderr
    assert tori.status(railyard, small)["sound"]


#: What may be in torus.json.
DAMAGES: dict[str, Callable[[str], str]] = {
    "unknown-field": lambda text: text.replace('"topology": {', '"topology": {"of_a_later_version": 1, '),
    "half": lambda text: text[: len(text) // 2],
    "list": lambda text: "[]",
    "not-utf-8": lambda text: "\udcff",
}


def test_tori_of_other_versions_block_nothing(railyard: Run, torus_name: str) -> None:
    """All of them at once: each counts as incomplete, another torus comes and goes, and each can be taken down."""
    damaged = {f"{torus_name}-{name}": damage for name, damage in DAMAGES.items()}
    with contextlib.ExitStack() as stack:
        for name, damage in damaged.items():
            stack.callback(railyard, "torus", "down", name)
            tori.up(railyard, name)
            path = lifecycle.RUN / name / "torus.json"
            path.write_text(damage(path.read_text()), errors="surrogateescape")
        listed = json.loads(railyard("torus", "list", "--json").stdout)
        assert {torus["state"] for torus in listed if torus["name"] in damaged} == {"incomplete"}
        tori.up(railyard, torus_name)
        assert railyard("torus", "down", torus_name).returncode == 0
        for name in damaged:
            gone = railyard("torus", "down", name)
            assert gone.returncode == 0 and own_words(gone.stderr) == [], gone.stderr
            assert netns.namespaces(name) == [] and not (lifecycle.RUN / name / "torus.json").exists()


def test_an_up_whose_worker_is_killed_ends_in_one_line_and_leaves_nothing(railyard: Run, torus_name: str) -> None:
    """As the kernel does when memory runs out."""
    for _ in range(TRIES):
        up = started("up", "gemini-4x4x4", "--name", torus_name)
        wait_until(lambda up=up: _workers(up.pid) or up.poll() is not None, "up has workers")  # type: ignore[misc]
        for worker in _workers(up.pid)[:1]:
            os.kill(worker, signal.SIGKILL)
        _, errors = up.communicate(timeout=HUNG_S)
        if "a worker process was killed" in errors:
            break  # else the kill met a child on its way to another program, or nobody
        railyard("torus", "down", torus_name)
    said = own_words(errors)
    assert up.returncode == 1 and len(said) == 1 and "a worker process was killed" in said[0], errors
    assert state(railyard, torus_name) == "" and netns.namespaces(torus_name) == []


def _workers(pid: int) -> list[int]:
    """The children of a process that run its own program."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        numbers = [int(word) for word in children.read_text().split()]
    except OSError:
        return []
    return [child for child in numbers if locks.command_of(child) == locks.command_of(pid)]


def test_a_killed_down_leaves_a_torus_that_up_makes_whole(railyard: Run, torus_name: str) -> None:
    for _ in range(TRIES):
        tori.up(railyard, torus_name, topology="gemini-4x4x4")
        whole = len(netns.namespaces(torus_name))
        down = started("down", torus_name)
        wait_until(lambda: len(netns.namespaces(torus_name)) < whole, "a namespace is gone", pause_s=0)  # noqa: B023
        down.kill()
        down.wait()
        if state(railyard, torus_name):
            break
    assert state(railyard, torus_name) == "incomplete"
    again = railyard("torus", "up", "gemini-4x4x4", "--name", torus_name)
    assert again.returncode == 0 and "already up" not in again.stdout, again.stderr
    assert tori.status(railyard, torus_name)["sound"]


def test_up_of_a_torus_that_lost_a_node_does_not_say_already_up(railyard: Run, torus_name: str) -> None:
    tori.up(railyard, torus_name)
    subprocess.run(["ip", "netns", "del", netns.full_name(torus_name, "n0-0-1")], check=True)
    again = railyard("torus", "up", "gemini-2x2x2", "--name", torus_name)
    assert again.returncode == 1 and again.stderr.count("\n") == 1, again.stderr
    assert "n0-0-1 is missing" in again.stderr and f"railyard torus down {torus_name}" in again.stderr


@pytest.mark.parametrize(
    "script",
    [
        "railyard torus up gemini-2x2x2 --name a && railyard torus up gemini-2x2x2 --name b\nrailyard torus down a",
        "railyard torus up gemini-2x2x2 --name b & "
        "while kill -0 $! && ! grep -q 0 /run/setting; do :; done; kill -9 $!",
        # What an `up` leaves that is killed before it writes the setting.
        f"mkdir /run/railyard/b && touch /run/railyard/{kernel_limits.GROUPS_WERE_ON}\n"
        "railyard torus up gemini-2x2x2 --name b",
    ],
    ids=["another torus is down", "up was killed", "an earlier up was killed"],
)
def test_sessions_are_no_groups_of_the_scheduler_while_a_torus_is_up(script: str) -> None:
    if not kernel_limits.may_starve(platform.release()):
        pytest.skip(f"Linux {platform.release()} has no scheduler that lets one group starve the others")
    if not kernel_limits.AUTOGROUP.exists():
        pytest.skip("this kernel has no autogroups (CONFIG_SCHED_AUTOGROUP)")
    done = sandbox(f"{script}\ncat /run/setting && railyard torus down b >&2 && cat /run/setting")
    assert done.stdout.split()[-2:] == ["0", "1"], done.stdout + done.stderr


def test_the_scheduler_that_starves_groups_is_known_by_its_release() -> None:
    releases = ("6.8.0-51-generic", "6.12.48+deb13-amd64", "6.18.44", "7.0.1", "7.1.0-rc1")
    assert list(map(kernel_limits.may_starve, releases)) == [False, True, True, True, False]


def test_the_next_up_removes_the_torus_of_a_job_that_was_killed_and_leaves_that_of_one_that_lives(
    railyard: Run, torus_name: str
) -> None:
    up = "railyard torus up gemini-2x2x2 --name job$$ && echo $$ &&"
    script = f"{up} read wait; railyard torus down job$$"
    job = subprocess.Popen(
        ["sh", "-c", script], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert job.stdout is not None
    mine = f"job{next(line.strip() for line in job.stdout if line.strip().isdigit())}"
    killed = subprocess.run(["sh", "-c", f"{up} kill -9 $$"], env=environment(), capture_output=True, text=True)
    orphan = f"job{killed.stdout.split()[-1]}"
    tori.up(railyard, torus_name)  # or that of a test beside this one
    assert state(railyard, orphan) == "" and netns.namespaces(orphan) == []
    assert state(railyard, mine) == "up"
    job.communicate("\n", timeout=HUNG_S)
    assert state(railyard, mine) == ""


def test_the_torus_of_a_job_becomes_slower_by_steps_and_keeps_its_faults(tmp_path: Path) -> None:
    script = """
        trap 'railyard torus down job$$' EXIT
        railyard torus up gemini-2x2x2 --name job$$ --rate-scale 0.00003
        railyard torus fault job$$ 'Z+ 0,0,0>0,0,1' --lanes-lost 1
        echo 0.00003 > rate-scale  # the check named it
        railyard torus up --slower --name job$$ && exit 1
        rm rate-scale
        for n in 1 2 3; do railyard torus up --slower --name job$$ --status $n.json; done
    """
    subprocess.run(["sh", "-c", script], env=environment(), cwd=tmp_path, check=False)
    described = [json.loads((tmp_path / f"{n}.json").read_text()) for n in (1, 2)]
    assert [(one["rate_scale"], one["slowed_from"]) for one in described] == [(2e-5, 3e-5), (1e-5, 3e-5)]
    assert all(len(one["faults"]) == 1 for one in described)
    assert not (tmp_path / "3.json").exists()


@pytest.mark.parametrize(("network", "counts"), [("router", [0, 1]), ("kernel", [0, 1, 2, 3])])
def test_a_killed_fault_is_reported_and_the_same_command_finishes_it(
    *, railyard: Run, torus_name: str, tmp_path: Path, network: str, counts: list[int]
) -> None:
    """SIGKILL after torus.json is written, and after each further step of the change."""
    tori.up_described(railyard, torus_name, tmp_path, gemini("4x2x1").to_dict(), "--network", network)
    wanted = (torus_name, "X+ 0,0,0>1,0,0", "--down")
    for count in counts:
        killed = subprocess.run(
            [sys.executable, "-c", KILLED_FAULT, str(count), *wanted], env=environment(), check=False
        )
        assert killed.returncode == -signal.SIGKILL
        report = railyard("torus", "status", torus_name, "--json")
        assert report.returncode == 1 and json.loads(report.stdout)["faults"] == []
        assert "was interrupted (to: X+ 0,0,0>1,0,0: down" in report.stderr, report.stderr
        again = railyard("torus", "fault", *wanted)
        assert again.returncode == 0, again.stderr
        assert tori.status(railyard, torus_name)["sound"]
        assert railyard("torus", "fault", torus_name, "--restore").returncode == 0
        assert tori.status(railyard, torus_name)["sound"]


#: `railyard torus fault` whose process is killed before its step number sys.argv[1]: a step of the kernel's change, the
#: router's new description, or the signal by which the router reads it.
KILLED_FAULT = """
import os, signal, sys
from railyard.torus.engines import netns, router
left = int(sys.argv.pop(1))
kill = os.kill
def counted(step):
    def run(*arguments):
        global left
        if not left:
            kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return step(*arguments)
    return run
netns.batches = counted(netns.batches)
router.replace_file = counted(router.replace_file)
os.kill = counted(os.kill)
sys.argv = ["railyard", "torus", "fault", *sys.argv[1:]]
from railyard.cli import main
main()
"""


@pytest.mark.parametrize(
    "case",
    [
        ("kernel", "r0-0-0", "ip link set h0 down", "h0 is down"),
        ("kernel", "r0-0-0", "sysctl -q net.ipv4.ip_forward=0", "net/ipv4/ip_forward is 0"),
        ("router", "n0-0-0", "ip link set nic0 down", "route to 10.0.0.0/10 none, planned by nic0"),
    ],
)
def test_status_compares_ports_routes_and_settings(
    railyard: Run, torus_name: str, case: tuple[str, str, str, str]
) -> None:
    network, host, damage, words = case
    tori.up(railyard, torus_name, "--network", network)
    tori.inside(torus_name, host, *damage.split())
    report = railyard("torus", "status", torus_name)
    assert report.returncode == 1 and words in report.stderr, report.stderr


UP = "railyard torus up gemini-2x2x2 --name x"


def test_a_kernel_that_lacks_a_setting_has_a_torus_and_status_names_it(
    torus_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one without IPv6, or Linux before 4.20."""
    monkeypatch.setattr(plan, "NODE_SYSCTLS", (*plan.NODE_SYSCTLS, ("net/ipv7/conf/all/disable", "1")))
    made, _ = lifecycle.up(gemini("2x1x1"), name=torus_name, shape=Shape())
    report = status.inspect(made)
    assert report.sound and report.absent == ("net/ipv7/conf/all/disable",)


@pytest.mark.parametrize(
    ("preparation", "words"),
    [
        ("mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys", "mount /proc/sys writable"),
        (f"mkdir /run/path; ln -s {BIN}/railyard /run/path/; PATH=/run/path", "Debian's package iproute2"),
    ],
    ids=["settings-read-only", "no-ip"],
)
def test_what_this_machine_cannot_do_is_one_line(preparation: str, words: str) -> None:
    done = sandbox(f"{preparation}; {UP}")
    said = [line for line in done.stderr.splitlines() if "waiting for another launch" not in line]
    assert done.returncode == 1 and len(said) == 1 and words in said[0], done.stderr


def test_counters_open_more_hosts_than_the_soft_limit_allows(small: str) -> None:
    script = f"ulimit -Sn 12; exec {CHECKOUT}/build/bin/railyard-counters {small}"
    done = in_checkout(["sh", "-c", script])
    assert done.returncode == 0, done.stderr


def test_a_guard_that_cannot_count_says_so_before_the_launch(railyard: Run, small: str) -> None:
    """With a hard limit of open files below the number of hosts."""
    script = f"ulimit -n 16; exec railyard torus mpirun {small} -np 1 echo launched"
    done = in_checkout(["bash", "-c", script])
    assert done.returncode == 1 and "Too many open files" in done.stderr and "launched" not in done.stdout


def test_a_launch_whose_counters_are_killed_says_so(railyard: Run, small: str) -> None:
    killer = f"pkill -KILL -f '[r]ailyard-counters {small}'"
    done = railyard("torus", "mpirun", small, "-np", "1", "sh", "-c", killer)
    assert done.returncode != 0 and "railyard-counters ended early, by SIGKILL" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_machine_too_busy_to_be_measured_gets_no_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(packet_budget, "READY_S", 0.1)
    monkeypatch.setattr(packet_budget, "_receive", lambda *_: time.sleep(600))  # it never gets so far
    assert packet_budget.advice(catalog.load("gemini-4x4x4"), Shape(rate_scale=10.0)) == ""
    assert f"budget{os.getpid()}" not in netns.tori()  # another process may measure meanwhile


def test_a_process_whose_name_is_no_text_stops_nothing() -> None:
    named = subprocess.Popen(["bash", "-c", "exec -a $'\\xff\\xfe' sleep 300"])
    try:
        wait_until(lambda: b"\xff" in Path(f"/proc/{named.pid}/cmdline").read_bytes(), "the process has its name")
        assert rootless._holder() is None
    finally:
        named.kill()
        named.wait()


def test_a_topology_that_is_too_large_is_refused_before_its_nodes_are_made() -> None:
    large = gemini("64x64x32", nodes_per_router=7)
    with pytest.raises(InputError, match="917504"):
        plan.check_size(large)
    assert "nodes" not in vars(large) and "coordinates" not in vars(large)


def test_up_and_down_wait_for_a_launch_of_anybody_and_down_ends_its_own_at_once(railyard: Run, torus_name: str) -> None:
    with locks.turn():
        up = started("up", "gemini-2x2x2", "--name", torus_name)
        assert up.stderr is not None
        line = next(line for line in up.stderr if "another launch" in line)
        assert netns.namespaces(torus_name) == []
    _, errors = up.communicate(timeout=HUNG_S)
    assert up.returncode == 0, errors
    assert "waiting for another launch on this machine" in line and f"process {os.getpid()} (" in line
    assert "another launch" not in errors
    sleeper = started("exec", torus_name, "n0-0-0", "--", "sh", "-c", "echo inside; exec sleep 600")
    assert sleeper.stdout is not None and sleeper.stdout.readline() == "inside\n"
    with locks.turn():
        down = started("down", torus_name)
        assert sleeper.wait(timeout=HUNG_S) != 0
        wait_until(lambda: state(railyard, torus_name) == "incomplete", "the torus counts as incomplete")
        assert down.poll() is None and netns.namespaces(torus_name) != []
    assert down.wait(timeout=HUNG_S) == 0 and netns.namespaces(torus_name) == []


def test_the_wait_for_another_launch_is_none_of_the_launch_s_time(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """A launch that waits for longer than its limit runs, and its evidence has the wait; one that runs on is ended."""
    tori.up(railyard, torus_name)
    files = {"RAILYARD_EVIDENCE": str(tmp_path / "evidence"), "RAILYARD_LIMIT_S": "2"}
    with locks.turn():
        waiting = started("mpirun", torus_name, "-np", "2", "sleep", "6000", **files)
        assert waiting.stderr is not None
        begun_s = time.monotonic()
        line = next(line for line in waiting.stderr if "another launch" in line)
        time.sleep(max(0.0, begun_s + 4 - time.monotonic()))
        assert waiting.poll() is None, line
    assert waiting.wait(timeout=HUNG_S) == 124
    guard = json.loads((tmp_path / "evidence").read_text())["guard"]
    assert guard["waited_s"] > 2 and guard["watched_s"] > 0


def test_a_fault_comes_while_a_launch_runs_on_its_torus_and_down_ends_the_launch(
    railyard: Run, torus_name: str
) -> None:
    tori.up(railyard, torus_name)
    launch = started("mpirun", torus_name, "-np", "2", "sleep", "6001")
    held = lifecycle.RUN / torus_name / lifecycle.LAUNCHING
    wait_until(lambda: locks.is_held(held) or launch.poll() is not None, "a launch runs", limit_s=HUNG_S)
    done = railyard("torus", "fault", torus_name, "--injection", "50")
    assert done.returncode == 0 and launch.poll() is None, done.stderr
    wait_until(lambda: tori.running_count("sleep 6001") == 2, "both ranks run")
    assert railyard("torus", "down", torus_name).returncode == 0
    assert tori.running_count("sleep 6001") == 0
    assert launch.wait(timeout=HUNG_S) != 0


def test_an_ordinary_users_up_survives_the_down_of_the_last_torus_beside_it() -> None:
    """`down` of the last torus ends the namespaces in which the other command is at work: not while it is inside."""
    if reason := no_namespaces_for_nobody():
        pytest.skip(reason)
    with home_for_nobody() as home, ThreadPoolExecutor() as pool:
        assert as_nobody(home, "torus", "up", "gemini-2x2x2", "--name", "n0").returncode == 0
        for number in range(2):
            old, new = f"n{number}", f"n{number + 1}"
            down = pool.submit(as_nobody, home, "torus", "down", old)
            up = pool.submit(as_nobody, home, "torus", "up", "gemini-2x2x2", "--name", new)
            assert down.result().returncode == 0, down.result().stderr
            assert up.result().returncode == 0, up.result().stderr
            status = as_nobody(home, "torus", "status", new)
            assert status.returncode == 0, status.stderr
        with locks.turn():
            waiting = pool.submit(as_nobody, home, "torus", "down", new)
            wait_until(
                lambda: waiting.done() or _waits_for_turn(f"torus down {new}"), "down waits for the launch of root"
            )
            assert not waiting.done(), waiting.result().stderr
        assert waiting.result().returncode == 0, waiting.result().stderr
        assert as_nobody(home, "torus", "list").stdout.strip() == "no torus is up"


def _waits_for_turn(command_line: str) -> bool:
    """Whether a process with a command line that ends like this has the machine's launch lock open."""
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):  # a process that has ended meanwhile
            is_open = any(descriptor.readlink() == locks.machine_file() for descriptor in folder.iterdir())
            if is_open and locks.command_of(int(folder.parts[2])).endswith(command_line):
                return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "timeout"])
def test_an_interrupted_fit_ends_its_launch_and_its_torus(tmp_path: Path, number: signal.Signals) -> None:
    """Its launch went on, and kept the turn that all others waited for."""
    program = tmp_path / "halo"
    program.symlink_to(CHECKOUT / "build/benchmarks-openmpi/bin/halo")
    words = f"fit --torus gemini-2x2x2 --rate-scale 0.00005 --output {tmp_path}/fit -- {program}"
    fit = subprocess.Popen(
        [BIN / "railyard", *words.split(), "--grid", "2x2x2", "--repeats", "100000"],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any(line.startswith(f"{program} ") for line in command_lines()), "ranks run")
    fit.send_signal(number)
    _, complaint = fit.communicate()
    assert fit.returncode == 1 and "capture: interrupted; see" in complaint, complaint
    wait_until(lambda: not any(str(tmp_path) in line for line in command_lines()), "nothing of it is left")
