"""Slow launches: the event that explains one is named, and events that have nothing to do with it explain nothing."""

from __future__ import annotations

import csv
import functools
import itertools
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from support import forgeries, synthetic

from railyard.analysis import why
from railyard.analysis.judge import versus
from railyard.cli import cli
from railyard.records import record
from railyard.records.folded import slow
from railyard.records.record import Record
from railyard.records.rules import faults
from railyard.records.store import archive, entries

pytestmark = pytest.mark.unit

SEEDS = range(50)
READ = {"slingshot": ["TX_REPLAYS"], "linux-net": ["LINK_DOWNS"], "node": ["TCP_RETRANSMITTED"]}


def event(node: str, nic: str, name: str, growth: int, **changes: Any) -> dict[str, Any]:
    found = {"node": node, "nic": nic, "event": name, "unit": "events", "kind": "count", "before": 3}
    return {**found, "after": 3 + growth, **changes}


@functools.cache
def job() -> Record:
    """A job of 12 launches of one placement."""
    made = synthetic.case(placements=["plain"], launches_per_combination=12)
    return synthetic.job(made, synthetic.halo_series({"plain": 1.0}))


def measured(seed: int, *, slow_launch: int | None = None, flap: bool = False) -> Record:
    """The job; every launch has a few retransmissions, and one in four a replay somewhere."""
    chance = random.Random(seed)
    document = json.loads(record.text(job()))
    for launch in document["launches"]:
        events = [event("n0-0-0", "", "TCP_RETRANSMITTED", chance.randrange(1, 9), unit="segments")]
        if chance.random() < 0.25:
            events.append(event(f"n{chance.randrange(4)}-0-0", "hsn0", "TX_REPLAYS", chance.randrange(1, 4)))
        slowness = (1.38 if launch["repeat"] == slow_launch else 1.0) * (1 + chance.gauss(0, 0.006))
        for series in launch["series"]:
            sign = -1 if series["fom"] == "bandwidth_gbyte_s" else 1
            series["samples"] = [value * slowness**sign for value in series["samples"]]
        if launch["repeat"] == slow_launch and flap:
            events.append(event("n2-1-0", "hsn2", "LINK_DOWNS", 1))
        launch["health"] = {"read": READ, "not_read": {}, "events": events}
    return record.validate(record.sealed(document), "made")


def test_a_flap_in_a_slow_launch_is_named_with_launch_nic_and_kind() -> None:
    for seed in SEEDS:
        (one,) = (found for found in slow.launches(measured(seed, slow_launch=seed % 12, flap=True)) if found.causes)
        assert one.launch.repeat == seed % 12 and one.percent == pytest.approx(38, abs=5)
        assert (one.causes[0].node, one.causes[0].nic, one.causes[0].event) == ("n2-1-0", "hsn2", "LINK_DOWNS")
        assert "n2-1-0 hsn2: LINK_DOWNS 1 events" in one.text() and "by chance in 1 of 12" in one.text()


def test_events_that_come_in_every_launch_explain_no_slow_one() -> None:
    """A launch is slow by another cause: of 50, at most one in fifty may be explained by chance."""
    explained = [one for seed in SEEDS for one in slow.launches(measured(seed, slow_launch=5)) if one.causes]
    clean = [one for seed in SEEDS for one in slow.launches(measured(seed)) if one.causes]
    assert (len(explained) <= 1, clean) == (True, [])


def test_verdicts_without_marked_launches_are_those_of_every_check() -> None:
    document, known = measured(1, slow_launch=6, flap=True).document, []
    for check, system in itertools.product(("a", "b"), ("one", "other")):
        changes = {"case": {**document["case"], "check": check}, "system": {**document["system"], "name": system}}
        known.append(entries.of_record(record.validate(record.sealed({**document, **changes}), "made")))
    compared = versus.of_texts(["system=one", "system=other"], lambda **_: known)
    assert compared.marked[-1] == "Without the 4 launches that an event explains all 6 verdicts stay the same."


def test_without_the_counters_of_the_other_launches_no_event_explains_anything() -> None:
    def change(document: dict[str, Any]) -> None:
        for launch in document["launches"]:
            launch["health"] = launch["health"] if launch["repeat"] == 6 else None

    (one,) = slow.launches(forgeries.changed(measured(1, slow_launch=6, flap=True), change))
    assert one.launch.repeat == 6 and not one.causes


def test_exports_have_the_faults_of_a_launch(tmp_path: Path) -> None:
    """The table has those of every launch, the report's CSV what explains one, OpenMetrics the sum of each counter."""
    read = measured(1, slow_launch=6, flap=True)
    path = archive.add(read, tmp_path / "archive")
    for form in ("csv", "openmetrics"):
        words = ["report", "--format", form, str(path), "-o", str(tmp_path / form)]
        assert CliRunner().invoke(cli, words, catch_exceptions=False).exit_code == 0
    (row, *_) = csv.DictReader((tmp_path / "csv").open())
    assert (row["faulty"], row["marked"]) == ("12", "1") and "n2-1-0 hsn2: LINK_DOWNS 1 events" in row["events"]
    gauge = 'node="n2-1-0",nic="hsn2",event="LINK_DOWNS",unit="events"} 1'
    assert gauge in (tmp_path / "openmetrics").read_text()
    words = ["results", "export", "--parquet", str(tmp_path / "table"), "--archive", str(tmp_path / "archive")]
    assert CliRunner().invoke(cli, words, catch_exceptions=False).exit_code == 0
    sql = f"SELECT DISTINCT launch, faults FROM '{tmp_path}/table/**/*.parquet' ORDER BY launch"
    by_launch = dict(duckdb.connect().sql(sql).fetchall())
    assert [launch for launch, text in by_launch.items() if "LINK_DOWNS" in text] == [
        launch.index for launch in read.launches if launch.repeat == 6
    ]
    assert all("n0-0-0: TCP_RETRANSMITTED" in text for text in by_launch.values()) and len(by_launch) == 12


def test_why_answers_each_cause_with_its_evidence(tmp_path: Any) -> None:
    path = tmp_path / "record.json"
    path.write_text(record.text(measured(1, slow_launch=6, flap=True)))
    done = CliRunner().invoke(why.why, [str(path)])
    assert done.exit_code == 0 and "1 of 12 launches slower" in done.output, done.output
    assert "Launch 7 of 12 was" in done.output and "LINK_DOWNS 1 events" in done.output
    (found,) = json.loads(CliRunner().invoke(why.why, [str(path), "--json"]).output)
    answers = {suspect["cause"]: suspect["answer"] for suspect in found["suspects"]}
    assert (answers["errors"], answers["ranks elsewhere"], answers["heat or frequency"]) == ("yes", "no", "unknown")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"event": "SYMBOL_ERRORS"}, "SYMBOL_ERRORS was not read"),
        ({"after": 3}, "count of LINK_DOWNS: 3 before and 3 after"),
        ({"after": 1}, "count of LINK_DOWNS: 3 before and 1 after"),
    ],
)
def test_an_event_that_its_counters_cannot_have_is_a_fault(changes: dict[str, Any], text: str) -> None:
    events = [event("n0-0-0", "hsn0", "LINK_DOWNS", 1, **changes)]
    read = forgeries.changed(measured(1), lambda document: document["launches"][0]["health"].update(events=events))
    assert [fault.text for fault in faults(read) if ".health" in fault.field] == [text]
