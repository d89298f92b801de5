"""A job of `railyard admit` for each leaf switch: the idle nodes alone, and none where they are too few to be peers."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.commands import program

from railyard.admit import cli, per_switch
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


def test_jobs_of_two_leaves_write_into_two_folders_with_the_options_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "scontrol", f"cat <<'END'\n{TOPOLOGY}END")
    program(tmp_path, "sinfo", "seq -f n%g 0 11")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    done = CliRunner().invoke(cli.admit, ["--per-switch", "--resume", "--slow", "70"])
    jobs = [shlex.split(line)[-1] for line in done.output.splitlines()]
    command = "--wrap=railyard admit --slow 70.0 --resume --output admission/leaf-"
    assert jobs == [f"{command}0", f"{command}1"], done.output


def test_a_topology_without_switches_is_one_line() -> None:
    with pytest.raises(InputError, match="scontrol show topology"):
        list(per_switch.lines("TorusName=t Nodes=n[0-7]\n", [], COMMAND, 4))
