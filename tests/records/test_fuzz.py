"""Hostile input of every kind ends in one line: `python -m perf fuzz` reads 10,000 of each, here are a few."""

from __future__ import annotations

import pytest
from support import fuzz

FEW = 40


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_hostile_input_is_refused_in_one_line_or_accepted(kind: str) -> None:
    found = [fuzz.fuzzed(kind, seed) for seed in range(FEW)]
    problems = [f"{seed}: {each.problem}" for seed, each in enumerate(found) if each.problem]
    # how long it took is what `python -m perf fuzz` looks at, on a machine that does nothing else
    assert [each for each in problems if not each.endswith(" s")] == []
    assert any(each.is_accepted for each in found) or kind == "record"
