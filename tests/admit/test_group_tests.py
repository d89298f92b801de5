"""Admission names what is slow, in few launches, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.commands import program

from railyard.admit import group_tests
from railyard.admit.group_tests import Admission, Pair, Rule
from railyard.admit.launching import Launcher
from railyard.base.errors import RunError
from railyard.placements.topology import catalog
from railyard.placements.topology.torus import Torus

pytestmark = pytest.mark.unit
TORUS = catalog.load("gemini-4x4x4")
assert isinstance(TORUS, Torus)
NODES = [node.name for node in TORUS.nodes]
PAIRS = group_tests.pairs_of_torus(TORUS, NODES)


class Machine:
    """Nodes and cables of which some are slow: rates of pairs with 3 % of noise, and 2 % of readings disturbed."""

    def __init__(self, seed: int, slow: Mapping[str, float], disturbed: float = 0.02) -> None:
        self.slow, self.disturbed = slow, disturbed
        self.chance = np.random.default_rng((57, seed))

    def launch(self, pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        """Return the rate of every pair, 1 without a fault."""
        return {pair: self._rate(pair) for pair in pairs}

    def _rate(self, pair: Pair) -> float:
        rate = min(self.slow.get(part, 1.0) for part in (pair.one, pair.other, pair.path))
        rate *= math.exp(self.chance.normal(0, 0.03))
        return rate * (self.chance.uniform(0.3, 0.9) if self.chance.random() < self.disturbed else 1.0)


def nodes_of(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def drawn(parts: Sequence[str], count: int, seed: int) -> dict[str, float]:
    """Return `count` slow parts, of 20 and 50 % of their rate in turns."""
    some = np.random.default_rng((5700, seed)).choice(len(parts), count, replace=False)
    return {parts[position]: (0.2, 0.5)[(seed + turn) % 2] for turn, position in enumerate(some)}


def on_torus(slow: int, cables: int, seed: int) -> tuple[Admission, dict[str, float]]:
    """Admit the 64 nodes and 192 cables of gemini-4x4x4; return the faults as well."""
    faults = drawn(NODES, slow, seed) | drawn([pair.path for pair in PAIRS], cables, seed)
    return group_tests.admit(NODES, PAIRS, Machine(seed, faults).launch, every_path=True), faults


@pytest.mark.parametrize("slow", [0, 1, 3])
def test_slow_nodes_of_a_list_are_named_in_few_launches(slow: int) -> None:
    nodes = nodes_of(64)
    faults, pairs = drawn(nodes, slow, seed=slow), group_tests.pairs_of_list(nodes)
    admission = group_tests.admit(nodes, pairs, Machine(slow, faults).launch, every_path=False)
    assert set(admission.bad) == set(faults)
    assert set(admission.good) == set(nodes) - set(faults)
    assert admission.is_sure and admission.launches <= 15 and not admission.slow_paths


def test_a_slow_cable_is_told_from_slow_nodes_and_one_end_of_it_is_left_out() -> None:
    admission, faults = on_torus(2, 1, seed=4)
    assert {*admission.bad, *(pair.path for pair in admission.slow_paths)} == set(faults)
    assert len(admission.bad) == 2 and len(admission.good) == 61


def test_every_cable_of_the_torus_is_read() -> None:
    tested: set[str] = set()
    machine = Machine(0, {})

    def launch(pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        nodes = [node for pair in pairs for node in (pair.one, pair.other)]
        assert len(nodes) == len(set(nodes))
        tested.update(pair.path for pair in pairs)
        return machine.launch(pairs)

    group_tests.admit(NODES, PAIRS, launch, every_path=True)
    assert len(tested) == 192


def test_the_cables_of_a_slow_node_are_not_judged_by_name() -> None:
    admission, (node,) = on_torus(1, 0, seed=4)
    cables = [pair.path for pair in PAIRS if node in (pair.one, pair.other)]
    assert admission.bad == (node,) and set(admission.not_judged) == set(cables) and len(cables) == 6


def test_a_search_goes_on_where_it_was_stopped() -> None:
    steps = list[tuple[group_tests.Rates, Sequence[Pair], group_tests.Admission]]()
    machine = Machine(3, {NODES[7]: 0.2})
    whole = group_tests.admit(NODES, PAIRS, machine.launch, every_path=True, after=lambda *step: steps.append(step))
    assert len(steps) == whole.launches and steps[-1][2] == whole
    assert any(NODES[7] in (pair.one, pair.other) for step in steps for pair in step[1])
    rest = iter(steps[2:])
    resumed = group_tests.admit(
        NODES, PAIRS, lambda _: next(rest)[0], every_path=True, earlier=[step[0] for step in steps[:2]]
    )
    assert resumed == whole and next(rest, None) is None


def test_a_node_that_never_answers_is_slow() -> None:
    nodes = nodes_of(8)

    def launch(pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        return {pair: None if "n3" in (pair.one, pair.other) else 1.0 for pair in pairs}

    admission = group_tests.admit(nodes, group_tests.pairs_of_list(nodes), launch, every_path=False)
    assert admission.bad == ("n3",) and admission.is_sure


def test_a_search_that_may_not_go_on_is_undecided_and_admits_no_doubtful_node() -> None:
    nodes, machine = nodes_of(64), Machine(0, {"n5": 0.2}, disturbed=0.0)
    pairs = group_tests.pairs_of_list(nodes)
    admission = group_tests.admit(nodes, pairs, machine.launch, Rule(launches=1), every_path=False)
    assert set(admission.undecided) == {"n4", "n5"} and not admission.is_sure
    assert not {"n4", "n5"} & set(admission.good)


def test_a_launcher_that_always_fails_ends_the_search_after_four_launches(tmp_path: Path) -> None:
    launcher = Launcher(
        launcher="openmpi4",
        command=[str(program(tmp_path, "launcher", "exit 1"))],
        program="pt2pt",
        nodes=nodes_of(16),
        size="1MiB",
        repeats=1,
        timeout_s=60,
        folder=tmp_path,
        most=40,
    )
    with pytest.raises(RunError, match="4 launches, and no pair answers, not even alone: exit status 1"):
        launcher(group_tests.pairs_of_list(launcher.nodes)[:8])
