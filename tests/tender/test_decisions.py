"""Decisions by intervals, at their error rates: demands, leads of equal bids."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np
import pytest
from support.records import figures

from railyard.analysis.stats import contrast
from railyard.tender import evaluation, measured
from railyard.tender.measured import Measured, Meets
from railyard.tender.request import Case

CASE = Case(name="a", check="c", nodes=1, placement="plain", fom=figures.fom("run_us"), reference=1.0)


def results(chance: random.Random, bid: str, *, jobs: int = 5, speed: float = 1.0, spread: float = 0.01) -> Measured:
    """Six launches of each job with 1 % from launch to launch, and `spread` from job to job."""
    by_job = {}
    for job in range(jobs):
        level = 100 / speed * math.exp(chance.gauss(0, spread))
        by_job[f"{bid}{job}"] = tuple(level * math.exp(chance.gauss(0, 0.01)) for _ in range(6))
    return Measured(by_job=by_job)


def test_a_demand_is_met_by_both_bounds_or_by_none() -> None:
    measured_us = results(random.Random(1), "a")
    bounds = measured_us.bounds()
    assert bounds is not None
    low, high = bounds
    assert low < measured_us.value < high and measured_us.is_of_machine
    verdicts = [measured.meets(CASE, measured_us, bound) for bound in (1.01 * high, measured_us.value, 0.99 * low)]
    assert verdicts == [Meets.MEETS, Meets.CANNOT_TELL, Meets.DOES_NOT_MEET]
    assert "of 1 job alone" in results(random.Random(1), "a", jobs=1).text


def test_equal_scores_share_the_first_place() -> None:
    equal = np.ones(100)
    assert evaluation._wins({0: equal, 1: equal, 2: equal}) == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})


def leads(chance: random.Random, bids: int, speed: float) -> Iterator[bool]:
    """Whether the best of `bids` leads each other, as the award tests it; the first has the speed."""
    made = sorted(
        (results(chance, str(bid), speed=speed if bid == 0 else 1.0) for bid in range(bids)), key=lambda one: one.value
    )
    for other in made[1:]:
        sides = [(-1.0, made[0].logs), (1.0, other.logs)]
        interval = contrast.interval(sides)
        assert interval is not None
        yield interval[0] > 0


@pytest.mark.parametrize("bids", [2, 5])
def test_equal_bids_have_a_leader_in_few_tenders_and_a_true_5_percent_is_found(bids: int) -> None:
    """At most 5 % and two standard errors of 400 tenders; five jobs a bid, 1 % from job to job and from launch."""
    chance = random.Random(bids)
    assert sum(all(leads(chance, bids, 1.0)) for _ in range(400)) <= 29
    assert sum(all(leads(chance, bids, 1.05)) for _ in range(50)) >= 45
