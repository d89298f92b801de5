"""The figures of docs/coverage.md are those that its commands give: of checks that take few seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support import reframe

from railyard.analysis.cases import modelled, published
from railyard.analysis.judge.judged import judge
from railyard.analysis.text import MINUS
from railyard.records import studies
from railyard.reference import coverage

#: System -> those of its checks that this test runs, by the file of `checks` that has them.
CHEAP: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "simtorus": {
        "hops": ("hops_paper",),
        "contention": ("contention_router",),
        "topobw": ("topobw_links", "topobw_titan"),
    },
    "linkload": {"applications/minighost_model": ("minighost_remap",)},
}


@pytest.mark.parametrize(
    "system", [pytest.param("simtorus", marks=pytest.mark.simgrid), pytest.param("linkload", marks=pytest.mark.reframe)]
)
def test_a_number_of_the_page_is_what_its_command_gives(system: str, tmp_path: Path) -> None:
    files = [word for name in CHEAP[system] for word in ("-c", f"{reframe.CHECKS}/{name}.py")]
    names = [name for group in CHEAP[system].values() for name in group]
    words = ["--system", system, *files, "-n", "|".join(names), "-r", *reframe.into(tmp_path)]
    reframe.assert_passed(reframe.reframe_in(tmp_path)(*words, RAILYARD_TOPOLOGY="gemini-4x4x4"))
    judged = judge(modelled.records(reframe.records(tmp_path)))
    numbers = [
        number
        for work in coverage.WORKS
        for number in studies.all_studies()[work].published
        if number.by.removeprefix(f"{system} ") in names
    ]
    assert len(numbers) > 5
    for number in numbers:
        check = number.by.partition(" ")[2].partition("%")[0]
        answers = [
            answer.replace(MINUS, "-")
            for one in judged.cases
            if one.case.first.case.check == check
            for answer in [published.here(number, one.case, one.comparisons)]
            if answer
        ]
        assert number.ours in answers, number
