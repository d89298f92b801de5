"""What a new benchmark must be added to: quick runs for the common tests, its page, and the table of programs."""

from __future__ import annotations

import re

import pytest
from support.benchmark_runs import MORE, QUICK
from support.commands import CHECKOUT

from railyard.records import programs

#: What the common tests run, apart from the programs that have their own.
RUN = {*QUICK, *MORE}


@pytest.mark.parametrize("program", sorted(programs.PROGRAMS))
def test_every_benchmark_has_a_quick_run_and_documents(program: str) -> None:
    table = re.findall(r"^\| `([a-z0-9]+)` \|", (CHECKOUT / "benchmarks/README.md").read_text(), re.MULTILINE)
    pages = "\n".join(page.read_text() for page in (CHECKOUT / "docs").glob("*.md"))
    missing = {
        "QUICK or MORE in tests/support/benchmark_runs.py": program not in RUN,
        "the table of programs in benchmarks/README.md": program not in table,
        "a section of its own in docs/benchmarks.md": not re.search(rf"^#+ .*\b{program}\b", pages, re.MULTILINE),
    }
    assert [where for where, absent in missing.items() if absent] == []
