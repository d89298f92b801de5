"""Curves over the extent of the grid: which cases make one, and what it says."""

from __future__ import annotations

from typing import Any

import pytest
from support import synthetic

from railyard.analysis.cases import cases, comparison
from railyard.analysis.figures import by_extent
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.judge.judged import judge
from railyard.analysis.report import exports, page
from railyard.records.record import Record

ITERATION_US = {"cart-create": 100.0, "custom": 80.0}
DIRTY = {"version": "0.1.0", "git_commit": "1f" * 20, "git_dirty": True}


def halo(side: int, **changes: Any) -> Record:
    """A job of one launch of each placement; an iteration takes as long as the side, and custom a fifth less."""
    asked = synthetic.case(
        check="halo_paper_2d",
        parameters={"grid": [side, side], "cells": [64, 64]},
        placements=list(ITERATION_US),
        launches_per_combination=1,
        topology={**synthetic.case()["topology"], "name": "blue-waters"},
        extents=[side, side, 1],
    )
    return synthetic.job(
        asked,
        lambda _, placement, __: [{"fom": "iteration_us", "labels": {}, "samples": [side * ITERATION_US[placement]]}],
        **{"origin": "simulated", "torus": None, **changes},
    )


def drawn(*records: Record) -> list[Drawing]:
    return by_extent.drawings_of_cases([(case, comparison.comparisons(case)) for case in cases.group(records)])


def test_cases_that_differ_in_size_alone_are_one_curve_for_each_placement() -> None:
    (found,) = drawn(halo(12), halo(2), halo(6))
    values = {"cart-create": ("200.0", "600.0", "1,200"), "custom": ("160.0", "480.0", "960.0")}
    wanted = [
        (name, size, value) for name in values for size, value in zip(("2", "6", "12"), values[name], strict=True)
    ]
    assert [(row[0], row[1], row[2]) for row in found.data.rows] == wanted
    change = "the change from cart-create is \N{MINUS SIGN}20.0 % for custom."
    assert found.statement == f"At extent 12, where changes are largest, {change}"


def test_the_statement_is_of_the_size_that_changed_most(monkeypatch: pytest.MonkeyPatch) -> None:
    small = halo(2)
    monkeypatch.setitem(ITERATION_US, "custom", 70.0)
    middle = halo(6)
    monkeypatch.setitem(ITERATION_US, "custom", 99.0)
    (found,) = drawn(small, middle, halo(12))
    assert found.statement.startswith("At extent 6, where changes are largest,")


def test_origins_and_builds_have_curves_of_their_own() -> None:
    other = {"mpi": {**synthetic.MPI, "library": "MPICH 4.0.2"}}
    assert drawn(halo(2), halo(4, origin="modelled")) == []
    assert drawn(halo(2), halo(4, **other)) == []
    assert len(drawn(halo(2), halo(4), halo(2, **other), halo(4, **other))) == 2


def test_a_checkout_with_changes_joins_only_what_its_own_run_found() -> None:
    again = {"reframe": {"version": "4.10.4", "session": "another", "check": "halo_paper_2d"}}
    assert drawn(halo(2, railyard=DIRTY), halo(4, railyard=DIRTY, **again)) == []
    assert len(drawn(halo(2, railyard=DIRTY), halo(4, railyard=DIRTY))) == 1


def test_parameters_of_strangers_and_records_without_a_run_are_no_trouble() -> None:
    odd = [halo(side, railyard=DIRTY, reframe=None) for side in (2, 4)]
    series = [{"fom": "iteration_us", "labels": {}, "samples": [5.0]}]
    for grid, cells in (([[1], [1]], 5), (["a", "a"], [1]), ([True, True], [1])):
        asked = synthetic.case(parameters={"grid": grid, "cells": cells}, launches_per_combination=1)
        odd.append(synthetic.job(asked, lambda *_: series))
    assert drawn(*odd) == []


def test_the_page_and_the_folder_of_figures_show_it() -> None:
    records = [halo(2), halo(4)]
    assert '<h2 id="extents">By extent</h2>' in page.html(judge(records))
    assert "extent-1.svg" in [name for name, _ in exports.svg_files(judge(records))]
    assert drawn(records[0]) == []
