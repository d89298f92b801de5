"""docs/coverage.md has every row of the works, with the figures of its commands, and names what is there.

The studies, too: every published number belongs to a benchmark that a check of its study runs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repository.test_help import CONTEXTS
from support.commands import CHECKOUT, Run
from support.records.suite import benchmarks_by_check

from railyard.analysis.cases import published
from railyard.placements.arrays import np
from railyard.placements.orders.walks import alps_walk
from railyard.placements.topology import catalog
from railyard.records import studies
from railyard.records.rules import design
from railyard.records.studies import Contrast, Published, Row, Shown
from railyard.reference import checks, coverage, tables

PAGE = CHECKOUT / "docs/coverage.md"
#: The section of the page about the work of a study.
SECTIONS = {
    "llnl-multirail": "LLNL's poster on multirail InfiniBand",
    "pena2013": "Peña et al., EuroMPI'13",
    "pedretti2013": "Pedretti et al., CUG'13",
    "ezell2013": "Ezell, CUG'13",
}
#: Rows of each work, and of railyard itself.
ROWS = {"L": 44, "P": 55, "D": 52, "E": 55, "C": 10}
SYSTEMS = {"simtorus", "linkload", "vtorus"}
#: Rows of numbers that are more than 1.5 times from the published ones.
FAR = {"llnl-multirail": [], "pena2013": ["P19", "P27"], "pedretti2013": ["D44"], "ezell2013": ["E29", "E34"]}
#: Orders, networks, protocols, variables: words in code's type that are no anchors.
WORDS = {"snake", "snake-8x8x8", "snake:8x8x8", "router", "gemini-put", "gemini-get"}
WORDS |= {"bandwidth_gbyte_s", "APRUN_BALANCED_INJECTION"}
#: What a command in the last column begins with.
COMMANDS = ("reframe ", "railyard checks ", "railyard links ", "railyard topology ", "railyard nics ")


def rows(section: str) -> list[list[str]]:
    """Return the cells of the rows of a section."""
    text = PAGE.read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [line[2:-2].split(" | ") for line in text.splitlines() if re.match(r"\| [LPDEC]\d", line)]


def anchors(text: str) -> list[str]:
    """Return what a text names: code words without commands, and targets of links."""
    words = re.findall(r"`([^`]+)`", text)
    return [
        *(word for word in words if word not in WORDS and not word.startswith(COMMANDS)),
        *re.findall(r"\]\(([^)]+)\)", text),
    ]


def is_there(anchor: str) -> bool:
    """Whether an anchor is a check, a topology, a command, a file, or a page with that heading."""
    if anchor.startswith("railyard "):
        return anchor in CONTEXTS
    page, _, heading = anchor.partition("#")
    if page.endswith(".md"):
        path = PAGE.parent / page
        return path.is_file() and (not heading or heading in headings(path.read_text()))
    return anchor.partition("%")[0] in check_names() or anchor in catalog.known() or (CHECKOUT / anchor).exists()


@functools.cache
def check_names() -> frozenset[str]:
    return frozenset(one.name for one in checks.checks())


def headings(text: str) -> set[str]:
    """The headings of a page as the site links to them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("section", [*SECTIONS.values(), "What railyard is to have"])
def test_a_row_names_what_exists(section: str) -> None:
    missing = [(cells[0], anchor) for cells in rows(section) for anchor in anchors(cells[-1]) if not is_there(anchor)]
    assert missing == []


def test_every_row_of_the_four_works_is_there() -> None:
    """No row was lost when the page was shortened: the page that answered 216 rows first had these."""
    wanted = [f"{letter}{number}" for letter, count in ROWS.items() for number in range(1, count + 1)]
    cells = [row for section in [*SECTIONS.values(), "What railyard is to have"] for row in rows(section)]
    assert list(dict.fromkeys(row[0] for row in cells)) == wanted
    assert all(len(row) == 6 and row[4] and (row[5] or row[4] == "cannot") for row in cells if row[0][0] != "C")


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.stem)
def test_the_tables_of_a_page_are_those_of_the_code_and_of_the_studies(page: Path) -> None:
    assert tables.rewritten(page.read_text()) == page.read_text(), "run: make tables"


@pytest.mark.parametrize("study", SECTIONS)
def test_every_published_number_has_a_row_and_a_check_of_its_study_that_measures_it(study: str) -> None:
    of_study = {check for check, names in design.studies_by_check().items() if study in names}
    for number in studies.all_studies()[study].published:
        assert number.row, number.quantity
        system, _, check = number.by.partition(" ")
        if number.compare or number.by:
            assert system in SYSTEMS and check.partition("%")[0] in of_study, number
            assert number.benchmark in benchmarks_by_check()[check.partition("%")[0]], number


@pytest.mark.parametrize("study", SECTIONS)
def test_a_number_far_from_the_published_one_has_its_reason(study: str) -> None:
    numbers = studies.all_studies()[study].published
    far = [number for number in numbers if (published.apart(number, number.ours) or 1) > published.FACTOR]
    assert [number.row for number in far] == FAR[study]
    assert all(number.differs for number in far)


def test_a_verdict_is_the_ratio_of_two_factors() -> None:
    change = Published(figure="", benchmark="", quantity="rows", value=-54, unit="%", ours="-70.1 %")
    assert coverage.verdict(change) == "1.54 times apart: not explained"
    limit = replace(change, quantity="rows, up to", ours="-26.0 %", compare=Contrast())
    assert coverage.verdict(limit) == "within the limit"
    share = replace(change, quantity="share, more than", value=100, ours="25.0 %", compare=Contrast(shown=Shown.SHARE))
    assert coverage.verdict(replace(share, differs="Queues.")) == "4.00 times apart: Queues."
    gain = replace(change, quantity="gain", value=4, ours="29.6 % better (exchange)")
    assert published.apart(gain, gain.ours) == pytest.approx(1.296 / 1.04)
    assert published.apart(gain, "29.6 % worse (exchange)") == pytest.approx(1.04 / 0.704)
    assert published.apart(gain, "no difference (iteration)") == pytest.approx(1.04)
    assert coverage.verdict(replace(gain, ours="")) == "no record of this version"


RUN = [row for study in SECTIONS for row in studies.all_studies()[study].rows if row.run]


@pytest.fixture(scope="module")
def printed(railyard: Run) -> Callable[[str], str]:
    """Return what a command of railyard prints, each run once."""

    @functools.cache
    def run(command: str) -> str:
        program, *words = command.split()
        assert program == "railyard"
        done = railyard(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("row", RUN, ids=[row.row for row in RUN])
def test_the_command_of_a_row_prints_its_figure(row: Row, printed: Callable[[str], str]) -> None:
    """Compare the command's output with the page: where a row names a command, and it is no job."""
    assert row.ours in printed(row.run), row.row


def test_a_step_between_blocks_of_the_default_walk_is_long() -> None:
    """Row P9: Peña's Figure 2 has neighbours alone."""
    long, most = [], []
    for name in ("cielo", "titan", "blue-waters"):
        extents = np.array(catalog.load(name).extents)
        steps = np.abs(np.diff(alps_walk(tuple(extents.tolist())), axis=0))
        hops = np.minimum(steps, extents - steps).sum(axis=1)
        long.append(int((hops > 1).sum()))
        most.append(int(hops.max()))
    (row,) = [row for row in studies.all_studies()["pena2013"].rows if row.row == "P9"]
    assert row.ours == f"{long[0]}, {long[1]} and {long[2]} steps of more than one hop"
    assert set(most) == {11}


def test_a_row_without_its_check_is_noticed() -> None:
    assert not is_there("halo_of_tomorrow") and not is_there("torus.md#heading-of-tomorrow")
    assert not is_there("railyard tomorrow") and not is_there("results/studies/tomorrow.yml")


@pytest.mark.parametrize("name", sorted(studies.all_studies()))
def test_a_published_number_belongs_to_a_benchmark_that_its_study_runs(name: str) -> None:
    of_study = {check for check, names in design.studies_by_check().items() if name in names}
    run = {benchmark for check, found in benchmarks_by_check().items() if check in of_study for benchmark in found}
    assert {number.benchmark for number in studies.all_studies()[name].published} <= run


def test_the_poster_prints_no_unit_so_its_study_has_ratios_alone() -> None:
    found = studies.all_studies()["llnl-multirail"].published
    assert {each.unit for each in found} <= {"%", "times"}
    shares = {each.quantity.partition(" (0")[0]: each.value for each in found if each.figure == "Collectives table"}
    assert shares["Allreduce, Default (round robin) as a share of NIC-0"] == 50.9
    assert len(shares) == 9
