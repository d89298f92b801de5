"""A ReFrame of the site's own: its packages alone, railyard's checkout beside it; and the configuration of old ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import CHECKOUT, environment, ran
from support.reframe import reframe_of
from support.sites import packages

MAIN = "import sys; sys.argv[0] = 'reframe'; from reframe.frontend.cli import main; sys.exit(main())"


def shown(config: str) -> dict[str, Any]:
    """Return the configuration of a simulated torus as ReFrame prints it."""
    document: dict[str, Any] = json.loads(
        reframe_of("-C", CHECKOUT / config, "--system", "simtorus", "--show-config").stdout
    )
    return document


@pytest.mark.unit
def test_reframe_4_7_and_4_8_get_the_configuration_of_the_yaml_file() -> None:
    """All but the one setting that they refuse."""
    yaml, python = shown("reframe.yml"), shown("config/older_reframe.py")
    for general in yaml["general"]:
        general.pop("poll_rate_min", None)
    assert python == yaml


@pytest.mark.unit
def test_a_reframe_of_the_sites_own_lists_a_check_beside_the_checkout(tmp_path: Path) -> None:
    """Its Python sees ReFrame and what ReFrame requires; NumPy is what `make setup` installed."""
    folder = tmp_path / "module"
    folder.mkdir()
    packages.link(["reframe-hpc"], folder, without=["polars"])
    assert not (folder / "numpy").exists()
    words = ["-C", "reframe.yml", "--system", "linkload", "-c", "checks/halo.py", "-n", "halo_smoke", "-l", "--nocolor"]
    command = [Path(sys.base_prefix, "bin/python3"), "-S", "-c", MAIN, *words, "--prefix", tmp_path]
    done = ran(*command, cwd=CHECKOUT, env=environment(PYTHONPATH=f"{folder}:{CHECKOUT}"))
    assert "- halo_smoke" in done.stdout and "Found 1 check(s)" in done.stdout, done.stdout + done.stderr
