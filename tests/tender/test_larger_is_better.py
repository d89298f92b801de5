"""The larger rate wins in the table of a comparison, in its score and in a tender, whatever its name ends in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from support import evidence
from support.records import figures

from railyard.cli import cli
from railyard.records.assemble import LaunchRun
from railyard.records.store import archive

CHALLENGE = "12345678"
RATES = ("hpl_tflop_s", "stream_mbyte_s")
REQUEST = {"format": "railyard-tender/1", "title": "t", "challenge": CHALLENGE, "origins": ["measured"]}


def railyard(*arguments: str) -> str:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def with_rates(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    (times,) = (series["samples"] for series in document["series"] if series["fom"] == "iteration_us")
    document["series"] += [{"fom": rate, "labels": {}, "samples": [1e6 / time for time in times]} for rate in RATES]
    return run


def case(rate: str) -> dict[str, Any]:
    fom = figures.fom(rate)
    declared = {"name": rate, "fom": rate, "unit": fom.unit.text, "better": str(fom.better)}
    return {**declared, "reference": 100.0, "check": "hpl", "nodes": 16, "placement": "plain"}


def test_the_larger_rate_wins_in_the_table_the_score_and_a_tender(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bidder `fast` has twice the rates of `slow` in each of four jobs."""
    monkeypatch.chdir(tmp_path)
    for bidder, speed in (("slow", 1.0), ("fast", 2.0)):
        of_bidder: dict[str, Any] = {"challenge": CHALLENGE, "speed": speed, "system": bidder, "placements": ["plain"]}
        of_bidder |= {"check": "hpl", "case_changes": {"benchmark": "hpl", "parameters": {}}, "change": with_rates}
        for record in evidence.jobs(4, origin="measured", **of_bidder):
            archive.add(record, Path(bidder))
        railyard("tender", "pack", bidder, "-o", f"bag-{bidder}", "--bidder", bidder)

    table = railyard("compare", "./slow", "./fast", *(word for rate in RATES for word in ("--fom", rate)))
    rows = [line for line in table.splitlines() if line.startswith("  ./fast")]
    assert len(rows) == len(RATES) and all(row.endswith("better") for row in rows), table
    assert "./fast is 2.00 times as fast as ./slow" in table

    Path("tender.yml").write_text(yaml.safe_dump({**REQUEST, "cases": list(map(case, RATES))}))
    bids = ("tender", "evaluate", "bag-slow", "bag-fast", "--request", "tender.yml", "--format", "json")
    assert json.loads(railyard(*bids))["sentence"].startswith("fast is best")
