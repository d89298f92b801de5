"""railyard tender preset: what applies to a machine, and what does not, with the reason."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from railyard.tender import presets
from railyard.tender.cli import tender


def lines(*words: str) -> list[str]:
    done = CliRunner().invoke(tender, ["preset", *words])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_without_a_name_it_lists_the_presets() -> None:
    assert [line.split()[0] for line in lines()] == presets.names()


@pytest.mark.parametrize("name", presets.names())
def test_every_rule_has_a_line_and_what_does_not_apply_a_reason(name: str) -> None:
    found = lines(name, "--nodes", "128")
    rules = presets.load(name).rules
    assert len(found) == len(rules)
    for line, rule in zip(found, rules, strict=True):
        assert rule.text in line
        assert line.startswith("applies") or len(line) > len(f"not here  {rule.name}: {rule.text}; ")
        assert line.startswith("by hand") == bool(rule.by_hand)


def test_a_machine_of_one_node_answers_no_rule_of_two() -> None:
    (latency,) = (line for line in lines("ats5", "--nodes", "1") if " latency: osu_latency" in line)
    assert latency.startswith("not here") and "needs 2 nodes; the machine has 1" in latency
