"""What ran: a checkout is clean when its bytes are the commit's, whatever git's settings say; digests name what ran."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import CHECKOUT

from railyard.records import provenance


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout with a program, a link to it and a committed list of ignored folders."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "check.py").write_text("print(1)\n")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("run")
    (folder / ".gitignore").write_text("build/\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_a_checkout_without_changes_is_clean(checkout: Path) -> None:
    (checkout / "build").mkdir()
    (checkout / "build" / "halo").write_text("ignored by the commit's own list")
    code = provenance.code(checkout)
    assert (code["git_dirty"], code["git_commit"]) == (False, git(checkout, "rev-parse", "HEAD"))


def hide_untracked(folder: Path) -> None:
    git(folder, "config", "status.showUntrackedFiles", "no")
    (folder / "extra.py").write_text("")


def exclude_locally(folder: Path) -> None:
    (folder / ".git" / "info" / "exclude").write_text("extra.py\n")
    (folder / "extra.py").write_text("")


def exclude_for_the_user(folder: Path) -> None:
    (folder.parent / "ignored").write_text("extra.py\n")
    git(folder, "config", "core.excludesFile", str(folder.parent / "ignored"))
    (folder / "extra.py").write_text("")


def assume_unchanged(folder: Path) -> None:
    git(folder, "update-index", "--assume-unchanged", "check.py")
    (folder / "check.py").write_text("print(2)\n")


def skip_worktree(folder: Path) -> None:
    git(folder, "update-index", "--skip-worktree", "check.py")
    (folder / "check.py").write_text("print(2)\n")


def filter_changes_away(folder: Path) -> None:
    (folder / ".git" / "info" / "attributes").write_text("check.py filter=hide\n")
    git(folder, "config", "filter.hide.clean", "echo 'print(1)'")
    (folder / "check.py").write_text("print(2)\n")


def stage_a_file(folder: Path) -> None:
    (folder / "extra.py").write_text("")
    git(folder, "add", "extra.py")


def ignore_modes(folder: Path) -> None:
    git(folder, "config", "core.fileMode", "false")
    (folder / "check.py").chmod(0o755)


def replace_the_commit(folder: Path) -> None:
    (folder / "check.py").write_text("print(2)\n")
    git(folder, "commit", "-q", "-a", "-m", "second")
    git(folder, "replace", "HEAD~1", "HEAD")
    git(folder, "update-ref", "HEAD", git(folder, "rev-parse", "HEAD~1"))


def turn_the_link(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").symlink_to("check.py")


def add_a_checkout_inside(folder: Path) -> None:
    (folder / "inside").mkdir()
    git(folder / "inside", "init", "-q")
    (folder / "inside" / "extra.py").write_text("")
    git(folder / "inside", "add", ".")
    git(folder / "inside", "commit", "-q", "-m", "inside")


def remove_a_file(folder: Path) -> None:
    (folder / "check.py").unlink()


@pytest.mark.parametrize(
    "change",
    [
        hide_untracked,
        exclude_locally,
        exclude_for_the_user,
        assume_unchanged,
        skip_worktree,
        filter_changes_away,
        stage_a_file,
        ignore_modes,
        replace_the_commit,
        turn_the_link,
        add_a_checkout_inside,
        remove_a_file,
    ],
)
def test_no_setting_of_git_makes_a_changed_checkout_clean(checkout: Path, change: Callable[[Path], None]) -> None:
    change(checkout)
    assert provenance.code(checkout)["git_dirty"] is True


def test_a_folder_that_is_no_checkout_is_neither_clean_nor_dirty(tmp_path: Path) -> None:
    code = provenance.code(tmp_path)
    assert (code["git_commit"], code["git_dirty"]) == (None, None)


def test_an_archive_of_a_commit_knows_it_and_not_whether_it_was_changed(checkout: Path, tmp_path: Path) -> None:
    """As GitHub delivers an action: `git archive`, without a `.git`."""
    file = checkout / provenance.ARCHIVED
    file.parent.mkdir(parents=True)
    shutil.copy(CHECKOUT / provenance.ARCHIVED, file)
    shutil.copy(CHECKOUT / ".gitattributes", checkout)
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "second")
    commit, delivered = git(checkout, "rev-parse", "HEAD"), tmp_path / "delivered"
    delivered.mkdir()
    git(checkout, "archive", "-o", str(tmp_path / "a.tar"), "HEAD")
    shutil.unpack_archive(tmp_path / "a.tar", delivered)
    code = provenance.code(delivered)
    assert (code["git_commit"], code["git_dirty"]) == (commit, None)
    shutil.rmtree(checkout / ".git")
    assert provenance.code(checkout)["git_commit"] is None, "no archive wrote the commit there"


def test_a_commit_is_known_to_the_clone_that_has_it(checkout: Path, tmp_path: Path) -> None:
    assert provenance.is_known(git(checkout, "rev-parse", "HEAD"), checkout) is True
    assert provenance.is_known("de" * 20, checkout) is False
    assert provenance.is_known("de" * 20, tmp_path) is None


def test_programs_of_one_name_and_other_content_have_two_digests(tmp_path: Path) -> None:
    for folder, text in (("a", "1"), ("b", "2"), ("c", "1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "halo").write_text(text)
    found = provenance.digests([*sorted(tmp_path.glob("*/halo")), tmp_path / "none"])
    assert list(found) == ["halo", "halo~2", "none"] and found["none"] is None
    assert found["halo"] != found["halo~2"]
