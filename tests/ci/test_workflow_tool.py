"""`tests/ci/workflow.py` runs the steps of a workflow as GitHub does, and reports what it cannot run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import CHECKOUT

TOOL = CHECKOUT / "tests/ci/workflow.py"
HEAD = "on: push\njobs:\n  one:\n    runs-on: here\n"


def rows(tmp_path: Path, text: str, *options: str) -> tuple[int, dict[str, str]]:
    """Return the tool's status and what became of each step of a workflow."""
    file = tmp_path / "workflow.yml"
    file.write_text(text)
    workspace = tmp_path / "work/clone"
    workspace.mkdir(parents=True, exist_ok=True)
    words: list[str | Path] = [
        sys.executable,
        TOOL,
        file,
        "--workspace",
        workspace,
        "--state",
        tmp_path / "state",
        *options,
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    cells = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    return done.returncode, {
        row[1]: " ".join([row[2], row[3].removesuffix("|").strip()]).strip() for row in cells
    }


def test_a_step_reads_the_matrix_its_environment_and_the_outputs_before_it(tmp_path: Path) -> None:
    steps = """\
    strategy: {matrix: {size: [3, 4]}}
    env: {WORD: hello}
    steps:
      - id: first
        run: echo "size=${{ matrix.size }}" >> "$GITHUB_OUTPUT"
      - name: second
        env: {SIZE: "${{ steps.first.outputs.size }}"}
        run: test "$SIZE $WORD" = "4 hello" && test "$PWD" = "$GITHUB_WORKSPACE"
"""
    status, became = rows(tmp_path, HEAD + steps, "--value", "matrix.size=4")
    assert (status, became["second"]) == (0, "ran")
    assert rows(tmp_path, HEAD + steps, "--value", "matrix.size=3")[0] == 1


def test_after_a_failure_only_steps_that_always_run_do(tmp_path: Path) -> None:
    steps = """\
    steps:
      - {name: bad, run: "echo no such figure; exit 3"}
      - {name: next, run: "true"}
      - {name: last, if: always(), run: "true"}
"""
    status, became = rows(tmp_path, HEAD + steps)
    assert status == 1
    assert became == {
        "bad": "failed status 3: no such figure",
        "next": "left out a step before it failed",
        "last": "ran",
    }


def test_a_pipe_fails_with_its_first_command_where_the_shell_is_named(tmp_path: Path) -> None:
    steps = "    steps:\n      - {name: pipe, shell: bash, run: 'false | true'}\n"
    assert rows(tmp_path, HEAD + steps)[0] == 1
    assert rows(tmp_path, HEAD + steps.replace("shell: bash, ", ""))[0] == 0


@pytest.mark.parametrize(
    ("step", "became"),
    [
        ("{name: s, uses: actions/attest@0}", "needs GitHub actions/attest"),
        ("{name: s, env: {T: '${{ github.token }}'}, run: 'false'}", "needs GitHub its token"),
        (
            "{name: s, uses: actions/setup-python@0, with: {python-version: '3.99'}}",
            "failed no Python 3.99 here",
        ),
        ("{name: s, if: github.ref != 'refs/heads/main', run: 'false'}", "left out its condition"),
    ],
)
def test_what_cannot_run_here_is_reported_with_the_reason(tmp_path: Path, step: str, became: str) -> None:
    assert rows(tmp_path, f"{HEAD}    steps:\n      - {step}\n")[1]["s"].startswith(became)


def test_an_action_runs_with_its_inputs_and_defaults(tmp_path: Path) -> None:
    action = """\
name: a
description: a
inputs: {word: {default: there}, other: {default: x}}
runs:
  using: composite
  steps:
    - {name: look, shell: bash, env: {WORD: "${{ inputs.word }} ${{ inputs.other }}"}, run: 'test "$WORD" = "here x"'}
"""
    assert rows(tmp_path, action, "--value", "inputs.word=here")[1]["look"] == "ran"
    assert rows(tmp_path, action)[0] == 1


def test_a_value_takes_the_place_of_the_default(tmp_path: Path) -> None:
    steps = """\
    steps:
      - name: tag
        run: test "${{ github.ref }} ${{ github.ref_name }}" = "refs/tags/v1.2.3 v1.2.3"
"""
    assert (
        rows(
            tmp_path,
            HEAD + steps,
            "--value",
            "github.ref=refs/tags/v1.2.3",
            "--value",
            "github.ref_name=v1.2.3",
        )[1]["tag"]
        == "ran"
    )
    assert rows(tmp_path, HEAD + steps)[0] == 1


def test_a_user_whom_the_root_lacks_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tmp_path / "workflow.yml").write_text(HEAD + "    steps:\n      - {name: s, run: 'true'}\n")
    words = [
        sys.executable,
        str(TOOL),
        str(tmp_path / "workflow.yml"),
        "--root",
        str(tmp_path),
        "--user",
        "runner",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "none of this name" in done.stderr
