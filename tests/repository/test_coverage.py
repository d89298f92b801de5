"""docs/coverage.md claims no check, file, command or heading that is not there, and its sentence counts right.

The studies, too: every published number belongs to a benchmark that a check of its study runs.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.commands import CHECKOUT

from placements.topology import catalog
from railyard.records import studies
from railyard.records.rules import design
from railyard.reference import checks, commands

PAGE = CHECKOUT / "docs/coverage.md"
STATES = ("here", "partly", "not here", "cannot")
#: Rows of each work: the poster, Peña et al., Pedretti et al., Ezell, railyard itself.
ROWS = {"L": 44, "P": 55, "D": 52, "E": 55, "C": 10}
#: Figures of merit, networks of the virtual torus, allocations and orders: words in code's type that are no anchors.
WORDS = {"bandwidth_gbyte_s", "router", "snake-8x8x8", "snake:8x8x8"}
#: Published benchmarks that no check runs.
NOT_RUN: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the page."""

    name: str
    state: str
    text: str

    @property
    def anchors(self) -> list[str]:
        """What the last column names: code words, and targets of links."""
        words = re.findall(r"`([^`]+)`", self.text)
        return [word for word in words if word not in WORDS] + re.findall(r"\]\(([^)]+)\)", self.text)


def rows() -> list[Row]:
    found = re.findall(r"^\| ([LPDEC]\d+) \| (?:.+?) \| (.+?) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    return [Row(name=name, state=state, text=text) for name, state, text in found]


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


def test_every_row_of_the_four_works_is_there_once() -> None:
    wanted = [f"{letter}{number}" for letter, count in ROWS.items() for number in range(1, count + 1)]
    assert [row.name for row in rows()] == wanted


def test_a_row_names_what_exists_or_says_why_not() -> None:
    missing = [(row.name, anchor) for row in rows() for anchor in row.anchors if not is_there(anchor)]
    assert missing == []
    for row in rows():
        assert row.state in STATES, row.name
        assert row.anchors or (row.state in {"not here", "cannot"} and len(row.text.split()) > 1), row.name


def test_the_sentence_counts_the_rows() -> None:
    counts = Counter(row.state for row in rows())
    sentence = (
        f"Of these, {counts['here']} are here, {counts['partly']} partly, {counts['not here']} not here,"
        f" {counts['cannot']} cannot be."
    )
    assert f"This page lists {len(rows())} rows" in PAGE.read_text()
    assert sentence in " ".join(PAGE.read_text().split())


def test_a_row_without_its_check_is_noticed() -> None:
    assert not is_there("halo_of_tomorrow") and not is_there("torus.md#heading-of-tomorrow")
    assert not is_there("railyard tomorrow") and not is_there("results/studies/tomorrow.yml")


def benchmarks_by_check() -> dict[str, set[str]]:
    """What each check runs, from the sources: its own `benchmark` or parameter `test`, or that of its bases."""
    classes: dict[str, ast.ClassDef] = {}
    for path in sorted(checks.FOLDER.rglob("*.py")):
        classes |= {n.name: n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef)}

    def runs(name: str) -> set[str]:
        node = classes.get(name)
        if node is None:
            return set()
        own = set(_named(node))
        return own or set().union(*(runs(base.id) for base in node.bases if isinstance(base, ast.Name)))

    return {one.name: runs(one.name) for one in checks.checks()}


def _named(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) in {"benchmark", "test"}:
            constants = [each.value for each in ast.walk(line.value) if isinstance(each, ast.Constant)]
            yield from (each for each in constants if isinstance(each, str))


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
