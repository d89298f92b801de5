"""A command that a fork runs behaves as the one that the script starts: unit tests take the one for the other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import HUNG_S, environment, started
from support.forked import Commands

#: A page, a usage error, bad input, and a failure: statuses 0, 2, 2 and 1.
WORDS = (
    ["place", "gemini-2x2x2", "--order", "snake"],
    ["place", "gemini-2x2x2", "--unheard-of"],
    ["topology", "no-such-topology"],
    ["granted"],
)


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    commands = Commands()
    yield commands
    commands.close()


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_fork_and_the_script_print_and_end_alike(commands: Commands, words: list[str]) -> None:
    by_script = started(words, environment(), HUNG_S)
    by_fork = commands.run(words, environment(), HUNG_S)
    assert (by_fork.returncode, by_fork.stdout, by_fork.stderr) == (
        by_script.returncode,
        by_script.stdout,
        by_script.stderr,
    )


def test_a_fork_has_the_environment_and_the_folder_of_its_request_alone(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").write_text("no-such-node\n")
    monkeypatch.chdir(tmp_path)
    first = commands.run(["granted", "stage"], environment(RAILYARD_NODES="hosts"), HUNG_S)
    second = commands.run(["granted", "stage"], environment(), HUNG_S)
    assert "no variable that lists nodes" not in first.stderr
    assert "no variable that lists nodes" in second.stderr


def test_a_fork_that_takes_too_long_is_ended_and_the_next_command_runs(commands: Commands) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        commands.run(["topology", "gemini-2x2x2"], environment(), 0.001)
    assert commands.run(["--version"], environment(), HUNG_S).returncode == 0
