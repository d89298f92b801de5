"""`railyard plan`: its launches and jobs find the difference as often as it prints, by the rule that decides."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from support.commands import CHECKOUT
from support.entries import entry

from analysis.plan import answers, noise, power
from analysis.plan.cli import plan
from analysis.plan.noise import Noise
from analysis.stats import medians, ranktest, verdicts
from analysis.stats.verdicts import Finding
from railyard.records.units import Better

DRAWS = 400


def share_found(n: int, spread: float, change: float) -> float:
    """How often the verdict of two groups of n launches is that the slower one is worse."""
    chance, count = np.random.default_rng(2), 0
    for _ in range(DRAWS):
        groups = {
            "base": chance.lognormal(0, spread, n).tolist(),
            "side": chance.lognormal(np.log1p(change), spread, n).tolist(),
        }
        (pairs,) = ranktest.family([groups])
        summaries = {name: medians.summarise(values) for name, values in groups.items()}
        count += verdicts.between("side", pairs["base", "side"], summaries, Better.LOWER) is Finding.WORSE
    return count / DRAWS


@pytest.mark.parametrize(("spread", "change"), [(0.025, 0.05), (0.01, 0.03)])
def test_the_launches_of_a_plan_find_the_difference_as_often_as_it_prints(
    spread: float, change: float
) -> None:
    stated = Noise(what="", within=spread, between=None, jobs=0, launches=6, combinations=2, floor=0.0)
    of_80, of_95 = answers.planned(stated, change).launches
    assert of_80 is not None and of_95 is not None
    assert 0.75 < share_found(of_80, spread, change) < 0.98
    assert share_found(of_95, spread, change) > 0.92
    assert share_found(of_80 - 1, spread, change) < 0.85


def test_what_can_be_found_is_found_and_no_difference_within_the_floor_is() -> None:
    smallest = power.detectable(8, 0.02, 0.8, tests=11)
    assert smallest is not None
    assert power.power(8, 0.02, smallest, tests=11) >= 0.8 > power.power(8, 0.02, 0.9 * smallest, tests=11)
    assert power.enough(0.001, 0.01, 0.8, floor=0.02) is None
    assert power.detectable(3, 0.01, 0.8) is None  # three launches never decide


def test_noise_within_and_between_jobs_is_that_of_the_records() -> None:
    chance = np.random.default_rng(5)
    entries = [
        entry(number, (1000 * np.exp(chance.normal(0, 0.03) + chance.normal(0, 0.01, 8))).tolist())
        for number in range(40)
    ]
    (of_archive,) = noise.of_archive(entries, "halo_3d")
    assert of_archive.within == pytest.approx(0.01, rel=0.15)
    assert of_archive.between == pytest.approx(0.03, rel=0.35)
    assert (of_archive.jobs, of_archive.launches, of_archive.combinations) == (40, 8, 1)
    (alone,) = noise.of_archive(entries[:1], "halo_3d")
    assert alone.between is None


def test_the_command_reads_the_archive_or_a_stated_noise_and_names_what_is_missing() -> None:
    run = CliRunner().invoke
    result = run(
        plan, ["multirail_halo", "--find", "5%", "--archive", str(CHECKOUT / "results/example"), "--json"]
    )
    document = json.loads(result.stdout)
    assert [one["combinations"] for one in document["plans"]] == [12, 12]
    stated = run(plan, ["any", "--find", "5", "--noise", "1%", "--between", "1%", "--combinations", "12"])
    assert "launches of each of 12 combinations that find 5.0 %" in stated.stdout
    assert "jobs per side, of 6 launches, that find 5.0 %" in stated.stdout
    missing = run(plan, ["nothing", "--find", "5%", "--archive", str(CHECKOUT / "results/example")])
    assert "--noise 2%" in str(missing.exception)
    assert run(plan, ["any", "--find", "none"]).exit_code == 2
