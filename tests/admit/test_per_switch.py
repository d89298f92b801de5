"""A job of `railyard admit` for each leaf switch: the idle nodes alone, and none where they are too few to be peers."""

from __future__ import annotations

import re
import shlex

import pytest

from railyard.admit import per_switch
from railyard.base.errors import InputError

TOPOLOGY = """\
SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-5]
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[6-11]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-11] Switches=leaf[0-1]
"""
COMMAND = ["railyard", "admit", "--command", "mpirun -q"]


def test_each_leaf_has_a_job_of_its_idle_nodes() -> None:
    idle = ["n0", "n1", "n3", "n4", "n6", "n7", "elsewhere"]
    job, comment = per_switch.lines(TOPOLOGY, idle, COMMAND, 4)
    words = shlex.split(job)
    assert words[0] == "sbatch" and {"--nodes=4", "--nodelist=n[0-1,3-4]", "--exclusive"} <= set(words)
    (wrapped,) = (word.removeprefix("--wrap=") for word in words if word.startswith("--wrap="))
    assert shlex.split(wrapped) == [*COMMAND, "--output", "admission/leaf-0"]
    assert comment == "# n[6-11]: 2 of 6 nodes are idle; 4 are needed"


def test_jobs_of_two_leaves_write_into_two_folders() -> None:
    jobs = list(per_switch.lines(TOPOLOGY, [f"n{number}" for number in range(12)], COMMAND, 4))
    assert len({re.search(r"admission/\S+", job)[0] for job in jobs}) == 2  # type: ignore[index]


def test_a_topology_without_switches_is_one_line() -> None:
    with pytest.raises(InputError, match="scontrol show topology"):
        list(per_switch.lines("TorusName=t Nodes=n[0-7]\n", [], COMMAND, 4))
