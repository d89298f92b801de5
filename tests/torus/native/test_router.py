"""The user-space router's network, without nodes and without a clock: rates, latency, turns, credits, deadlocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.packets.ring import (
    CELL,
    HEADERS,
    LATENCY_NS,
    PAYLOAD,
    RATE,
    Message,
    arrivals,
    links,
    ring,
    routed,
    simulate,
)


@pytest.mark.parametrize("hops", [1, 2, 5])
@pytest.mark.parametrize("cells", [1, 7, 26])
def test_one_message_takes_its_bytes_over_the_rate_and_the_latency_of_each_router(
    tmp_path: Path, hops: int, cells: int
) -> None:
    due = arrivals(simulate(tmp_path, ring(6), [(0, 0, hops, cells * PAYLOAD)]))[0]
    assert due == cells * CELL * 1_000_000_000 // RATE + (hops + 1) * LATENCY_NS


def test_a_slower_link_on_the_way_decides(tmp_path: Path) -> None:
    due = arrivals(simulate(tmp_path, ring(4, slow={1: RATE // 2}), [(0, 0, 2, 10 * PAYLOAD)]))[0]
    slow_ns = 10 * CELL * 1_000_000_000 // (RATE // 2)
    assert slow_ns + 3 * LATENCY_NS <= due <= slow_ns + 3 * LATENCY_NS + 2 * CELL * 1000


@pytest.mark.parametrize("fair", [False, True])
def test_inputs_of_a_router_take_turns(tmp_path: Path, fair: bool) -> None:
    """Through traffic and a router's own node share a cable half and half, whoever came first."""
    cells = 200
    messages = [(0, 0, 2, cells * PAYLOAD), (20_000_000, 1, 2, cells * PAYLOAD)]
    due = arrivals(simulate(tmp_path, ring(4, fair=fair), messages))
    full_ns = 2 * cells * CELL * 1000
    assert due[0] < due[1] <= full_ns + 5_000_000
    assert due[0] > 0.93 * full_ns  # alone it would have needed half


@pytest.mark.parametrize(
    ("count", "hops", "first_and_last"),
    [(5, 2, (1.0, 1.0)), (16, 2, (1.0, 1.0)), (7, 3, (0.67, 1.99)), (8, 3, (0.67, 2.24)), (16, 7, (0.29, 2.26))],
)
def test_a_ring_of_full_nics_loses_unless_it_is_fair_or_its_nics_are_balanced(
    tmp_path: Path, count: int, hops: int, first_and_last: tuple[float, float]
) -> None:
    """Times are over those of theory, in which every cable is busy all the time (docs/routes.md)."""
    cells = 500
    messages = [(0, i, (i + hops) % count, cells * PAYLOAD) for i in range(count)]
    theory_ns = hops * cells * CELL * 1_000_000_000 / RATE
    rings = {
        ring(count): first_and_last,
        ring(count, nic_rate=RATE // hops): (1.0, 1.0),
        ring(count, fair=True): (1.0, 1.0),
    }
    for description, expected in rings.items():
        due = arrivals(simulate(tmp_path, description, messages)).values()
        assert (min(due) / theory_ns, max(due) / theory_ns) == pytest.approx(expected, abs=0.015)


def test_sources_share_a_link_alike_where_they_are_fair(tmp_path: Path) -> None:
    """Three routers in a row and the last one's node send to one node: turns of inputs give the nearest one half."""
    cells = 300
    messages = [(0, source, 4, cells * PAYLOAD) for source in range(4)]
    for fair, first in ((True, 1.0), (False, 0.5)):
        due = arrivals(simulate(tmp_path, ring(6, fair=fair), messages))
        assert max(due.values()) == pytest.approx(4 * cells * CELL * 1e9 / RATE, rel=0.03)
        assert min(due.values()) / max(due.values()) == pytest.approx(first, abs=0.05)


def test_destinations_of_a_nic_take_turns(tmp_path: Path) -> None:
    """A short message to another node does not wait behind a long one."""
    due = arrivals(simulate(tmp_path, ring(4), [(0, 0, 1, 100 * PAYLOAD), (1, 0, 3, PAYLOAD)]))
    assert due[1] <= 3 * CELL * 1000 + 4 * LATENCY_NS < due[0]


def test_a_slow_link_stalls_those_before_it_by_credits(tmp_path: Path) -> None:
    """With a full buffer the cable before the slow one is idle although cells wait for it; no cell is lost."""
    done = simulate(tmp_path, ring(4, slow={1: RATE // 4}), [(0, 0, 2, 200 * PAYLOAD)])
    counted = links(done)
    assert arrivals(done)
    cable = counted[8]
    assert cable[5] > 0.5 * 200 * CELL * 4000
    assert counted[9][5] == 0
    for sent, _, received, _, _, _, lost, _ in counted.values():
        assert (sent - received, lost) == (0, 0)


def test_every_byte_of_every_link_is_on_its_way(tmp_path: Path) -> None:
    messages = [(0, i, (i + k) % 5, 10_000 * k) for i in range(5) for k in (1, 2, 3)]
    counted = links(simulate(tmp_path, ring(5), messages))
    expected = dict.fromkeys(counted, 0)
    for _, source, to, size in messages:
        wire = size + HEADERS * -(-size // PAYLOAD)
        way = [2 * source, *(10 + (source + hop) % 5 for hop in range((to - source) % 5)), 2 * to + 1]
        for link in way:
            expected[link] += wire
    assert {link: values[0] for link, values in counted.items()} == expected


def test_a_ring_of_full_buffers_goes_on_by_its_dateline(tmp_path: Path) -> None:
    """With one channel the same traffic blocks for ever: the second channel is what frees it."""
    messages = [(0, i, (i + 3) % 6, 50 * PAYLOAD) for i in range(6)]
    assert len(arrivals(simulate(tmp_path, ring(6, buffer_cells=1), messages))) == len(messages)
    blocked = simulate(tmp_path, ring(6, buffer_cells=1, dateline=False), messages)
    assert blocked.returncode == 1
    assert "6 messages never arrive" in blocked.stderr


@pytest.mark.parametrize(
    ("to", "time_to_live", "line"), [(3, 4, "expired r3"), (3, 5, "message 4"), (0, 2, "message 1")]
)
def test_a_message_comes_to_as_many_routers_as_it_lives(tmp_path: Path, to: int, time_to_live: int, line: str) -> None:
    """Node 0 of a ring whose routes all go plus: 4 routers to node 3, 1 to itself; what expires comes back to it."""
    done = routed(tmp_path, ring(6), f"0 0 10.0.0.{to} 100 {time_to_live}\n")
    kind, _, entered, due, routers, *name = done.stdout.splitlines()[0].split()
    assert f"{kind} {name[0] if name else routers}" == line
    if name:  # three routers on the way back from the last one, which closes the ring
        assert routers == "3" and int(due) - int(entered) >= (4 + 3) * LATENCY_NS


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("railyard-router 1", "railyard-router 9", "line 1: expected: railyard-router 1 GENERATION"),
        ("buffer 20112 20112", "buffer 100 100", "a buffer of at least one cell"),
        ("route 4 10.0.0.0/8 8\n", "", "no way from r0 to n1"),
        ("route 4 10.0.0.0/8 8", "route 4 10.0.0.0/8 9", "expected: route ROUTER A.B.C.D/BITS LINK"),
        ("router r0 10.1.0.0", "router r0", "expected: router NAME A.B.C.D"),
        ("address 0 10.0.0.0", "address 7 10.0.0.0", "expected: address NODE A.B.C.D"),
        ("x+ 5 x- 1000000", "x+ 5 x- 0", "expected: link HOST PORT"),
        ("nic 1000000", "nick 1000000", "neither cell, buffer"),
        ("cell 2514", "cell 54", "a size out of range"),
        ("cell 2514", "cell 4294969810", "a size out of range"),
        ("buffer 20112 20112", "buffer 4294967295 20112", "a size out of range"),
        ("nic 1000000", "nic -1", "a size out of range"),
        ("x+ 5 x- 1000000", "x+ 5 x- nan", "expected: link HOST PORT"),
        ("x+ 5 x- 1000000", "x+ 5 x- inf", "expected: link HOST PORT"),
        ("x+ 5 x- 1000000", "x+ 5 x- 1e-300", "expected: link HOST PORT"),
        ("link 4 x+ 5", "link 4294967300 x+ 5", "expected: link HOST PORT"),
        ("route 5 ", "router r4\nroute 5 ", "expected only routes after the first one"),
        ("route 5 ", "address 0 10.0.1.0\nroute 5 ", "expected only routes after the first one"),
        ("".join(f"address {i} 10.0.0.{i}\n" for i in range(4)), "", "expected addresses before the first route"),
        ("router r1", f"router r1 {600 * 'x'}", "too long"),
    ],
)
def test_a_wrong_description_is_one_line(tmp_path: Path, old: str, new: str, line: str) -> None:
    description = ring(4)
    assert old in description
    done = simulate(tmp_path, description.replace(old, new), [])
    assert done.returncode == 1
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "message", [(0, 0, 1, 0), (0, 0, 1, -1), (0, 0, 1, 2**32 - 1), (-1, 0, 1, 1), (0, 2**31, 1, 1)]
)
def test_a_wrong_message_is_one_line(tmp_path: Path, message: Message) -> None:
    """One of 2^32 - 1 bytes took for ever."""
    done = simulate(tmp_path, ring(4), [message])
    assert done.returncode == 1 and done.stderr.startswith("railyard-router: cannot read the message ")
    assert len(done.stderr.splitlines()) == 1
