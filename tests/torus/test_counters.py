"""Counters: both ends of a link, differences; and on the kernel, a transfer of known size on its route."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path

import pytest
from support.commands import HUNG_S, Run, refused
from support.topology import tori
from support.topology.topologies import gemini

from railyard.base.errors import InputError, RunError
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Node
from railyard.torus.cli import links
from railyard.torus.plan import addresses, plan
from railyard.torus.virtual import counters
from railyard.torus.virtual.counters import Interface, Snapshot

PAIR = gemini("2x1x1")
ENDS = [("n0-0-0", "nic0"), ("n1-0-0", "nic0"), ("r0-0-0", "x+"), ("r0-0-0", "h0"), ("r1-0-0", "x-"), ("r1-0-0", "h0")]


def snapshot(**bytes_of: tuple[int, int]) -> Snapshot:
    """(received, sent) by host and interface, `r0_0_0__xplus`; 0 where nothing is said."""
    found = {}
    for order, (host, interface) in enumerate(ENDS):
        key = f"{host.replace('-', '_')}__{interface.replace('+', 'plus').replace('-', 'minus')}"
        received, sent = bytes_of.get(key, (0, 0))
        found[host, interface] = Interface(
            order=order, rx_bytes=received, tx_bytes=sent, packets=sent // 100, rate_byte_s=1000
        )
    return found


def test_both_ends_agree_when_what_was_received_lies_between_two_readings_of_what_was_sent() -> None:
    before = snapshot(n0_0_0__nic0=(0, 500), r0_0_0__h0=(600, 0))
    after = snapshot(n0_0_0__nic0=(0, 700), r0_0_0__h0=(700, 0))
    assert counters.reading("t", PAIR, before, after).conserved


@pytest.mark.parametrize("received", [400, 800])
def test_bytes_lost_or_made_up_are_named(received: int) -> None:
    before = snapshot(n0_0_0__nic0=(0, 500), r0_0_0__h0=(received, 0))
    after = snapshot(n0_0_0__nic0=(0, 700), r0_0_0__h0=(received, 0))
    reading = counters.reading("t", PAIR, before, after)
    assert reading.lost == (f"H+ n0-0-0>r0-0-0: 500 bytes sent, {received} received",)


def test_a_missing_interface_is_an_error_that_names_it() -> None:
    half = {end: i for end, i in snapshot().items() if end != ("r1-0-0", "x-")}
    with pytest.raises(RunError, match=r"no interface r[01]-0-0:x"):
        counters.reading("t", PAIR, half, half)


def test_a_difference_counts_from_a_snapshot_of_the_same_torus() -> None:
    earlier = counters.reading("t", PAIR, *[snapshot(r0_0_0__xplus=(0, 300), r1_0_0__xminus=(300, 0))] * 2)
    later = counters.reading("t", PAIR, *[snapshot(r0_0_0__xplus=(0, 900), r1_0_0__xminus=(900, 0))] * 2)
    read_back = counters.from_dict(json.loads(json.dumps(earlier.to_dict())), "file")
    sent = {link.name: link.bytes for link in counters.difference(later, read_back).links}
    assert sent["X+ 0,0,0>1,0,0"] == 600 and sum(sent.values()) == 600
    with pytest.raises(InputError, match="taken since t is up"):
        counters.difference(earlier, later)
    with pytest.raises(InputError, match="a snapshot of t"):
        counters.difference(later, dataclasses.replace(earlier, torus="other"))

    with pytest.raises(InputError, match="every link of t"):
        counters.difference(later, dataclasses.replace(earlier, links=earlier.links[1:]))


def test_a_snapshot_with_a_count_that_is_no_number_names_it() -> None:
    document = json.loads(json.dumps(counters.reading("t", PAIR, *[snapshot()] * 2).to_dict()))
    document["links"][0]["bytes"] = "many"
    with pytest.raises(InputError, match=r"file.*bytes.*'many'.*whole number"):
        counters.from_dict(document, "file")


def with_stalls(input_ns: int, output_ns: int) -> counters.CounterReading:
    found = dict(snapshot(r0_0_0__xplus=(0, 900), r1_0_0__xminus=(900, 0)))
    lines = [f"s {host} {port} {input_ns} {output_ns} 2 0 0 0 1" for host, port in ENDS]
    text = [f"i {host} {port} 0 0 0 0 0 0\nq {host} {port} 1 0 0 0 0 0 0" for host, port in ENDS]
    (parsed,) = counters.parse([*"\n".join(text).splitlines(), *lines, "."])
    stalled = {
        end: dataclasses.replace(interface, **{name: getattr(parsed[end], name) for name in counters.ROUTED})
        for end, interface in found.items()
    }
    return counters.reading("t", PAIR, stalled, stalled)


def test_stalls_are_counted_between_two_readings_and_earlier_files_lack_them() -> None:
    later, earlier = with_stalls(7_000_000, 500), with_stalls(3_000_000, 200)
    since = counters.difference(later, counters.from_dict(json.loads(json.dumps(earlier.to_dict())), "file"))
    assert {(link.input_stall_ns, link.output_stall_ns) for link in since.links} == {(4_000_000, 300)}
    document = json.loads(json.dumps(earlier.to_dict()))
    for link in document["links"]:
        del link["input_stall_ns"], link["output_stall_ns"]
    before = counters.from_dict(document, "file")
    assert {link.input_stall_ns for link in counters.difference(later, before).links} == {7_000_000}


def test_classes_add_up_their_links_and_stalls_are_printed_where_a_router_counts_them() -> None:
    printed = list(links.lines(with_stalls(3_000_000, 250_000).links, ["r0-0-0", "r1-0-0"]))
    assert [line.split()[:2] for line in printed[1:5]] == [
        ["(0,0,0)"],
        ["X+", "r1-0-0"],
        ["H+", "n0-0-0"],
        ["H-", "n0-0-0"],
    ]
    *_, heading, xplus, xminus, out, into = printed
    assert heading.endswith("IN STALL MS OUT STALL MS    REPLAYS")
    assert xplus.split() == ["X+", "1", "900", "9", "0", "0", "0", "3.000", "0.250", "2"]
    assert (xminus.split()[0], out.split()[:2], into.split()[:2]) == ("X-", ["H+", "2"], ["H-", "2"])
    assert into.split()[-3:] == ["6.000", "0.500", "4"]
    plain = counters.reading("t", PAIR, snapshot(), snapshot())
    assert not any("STALL" in line for line in links.lines(plain.links, ["r0-0-0", "r1-0-0"]))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "x"}', '{"format": "railyard-counters/1"}'])
def test_a_file_that_is_no_snapshot_is_one_line(railyard: Run, small: str, tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    refused(railyard("torus", "counters", small, "--since", str(path)), str(path))


@pytest.mark.parametrize("network", ["router", "kernel"])
def test_a_transfer_of_known_size_is_on_its_route_and_nowhere_else(
    railyard: Run, torus_name: str, tmp_path: Path, network: str
) -> None:
    """Payload x known overhead within 1 % on every link of the way; elsewhere nothing at all."""
    tori.up(railyard, torus_name, "--rate-scale", "0.001", "--network", network, topology="gemini-4x4x4")
    topo = catalog.load("gemini-4x4x4")
    source, target, size = (0, 1, 2), (2, 2, 1), 3_000_000
    before = tmp_path / "before.json"
    before.write_text(railyard("torus", "counters", torus_name, "--json").stdout)
    address = addresses.node_address(topo, Node(coordinate=target, slot=0, name=""), 0)
    listen = "import socket; s = socket.create_server(('', 5000)); print('ready', flush=True)"
    receive = f"{listen}; c, _ = s.accept()\nwhile c.recv(1 << 16): pass"
    send = f"import os,socket; c=socket.create_connection(('{address}', 5000)); c.sendall(os.urandom({size}))"
    inside = ["ip", "netns", "exec", f"railyard.{torus_name}.{topo.node_name(target)}"]
    receiver = subprocess.Popen([*inside, "python3", "-c", receive], stdout=subprocess.PIPE, text=True)
    assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
    tori.inside(torus_name, topo.node_name(source), "python3", "-c", send)
    assert receiver.wait(timeout=HUNG_S) == 0
    found = json.loads(railyard("torus", "counters", torus_name, "--since", str(before), "--json").stdout)
    assert found["conserved"]
    sent = {link["name"]: link["bytes"] for link in found["links"]}
    there = [*(link.name for link in topo.route(source, target)), "H+ n0-1-2>r0-1-2", "H- r2-2-1>n2-2-1"]
    back = [*(link.name for link in topo.route(target, source)), "H+ n2-2-1>r2-2-1", "H- r0-1-2>n0-1-2"]
    shape = plan.Shape()
    expected = size * (shape.mtu_bytes + plan.ETHERNET_BYTES) / (shape.mtu_bytes - 52)  # IPv4, TCP with timestamps
    for name in there:
        assert sent[name] == pytest.approx(expected, rel=0.01), name
    assert {name for name, count in sent.items() if count} == {*there, *back}
    assert all(sent[name] < 0.05 * expected for name in back)


def test_the_sending_nic_decides_the_rail(railyard: Run, torus_name: str, tmp_path: Path) -> None:
    """From the address of nic0 to that of another node's nic1: there on rail 0, the answer back on rail 1.

    Then MPI told to use nic1 puts at least 99 % of the bytes there.
    """
    tori.up(railyard, torus_name, "--rate-scale", "0.001", topology="dual-rail-small")
    ping = ["ping", "-c", "20", "-i", "0.01", "-s", "1000", "-I", "10.0.0.0", "n1-0.nic1"]
    done = railyard("torus", "exec", torus_name, "n0-0", "--", *ping)
    assert done.returncode == 0, done.stdout
    counted = tori.links(railyard, torus_name)
    there = {"H+ n0-0>leaf0", "up leaf0>spine0", "down spine0>leaf1", "H- leaf1>n1-0"}
    back = {"H+ n1-0>leaf1.1@1", "up leaf1>spine0@1", "down spine0>leaf0@1", "H- leaf0.1>n0-0@1"}
    assert {name for name, link in counted.items() if link["bytes"] >= 20 * 1000} == there | back
    before = tmp_path / "before.json"
    before.write_text(railyard("torus", "counters", torus_name, "--json").stdout)
    halo = str(Path("build/benchmarks-openmpi/bin/halo").resolve())
    mpirun = ["-np", "16", "--mca", "btl_tcp_if_include", "nic1"]
    grid = ["--grid", "4x4", "--cells", "4096x4096", "--repeats", "2"]
    done = railyard("torus", "mpirun", torus_name, *mpirun, halo, *grid)
    assert done.returncode == 0, done.stderr
    found = json.loads(railyard("torus", "counters", torus_name, "--since", str(before), "--json").stdout)
    by_rail = [sum(link["bytes"] for link in found["links"] if link["rail"] == rail) for rail in (0, 1)]
    assert by_rail[1] > 1_000_000 and by_rail[1] >= 0.99 * sum(by_rail)
