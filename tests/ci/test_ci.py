"""`railyard ci` prints workflows that a service accepts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from support.commands import CHECKOUT, Run, environment, executable, ran
from support.reframe import reframe_in

from railyard.base.checkout import TORUS_BIN
from railyard.ci import cli

SOURCE = ["--source", "OWNER/railyard"]
OPTIONS: tuple[list[str], ...] = (
    [],
    ["--checks", "ci/checks", "--programs", "build/bin"],
    ["--system", "mine", "--runner", "big"],
)


def test_a_workflow_of_a_cluster_runs_the_selected_checks_and_builds_no_programs(railyard: Run) -> None:
    cluster = ["ci", "gitlab", "--source", "me/railyard", "--ref", "v1", "--system", "mine", "--runner", "big"]
    assert "-c checks -n halo_3d -S launches=6" in railyard(*cluster, "--select", "-n halo_3d").stdout
    refused = railyard(*cluster, "--programs", "build/bin")
    assert (refused.returncode, refused.stdout) == (2, "") and "--programs" in refused.stderr


@pytest.mark.parametrize("options", OPTIONS)
def test_a_github_workflow_pins_its_actions_and_uses_only_inputs_that_the_action_has(
    railyard: Run, options: list[str]
) -> None:
    done = railyard("ci", "github", *SOURCE, *options)
    assert done.returncode == 0, done.stderr
    (job,) = yaml.safe_load(done.stdout)["jobs"].values()
    used = {step["uses"].partition("@")[0]: step for step in job["steps"] if "uses" in step}
    assert all(len(step["uses"].partition("@")[2]) == 40 for step in used.values())
    inputs = yaml.safe_load((CHECKOUT / "action.yml").read_text())["inputs"]
    ours = (CHECKOUT / ".github/workflows/smoke.yml").read_text()
    assert all(step["uses"] in ours for name, step in used.items() if name != "OWNER/railyard"), (
        "an updater sees the pins"
    )
    if "OWNER/railyard" in used:
        assert set(used["OWNER/railyard"]["with"]) <= set(inputs)
        assert ("build" in used["OWNER/railyard"]["with"]) == ("--programs" in options)
    else:
        assert "reframe" in str(job["steps"]) and job["runs-on"] == ["self-hosted", "big"]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_gitlab_job_runs_railyard_of_a_fixed_commit_and_keeps_its_records(railyard: Run, options: list[str]) -> None:
    done = railyard("ci", "gitlab", "--ref", "1234567", *SOURCE, *options)
    job = yaml.safe_load(done.stdout)["railyard"]
    script = "\n".join(job["script"])
    assert "checkout 1234567" in script
    assert job["artifacts"]["paths"][1] == f"railyard/results/{'mine' if '--system' in options else 'vtorus'}/"
    assert ("libopenmpi-dev" in str(job.get("before_script"))) == ("--programs" in options)
    assert ("baseline/" in job["artifacts"]["paths"]) == ("--system" not in options)
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_checkout_without_a_remote_on_github_has_no_source(railyard: Run) -> None:
    remote = ran("git", "remote", "get-url", "origin", cwd=CHECKOUT)
    done = railyard("ci", "github")
    if "github.com" in remote.stdout:
        assert "OWNER/railyard" not in done.stdout
    else:
        assert (done.returncode, done.stdout) == (2, "") and "--source: the checkout has no remote" in done.stderr


#: In sudo's place: runs a program with the preserved variables alone.
SUDO = """\
#!/usr/bin/python3
import os, sys
preserved = sys.argv[1].removeprefix("--preserve-env=").split(",")
os.execve(sys.argv[2], sys.argv[2:], {name: os.environ[name] for name in preserved if name in os.environ})
"""


def test_every_input_of_the_action_reaches_the_script_or_a_step_before_it(tmp_path: Path) -> None:
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text())
    for name, text in (("sudo", SUDO), ("tools/smoke", '#!/bin/sh\nenv > "$OUT/environment"\n')):
        executable(tmp_path / name, text)
    steps = action["runs"]["steps"]
    (script,) = (step for step in steps if "tools/smoke" in step.get("run", ""))
    others = str([step for step in steps if step is not script])
    filled = {name: re.sub(r"\$\{\{ (\S+) \}\}", r"value of \1", text) for name, text in script["env"].items()}
    runner = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_ACTION_PATH": str(tmp_path), "GITHUB_SHA": "1f" * 20}
    variables = {**filled, **runner, "OUT": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    subprocess.run(["bash", "-e", "-c", script["run"]], env=variables, cwd=tmp_path, check=True)
    passed = (tmp_path / "environment").read_text()
    for name in action["inputs"]:
        assert f"value of inputs.{name}\n" in passed or f"inputs.{name} " in others, name
        assert f"| `{name}` |" in (CHECKOUT / "docs/howto/ci.md").read_text()
    assert "RAILYARD_MPI=value of steps.paths.outputs.mpi" in passed and f"GITHUB_SHA={'1f' * 20}" in passed
    assert action["inputs"]["rate-scale"]["default"] == cli.RATE_SCALE


def test_the_words_of_a_build_and_a_selection_reach_the_action(railyard: Run) -> None:
    words = ["--programs", "bin", "--build", "make 'a b' && echo \"done\"", "--select", "-n 'x|y'"]
    job = yaml.safe_load(railyard("ci", "github", *SOURCE, *words).stdout)["jobs"]["smoke"]
    (inputs,) = (step["with"] for step in job["steps"] if step.get("id") == "smoke")
    assert (inputs["build"], inputs["select"]) == (words[3], words[5])
    (script,) = (
        line
        for line in yaml.safe_load(railyard("ci", "gitlab", *SOURCE, *words).stdout)["railyard"]["script"]
        if "make -C railyard" in line
    )
    shown = ran("bash", "-c", script.replace("make -C railyard", "printf '%s\\n'"))
    assert "SELECT=-n 'x|y'" in shown.stdout.splitlines()


@pytest.mark.reframe
def test_a_pipeline_of_reframe_keeps_the_records(tmp_path: Path) -> None:
    """The artefacts of a job that --ci-generate writes name the archive's folder of the system."""
    pipeline = tmp_path / "pipeline.yml"
    done = reframe_in(tmp_path)("-n", "halo_smoke", f"--ci-generate={pipeline}", CI_PROJECT_DIR=str(CHECKOUT.parent))
    assert done.returncode == 0, done.stdout + done.stderr
    artifacts = yaml.safe_load(pipeline.read_text())["halo_smoke"]["artifacts"]
    assert f"{CHECKOUT.name}/results/vtorus/" in artifacts["paths"] and artifacts["when"] == "always"


@pytest.mark.reframe
def test_an_mpi_of_ones_own_takes_the_place_of_debians(small: str, tmp_path: Path) -> None:
    """Checks get its compiler and benchmarks; the torus's mpirun starts its launcher."""
    mine = {"RAILYARD_MPI": str(tmp_path / "mpi"), "RAILYARD_MPI_FEATURES": "openmpi5, openmpi-tcp"}
    done = reframe_in(tmp_path)("-n", "halo_smoke", "--dry-run", **mine)
    assert done.returncode == 0 and "halo_smoke" in done.stdout, done.stdout + done.stderr
    (script,) = tmp_path.rglob("rfm_job.sh")
    assert script.parent.parent.name == "own" and "build/benchmarks-site/bin" in script.read_text()
    for name in ("mpirun", "mpiexec"):
        done = ran(TORUS_BIN / name, "-n", "2", "true", env=environment(**mine, RAILYARD_TORUS=small))
        assert done.returncode == 2 and str(tmp_path / "mpi/bin" / name) in done.stderr, done.stderr


def test_text_that_would_break_the_workflow_is_one_line(railyard: Run) -> None:
    done = railyard("ci", "github", *SOURCE, "--checks", "a\n  evil: true")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) <= 2 and "--checks" in done.stderr


def test_the_smoke_script_refuses_a_folder_that_is_not_there() -> None:
    done = ran(CHECKOUT / "tools/smoke", env={"CHECKS": "/nowhere"})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "/nowhere" in done.stderr
