"""A link of the router's network that falls silent, damages cells or has jitter changes what theory says it changes."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from support.packets.ring import CELL, LATENCY_NS, PAYLOAD, RATE, arrivals, links, ring, simulate

CELL_NS = CELL * 1_000_000_000 // RATE
CABLE = 2 * 4  # of a ring of four, from router 0 to router 1
MS = 1_000_000


def troubled(at_ms: int, for_ms: int, every_ms: int, *, silent: int = 0, damaged: float = 0, jitter: int = 0) -> str:
    """Return a ring of four whose first cable has a trouble."""
    line = f"trouble {CABLE} {at_ms * MS} {for_ms * MS} {every_ms * MS} {silent} {damaged} {jitter}\n"
    first = "route "
    return ring(4).replace(first, line + first, 1)


@pytest.mark.parametrize(("every_ms", "spells"), [(0, 1), (200, 4)])
def test_a_flap_delays_a_message_by_its_spells_and_loses_nothing(tmp_path: Path, every_ms: int, spells: int) -> None:
    """300 cells take 754 ms, and 50 ms more for each spell; a cell that is being sent when one begins is sent."""
    message = [(0, 0, 1, 300 * PAYLOAD)]
    usual = arrivals(simulate(tmp_path, ring(4), message))[0]
    done = simulate(tmp_path, troubled(10, 50, every_ms, silent=1), message)
    delay_ns = arrivals(done)[0] - usual
    if every_ms:  # the message then lasts for one more spell, or not
        spells = -(-(usual + delay_ns - 10 * MS) // (every_ms * MS))
    assert spells * (50 * MS - CELL_NS) <= delay_ns <= spells * 50 * MS
    assert links(done)[CABLE][6] == 0


def test_a_link_that_is_silent_for_ever_keeps_what_it_has(tmp_path: Path) -> None:
    done = simulate(tmp_path, troubled(10, 0, 0, silent=1), [(0, 0, 1, 300 * PAYLOAD), (0, 1, 2, PAYLOAD)])
    assert done.returncode == 1 and "1 messages never arrive" in done.stderr


@pytest.mark.parametrize("damaged", [0.01, 0.1, 0.5])
def test_every_replay_costs_a_cell_and_a_round_trip(tmp_path: Path, damaged: float) -> None:
    """The number of replays is geometric: damaged / (1 - damaged) of the cells, here within four deviations."""
    cells = 4000
    done = simulate(tmp_path, troubled(0, 0, 0, damaged=damaged), [(0, 0, 1, cells * PAYLOAD)])
    replays = links(done)[CABLE][7]
    expected, deviation = cells * damaged / (1 - damaged), (cells * damaged) ** 0.5 / (1 - damaged)
    assert abs(replays - expected) < 4 * deviation
    assert arrivals(done)[0] == cells * CELL_NS + 2 * LATENCY_NS + replays * (CELL_NS + 2 * LATENCY_NS)


def test_jitter_is_uniform_up_to_its_limit_and_no_message_overtakes(tmp_path: Path) -> None:
    apart = [(at * 20 * MS, 0, 1, PAYLOAD) for at in range(400)]
    usual = arrivals(simulate(tmp_path, ring(4), apart))
    due = arrivals(simulate(tmp_path, troubled(0, 0, 0, jitter=5 * MS), apart))
    late = sorted(due[number] - usual[number] for number in usual)
    assert late[0] >= 0 and late[-1] < 5 * MS
    for share in (0.25, 0.5, 0.75):  # quantiles of 400 draws have a deviation of 2.5 %
        assert late[int(share * 400)] == pytest.approx(share * 5 * MS, abs=0.1 * 5 * MS)
    close = arrivals(simulate(tmp_path, troubled(0, 0, 0, jitter=50 * MS), [(0, 0, 1, PAYLOAD)] * 50))
    assert all(one <= other for one, other in itertools.pairwise(close[number] for number in range(50)))


@pytest.mark.parametrize(
    "wrong", ["0 0 5 0 0 0", "0 9 5 1 0 0", "0 0 0 0 1 0", "0 0 0 0 nan 0", "0 0 0 2 0 0", "-1 0 0 0 0 0"]
)
def test_a_wrong_trouble_is_one_line(tmp_path: Path, wrong: str) -> None:
    done = simulate(tmp_path, ring(4).replace("route ", f"trouble {CABLE} {wrong}\nroute ", 1), [])
    assert done.returncode == 1 and "expected: trouble LINK AT_NS" in done.stderr
