"""The user-space router on real namespaces: its life and death with the torus, and the bytes that it carries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.benchmark_runs import BIN
from support.commands import BIN as BIN_OF_VENV
from support.commands import HUNG_S, Run, environment
from support.packets.ring import routed
from support.topology.topologies import gemini
from support.topology.tori import address, inside, links, status, up, up_described
from support.waiting import wait_until

from railyard.placements.topology import catalog
from railyard.torus.engines import router
from railyard.torus.plan import plan, router_description
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root"),
    pytest.mark.skipif(bool(router.missing()), reason=router.missing() or "-"),
]


def process(name: str) -> int:
    state = router.state(name, lifecycle.RUN / name)
    assert state is not None
    return state.process


def test_a_router_that_is_killed_ends_its_launch_and_is_told_by_status_and_made_again_by_up(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """Ranks would wait for ever: `sleep` stands for them."""
    up(railyard, torus_name, "--network", "router")
    begun = tmp_path / "begun"
    command = [str(BIN_OF_VENV / "railyard"), "torus", "mpirun", torus_name, "-np", "2"]
    command += ["sh", "-c", f"touch {begun}; exec sleep 100000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as launch:
        wait_until(lambda: begun.exists() or launch.poll() is not None, "ranks run")
        os.kill(process(torus_name), signal.SIGKILL)
        _, complaint = launch.communicate(timeout=HUNG_S)
    assert launch.returncode not in (0, None)
    assert f"the router of torus {torus_name} has ended; run: railyard torus down {torus_name}" in complaint
    wait_until(lambda: not status(railyard, torus_name)["processes"], "the ranks' daemon has ended them")
    done = railyard("torus", "status", torus_name)
    assert done.returncode == 1 and "the router has ended" in done.stderr
    again = railyard("torus", "mpirun", torus_name, "-np", "2", "true")
    assert again.returncode == 1 and "has ended" in again.stderr and again.stderr.count("\n") == 1
    fault = railyard("torus", "fault", torus_name, "--injection", "50")
    assert fault.returncode == 1 and "does not run" in fault.stderr
    up(railyard, torus_name, "--network", "router")
    assert status(railyard, torus_name)["sound"]


def test_a_hidden_rate_is_in_the_router_alone(railyard: Run, torus_name: str) -> None:
    """A link that all but stops behind everybody's back, as by tc on the kernel, is in no fault of the torus."""
    up(railyard, torus_name, "--network", "router")
    hidden = lifecycle.RUN / torus_name / "router.hidden"
    hidden.write_text("r0-0-0 x+ 1\n")
    os.kill(process(torus_name), signal.SIGHUP)
    wait_until(lambda: not status(railyard, torus_name)["sound"], "the router has the hidden rate")
    assert links(railyard, torus_name)["X+ 0,0,0>1,0,0"]["rate_mbit_s"] == 8e-6
    assert json.loads((hidden.parent / "torus.json").read_text())["faults"]["down"] == []
    hidden.unlink()
    os.kill(process(torus_name), signal.SIGHUP)
    wait_until(lambda: status(railyard, torus_name)["sound"], "the router has its own rate again")


def test_a_hop_takes_its_latency_and_faults_change_rates_while_it_runs(railyard: Run, torus_name: str) -> None:
    """Three routers on the way there and three back; the machine can only add to it."""
    up(railyard, torus_name, "--network", "router", "--rate-scale", "0.000125")
    pinged = inside(torus_name, "n0-0-0", "ping", "-c", "3", "-i", "0.1", address(torus_name, "n1-1-0"))
    assert float(pinged.rpartition("= ")[2].split("/")[0]) >= 2 * 3 * 0.1e-3 / 0.000125
    before = process(torus_name)
    for arguments in (["X+ 0,0,0>1,0,0", "--lanes-lost", "1"], ["n0-0-0", "--injection", "50"]):
        assert railyard("torus", "fault", torus_name, *arguments).returncode == 0
    found = {name: link["rate_mbit_s"] for name, link in links(railyard, torus_name).items()}
    assert found["X+ 0,0,0>1,0,0"] == pytest.approx(9.36 * 2 / 3, rel=1e-3)
    assert found["H+ n0-0-0>r0-0-0"] == pytest.approx(10.64 / 2, rel=1e-3)
    assert found["H- r0-0-0>n0-0-0"] == pytest.approx(10.64, rel=1e-3)
    assert status(railyard, torus_name)["sound"]
    assert railyard("torus", "fault", torus_name, "--restore").returncode == 0
    assert status(railyard, torus_name)["sound"] and process(torus_name) == before


def test_a_damaged_packet_is_sent_again_and_a_silent_cable_is_rerouted(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """Of 20 pings one way, none is sent again once in a million runs."""
    up_described(railyard, torus_name, tmp_path, gemini("4x1x1").to_dict(), "--network", "router")
    done = railyard("torus", "fault", torus_name, "X+ 0,0,0>1,0,0", "--errors", "50", "--jitter", "1us")
    assert done.returncode == 0, done.stderr
    pings = inside(torus_name, "n0-0-0", "ping", "-c", "20", "-i", "0.02", "-w", "60", address(torus_name, "n1-0-0"))
    assert " 0% packet loss" in pings
    replays = [name for name, link in links(railyard, torus_name).items() if link["replays"]]
    assert replays == ["X+ 0,0,0>1,0,0"]
    assert status(railyard, torus_name)["faults"] == ["X+ 0,0,0>1,0,0: 50 % of packets damaged, jitter up to 1 us"]
    assert railyard("torus", "fault", torus_name, "--restore").returncode == 0
    flap = ["--flap", "--for", "1s", "--every", "2s"]
    assert railyard("torus", "fault", torus_name, "X+ 0,0,0>1,0,0", *flap).returncode == 0
    inside(torus_name, "n0-0-0", "ping", "-c", "30", "-i", "0.1", "-w", "60", address(torus_name, "n1-0-0"))
    silent = {name: link["outage_ns"] for name, link in links(railyard, torus_name).items() if link["outages"]}
    assert silent["X+ 0,0,0>1,0,0"] > 0 and silent.keys() <= {"X+ 0,0,0>1,0,0", "X- 1,0,0>0,0,0"}
    assert railyard("torus", "fault", torus_name, "--restore").returncode == 0
    link = ["torus", "fault", torus_name, "X+ 0,0,0>1,0,0", "--down"]
    assert railyard(*link, "--reroute-after", "1ms").returncode == 0
    assert status(railyard, torus_name)["sound"]
    assert len(status(railyard, torus_name)["faults"]) == 2
    again = railyard("torus", "fault", torus_name, "X+ 0,0,0>1,0,0", "--flap", "--for", "1s")
    assert again.returncode == 2 and "this one is down" in again.stderr


def test_a_packet_expires_at_the_routers_of_its_way_as_on_the_kernel(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """Round a cable that is down, each time to live finds the router that the kernel would have named."""
    answers = {}
    for network in ("router", "kernel"):
        up_described(railyard, torus_name, tmp_path, gemini("4x1x1").to_dict(), "--network", network)
        assert railyard("torus", "fault", torus_name, "X+ 0,0,0>1,0,0", "--down").returncode == 0
        answers[network] = [_first_answer(railyard, torus_name, "n1-0-0", routers) for routers in range(1, 6)]
        railyard("torus", "down", torus_name)
    *expired, arrived = answers["router"]
    assert [answer.split()[1] for answer in expired] == ["r0-0-0", "r3-0-0", "r2-0-0", "r1-0-0"]
    assert "ttl=" in arrived
    assert answers["router"] == answers["kernel"]


def _first_answer(railyard: Run, name: str, target: str, routers: int) -> str:
    """Return what came back for an echo request that may cross so many routers, without its time."""
    ping = ["ping", "-c", "1", "-W", "20", "-t", str(routers), target]
    done = railyard("torus", "exec", name, "n0-0-0", "--", *ping)
    return str(done.stdout).splitlines()[1].partition(" time=")[0]


def test_data_of_mpi_is_right_and_bytes_are_those_of_the_kernel(railyard: Run, torus_name: str) -> None:
    """The program verifies every ghost cell; each cable carries the same bytes on both networks within 3 %."""
    halo = str(BIN / "halo")
    sent = {}
    for network in ("router", "kernel"):
        up(railyard, torus_name, "--rate-scale", "0.001", "--network", network)
        launch = ["-np", "8", halo, "--grid", "2x2x2", "--cells", "64", "--repeats", "10"]
        done = railyard("torus", "mpirun", torus_name, *launch)
        assert done.returncode == 0, done.stderr
        counted = links(railyard, torus_name)
        assert all(link["drops"] == 0 for link in counted.values())
        sent[network] = {name: link["bytes"] for name, link in counted.items() if link["dimension"] != "H"}
        railyard("torus", "down", torus_name)
    for name, count in sent["kernel"].items():
        assert sent["router"][name] == pytest.approx(count, rel=0.03), name


def test_data_of_mpi_is_right_where_every_cell_takes_another_way(railyard: Run, torus_name: str) -> None:
    """A spray reorders cells; TCP would send them again. A message between corners loads all ways between them."""
    said = up(railyard, torus_name, "--rate-scale", "0.001", topology="gemini-2x2x2+sprayed")
    assert "routes sprayed (restored)" in said
    halo = ["-np", "8", str(BIN / "halo"), "--grid", "4x2", "--cells", "4096x4096", "--repeats", "5"]
    launch = railyard("torus", "mpirun", torus_name, *halo)
    assert launch.returncode == 0, launch.stderr
    assert "every ghost cell verified" in launch.stdout
    everyone = ["-np", "8", str(BIN / "rowcol"), "--splits", "all"]
    everyone += ["--collectives", "alltoall", "--sizes", "16KiB"]
    launch = railyard("torus", "mpirun", torus_name, *everyone, "--repeats", "3")
    assert launch.returncode == 0 and "verified" in launch.stdout, launch.stderr
    cables = [link for link in links(railyard, torus_name).values() if link["dimension"] != "H"]
    assert len(cables) == 24 and all(link["packets"] and not link["drops"] for link in cables)
    refused = railyard("torus", "up", "gemini-2x2x2+sprayed", "--name", "other", "--network", "kernel")
    assert refused.returncode == 2
    assert "--network kernel: routes.choose: 'sprayed' is not valid; expected fixed" in refused.stderr


@pytest.mark.parametrize("topology", ["gemini-4x4x4-two-nodes", "gemini-3x3x3", "catalyst-dual-rail"])
def test_every_pair_has_a_way_without_a_circle_of_buffers(tmp_path: Path, topology: str) -> None:
    """The router walks every pair before it starts; one description of every kind of network passes."""
    topo = catalog.load(topology)
    lines = router_description.lines(topo, Shape(network="router"), plan.HEALTHY, path="/x")
    done = routed(tmp_path, "\n".join([*lines, ""]), "")
    assert done.returncode == 0, done.stderr
