"""Relations: what a launch's other figures determine cannot be changed, in one launch or in all; the table says so."""

from __future__ import annotations

import random

import pytest
from support import forgeries
from support.commands import CHECKOUT

from perf import bases
from railyard.records import programs, trust
from railyard.records.programs import third_party
from railyard.records.record import Record

#: Recording or program -> factor of a better result, for each figure that the rest determines.
RECORDED = {
    "amg-8": {"fom_per_s": 1.1},
    "lulesh-8": {"fom_kzone_s": 1.1, "elapsed_s": 0.9},
    "minife-8": {"cg_mflop_s": 1.1, "cg_s": 0.9},
    "minighost-8": {"total_gflop_s": 1.1, "time_s": 0.9},
    "osu_mbw_mr-8": {"rate_message_s": 1.1, "bandwidth_gbyte_s": 1.1},
    "snap-8": {"cells_per_s": 1.1, "solve_s": 0.9},
    "umt-8": {"unknowns_per_s": 1.1, "work_s": 0.9},
}
#: The whole of all pairs is at most their sum. Beside other work pairs begin one after the other, and it is far less.
RUN = {
    "contention": {"slowest_latency_us": 0.9, "mean_latency_us": 0.9, "aggregate_bandwidth_gbyte_s": 20.0},
    "noise": {"mean_noise_percent": 0.9, "worst_noise_percent": 0.9},
    "paths": {"aggregate_bandwidth_gbyte_s": 20.0},
    "rowcol": {"slowest_us": 0.9, "algorithmic_bandwidth_gbyte_s": 1.1, "bus_bandwidth_gbyte_s": 1.1},
}


def assert_determined(good: Record, factors: dict[str, float]) -> None:
    before = forgeries.faults_of(good)
    assert [text for _, text in before if "at least 6 are needed" not in text] == []
    for fom, factor in factors.items():
        for scope in ("launch", "launches"):
            document = forgeries.scaled(good, fom, factor, scope=scope, chance=random.Random(7))
            assert document is not None and forgeries.refuses(document, before), (fom, scope)


@pytest.mark.parametrize("name", RECORDED)
def test_a_rate_of_a_third_party_program_follows_from_time_and_work(name: str) -> None:
    assert_determined(bases.made(name), RECORDED[name])


@pytest.mark.mpi
@pytest.mark.parametrize("name", RUN)
def test_a_figure_of_a_program_follows_from_the_others(name: str) -> None:
    bases.FOLDER.mkdir(parents=True, exist_ok=True)
    assert_determined(bases.made(name), RUN[name])


@pytest.mark.parametrize("name", ["hpl", "imb", "lulesh", "mcb", "minife", "minighost", "nccl_tests", "snap", "umt"])
def test_a_figure_that_follows_another_is_one_that_the_program_has(name: str) -> None:
    modules = (f"railyard/applications/programs/{name}.py", f"checks/applications/{name}.py")
    source = "".join(path.read_text() for path in map(CHECKOUT.joinpath, modules) if path.exists())
    assert third_party.follows(name)
    for fom, others in third_party.follows(name).items():
        assert all(f'"{figure}"' in source for figure in (fom, *others))
        assert programs.leader(name, fom, others) == others[0] and not programs.leader(name, fom, [fom])


def test_the_table_of_trust_has_every_benchmark_and_frees_no_determined_figure() -> None:
    assert {name for name in programs.PROGRAMS if trust.free(name) is None} == {"sonar"}
    for name, factors in {**RECORDED, **RUN}.items():
        scopes = trust.free(name.partition("-")[0])
        assert scopes is not None
        assert set(scopes["launches"]) & (set(factors) - {"aggregate_bandwidth_gbyte_s"}) == set()


def test_a_sentence_of_trust_says_how_far_a_figure_follows() -> None:
    assert "taken on trust" in trust.sentence("hops", "latency_us")
    assert "scaled together is not seen" in trust.sentence("rowcol", "bus_bandwidth_gbyte_s")
    assert "No record of sonar was forged" in trust.sentence("sonar", "efficiency_percent")
