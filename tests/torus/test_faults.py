"""Faults as a model (rates, names, refusals) and on the real kernel, while traffic flows."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from support.commands import HUNG_S, Run
from support.topology.tori import address, links, status, up

from railyard.base.errors import InputError
from railyard.placements.linkload import model
from railyard.placements.topology import catalog, fault_words, faults
from railyard.placements.topology.faults import Faults, find_link, find_node

GEMINI = catalog.load("gemini-4x4x4")
LINK = GEMINI.links_by_name["X+ 0,0,0>1,0,0"]


@pytest.mark.parametrize(("lanes", "tiles", "left"), [(1, 8, 2 / 3), (2, 8, 1 / 3), (1, 1, 23 / 24), (2, 4, 2 / 3)])
def test_what_is_left_of_a_links_rate(lanes: int, tiles: int, left: float) -> None:
    hurt = Faults().lose_lanes(GEMINI, LINK, lanes, tiles)
    assert hurt.rate_gbyte_s(GEMINI, LINK) == pytest.approx(left * LINK.rate_gbyte_s)
    back = GEMINI.reverse(LINK)
    assert hurt.rate_gbyte_s(GEMINI, back) == back.rate_gbyte_s


def test_faults_are_read_back_as_written() -> None:
    hurt = Faults().lose_lanes(GEMINI, LINK, 1, 3).take_down(GEMINI, GEMINI.links_by_name["Z+ 1,1,1>1,1,2"])
    hurt = hurt.throttle(GEMINI.nodes[:2], 40)
    flaps = "'Y+ 0,0,0>0,1,0' --flap --at 5s --for 2s --every 10s; 'Z+ 0,0,0>0,0,1' --errors 1 --jitter 5us"
    hurt = fault_words.parse(GEMINI, flaps, before=hurt)
    assert faults.parse(json.loads(json.dumps(hurt.to_dict()))) == hurt
    assert "n0-0-0, n0-0-1: injection at 40 %" in hurt.summary
    assert "Y- 0,1,0>0,0,0: silent from 5 s on for 2 s every 10 s" in hurt.summary
    assert "Z+ 0,0,0>0,0,1: 1 % of packets damaged, jitter up to 5 us" in hurt.summary


def test_what_is_broken_is_restored_and_no_more_and_no_model_has_a_cable_that_flaps() -> None:
    flapping = fault_words.parse(GEMINI, "'X+ 0,0,0>1,0,0' --flap --for 2s")
    assert len(flapping.troubled) == 2 and flapping.restore(GEMINI, LINK) == Faults()
    for check in (model.check_faults, Faults.check_steady):
        with pytest.raises(InputError, match="silent for 2 s"):
            check(flapping)
    down = Faults().take_down(GEMINI, LINK)
    assert len(down.down) == 2
    assert down.restore(GEMINI, GEMINI.reverse(LINK)) == Faults()
    assert Faults().throttle(GEMINI.nodes, 50).throttle(GEMINI.nodes, 100) == Faults()


def test_a_link_is_found_by_name_or_coordinates_however_written() -> None:
    assert find_link(GEMINI, "x+0,0,0 > 1,0,0") == LINK == find_link(GEMINI, "0,0,0>1,0,0")
    small = catalog.load("dual-rail-small")
    assert find_link(small, "down spine1>leaf3@1").source.rail == 1


@pytest.mark.parametrize("text", ["X+ 0,0,0>2,0,0", "Q+ 1", "", "0,0,0", "X+ 9,9,9>0,0,0"])
def test_an_unknown_link_or_node_is_one_line_with_examples(text: str) -> None:
    with pytest.raises(InputError, match=r"^link: .*'X\+ 0,0,0>1,0,0'|^link: .*valid: '"):
        find_link(GEMINI, text)
    with pytest.raises(InputError, match="n0-0-0, n0-0-1"):
        find_node(GEMINI, "n9-9-9")


def test_a_fault_that_cannot_be_changes_nothing(railyard: Run, small: str) -> None:
    for arguments, named in (
        (["X+ 0,0,0>1,0,0"], "one of --lanes-lost, --down"),
        (["X+ 0,0,0>1,0,0", "--down", "--restore"], "one of --lanes-lost, --down"),
        (["X+ 0,0,0>1,0,0", "--lanes-lost", "3"], "--lanes-lost: 3 is not valid; expected 1 to 2"),
        (["X+ 0,0,0>1,0,0", "--lanes-lost", "1", "--of-tiles", "1/4"], "--of-tiles: '1/4'"),
        (["Y+ 0,0,0>0,1,0", "--lanes-lost", "1", "--of-tiles", "5"], "--of-tiles: 5"),
        (["--of-tiles", "1/8", "--down"], "an addition to --lanes-lost"),
        (["X+ 0,0,0>1,0,0", "--restore"], "no link has a fault"),
        (["X+ 0,0,0>1,0,0", "--flap"], "how long the link is silent"),
        (["X+ 0,0,0>1,0,0", "--jitter", "5"], "a time, such as 2s, 50ms or 10us"),
        (["X+ 0,0,0>1,0,0", "--down", "--every", "5s"], "an addition to --flap, --errors or --jitter"),
        (["X+ 0,0,0>1,0,0", "--flap", "--for", "5s", "--every", "5s"], "a time longer than that of --for"),
        (["X+ 0,0,0>1,0,0", "--reroute-after", "5s"], "with LINK and --down"),
        (["X+ 0,0,0>1,0,0", "--flap", "--for", "0s"], "above 0 and up to 100000s"),
        (["X+ 0,0,0>1,0,0", "--jitter", "1s"], "above 0 and up to 0.01s"),
        (["X+ 0,0,0>1,0,0", "--jitter", "10ms"], "of this torus each packet then waits up to 1 s"),
        (["n0-0-9", "--injection", "50"], "n0-0-0"),
        (["--injection", "0.000001"], "--injection: 1e-06"),
        (["X+ 0,0,0>1,0,0", "--down"], "no route from r0-0-0 to r1-0-0"),
    ):
        done = railyard("torus", "fault", small, *arguments)
        assert done.returncode in (1, 2) and named in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert status(railyard, small)["faults"] == []


def test_a_second_fault_of_a_link_is_refused_and_a_job_script_takes_its_faults_from_the_environment(
    railyard: Run, torus_name: str
) -> None:
    up(railyard, torus_name, topology="gemini-4x4x4")
    assert railyard("torus", "fault", torus_name, LINK.name, "--lanes-lost", "1").returncode == 0
    again = railyard("torus", "fault", torus_name, LINK.name, "--down")
    assert again.returncode == 2 and "this one is degraded: --restore it first" in again.stderr
    report = status(railyard, torus_name)
    assert report["sound"] and report["faults"] == ["X+ 0,0,0>1,0,0: 1 lane(s) lost in 8 tile(s)"]
    assert railyard("torus", "fault", torus_name, "--restore").returncode == 0
    wrong = railyard("torus", "fault", torus_name, "--from-env", RAILYARD_FAULTS="--injection 50 # note")
    assert wrong.returncode == 2 and "RAILYARD_FAULTS" in wrong.stderr, wrong.stderr
    text = "0,0,0>1,0,0 --down; --injection 50"
    done = railyard("torus", "fault", torus_name, "--from-env", RAILYARD_FAULTS=text)
    assert done.returncode == 0, done.stderr
    both = railyard("torus", "fault", torus_name, "--from-env", "--down", RAILYARD_FAULTS=text)
    assert both.returncode == 2 and both.stderr.count("\n") == 1, both.stderr
    report = status(railyard, torus_name)
    assert "X+ 0,0,0>1,0,0: down" in report["faults"], report["faults"]


def test_traffic_goes_round_a_cable_that_fails_under_it_and_back(railyard: Run, torus_name: str) -> None:
    """Pings go on throughout; the counters show which way they went.

    A ping every 20 ms over four seconds: without the detour, all of those while the cable is down are lost.
    """
    up(railyard, torus_name, topology="gemini-4x4x4")
    ping = ["ip", "netns", "exec", f"railyard.{torus_name}.n0-1-0", "ping", "-q"]
    to = address(torus_name, "n0-2-0")
    pings = subprocess.Popen([*ping, "-i", "0.02", "-c", "200", to], stdout=subprocess.PIPE, text=True)
    sent = []
    for arguments in (["--down"], ["--restore"]):
        assert railyard("torus", "fault", torus_name, "0,1,0>0,2,0", *arguments).returncode == 0
        before = links(railyard, torus_name)
        subprocess.run([*ping, "-c", "10", "-i", "0.01", to], stdout=subprocess.DEVNULL, check=True)
        after = links(railyard, torus_name)
        more = {name: after[name]["packets"] - before[name]["packets"] for name in after if name[0] == "Y"}
        sent.append({name for name, packets in more.items() if packets >= 10})
    told, _ = pings.communicate(timeout=HUNG_S)
    assert sent[0] == {
        *("Y- 0,1,0>0,0,0", "Y- 0,0,0>0,3,0", "Y- 0,3,0>0,2,0"),
        *("Y+ 0,2,0>0,3,0", "Y+ 0,3,0>0,0,0", "Y+ 0,0,0>0,1,0"),
    }
    assert sent[1] == {"Y+ 0,1,0>0,2,0", "Y- 0,2,0>0,1,0"}
    received = int(re.search(r"(\d+) received", told)[1])  # type: ignore[index]
    assert received >= 190, told
