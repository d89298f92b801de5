"""Nodes near to each other: the option of each scheduler, and what is refused in one line."""

from __future__ import annotations

import pytest

from railyard.base.errors import InputError
from railyard.jobs import submission
from railyard.jobs.partition import Partition
from railyard.placements.orders.allocation import allocate
from railyard.placements.topology import catalog


@pytest.mark.parametrize(
    ("scheduler", "value", "option"),
    [
        ("slurm", 1, "--switches=1"),
        ("slurm", "2@30", "--switches=2@30"),
        ("squeue", "1@1-12:00:00", "--switches=1@1-12:00:00"),
        ("pbs", "switch", "-l place=group=switch"),
    ],
)
def test_the_scheduler_gets_its_own_option(scheduler: str, value: str | int, option: str) -> None:
    where = Partition.read("site:cpu", scheduler, {"nodes": 4, "constraint": value}, {})
    granted = allocate(catalog.load("gemini-2x2x2"), "contiguous", seed=1)
    assert option in submission.options(where, granted)


def test_without_a_constraint_there_is_no_such_option() -> None:
    where = Partition.read("site:cpu", "pbs", {"nodes": 4}, {})
    assert list(submission.options(where, allocate(catalog.load("gemini-2x2x2"), "contiguous", seed=1))) == []


@pytest.mark.parametrize(
    ("scheduler", "value", "words"),
    [
        ("slurm", "one", "COUNT"),
        ("slurm", "1 --nodelist=x", "COUNT"),
        ("pbs", "switch:excl", "resource"),
        ("flux", "switch", "none with the scheduler flux"),
        ("local", "1", "none with the scheduler local"),
    ],
)
def test_what_a_scheduler_cannot_word_is_refused(scheduler: str, value: str, words: str) -> None:
    with pytest.raises(InputError, match=r"extras\.constraint") as caught:
        Partition.read("site:cpu", scheduler, {"nodes": 4, "constraint": value}, {})
    assert words in str(caught.value) and "\n" not in str(caught.value)
