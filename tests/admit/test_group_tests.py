"""Admission names what is slow, in few launches, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.commands import executable

from perf.gates import admit as simulated
from railyard.admit import group_tests
from railyard.admit.group_tests import Pair, Rule
from railyard.admit.launching import Launcher
from railyard.base.errors import RunError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("slow", [0, 1, 3])
def test_slow_nodes_of_a_list_are_named_in_few_launches(slow: int) -> None:
    admission, faults = simulated.on_list(64, slow, seed=slow)
    assert set(admission.bad) == set(faults)
    assert set(admission.good) == set(simulated.nodes_of(64)) - set(faults)
    assert admission.is_sure and admission.launches <= 15 and not admission.slow_paths


def test_a_slow_cable_is_told_from_slow_nodes_and_one_end_of_it_is_left_out() -> None:
    admission, faults = simulated.on_torus(2, 1, seed=4)
    assert simulated.named(admission) == set(faults)
    assert len(admission.bad) == 2 and len(admission.good) == 61


def test_every_cable_of_the_torus_is_read() -> None:
    tested: set[str] = set()
    machine = simulated.Machine(0, {})

    def launch(pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        nodes = [node for pair in pairs for node in (pair.one, pair.other)]
        assert len(nodes) == len(set(nodes))
        tested.update(pair.path for pair in pairs)
        return machine.launch(pairs)

    torus = simulated.torus()
    names = [node.name for node in torus.nodes]
    group_tests.admit(names, group_tests.pairs_of_torus(torus, names), launch, every_path=True)
    assert len(tested) == 192


def test_the_cables_of_a_slow_node_are_not_judged_by_name() -> None:
    admission, (node,) = simulated.on_torus(1, 0, seed=4)
    cables = [pair.path for pair in simulated_pairs() if node in (pair.one, pair.other)]
    assert admission.bad == (node,) and set(admission.not_judged) == set(cables) and len(cables) == 6


def test_a_search_goes_on_where_it_was_stopped() -> None:
    pairs, nodes = simulated_pairs(), [node.name for node in simulated.torus().nodes]
    steps = list[tuple[group_tests.Rates, Sequence[Pair], group_tests.Admission]]()
    machine = simulated.Machine(3, {nodes[7]: 0.2})
    whole = group_tests.admit(
        nodes, pairs, machine.launch, every_path=True, after=lambda *step: steps.append(step)
    )
    assert len(steps) == whole.launches and steps[-1][2] == whole
    assert any(nodes[7] in (pair.one, pair.other) for step in steps for pair in step[1])
    rest = iter(steps[2:])
    resumed = group_tests.admit(
        nodes,
        pairs,
        lambda _: next(rest)[0],
        every_path=True,
        earlier=[step[0] for step in steps[:2]],
    )
    assert resumed == whole and next(rest, None) is None


def simulated_pairs() -> list[Pair]:
    return group_tests.pairs_of_torus(simulated.torus(), [node.name for node in simulated.torus().nodes])


def test_a_node_that_never_answers_is_slow() -> None:
    nodes = simulated.nodes_of(8)

    def launch(pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        return {pair: None if "n3" in (pair.one, pair.other) else 1.0 for pair in pairs}

    admission = group_tests.admit(nodes, group_tests.pairs_of_list(nodes), launch, every_path=False)
    assert admission.bad == ("n3",) and admission.is_sure


def test_a_search_that_may_not_go_on_is_undecided_and_admits_no_doubtful_node() -> None:
    nodes, machine = simulated.nodes_of(64), simulated.Machine(0, {"n5": 0.2}, disturbed=0.0)
    pairs = group_tests.pairs_of_list(nodes)
    admission = group_tests.admit(nodes, pairs, machine.launch, Rule(launches=1), every_path=False)
    assert set(admission.undecided) == {"n4", "n5"} and not admission.is_sure
    assert not {"n4", "n5"} & set(admission.good)


def launcher_of(tmp_path: Path, command: str) -> Launcher:
    """Return a launcher of 16 nodes that is a shell command."""
    script = tmp_path / "launcher"
    executable(script, f"#!/bin/sh\n{command}\n")
    return Launcher(
        launcher="openmpi4",
        command=[str(script)],
        program="pt2pt",
        nodes=simulated.nodes_of(16),
        size="1MiB",
        repeats=1,
        timeout_s=60,
        folder=tmp_path,
        most=40,
    )


def test_a_launcher_that_always_fails_ends_the_search_after_four_launches(tmp_path: Path) -> None:
    launcher = launcher_of(tmp_path, "exit 1")
    with pytest.raises(RunError, match="4 launches, and no pair answers, not even alone: exit status 1"):
        launcher(group_tests.pairs_of_list(launcher.nodes)[:8])
