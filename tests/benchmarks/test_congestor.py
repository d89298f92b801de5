"""congestor: every pattern verifies its data, ends as it was told, and says what it sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.benchmark_runs import measured, run, samples_of

#: Payload of a round of 4 ranks with messages of 1 KiB, two in flight where a pattern has several.
ROUNDS = {"incast": 6, "alltoall": 12, "broadcast": 3, "allreduce": 6, "permutation": 8}


@pytest.mark.parametrize("pattern", ROUNDS)
def test_a_pattern_sends_so_many_verified_rounds(pattern: str, tmp_path: Path) -> None:
    words = ["--pattern", pattern, "--size", "1KiB", "--window", "2", "--rounds", "5"]
    read = measured("congestor", 4, *words, folder=tmp_path)
    said = read["parameters"]
    assert (said["rounds_sent"], said["ended_by"]) == (5, "rounds")
    assert said["round_bytes"] == ROUNDS[pattern] * 1024
    times = samples_of(read)["round_us"]
    assert len(times) == 5 and read["verified"]


def test_it_says_that_it_is_ready_and_ends_by_the_stop_file(tmp_path: Path) -> None:
    (tmp_path / "stop").touch()
    ready = tmp_path / "ready"
    words = ["--stop", str(tmp_path / "stop"), "--ready", str(ready), "--size", "8B"]
    outcome = run("congestor", 2, *words, "--json", tmp_path / "c.json")
    assert outcome.status == 0 and ready.exists()
    assert json.loads((tmp_path / "c.json").read_text())["parameters"]["ended_by"] == "stop"


@pytest.mark.parametrize("beside", ROUNDS)
def test_the_last_ranks_send_another_pattern_until_the_first_have_ended(beside: str, tmp_path: Path) -> None:
    words = ["--pattern", "allreduce", "--size", "8B", "--rounds", "40"]
    words += ["--beside", beside, "--beside-size", "1KiB", "--beside-window", "2", "--beside-ranks", "4"]
    read = measured("congestor", 6, *words, folder=tmp_path)
    said = read["parameters"]
    assert (said["rounds_sent"], said["ended_by"], said["round_bytes"]) == (40, "rounds", 2 * 8)
    assert said["beside"] == beside and said["beside_rounds_sent"] >= 1 and read["verified"]
    times = samples_of(read)["round_us"]
    assert len(times) == 40 and len(read["ranks"]) == 6
