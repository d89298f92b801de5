"""The tutorial for developers: its files are saved and its lines are run, in their order, as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.commands import CHECKOUT, environment, ran

#: A fenced block with its language, or an indented one.
BLOCK = re.compile(r"^```(\w+)\n([\s\S]*?)^```|((?:^    .+\n)+)", re.MULTILINE)
FILES = {"c": "swap.c", "make": "Makefile", "python": "ci/swap.py"}
#: The line that the page says to end with status 1 follows this one.
SLOWER = "sed -i s/65536/98304/ swap.c && make\n"


def script() -> str:
    """Return the files and commands of the page as a script, with fewer launches of `fit` and fewer steps."""
    steps = ["set -eu"]
    for language, text, commands in BLOCK.findall((CHECKOUT / "docs/tutorial-ci.md").read_text("utf-8")):
        if language in FILES:
            file = FILES[language]
            steps.append(f"mkdir -p $(dirname {file}); cat > {file} <<'FILE'\n{text}FILE")
        elif commands:
            lines = re.sub(r"^    ", "", commands, flags=re.MULTILINE)
            before, slower, after = lines.partition(SLOWER)
            steps.append(f"{before}{slower}if {after.strip()}; then exit 9; fi" if slower else lines)
    return (
        "\n".join(steps)
        .replace("railyard fit ", "railyard fit --launches 1 --placements scheduler ")
        .replace('"laptop": 20', '"laptop": 10')
    )


@pytest.mark.reframe
def test_a_reader_reaches_a_green_check_then_a_red_one_then_a_workflow(tmp_path: Path) -> None:
    (tmp_path / "railyard").symlink_to(CHECKOUT)
    author = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = ran("bash", "-c", script(), cwd=tmp_path, env=environment(**author))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "app/fit/fit.json").exists() and "optimised" in done.stdout, done.stdout
    assert "worse: swap: plain/step_ms: " in done.stdout, done.stdout
    workflow = (tmp_path / "app/.github/workflows/railyard.yml").read_text("utf-8")
    assert re.search(r"checks: .?ci\b", workflow) and re.search(r"programs: .?bin\b", workflow)
