"""What `railyard checks` and the reference list of each check: nodes, needs, minutes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import synthetic

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError
from railyard.records.store import archive
from railyard.reference import checks, cli
from railyard.reference.checks import Check, Needs

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "file", "wanted"),
    [
        ("halo_folded", "halo.py", Needs(nodes="64", what="", tags=())),
        ("halo_paper_2d", "halo.py", Needs(nodes="varies", what="a cluster or SimGrid or the model", tags=())),
        ("halo_smoke", "halo.py", Needs(nodes="8", what="", tags=("smoke",))),
        ("halo_3d", "halo.py", Needs(nodes="all", what="", tags=())),
        ("paths_parallel", "paths.py", Needs(nodes="54", what="", tags=())),
        ("sonar_efficiency", "sonar.py", Needs(nodes="2", what="NIC counters", tags=())),
        ("amg_weak", "applications/amg.py", Needs(nodes="8", what="amg2013", tags=("coral",))),
        ("amg_multirail", "applications/amg.py", Needs(nodes="4", what="amg2013", tags=("coral",))),
    ],
)
def test_a_check_needs_what_its_class_has_after_bases_and_decorators(name: str, file: str, wanted: Needs) -> None:
    listed = checks.of(Check(name=name, file=CHECKOUT / "checks" / file, text=""))
    assert dataclasses.replace(listed, tags=wanted.tags, launches=wanted.launches) == wanted
    assert set(wanted.tags) <= set(listed.tags)


def test_minutes_are_those_of_the_newest_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for launches, day in ((2, 21), (3, 22)):
        created = synthetic.CREATED.replace(day=day)
        archive.add(synthetic.halo(launches=launches, created=created), tmp_path / "archive")
    assert cli.seconds(tmp_path / "archive") == {"halo_3d": pytest.approx(3 * 3 * 4.2)}


def test_a_family_is_one_line_and_its_checks_have_one_each() -> None:
    listed = CliRunner().invoke(cli.checks, []).output.splitlines()
    assert len(listed) < 45
    (halo,) = [line for line in listed if line.startswith("halo_*")]
    _, *rows = CliRunner().invoke(cli.checks, ["halo"]).output.splitlines()
    assert f"({len(rows)})" in halo and all(row.startswith("halo_") for row in rows)
    minutes = [re.split(r"  +", row)[2] for row in rows]
    assert all(re.fullmatch(r"~\d+|\d+\.\d", text) for text in minutes), "an estimate, or the archive's"
    wrong = CliRunner().invoke(cli.checks, ["hallo"])
    assert isinstance(wrong.exception, InputError) and "did you mean 'halo'" in str(wrong.exception)
