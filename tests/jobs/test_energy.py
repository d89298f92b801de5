"""What becomes of the energy that nodes counted: sums over nodes, or nothing where a node lacks a counter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support import evidence
from support.versions import of_rows, with_rows

from railyard.jobs.nodes import energy
from railyard.records import strict_rules
from railyard.records.benchmark import Series
from railyard.records.record import Record


def counted(path: Path, rows: Sequence[tuple[str, str, float]], form: str = "railyard-nics/1") -> Path:
    named = [dict(zip(("node", "counter", "joules"), row, strict=True)) for row in rows]
    path.write_text(json.dumps({"format": form, "nics": [], "energy": named}))
    return path


def test_counters_of_a_kind_are_added_over_sockets_and_nodes(tmp_path: Path) -> None:
    rows = [
        ("n0", "package-0", 10.0),
        ("n0", "package-1", 5.0),
        ("n1.site", "package-0", 7.0),
        ("n0", "dram", 1.0),
    ]
    (found,) = energy.read(counted(tmp_path / "x", rows), ["n0", "n1", "n1"], {})
    assert found == Series(fom=energy.FOM, labels={"counter": "package"}, samples=(22.0,))
    assert (found.fom.unit.text, found.fom.better) == ("J", "lower")


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format": "other"}', '{"format": "railyard-nics/1", "nics": []}']
)
def test_a_file_without_energy_gives_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "x").write_text(content)
    assert energy.read(tmp_path / "x", ["n0"], {}) == []
    assert energy.read(tmp_path / "not-there", ["n0"], {}) == []


def with_energy(joules: Sequence[float], copied: bool = False) -> Record:
    document: dict[str, Any] = with_rows(evidence.good(origin="measured"))
    for launch, value in zip(document["launches"], joules, strict=False):
        if copied:
            launch["series"] = [dict(each) for each in document["launches"][0]["series"]]
        series = {"fom": str(energy.FOM), "labels": {"counter": "package"}, "samples": [value]}
        launch["series"] = [*(each for each in launch["series"] if each["fom"] != energy.FOM), series]
    return of_rows(document)


def test_a_record_with_energy_passes_the_strict_check_though_one_launch_lacks_it() -> None:
    good = with_energy([float(100 + each) for each in range(5)])
    assert strict_rules.faults(good) == []


def test_other_energies_do_not_hide_that_a_launch_is_a_copy() -> None:
    forged = with_energy([100.0, 101.0], copied=True)
    assert any("same samples" in each.text for each in strict_rules.faults(forged))
