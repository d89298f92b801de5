"""`make bench` fails with a line for what is slower than a machine's states allow; error rates keep their limits."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import pytest

from perf import bench, statistics
from perf.statistics import Rate
from railyard.records import provenance, references
from railyard.torus.engines import router

WORK = "for _ in range(400_000): pass"


def test_a_slower_command_fails_and_is_no_measure_of_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "HISTORY", tmp_path / "history.yaml")
    monkeypatch.setattr(bench, "FOLDER", tmp_path)
    monkeypatch.setattr(bench, "REFERENCE", WORK)
    monkeypatch.setattr(bench, "is_clean", lambda: True)
    monkeypatch.setattr(router, "missing", lambda: "no router")
    bench_of = {"quick": f'python -I -c "{WORK}"', "other": f'python -I -c "{WORK}"'}
    monkeypatch.setattr(bench, "COMMANDS", {name: (1, command) for name, command in bench_of.items()})
    options = argparse.Namespace(accept=False, against=None)
    assert bench.measure(options)["quick/cost_ratio"] == pytest.approx(1, rel=0.5)
    text = bench.HISTORY.read_text()
    monkeypatch.setitem(bench.COMMANDS, "quick", (1, f'python -I -c "{5 * (WORK + chr(10))}"'))
    with pytest.raises(SystemExit, match=r"^slower: quick/cost_ratio: .* above the reference"):
        bench.measure(options)
    assert bench.HISTORY.read_text() == text and "allowed" in (tmp_path / "index.html").read_text()
    options.accept = True
    monkeypatch.setattr(provenance, "code", lambda: {"git_commit": "0" * 40})
    bench.measure(options)
    options.against = tmp_path
    with pytest.raises(SystemExit, match=r"none of the commands runs there; a checkout after make setup does"):
        bench.measure(options)
    (entry,) = references.load(bench.HISTORY)[bench.CHECK].values()
    assert entry.history[-1].accepted[0].startswith("quick/cost_ratio")


def test_error_rates_and_coverage_keep_their_limits() -> None:
    """With the same seed as `python -m perf statistics`, and fewer draws: the rates of a group keep its limit."""
    groups: dict[str, list[Rate]] = {}
    for rate in statistics.rates(10):
        groups.setdefault(rate.group, []).append(rate)
    for group, members in groups.items():
        count, draws = sum(rate.count for rate in members), sum(rate.draws for rate in members)
        whole = dataclasses.replace(members[0], what=group, count=count, draws=draws)
        assert whole.is_kept, whole
        assert whole.most > 0.005 or count == 0  # a winner from too few jobs, or a wrong one


@pytest.mark.parametrize(("count", "is_kept"), [(5, True), (8, True), (15, False)])
def test_a_limit_allows_for_two_standard_errors(count: int, is_kept: bool) -> None:
    assert Rate(group="", what="", count=count, draws=100, most=0.05).is_kept is is_kept
