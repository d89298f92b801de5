"""What containers/spack-sources prints of each package, with a stand-in for Spack's own modules."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from railyard.base.checkout import CHECKOUT

SCRIPT = CHECKOUT / "containers/spack-sources"
COMMIT = "17f7f7500625f1b2a08556469c1cfc9d5ea0f686"


def package(name: str, git: str, fetched: list[str], **fetcher: str) -> Any:
    """Return a spec of railyard's own recipes, with as much of its package as the script reads."""
    spec = SimpleNamespace(name=name, namespace="railyard", external=False, installed=True)
    spec.dag_hash = lambda: f"hash-of-{name}"
    spec.traverse = lambda: [spec]
    spec.package = SimpleNamespace(
        spec=spec,
        git=git,
        fetcher=SimpleNamespace(**fetcher),
        stage=[SimpleNamespace()],
        do_fetch=lambda: fetched.append(name),
    )
    return spec


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """An environment of UMT, whose recipe names a repository, and of the benchmarks of a checkout."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    name = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", "-C", str(tmp_path), *name, "commit", "--quiet", "--allow-empty", "--message=one"]
    subprocess.run(command, check=True)
    names: list[str] = []
    specs = [
        package("umt", "https://example.org/UMT.git", names, commit=COMMIT),
        package("railyard-benchmarks", tmp_path.as_uri(), names, branch="main"),
    ]
    modules = {
        each: ModuleType(each) for each in ("spack", "spack.config", "spack.environment", "spack.util")
    }
    modules["spack.util.path"] = ModuleType("spack.util.path")
    environment = SimpleNamespace(concretized_specs=lambda: [(spec.name, spec) for spec in specs])
    vars(modules["spack.environment"])["active_environment"] = lambda: environment
    for each, module in modules.items():
        parent, _, last = each.rpartition(".")
        if parent:
            setattr(modules[parent], last, module)
        monkeypatch.setitem(sys.modules, each, module)
    monkeypatch.chdir(tmp_path)
    return names


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *words])
    runpy.run_path(str(SCRIPT))


def test_only_the_benchmarks_are_of_the_checkout(
    fetched: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(monkeypatch, str(tmp_path / "cache"))
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == [
        f"railyard.source.railyard-benchmarks checkout {head}",
        f"railyard.source.umt commit {COMMIT}",
    ]


def test_a_recipe_of_ours_with_a_repository_is_fetched_for_a_site_without_a_network(
    fetched: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(monkeypatch, str(tmp_path / "cache"), "--fetch")
    assert fetched == ["umt"]
