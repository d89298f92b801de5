"""`railyard plan`: its launches and jobs find the difference as often as it prints, by the rule that decides."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner
from support.commands import CHECKOUT
from support.entries import entry

from railyard.analysis.cases import judgement
from railyard.analysis.cases.judgement import Comparison, Evidence, Series
from railyard.analysis.plan import answers, enough
from railyard.analysis.plan.answers import Noise
from railyard.analysis.plan.cli import plan
from railyard.analysis.stats.verdicts import Finding
from railyard.records import looks, units

DRAWS = 400


def share_found(n: int, spread: float, change: float) -> float:
    """How often the verdict of two groups of n launches is that the slower one is worse."""
    chance, count = np.random.default_rng(2), 0
    for _ in range(DRAWS):
        evidence = {
            "base": Evidence(values=chance.lognormal(0, spread, n).tolist()),
            "side": Evidence(values=chance.lognormal(np.log1p(change), spread, n).tolist()),
        }
        series = Series(fom=units.fom("a_us", "us", "lower"), labels=(), evidence=evidence, deterministic=False)
        (judged,) = judgement.compare([series], "base")
        count += judged.group("side").finding is Finding.WORSE
    return count / DRAWS


@pytest.mark.parametrize(("spread", "change"), [(0.025, 0.05), (0.01, 0.03)])
def test_the_launches_of_a_plan_find_the_difference_as_often_as_it_prints(spread: float, change: float) -> None:
    stated = Noise(what="", within=spread, between=None, jobs=0, launches=6, combinations=2, floor=0.0)
    (of_80, *_), (of_95, *_) = answers.planned(stated, change).launches
    assert of_80 is not None and of_95 is not None
    assert 0.75 < share_found(of_80, spread, change) < 0.98
    assert share_found(of_95, spread, change) > 0.92
    assert share_found(of_80 - 1, spread, change) < 0.85


def test_what_can_be_found_is_found_and_no_difference_within_the_floor_is() -> None:
    smallest = answers.detectable(8, 0.02, 0.8, tests=11)
    assert smallest is not None
    assert answers.power(8, 0.02, smallest, tests=11) >= 0.8 > answers.power(8, 0.02, 0.9 * smallest, tests=11)
    assert answers.enough(0.001, 0.01, 0.8, floor=0.02) is None
    assert answers.detectable(3, 0.01, 0.8) is None  # three launches never decide


def test_noise_within_and_between_jobs_is_that_of_the_records() -> None:
    chance = np.random.default_rng(5)
    entries = [
        entry(number, (1000 * np.exp(chance.normal(0, 0.03) + chance.normal(0, 0.01, 8))).tolist())
        for number in range(40)
    ]
    (of_archive,) = answers.of_archive(entries, "halo_3d")
    assert of_archive.within == pytest.approx(0.01, rel=0.15)
    assert of_archive.between == pytest.approx(0.03, rel=0.35)
    assert (of_archive.jobs, of_archive.launches, of_archive.combinations) == (40, 8, 1)
    (alone,) = answers.of_archive(entries[:1], "halo_3d")
    assert alone.between is None


def test_a_plan_counts_the_points_and_says_what_a_small_pilot_leaves_open() -> None:
    stated = Noise(what="", within=0.02, between=0.01, jobs=3, launches=6, combinations=3, floor=0.0)
    one, many = (
        answers.planned(dataclasses.replace(stated, points=points, freedom=(30, 2)), 0.05) for points in (1, 16)
    )
    assert many.launches[0] > one.launches[0] and many.everywhere[0] > many.launches[0]
    number, low, high = one.jobs[0]
    assert number is not None and low is not None and high is not None and low <= number < high
    assert answers.planned(stated, 0.05).jobs[0] == (number, number, number)


def test_the_command_reads_the_archive_or_a_stated_noise_and_names_what_is_missing() -> None:
    run = CliRunner().invoke
    result = run(plan, ["multirail_halo", "--find", "5%", "--archive", str(CHECKOUT / "results/example"), "--json"])
    document = json.loads(result.stdout)
    assert [one["combinations"] for one in document["plans"]] == [12, 12]
    stated = run(plan, ["any", "--find", "5", "--noise", "1%", "--between", "1%", "--combinations", "12"])
    assert "launches of each of 12 combinations that find 5.0 %" in stated.stdout
    assert "jobs per side, of 6 launches, that find 5.0 %" in stated.stdout
    missing = run(plan, ["nothing", "--find", "5%", "--archive", str(CHECKOUT / "results/example")])
    assert "--noise 2%" in str(missing.exception)
    assert run(plan, ["any", "--find", "none"]).exit_code == 2


def compared(spread: float, rounds: int) -> list[Comparison]:
    chance = np.random.default_rng(3)
    evidence = {
        name: Evidence(values=chance.lognormal(0, spread, rounds).tolist()) for name in ("plain", "custom", "random")
    }
    return judgement.compare(
        [Series(fom=units.fom("iteration_us", "us", "lower"), labels=(), evidence=evidence, deterministic=False)],
        "plain",
        looked=looks.TESTS,
    )


def test_a_job_has_enough_when_the_ratio_of_every_combination_is_as_narrow_as_requested() -> None:
    assert not enough.is_enough(enough.half_widths(compared(0.04, 6)), 2)
    narrow = enough.half_widths(compared(0.01, 10))
    assert list(narrow) == ["custom", "random"] and enough.is_enough(narrow, 2)
    assert not enough.is_enough(narrow, 0.5)
    assert not enough.is_enough({}, 100)  # no ratio, for example where every launch is void


def test_an_interval_that_was_looked_at_is_wider() -> None:
    (with_looks,) = compared(0.04, 10)
    without = dataclasses.replace(with_looks, looked=1.0)
    wide, narrow = (one.half_width_percent(one.group("custom")) for one in (with_looks, without))
    assert wide and narrow and wide > narrow
    assert looks.rounds(30) == [6, 8, 10, 13, 17, 22, 28]
