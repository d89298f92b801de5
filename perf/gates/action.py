"""Run the workflow of `railyard ci github` for a stranger's program in a clean root: green, red, accepted.

Models: the repository of tests/ci/ring with the printed workflow, and railyard as GitHub delivers an action: the files
of a commit without `.git`. The program is committed, then made to send everything twice, then that is accepted by the
message of a commit. Each push has a new workspace, and the caches of those before it (`tests/ci/workflow.py`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from rich.console import Console

from railyard.base.checkout import BUILD, CHECKOUT

SOURCE = "OWNER/railyard"
ACTION, WORKSPACE = Path("/srv/actions/railyard"), Path("/srv/stranger/ring")
#: Message of each push, how often its program sends each block, and whether the workflow passes.
PUSHES = (("a ring", 1, True), ("every block twice", 2, False), ("twice is right [accept]", 2, True))


def options(parser: ArgumentParser) -> None:
    """Add the root in which the workflow runs."""
    parser.add_argument(
        "--root",
        type=Path,
        default=BUILD / "roots/bookworm",
        help="action: a root of tools/clean-root, which is made if it does not exist  [default: %(default)s]",
    )


def measure(console: Console, root: Path) -> list[dict[str, Any]]:
    """Push three times, print the outcome of every step, and return the status of each push beside the expected one."""
    if not root.exists():
        _run(CHECKOUT / "tools/clean-root", "create", "bookworm", root)
    state = BUILD / "action"
    shutil.rmtree(state, ignore_errors=True)
    repository = state / "ring"
    shutil.copytree(CHECKOUT / "tests/ci/ring", repository)
    _run("git", "init", "--quiet", "--initial-branch", "main", repository)
    workflow = repository / ".github/workflows/railyard.yml"
    workflow.parent.mkdir(parents=True)
    words = f"ci github --source {SOURCE} --checks ci/checks --programs build/bin --select".split()
    printed = _run(CHECKOUT / ".venv/bin/railyard", *words, "-n ring")
    workflow.write_text(printed)
    commit = _run("git", "rev-parse", "HEAD").strip()  # one for all pushes, even if others commit meanwhile
    rows: list[dict[str, Any]] = []
    for message, sent, passes in PUSHES:
        source = repository / "ring.c"
        source.write_text(
            (CHECKOUT / "tests/ci/ring/ring.c").read_text().replace("SENT = 1", f"SENT = {sent}")
        )
        _git(repository, "add", "--all")
        _git(repository, "commit", "--quiet", "--allow-empty", "--message", message)
        _deliver(root, commit)
        console.print(f"\n[bold]{message}[/bold]; expected: {'green' if passes else 'red'}")
        done = subprocess.run(
            [
                *(sys.executable, CHECKOUT / "tests/ci/workflow.py", workflow, "--repository", repository),
                *("--root", root, "--user", "runner", "--workspace", WORKSPACE, "--state", state),
                *("--action", f"{SOURCE}={ACTION}"),
            ],
            check=False,
        )
        rows.append({"push": message, "status": done.returncode, "passes": passes})
    wrong = [row["push"] for row in rows if (row["status"] == 0) != row["passes"]]
    console.print(f"\nunexpected: {', '.join(wrong) or 'none'}; logs: {state / 'logs'}")
    return rows


def _deliver(root: Path, commit: str) -> None:
    """Put the files of the commit where the runner puts an action, and remove the workspace of the last push."""
    for folder in (ACTION, WORKSPACE):
        shutil.rmtree(root / folder.relative_to("/"), ignore_errors=True)
    folder = root / ACTION.relative_to("/")
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=CHECKOUT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    _run(CHECKOUT / "tools/clean-root", "run", root, "root", "chown", "-R", "runner:", str(ACTION.parent))


def _git(repository: Path, *words: str) -> None:
    _run("git", "-C", repository, "-c", "user.name=stranger", "-c", "user.email=stranger@localhost", *words)


def _run(*words: str | Path) -> str:
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT).stdout
