"""What ran: a checkout is clean when its bytes are the commit's, whatever git's settings say; digests name what ran."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import CHECKOUT

from railyard.records import provenance


def sh(folder: Path, script: str) -> str:
    """Run commands in a folder, git's under a name of its own, and return what they print."""
    person = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **person, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "commit.gpgsign"}
    environment["GIT_CONFIG_VALUE_0"] = "false"
    done = subprocess.run(
        ["sh", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout with a program, a link to it and a committed list of ignored folders."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    files = "echo 'print(1)' >check.py; echo '#!/bin/sh' >run; chmod 755 run; ln -s run link; echo build/ >.gitignore"
    sh(folder, f"git init -q; {files}; git add .; git commit -qm first")
    return folder


def test_a_checkout_without_changes_is_clean(checkout: Path) -> None:
    (checkout / "build").mkdir()
    (checkout / "build" / "halo").write_text("ignored by the commit's own list")
    code = provenance.code(checkout)
    assert (code["git_dirty"], code["git_commit"]) == (False, sh(checkout, "git rev-parse HEAD"))


EDIT = "echo 'print(2)' >check.py"
#: Name -> a change that leaves other content than the commit's.
CHANGES = {
    "untracked files hidden": "git config status.showUntrackedFiles no; touch extra.py",
    "excluded locally": "echo extra.py >.git/info/exclude; touch extra.py",
    "excluded for the user": "echo extra.py >../ignored; git config core.excludesFile $PWD/../ignored; touch extra.py",
    "assumed unchanged": f"git update-index --assume-unchanged check.py; {EDIT}",
    "work tree skipped": f"git update-index --skip-worktree check.py; {EDIT}",
    "filtered away": "echo 'check.py filter=hide' >.git/info/attributes; "
    f"""git config filter.hide.clean "echo 'print(1)'"; {EDIT}""",
    "staged": "touch extra.py; git add extra.py",
    "modes ignored": "git config core.fileMode false; chmod 755 check.py",
    "commit replaced": f"{EDIT}; git commit -qam second; git replace HEAD~1 HEAD; "
    "git update-ref HEAD $(git rev-parse HEAD~1)",
    "link turned": "ln -sf check.py link",
    "checkout inside": "git init -q inside; cd inside; touch extra.py; git add .; git commit -qm inside",
    "file removed": "rm check.py",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_setting_of_git_makes_a_changed_checkout_clean(checkout: Path, change: str) -> None:
    sh(checkout, change)
    assert provenance.code(checkout)["git_dirty"] is True


def test_an_archive_of_a_commit_knows_it_and_not_whether_it_was_changed(checkout: Path, tmp_path: Path) -> None:
    """As GitHub delivers an action: `git archive`, without a `.git`."""
    file = checkout / provenance.ARCHIVED
    file.parent.mkdir(parents=True)
    shutil.copy(CHECKOUT / provenance.ARCHIVED, file)
    shutil.copy(CHECKOUT / ".gitattributes", checkout)
    commit = sh(checkout, "git add .; git commit -qm second; git rev-parse HEAD")
    sh(checkout, "mkdir ../delivered; git archive HEAD | tar -x -C ../delivered")
    delivered = tmp_path / "delivered"
    code = provenance.code(delivered)
    assert (code["git_commit"], code["git_dirty"]) == (commit, None)
    shutil.rmtree(checkout / ".git")
    assert provenance.code(checkout)["git_commit"] is None, "no archive wrote the commit there"


def test_a_commit_is_known_to_the_clone_that_has_it(checkout: Path, tmp_path: Path) -> None:
    assert provenance.is_known(sh(checkout, "git rev-parse HEAD"), checkout) is True
    assert provenance.is_known("de" * 20, checkout) is False
    assert provenance.is_known("de" * 20, tmp_path) is None
    code = provenance.code(tmp_path)
    assert (code["git_commit"], code["git_dirty"]) == (None, None), "no checkout is neither clean nor dirty"


def test_programs_of_one_name_and_other_content_have_two_digests(tmp_path: Path) -> None:
    for folder, text in (("a", "1"), ("b", "2"), ("c", "1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "halo").write_text(text)
    found = provenance.digests([*sorted(tmp_path.glob("*/halo")), tmp_path / "none"])
    assert list(found) == ["halo", "halo~2", "none"] and found["none"] is None
    assert found["halo"] != found["halo~2"]
