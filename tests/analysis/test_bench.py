"""`make bench` remembers the states of a machine, and fails with a line for what is slower than they allow."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from perf import bench
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
    options = argparse.Namespace(accept=False)
    assert bench.measure(options)["quick/cost_ratio"] == pytest.approx(1, rel=0.5)
    text = bench.HISTORY.read_text()
    monkeypatch.setitem(bench.COMMANDS, "quick", (1, f'python -I -c "{5 * (WORK + chr(10))}"'))
    with pytest.raises(SystemExit, match=r"^slower: quick/cost_ratio: .* above the reference"):
        bench.measure(options)
    assert bench.HISTORY.read_text() == text and "allowed" in (tmp_path / "index.html").read_text()
    options.accept = True
    monkeypatch.setattr(provenance, "code", lambda: {"git_commit": "0" * 40})
    bench.measure(options)
    (entry,) = references.load(bench.HISTORY)[bench.CHECK].values()
    assert entry.history[-1].accepted[0].startswith("quick/cost_ratio")
