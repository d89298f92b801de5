"""Which unit tests are quick: all but those that tests/slow.txt lists.

`make quick-list` writes the list from the durations of one run of the unit tests, so that no test depends on the time
of this run. A test function is slow if the set-up and call of one of its cases took longer than the limit.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.commands import TESTS

SLOW = TESTS / "slow.txt"
#: Seconds, on two processors that do nothing else.
LIMIT_S = 0.5


def function_of(test: str) -> str:
    """Return the test function of a test, without its parameters: `tests/ci/test_ci.py::test_a`."""
    return test.partition("[")[0]


@functools.cache
def slow() -> frozenset[str]:
    """Return the test functions of the list."""
    return frozenset(SLOW.read_text().splitlines())


def over_limit(reports: Iterable[pytest.TestReport]) -> dict[str, float]:
    """Return the functions that took longer than the limit in a run, with the seconds of their slowest case."""
    took_s: dict[str, float] = {}
    for report in reports:
        if report.when != "teardown":
            took_s[report.nodeid] = took_s.get(report.nodeid, 0.0) + report.duration
    slowest_s: dict[str, float] = {}
    for test, seconds in took_s.items():
        if seconds > LIMIT_S:
            slowest_s[function_of(test)] = max(seconds, slowest_s.get(function_of(test), 0.0))
    return slowest_s


def write(path: Path, reports: Iterable[pytest.TestReport]) -> None:
    """Write the list of a run."""
    path.write_text("".join(f"{function}\n" for function in sorted(over_limit(reports))))
