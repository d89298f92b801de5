"""Hostile input of every kind ends in one line: `python -m perf fuzz` reads 10,000 of each, here are a few."""

from __future__ import annotations

import pytest
from support import fuzz

FEW = 40
#: Later seeds that once failed, as `python -m perf fuzz` prints them: a schema that is no text, host lists whose
#: names took all memory.
LATE = {"record": (660, 894), "site": (231,)}


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_hostile_input_is_refused_in_one_line_or_accepted(kind: str) -> None:
    seeds = [*range(FEW), *LATE.get(kind, ())]
    found = [fuzz.fuzzed(kind, seed) for seed in seeds]
    problems = [f"{seed}: {each.problem}" for seed, each in zip(seeds, found, strict=True) if each.problem]
    # how long it took is what `python -m perf fuzz` looks at, on a machine that does nothing else
    assert [each for each in problems if not each.endswith(" s")] == []
    assert any(each.is_accepted for each in found) or kind == "record"
