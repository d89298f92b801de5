"""Outputs of programs as people published them: the right value, or the reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.inputs.outputs import CASES, load, parse

from railyard.applications import launch
from railyard.applications.reading import Reading


def figures(reading: Reading) -> dict[tuple[object, ...], list[float]]:
    return {(str(one.fom), *sorted(one.labels.items())): list(one.samples) for one in reading.series}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_public_output_has_its_right_value(path: Path) -> None:
    case = load(path)
    value = case["value"]
    reading = parse(case, (path.parent / "output.txt").read_text())
    assert value.get("fault", "") in reading.fault and bool(reading.fault) is ("fault" in value), (
        reading.fault
    )
    measured = figures(reading)
    for name, labels, wanted in value.get("figures", ()):
        samples = wanted if isinstance(wanted, list) else [wanted]
        assert measured[(name, *sorted(labels.items()))] == pytest.approx(samples, rel=1e-9)
    assert bool(measured) is bool(value.get("figures")), "a run that is not verified has no figure"
    assert reading.ranks == value.get("ranks", reading.ranks)
    assert value.get("parameters", {}).items() <= dict(reading.parameters).items()
    if "not_measured" in value:
        assert {str(one.fom) for one in reading.not_measured} == set(value["not_measured"])


def test_the_corpus_has_a_case_of_every_program_without_a_check() -> None:
    """A parser without a check of railyard's own has no recording of a real run in tests/data/applications."""
    recorded = {path.name.rpartition("-")[0] for path in CASES[0].parents[3].glob("applications/*.out")}
    programs = {name for name in launch.names_of_programs() if not name.startswith("osu_")}
    assert programs <= recorded | {load(path)["reader"] for path in CASES}
