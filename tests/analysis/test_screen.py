"""The last screen of `railyard report`: it fits, it states what the page states, and it names the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from support import synthetic
from support.commands import CHECKOUT

from railyard.analysis.cases import comparison
from railyard.analysis.judge.judged import Judged, judge
from railyard.analysis.report import effects, page, screen
from railyard.records.assemble import LaunchRun
from railyard.records.record import Record
from railyard.records.store import archive

CLEAN = {"git_commit": "1f" * 20, "git_dirty": False}
SLOWER = synthetic.halo({"plain": 1.0, "custom": 0.9}, launches=8)
ALIKE = [
    synthetic.halo({"plain": 1.0, "custom": 1.0}, launches=8, railyard={"version": version, **CLEAN})
    for version in "abcdefghijklm"
]


def shown(records: Sequence[Record], *files: str) -> list[str]:
    return screen.lines(judge(records), files or ["report.html"])


def fits(found: list[str]) -> bool:
    return len(found) <= screen.HEIGHT and max(map(len, found)) <= screen.WIDTH


@pytest.mark.parametrize("records", [[], [SLOWER], [*ALIKE, SLOWER]], ids=["none", "one", "many"])
def test_it_fits_one_screen(records: list[Record]) -> None:
    assert fits(shown(records, "report.html", "report.json", "figures/ (12 figures)"))


def test_it_states_what_was_measured_what_was_found_and_where_the_page_is() -> None:
    found = shown([SLOWER], "report.html")
    assert "Evidence: 1 case in 1 record; launches: 16 with a result" in found
    assert "The placement custom makes the halo exchange 1.11 times as fast as the placement plain" in found[1]
    assert any(line.split()[:5] == ["\N{BLACK UP-POINTING TRIANGLE}", "1.11", "1.10", "to", "1.12"] for line in found)
    assert found[-2:] == ["Files", "  report.html"]
    assert any(line.startswith("  Chance alone would name a winner in at most 0.") for line in found)


def test_a_figure_that_follows_from_another_is_no_second_winner() -> None:
    judged = judge([SLOWER])
    figures = {str(member.fom): comparison.sentence(member) for member in judged.cases[0].comparisons}
    assert "custom is lowest" in figures["iteration_us"]
    assert figures["bandwidth_gbyte_s"] == "The same measurement as iteration_us, which is judged."
    assert judged.by_chance.endswith("of 2 families of tests; winners named: 2.")  # iteration and exchange


def test_the_largest_effect_comes_first_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "HEIGHT", 24)
    found = shown([*ALIKE, SLOWER])
    assert fits(found)
    head = next(at for at, line in enumerate(found) if line.startswith("  times as fast"))
    assert "1.11" in found[head + 1]
    rows = [line for line in found[head:] if " custom " in line]
    assert f"  {len(ALIKE) + 1 - len(rows)} more: see the page" in found


@pytest.mark.parametrize("count", [3, 9], ids=["combinations are columns", "combinations are rows"])
def test_a_cell_of_the_table_of_effects_is_that_of_its_row_and_column(count: int) -> None:
    names = ["plain", "custom", "cart-create", *(f"random:{seed}" for seed in range(count))]
    made = [
        synthetic.halo(
            {name: 1 + at * step for at, name in enumerate(names)},
            launches=8,
            system={"name": system, "partition": "netns", "environment": "openmpi"},
        )
        for step, system in ((0.1, "one"), (0.2, "other"))
    ]
    judged = judge(made)
    cells = page.cells([page.draw(one) for one in judged.cases], judged.grouped)
    (section,) = effects.table(cells)
    for head, row in section.rows:
        for column, cell in zip(section.columns, row, strict=True):
            assert {head, column} == {cell.figure, cell.combination}
    largest = [max(cell.effect for cell in row) for _, row in section.rows]
    assert largest == sorted(largest, reverse=True) and largest[0] > 0.3
    assert len(cells) == 2 * (len(names) - 1) and {cell.text[0] for cell in cells} == {
        "\N{BLACK DOWN-POINTING TRIANGLE}"
    }


def failed(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    return dataclasses.replace(run, exit_status=137, output=None)


def test_launches_without_a_result_are_counted_and_a_case_without_any_says_so() -> None:
    found = shown([synthetic.halo(launches=8, change=lambda run, of: failed(run, of) if run.index == 0 else run)])
    assert any("1 failed" in line for line in found if line.startswith("Evidence"))
    assert "No launch has a result." in " ".join(shown([synthetic.halo(launches=2, change=failed)]))


def test_a_case_of_which_the_page_states_nothing_has_a_line_with_what_was_measured() -> None:
    """One point of an axis is neither a curve nor compared."""
    (judged,) = judge([SLOWER]).cases
    silent = dataclasses.replace(judged, comparisons=(), panels=())
    found = screen.lines(Judged(cases=(silent,)), [])
    line = found[found.index("Found") + 2].strip()
    assert line.startswith("Iteration: ") and line.endswith(" µs, 16 values; 2 more figures on the page.")


def test_the_degraded_system_of_the_example_has_too_few_jobs_for_a_verdict() -> None:
    found = shown(list(archive.iterate(archive.paths(CHECKOUT / "results" / "example"))))
    assert "vcluster and vcluster-degraded (emulated): cannot tell which is faster." in " ".join(found)
    assert fits(found)


def test_the_name_of_a_page_is_never_cut() -> None:
    path = "/".join(["a-long-folder"] * 12) + "/report.html"
    assert shown([SLOWER], path)[-1] == f"  {path}"
