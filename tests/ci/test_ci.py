"""`railyard ci` prints workflows that a service accepts, and `railyard completion` scripts that a shell accepts."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml
from support.commands import CHECKOUT, Run

from railyard.ci import workflows

SMOKE = CHECKOUT / "tools/smoke"
SOURCE = ["--source", "OWNER/railyard"]


@pytest.mark.parametrize(
    "options",
    [[], ["--checks", "ci/checks", "--programs", "build/bin"], ["--system", "mine", "--runner", "big"]],
)
def test_a_github_workflow_pins_its_actions_and_uses_only_inputs_that_the_action_has(
    railyard: Run, options: list[str]
) -> None:
    done = railyard("ci", "github", *SOURCE, *options)
    assert done.returncode == 0, done.stderr
    (job,) = yaml.safe_load(done.stdout)["jobs"].values()
    used = {step["uses"].partition("@")[0]: step for step in job["steps"] if "uses" in step}
    assert all(len(step["uses"].partition("@")[2]) == 40 for step in used.values())
    inputs = yaml.safe_load((CHECKOUT / "action.yml").read_text())["inputs"]
    if "OWNER/railyard" in used:
        assert set(used["OWNER/railyard"]["with"]) <= set(inputs)
        runs = "\n".join(step.get("run", "") for step in job["steps"])
        assert ("libopenmpi-dev" in runs) == ("--programs" in options), (
            "an MPI library is there before the build"
        )
    else:
        assert "reframe" in str(job["steps"]) and job["runs-on"] == ["self-hosted", "big"]


@pytest.mark.parametrize(
    "options",
    [[], ["--checks", "ci/checks", "--programs", "build/bin"], ["--system", "mine", "--runner", "big"]],
)
def test_a_gitlab_job_runs_railyard_of_a_fixed_commit_and_keeps_its_records(
    railyard: Run, options: list[str]
) -> None:
    done = railyard("ci", "gitlab", "--ref", "1234567", *SOURCE, *options)
    job = yaml.safe_load(done.stdout)["railyard"]
    script = "\n".join(job["script"])
    assert "checkout 1234567" in script
    assert (
        job["artifacts"]["paths"][1] == f"railyard/results/{'mine' if '--system' in options else 'vtorus'}/"
    )
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_checkout_without_a_remote_on_github_has_no_source(railyard: Run) -> None:
    remote = subprocess.run(
        ["git", "remote", "get-url", "origin"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    done = railyard("ci", "github")
    if "github.com" in remote.stdout:
        assert "OWNER/railyard" not in done.stdout
    else:
        assert (done.returncode, done.stdout) == (
            2,
            "",
        ) and "--source: the checkout has no remote" in done.stderr


def test_the_action_passes_on_what_the_script_and_the_record_read() -> None:
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text())
    smoke = next(step for step in action["runs"]["steps"] if "tools/smoke" in step["run"])
    passed = re.search(r"passed=(\S+)", smoke["run"])
    assert passed and set(passed[1].split(",")) == {*smoke["env"], "GITHUB_ACTIONS", "GITHUB_SHA"}
    assert action["inputs"]["rate-scale"]["default"] == workflows.RATE_SCALE


def test_text_that_would_break_the_workflow_is_one_line(railyard: Run) -> None:
    done = railyard("ci", "github", *SOURCE, "--checks", "a\n  evil: true")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) <= 2 and "--checks" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_command(railyard: Run, shell: str) -> None:
    done = railyard("completion", shell)
    assert done.returncode == 0 and "_RAILYARD_COMPLETE" in done.stdout
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=False).returncode == 0


def test_the_smoke_script_refuses_a_folder_that_is_not_there() -> None:
    done = subprocess.run(
        [SMOKE],
        capture_output=True,
        text=True,
        env={"PATH": "/bin:/usr/bin", "CHECKS": "/nowhere"},
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "/nowhere" in done.stderr
