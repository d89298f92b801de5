"""The strict check, and the commands on an archive: what a bidder hands over is complete and unchanged."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from support import evidence, forgeries, synthetic

from railyard.base.errors import InputError
from railyard.records import record, rules, studies
from railyard.records.cli import results
from railyard.records.store import archive, bag

GOOD = evidence.good()


# ---- strict ----


def test_a_time_and_a_rate_of_one_name_are_no_mixed_units() -> None:
    """miniFE prints the seconds and the Mflop/s of its solver."""

    def add_rate(document: dict[str, Any]) -> None:
        for launch in document["launches"]:
            launch["series"].append({**launch["series"][0], "fom": "iteration_mflop_s"})

    assert not any("mixed units" in fault.text for fault in rules.faults(forgeries.changed(GOOD, add_rate)))


def test_too_few_launches_are_named_with_the_number_that_the_study_needs() -> None:
    few = [each.text for each in rules.faults(evidence.good(launches=5))]
    assert few == [
        f"5 results of {placement} + {policy}; at least 6 are needed"
        for placement in evidence.PLACEMENTS
        for policy in evidence.POLICIES
    ]


def test_studies_have_published_numbers_with_units() -> None:
    there = studies.all_studies()
    assert {"pena2013", "pedretti2013", "ezell2013", "llnl-multirail", "dragonfly-placement"} <= there.keys()
    for name, study in there.items():
        assert study.launches >= 6 and study.published and study.citation, name
        assert all(each.unit and each.figure and each.benchmark for each in study.published), name


# ---- the commands ----


def run(*arguments: object) -> Any:
    return CliRunner().invoke(results, [str(each) for each in arguments])


def test_commands_from_adding_to_checking(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(record.text(GOOD))
    assert run("add", file, "--archive", tmp_path / "a").exit_code == 0
    assert GOOD.id in run("list", "--archive", tmp_path / "a").output
    assert json.loads(run("list", "--archive", tmp_path / "a", "--json").output)[0]["id"] == GOOD.id
    shown = run("show", GOOD.id[:5], "--archive", tmp_path / "a")
    assert "iteration: median" in shown.output
    assert json.loads(run("show", GOOD.id, "--archive", tmp_path / "a", "--json").output)["id"] == GOOD.id
    bag.write(tmp_path / "b", archive.paths(tmp_path / "a"), bag.Bid(bidder="A", tier="baseline"))
    checked = run("check", "--strict", "--json", tmp_path / "b")
    assert checked.exit_code == 0 and json.loads(checked.output)["ok"] is True
    assert "not signed" in run("check", tmp_path / "b").output


def test_list_chooses_by_system_check_and_date(tmp_path: Path) -> None:
    archive.add(GOOD, tmp_path)

    def count(*options: str) -> int:
        return len(run("list", "--archive", tmp_path, *options).output.splitlines()) - 1

    assert count() == count("--system", "vtorus") == count("--check", "halo_3d") == 1
    day, before = (f"{evidence.CREATED - timedelta(days=ago):%Y-%m-%d}" for ago in (0, 1))
    assert count("--since", day, "--until", day) == 1
    for nothing in (["--system", "x"], ["--check", "x"], ["--since", "2099-01-01"], ["--until", before]):
        assert isinstance(run("list", "--archive", tmp_path, *nothing).exception, InputError)
    for option in ("--since", "--until"):
        error = run("list", "--archive", tmp_path, option, "yesterday").exception
        assert isinstance(error, InputError) and "yesterday" in str(error)


def test_check_goes_on_after_a_bad_record_and_ends_with_1(tmp_path: Path) -> None:
    path = archive.add(GOOD, tmp_path)
    other = archive.add(evidence.good(seed=2), tmp_path)
    path.write_bytes(path.read_bytes()[:500])
    done = run("check", tmp_path)
    assert done.exit_code == 1
    assert "2 records checked, 1 refused" in done.output and str(other) not in done.output
    assert run("check", tmp_path / "none").exit_code != 0
    plain = tmp_path / "plain.json"
    plain.write_text(record.text(synthetic.halo(launches=2)))
    assert run("check", plain).exit_code == 0 and run("check", "--strict", plain).exit_code == 1, "it has no evidence"
