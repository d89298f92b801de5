"""What a user reads is true: commands are documented, documents name what exists, git holds nothing made."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from repository.test_help import CONTEXTS
from support import quick, sharing
from support.commands import CHECKOUT, tracked

DOCUMENTS = [
    *sorted(
        path for path in (CHECKOUT / "docs").rglob("*.md") if path.parent.name != "reference" or path.stem == "index"
    ),
    *sorted(CHECKOUT.glob("[A-Z]*.md")),
    CHECKOUT / "benchmarks/README.md",
]


def test_every_command_is_documented() -> None:
    text = "\n".join(path.read_text() for path in DOCUMENTS)
    assert [name for name in CONTEXTS if name not in text] == []


def test_the_list_of_slow_tests_names_tests() -> None:
    """A test that was renamed would be quick."""
    named = [line.split("::") for line in sorted(quick.slow())]
    gone = [
        "::".join([file, *names])
        for file, *names in named
        if not (CHECKOUT / file).exists() or f"def {names[-1]}(" not in (CHECKOUT / file).read_text()
    ]
    assert gone == []


def test_every_target_of_the_makefile_is_in_its_help() -> None:
    shown = subprocess.run(["make", "help"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"make (\w+)", shown)) >= {"setup", "demo", "test", "lint", "bench", "clean"}


def test_links_between_documents_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


WORKFLOWS = sorted((CHECKOUT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", [*WORKFLOWS, CHECKOUT / "action.yml"], ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_permissions_are_least(path: Path) -> None:
    text = path.read_text()
    used = [name for name in re.findall(r"uses: (\S+)", text) if not name.startswith("./")]
    assert used == [name for name in used if re.fullmatch(r"\S+@[0-9a-f]{40}", name)]
    assert path.name == "action.yml" or "\npermissions: {}\n" in text


def test_the_workflows_make_targets_that_exist() -> None:
    named = {
        target
        for path in WORKFLOWS
        for words in re.findall(
            r"run:\s(?:>-\s+)?(?:sudo (?:--\S+ )?)?(?:[A-Z]+=\S+ )?make ([a-z -]+)", path.read_text()
        )
        for target in words.split()
    }
    assert named >= {"test", "demo", "smoke", "docs", "release", "setup", "image"}
    known = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    assert named <= known


def test_the_files_that_make_test_deals_first_or_in_parts_are_there() -> None:
    named = {*sharing.LONG, *sharing.SEPARATE, *sharing.HALVES}
    assert [name for name in sorted(named) if not (CHECKOUT / name).is_file()] == []
    assert len({sharing.unit(f"tests/torus/slurm/test_slurm.py::{test}") for test in ("test_hung", "test_idle")}) == 2


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "docs/requirements.txt"])
def test_requirements_are_pinned_by_hash_and_name_no_host(name: str) -> None:
    text = (CHECKOUT / name).read_text()
    pins = re.findall(r"^[a-z0-9-]+.*==", text, re.M | re.I)
    assert len(pins) > 30 and text.count("--hash=sha256:") >= len(pins)
    assert not re.search(r"https?://|--index-url|--find-links [^-]", text.replace("--no-emit-find-links", ""))


def test_what_runs_railyard_is_pinned_to_the_versions_that_develop_it_and_brings_no_linter() -> None:
    run, develop = (
        dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (CHECKOUT / name).read_text(), re.M))
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    assert run.items() <= develop.items()
    assert not {"docker", "hypothesis", "mypy", "playwright", "polars", "pytest", "ruff", "uv"} & run.keys()


def test_nothing_that_is_made_is_in_git() -> None:
    suffixes = {".so", ".o", ".a", ".pyc", ".sif", ".png", ".html", ".gz", ".whl"}
    assert [name for name in tracked() if Path(name).suffix in suffixes and not name.startswith("tests/data/")] == []
