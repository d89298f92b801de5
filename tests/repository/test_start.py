"""What a command loads at its start: a launch on a torus must not wait for libraries that it never calls."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from support.commands import CHECKOUT, ran

from railyard.cli import COMMANDS, IN_JOB_SCRIPTS, cli
from railyard.torus.engines import docker_engine

#: What no command loads to print its help.
HEAVY = {"numpy", "scipy", "matplotlib", "reframe", "jsonschema", "jinja2", "rich", "polars", "docker"}
#: A command's module, and what it does without as well until it is needed.
LIGHT = {
    "railyard.cli": {"yaml", "railyard.placements", "railyard.analysis"},
    "railyard.records.cli": {"railyard.placements", "railyard.analysis"},
    "railyard.torus.cli.torus": {"railyard.analysis"},
    "railyard.torus.simulated.cli": {"railyard.analysis"},
    "railyard.jobs.nodes.node_cli": {"yaml", "railyard.placements", "railyard.analysis"},
    "railyard.placements.cli.place": {"railyard.analysis"},
    "railyard.doctor.cli": {"railyard.analysis"},
}


def loaded(*modules: str) -> set[str]:
    """Return the names of the packages, and of railyard's rooms, that a new Python has after some imports."""
    code = f"import sys, {','.join(modules)}; print(*sys.modules)"
    return packages(code)


def packages(code: str) -> set[str]:
    """Return the packages, and the rooms of railyard, whose modules are in the last line that a program prints."""
    done = ran(sys.executable, "-c", code, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    parts = [name.split(".") for name in done.stdout.splitlines()[-1].split()]
    return {".".join(name[: 2 if name[0] == "railyard" else 1]) for name in parts}


@pytest.mark.parametrize("module", LIGHT)
def test_a_command_loads_no_library_before_it_needs_it(module: str) -> None:
    assert loaded(module).isdisjoint(LIGHT[module])


def test_no_command_loads_a_large_library_for_its_help() -> None:
    assert loaded(*{f"railyard.{place.partition(':')[0]}" for place, _ in COMMANDS.values()}).isdisjoint(HEAVY)


def test_the_list_of_commands_loads_none_and_cuts_no_line() -> None:
    listed = cli.get_help(click.Context(cli, terminal_width=80))
    lines = {name for name, (_, line) in COMMANDS.items() if re.search(rf"^  {name} +{re.escape(line)}$", listed, re.M)}
    assert lines == COMMANDS.keys() - IN_JOB_SCRIPTS
    code = "import sys; from railyard.cli import cli; cli(['--help'], standalone_mode=False); print(*sys.modules)"
    absent = HEAVY | {"railyard.analysis", "railyard.placements", "yaml", "orjson", "jsonschema_rs"}
    assert packages(code).isdisjoint(absent)


def test_packages_that_few_users_need_may_be_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make setup` installs neither docker nor polars."""
    monkeypatch.setitem(sys.modules, "docker", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    assert docker_engine.tori() == set()
    assert docker_engine.missing("an/image").endswith("docker is not installed; run: make image")
    words = ["results", "export", "--parquet", str(tmp_path / "table"), "--archive", str(tmp_path)]
    done = CliRunner().invoke(cli, words)
    assert "run: make parquet" in str(done.exception) + done.output
