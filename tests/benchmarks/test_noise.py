"""noise: the quantum is what was asked for, every rank has its own figure, bad input, wrong data."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.benchmark_runs import measured

QUICK = ["--quantum", "1e-4", "--count", "20", "--repeats", "2"]
FOMS = {
    *("quantum_us", "mean_noise_percent", "worst_noise_percent", "longest_delay_us"),
    *("allreduce_us", "iteration_us", "delay_us", "amplification_percent"),
}


@pytest.mark.parametrize("ranks", [1, 3])
def test_each_rank_has_its_noise_and_all_have_the_amplification(ranks: int, tmp_path: Path) -> None:
    read = measured("noise", ranks, *QUICK, folder=tmp_path)
    whole = {s["fom"]: s["samples"] for s in read["series"] if not s["labels"]}
    assert set(whole) == FOMS and all(len(samples) == 2 for samples in whole.values())
    own = [s for s in read["series"] if s["fom"] == "rank_noise_percent"]
    assert [s["labels"]["rank"] for s in own] == list(range(ranks))
    for repeat in range(2):
        of_ranks = [s["samples"][repeat] for s in own]
        assert max(of_ranks) == pytest.approx(whole["worst_noise_percent"][repeat], rel=1e-9)
        assert sum(of_ranks) / ranks == pytest.approx(whole["mean_noise_percent"][repeat], rel=1e-9)
        assert min(of_ranks) >= 0


def test_the_work_grows_with_the_quantum(tmp_path: Path) -> None:
    """Calibrated by the fewest steps of any trial, so a busy machine makes quanta longer in time, not in work."""
    steps = [
        measured("noise", 1, "--quantum", quantum, "--count", "1", folder=tmp_path)["parameters"]["steps"]
        for quantum in ("1e-5", "1e-2")
    ]
    assert steps[1] > 20 * steps[0] > 0
