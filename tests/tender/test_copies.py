"""Copies within a bid and between bids are found, honest bids are not accused, and a rival throws nobody out."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from support import evidence
from support.records.played_tender import CHALLENGE

from railyard.records.benchmark import Series
from railyard.records.record import Record
from railyard.records.store.bag import Bid, Signed
from railyard.tender import copies, evaluation, judged, request
from railyard.tender.bids import Read
from railyard.tender.judged import Judged

Samples = np.ndarray[Any, np.dtype[np.float64]]
Drawn = Callable[[np.random.Generator], Samples]
BASE = [
    evidence.good(challenge=CHALLENGE, seed=seed, nic_policies=["library-default"], placements=["plain"])
    for seed in range(4)
]
TENDER = f"""
format: railyard-tender/1
title: t
challenge: {CHALLENGE}
origins: [emulated]
cases:
  - name: a
    check: halo_3d
    parameters: {{grid: [4, 4], cells: [2048, 2048], topology: dual-rail-small, rate_scale: 0.001,
                  latency_scaled: false}}
    nodes: 16
    placement: plain
    fom: iteration_us
    reference: 9200
    jobs: 4
"""


def measured(read: Record, drawn: Drawn, chance: np.random.Generator) -> Record:
    """Return a record whose launches have drawn times, and their rates."""
    launches = []
    for launch in read.launches:
        times = drawn(chance)
        taken = {"iteration_us": times, "bandwidth_gbyte_s": 131.072 / times}
        series = [
            structs.replace(one, samples=tuple(taken[one.fom].tolist())) for one in launch.series if one.fom in taken
        ]
        launches.append(structs.replace(launch, series=tuple(series)))
    return dataclasses.replace(read, launches=tuple(launches))


def changed(read: Record, change: Callable[[Samples], Samples]) -> Record:
    """Return a record with all samples changed by a function of a launch's times."""

    def series(one: Series) -> Series:
        is_rate = one.fom == "bandwidth_gbyte_s"
        samples = np.array(one.samples)
        made = 1 / change(1 / samples) if is_rate else change(samples)
        return structs.replace(one, samples=tuple(made.tolist()))

    launches = tuple(structs.replace(launch, series=tuple(map(series, launch.series))) for launch in read.launches)
    return dataclasses.replace(read, launches=launches)


def noisy(chance: np.random.Generator) -> Samples:
    return np.asarray(9200 * (1 + 0.006 * chance.standard_normal() + np.abs(0.015 * chance.standard_normal(20))))


def reduced(records: list[Record], name: str, chance: np.random.Generator, **changes: Any) -> list[Judged]:
    """Return what a tender needs of a session, with jobs, ids and digests of its own."""
    made: list[Judged] = []
    for number, read in enumerate(records):
        digest = chance.bytes(32).hex()
        one = dataclasses.replace(
            judged.of_record(read),
            **{
                "id": digest[:12], "sha256": digest, "job": digest[:32], "boot": digest[32:], "session": name,
                "number": number, "previous": made[-1].sha256 if made else None, "system": name, **changes,
            },
        )  # fmt: skip
        made.append(one)
    return made


def bid(name: str, records: list[Judged], digest: str = "") -> Read:
    signed = Signed(key="SHA256:x", lines=((name,),))
    return Read(
        path=Path(name), bid=Bid(bidder=name, tier="baseline"), signed=signed, records=records, digest=digest or name
    )


def bids_of(draw: int) -> list[Read]:
    """An honest bid beside a copycat, two sybils on a network of their own, a stolen bag and a replay."""
    chance = np.random.default_rng(draw)
    honest = [measured(read, noisy, chance) for read in BASE]
    own = reduced(honest, "honest", chance)
    copycat = [changed(read, lambda times: times / 1.1) for read in honest]
    job = changed(measured(BASE[0], noisy, chance), lambda times: times / 1.2)
    replay = [changed(job, functools.partial(np.multiply, 1 + 1e-9 * number)) for number in range(4)]
    fast = {"setting": {**own[0].setting, "rate_scale": 0.003}}
    sybils = []
    for name in ("sybil one", "sybil two"):
        records = [changed(measured(read, noisy, chance), lambda times: times / 3) for read in BASE]
        sybils.append(bid(name, reduced(records, name, chance, **fast)))
    return [
        bid("copycat", reduced(copycat, "copycat", chance)),
        *sybils,
        bid("stolen", own),
        bid("replay", reduced(replay, "replay", chance)),
        bid("honest", own, "ab" * 32),
    ]


@pytest.fixture
def tender(tmp_path: Path) -> request.Tender:
    (tmp_path / "tender.yml").write_text(TENDER)
    return request.load(tmp_path / "tender.yml")


@pytest.mark.unit
def test_an_honest_bid_stays_complete_and_leads_whatever_rivals_hand_in(tender: request.Tender) -> None:
    received = dataclasses.replace(tender, received=("ab" * 32,))
    for draw in range(30):
        bids = bids_of(draw)
        result = evaluation.evaluate(received, bids)
        assert result.sentence.startswith("honest has the best score"), (draw, result.sentence)
        assert result.sentence.endswith("no other bid is complete."), (draw, result.sentence)
        if draw < 3:
            undecided = evaluation.evaluate(tender, bids)
            assert next(line.score for line in undecided.lines if line.bidder == "honest"), draw
            assert "cannot be the best until it is decided who copied" in undecided.sentence, draw


COPIES: dict[str, Callable[[Samples], Samples]] = {
    "exact": lambda times: times,
    "scaled": lambda times: times * 0.83,
    "reversed": lambda times: times[::-1],
    "sorted and scaled": lambda times: np.sort(times) * 1.3,
    "shifted": lambda times: times - 700.0,
    "with noise below the distances": lambda times: times * (1 + 1e-9 * np.arange(20)),
    "squeezed to the fastest": lambda times: times.min() + (times - times.min()) * 0.1,
    "logarithms": lambda times: 1000 * np.log(times),
    "rounded": lambda times: np.round(times * 0.9, 6),
    "mirrored": lambda times: 20_000 - times,
    "rotated, with noise": lambda times: np.roll(times, 3) + 0.001 * np.sin(np.arange(20)),
}


@pytest.mark.unit
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_is_found_in_a_record_in_a_bid_and_between_bids(how: str) -> None:
    chance = np.random.default_rng(7)
    one = measured(BASE[0], noisy, chance)
    other = changed(one, COPIES[how])
    first, second = reduced([one, other], "a", chance)
    between = list(copies.between([second], [first]))
    assert [(copy.read.id, copy.original.id) for copy in between] == [(second.id, first.id)]
    assert len(list(copies.within([first, second]))) == 6, "every launch is a copy"
    launches = (one.launches[0], structs.replace(other.launches[0], index=1), *other.launches[2:3])
    inside = judged.of_record(dataclasses.replace(one, launches=launches))
    assert [copy.launch for copy in copies.within([inside])] == [1]


def coarse(levels: int) -> Drawn:
    return lambda chance: 100.0 + np.floor(levels * chance.random(20)) / 7


HONEST: dict[str, Drawn] = {
    "noisy": noisy,
    "constant": lambda chance: np.full(20, 1.25),
    "two levels": coarse(2),
    "ten levels": coarse(10),
    "hundred levels": coarse(100),
    "drifting": lambda chance: 100 + np.arange(20) + 0.1 * chance.standard_normal(20),
    "waves": lambda chance: 100 + 9 * np.sin(np.arange(20) / 2) + 0.3 * chance.standard_normal(20),
    "an outlier": lambda chance: np.append(100 + np.floor(4 * chance.random(19)), 5000.0 * (1 + chance.random())),
    "bimodal": lambda chance: np.where(chance.random(20) < 0.5, 100.0, 200.0) + np.floor(3 * chance.random(20)) / 10,
    "a sweep": lambda chance: 100 + np.arange(100) * (1 + chance.random()) + 0.01 * chance.standard_normal(100),
    "two samples": lambda chance: np.round(100 + chance.random(2), 2),
    "one sample": lambda chance: np.round(100 + 10 * chance.random(1), 1),
}


@pytest.mark.unit
@pytest.mark.parametrize("kind", HONEST)
def test_no_honest_bid_is_accused_among_two_hundred(kind: str) -> None:
    """Each draw is of a bid of its own; all of them are compared with each other: 1,200 launches of 200 bids."""
    chance = np.random.default_rng(11)
    bids = [
        reduced([measured(read, HONEST[kind], chance) for read in BASE[:1]], f"b{draw}", chance) for draw in range(200)
    ]
    assert list(copies.within([read for bid in bids for read in bid])) == []
