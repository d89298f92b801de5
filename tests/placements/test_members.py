"""Members of one's own: a rank order in a folder, and one in a package with an entry point, with no other edit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT

KIND = "railyard.placements.orders.rank_orders"


def order(name: str) -> str:
    """Return the source of an order of this name."""
    source = (CHECKOUT / "railyard/placements/orders/rank_orders/hilbert.py").read_text()
    return source.replace('"hilbert"', f'"{name}"')


def place(order: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "railyard"), "place", "gemini-2x2x2", "--grid", "2x2x2", "--placement", order]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def in_folder(root: Path, name: str) -> None:
    folder = root / "placements/orders/rank_orders"
    folder.mkdir(parents=True)
    (folder / f"{name}.py").write_text(order(name))


def test_an_order_in_a_folder_of_the_path_is_found(tmp_path: Path) -> None:
    in_folder(tmp_path, "mine")
    assert place("mine").returncode == 2
    done = place("mine", RAILYARD_PATH=f"/no/such/folder:{tmp_path}")
    assert done.returncode == 0, done.stderr


def test_an_order_of_an_installed_package_is_found(tmp_path: Path) -> None:
    (tmp_path / "my_site.py").write_text(order("mine"))
    about = tmp_path / "my_site-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-site\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{KIND}]\nmine = my_site\n")
    done = place("mine", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("source", "problem"), [("import no_such", "ModuleNotFoundError"), ("ORDRE = 1", "ORDER")])
def test_a_member_that_is_none_is_one_line(tmp_path: Path, source: str, problem: str) -> None:
    in_folder(tmp_path, "mine")
    (tmp_path / "placements/orders/rank_orders/mine.py").write_text(source)
    done = place("plain", RAILYARD_PATH=str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "mine" in done.stderr and problem in done.stderr


@pytest.mark.parametrize("name", ["plain", "hilbert"])
def test_a_member_that_exists_already_is_one_line(tmp_path: Path, name: str) -> None:
    in_folder(tmp_path, name)
    done = place(name, RAILYARD_PATH=str(tmp_path))
    assert done.returncode == 2 and name in done.stderr and "Traceback" not in done.stderr
