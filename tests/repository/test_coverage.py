"""docs/coverage.md leads from every published figure to a check that measures it, and names nothing that is not there.

The studies, too: every published number belongs to a benchmark that a check of its study runs.
"""

from __future__ import annotations

import functools
import re

import pytest
from support.commands import CHECKOUT
from support.suite import benchmarks_by_check

from placements.topology import catalog
from railyard.records import studies
from railyard.records.rules import design
from railyard.reference import checks, commands

PAGE = CHECKOUT / "docs/coverage.md"
#: The section of the page about the work of a study.
SECTIONS = {
    "llnl-multirail": "LLNL's poster on multirail InfiniBand",
    "pena2013": "Peña et al., EuroMPI'13",
    "pedretti2013": "Pedretti et al., CUG'13",
    "ezell2013": "Ezell, CUG'13",
}
#: Endings of checks and rank orders: words in code's type that are no anchors.
WORDS = {"_strong", "_multirail", "_profile", "_mpi_time", "_hybrid", "snake", "results/studies"}
#: Published benchmarks that no check runs.
NOT_RUN: set[tuple[str, str]] = set()


def rows(section: str) -> list[tuple[str, str]]:
    """Return the rows of a section: what the work has, and where it is here."""
    text = PAGE.read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| (?!---)(.+?) \| (.+) \|$", text, re.MULTILINE)[1:]


def anchors(text: str) -> list[str]:
    """Return what a text names: code words, and targets of links."""
    words = re.findall(r"`([^`]+)`", text)
    return [word for word in words if word not in WORDS] + re.findall(r"\]\(([^)]+)\)", text)


def is_there(anchor: str) -> bool:
    """Whether an anchor is a check, a topology, a command, a file, or a page with that heading."""
    if anchor.startswith("railyard "):
        return anchor in command_paths()
    page, _, heading = anchor.partition("#")
    if page.endswith(".md"):
        path = PAGE.parent / page
        return path.is_file() and (not heading or heading in headings(path.read_text()))
    return anchor in check_names() or anchor in catalog.known() or (CHECKOUT / anchor).exists()


@functools.cache
def check_names() -> frozenset[str]:
    return frozenset(one.name for one in checks.checks())


@functools.cache
def command_paths() -> frozenset[str]:
    return frozenset(context.command_path for context in commands.walk())


def headings(text: str) -> set[str]:
    """The headings of a page as the site links to them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("section", [*SECTIONS.values(), "What cannot be repeated here"])
def test_a_row_names_what_exists(section: str) -> None:
    assert len(rows(section)) > 5
    missing = [
        (item, anchor) for item, where in rows(section) for anchor in anchors(where) if not is_there(anchor)
    ]
    assert missing == []


@pytest.mark.parametrize(("study", "section"), SECTIONS.items())
def test_every_published_figure_has_a_row_with_a_check_that_measures_it(study: str, section: str) -> None:
    """A reader of a paper finds the check of a figure: it is of the paper's study and runs the figure's benchmark."""
    measured = benchmarks_by_check()
    of_study = {check for check, names in design.studies_by_check().items() if study in names}
    wanted = {(number.figure, number.benchmark) for number in studies.all_studies()[study].published}
    there = {
        (figure, benchmark)
        for item, where in rows(section)
        for figure, _ in wanted
        if re.search(rf"(?<!\w){re.escape(figure)}(?!\w)", item)
        for check in anchors(where)
        if check in of_study
        for benchmark in measured[check]
    }
    assert wanted - there == set()


def test_a_row_without_its_check_is_noticed() -> None:
    assert not is_there("halo_of_tomorrow") and not is_there("torus.md#heading-of-tomorrow")
    assert not is_there("railyard tomorrow") and not is_there("results/studies/tomorrow.yml")


@pytest.mark.parametrize("name", sorted(studies.all_studies()))
def test_a_published_number_belongs_to_a_benchmark_that_its_study_runs(name: str) -> None:
    of_study = {check for check, names in design.studies_by_check().items() if name in names}
    run = {
        benchmark
        for check, found in benchmarks_by_check().items()
        if check in of_study
        for benchmark in found
    }
    wanted = {each.benchmark for each in studies.all_studies()[name].published}
    assert {(name, benchmark) for benchmark in wanted - run} <= NOT_RUN


def test_the_poster_prints_no_unit_so_its_study_has_ratios_alone() -> None:
    found = studies.all_studies()["llnl-multirail"].published
    assert {each.unit for each in found} <= {"%", "times"}
    shares = {
        each.quantity.partition(" (0")[0]: each.value for each in found if each.figure == "Collectives table"
    }
    assert shares["Allreduce, Default (round robin) as a share of NIC-0"] == 50.9
    assert len(shares) == 9


def test_the_numbers_of_topobws_sample_output_are_those_of_figure_6() -> None:
    found = studies.all_studies()["ezell2013"].published
    assert {each.figure for each in found} == {"Fig. 6", "Fig. 7", "Table I"}
