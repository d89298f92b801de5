"""The workflows that users copy, and railyard's action and script behind them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from support.commands import CHECKOUT, environment
from support.reframe import reframe_in

from railyard.base.checkout import TORUS_BIN

SMOKE = CHECKOUT / "tools/smoke"
WORKFLOWS = CHECKOUT / "config/ci"


@pytest.mark.parametrize("name", ["github", "github-cluster"])
def test_a_github_workflow_has_our_pins_and_uses_only_inputs_that_the_action_has(name: str) -> None:
    """The pins are those of smoke.yml, which an updater sees."""
    (job,) = yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text())["jobs"].values()
    ours = (CHECKOUT / ".github/workflows/smoke.yml").read_text()
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text())
    for step in job["steps"]:
        if step.get("uses") == "OWNER/railyard@COMMIT":
            assert set(step["with"]) <= set(action["inputs"])
        else:
            assert step.get("uses", "") in ours


@pytest.mark.parametrize("name", ["gitlab", "gitlab-cluster"])
def test_a_gitlab_job_is_a_script_of_bash(name: str) -> None:
    script = "\n".join(yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text())["railyard"]["script"])
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


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
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    steps = action["runs"]["steps"]
    (script,) = (step for step in steps if "tools/smoke" in step.get("run", ""))
    others = str([step for step in steps if step is not script])
    filled = {
        name: re.sub(r"\$\{\{ (\S+) \}\}", r"value of \1", text) for name, text in script["env"].items()
    }
    runner = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "GITHUB_ACTION_PATH": str(tmp_path),
        "GITHUB_SHA": "1f" * 20,
    }
    subprocess.run(
        ["bash", "-e", "-c", script["run"]],
        env={**filled, **runner, "OUT": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")},
        cwd=tmp_path,
        check=True,
    )
    passed = (tmp_path / "environment").read_text()
    for name in action["inputs"]:
        assert f"value of inputs.{name}\n" in passed or f"inputs.{name} " in others, name
        assert f"| `{name}` |" in (CHECKOUT / "docs/howto/ci.md").read_text()
    assert "RAILYARD_MPI=value of steps.paths.outputs.mpi" in passed and f"GITHUB_SHA={'1f' * 20}" in passed
    rate_scale = action["inputs"]["rate-scale"]["default"]
    assert f"RAILYARD_RATE_SCALE={rate_scale}" in (WORKFLOWS / "gitlab.yml").read_text()


@pytest.mark.reframe
def test_a_pipeline_of_reframe_keeps_the_records(tmp_path: Path) -> None:
    """The artefacts of a job that --ci-generate writes name the archive's folder of the system."""
    pipeline = tmp_path / "pipeline.yml"
    done = reframe_in(tmp_path)(
        "-n", "halo_smoke", f"--ci-generate={pipeline}", CI_PROJECT_DIR=str(CHECKOUT.parent)
    )
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
        done = subprocess.run(
            [TORUS_BIN / name, "-n", "2", "true"],
            capture_output=True,
            text=True,
            env=environment(**mine, RAILYARD_TORUS=small),
            check=False,
        )
        assert done.returncode == 2 and str(tmp_path / "mpi/bin" / name) in done.stderr, done.stderr


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
