"""Every workflow and script ends with a failure and one line if nothing was measured, whatever the reason."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.commands import CHECKOUT, program

from railyard.ci.cli import workflow

#: In ReFrame's place: what it prints and leaves where nothing is measured, with exit status 0.
RAN = "echo '[  PASSED  ] Ran {} test case(s) from {} check(s) (0 failure(s), {} skipped)'\n"
REFRAMES = {
    "no check": RAN.format("0/0", 0, 0),
    "all skipped": "echo '[     SKIP ] (1/1) halo_smoke @s:p+e [no MPI]'\n" + RAN.format("1/1", 1, 1),
    "reframe missing": "",
    "no archive": RAN.format("1/1", 1, 0),
    "empty archive": "mkdir -p results/vtorus results/mine\n" + RAN.format("1/1", 1, 0),
}
LINES = {
    "no check": "measure: nothing was measured: no check was selected by",
    "all skipped": "measure: nothing was measured: all were skipped: halo_smoke @s:p+e [no MPI]",
    "reframe missing": ".venv/bin/reframe: no such program; run: make setup",
    "no archive": "measure: nothing was measured: no new record in",
    "empty archive": "measure: nothing was measured: no new record in",
}
#: In the place of programs that need root or the network; make sets up nothing, and runs the script of a target.
STUBS = {
    "sudo": 'while case "$1" in -*) ;; *) false ;; esac; do shift; done\nexec "$@"\n',
    "git": "exit 0\n",
    "make": """\
[ "$1" != -C ] || { cd "$2"; shift 2; }
target=$1
shift
[ $# = 0 ] || export "$@"
[ ! -e "tools/$target" ] || exec "tools/$target"
""",
}


def written(service: str, system: str) -> list[str]:
    """Return the commands of the job that `railyard ci` prints."""
    named = dict.fromkeys(("topology", "checks", "programs", "build", "select", "runner"), "")
    job = yaml.safe_load(workflow(service, {**named, "source": "o/r", "ref": "v1", "system": system}))
    if service == "gitlab":
        return list(job["railyard"]["script"])
    return [step["run"] for step in job["jobs"]["smoke"]["steps"] if "run" in step]


def of_action() -> list[str]:
    """Return the command by which the action runs the checks."""
    steps = yaml.safe_load((CHECKOUT / "action.yml").read_text())["runs"]["steps"]
    return [step["run"] for step in steps if "tools/smoke" in step.get("run", "")]


def of_ours(job: str) -> list[str]:
    """Return the commands that make in a job of railyard's own workflow."""
    steps = yaml.safe_load((CHECKOUT / ".github/workflows/smoke.yml").read_text())["jobs"][job]["steps"]
    return [step["run"] for step in steps if f"make {job}" in step.get("run", "")]


COMMANDS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "tools/measure": ("railyard", lambda: ["tools/measure results/mine -r"]),
    "tools/smoke": ("railyard", lambda: ["tools/smoke"]),
    "tools/demo": ("railyard", lambda: ["tools/demo"]),
    "the action": ("railyard", of_action),
    "smoke.yml, smoke": ("railyard", lambda: of_ours("smoke")),
    "smoke.yml, demo": ("railyard", lambda: of_ours("demo")),
    "ci github, cluster": (".", lambda: written("github", "mine")),
    "ci gitlab": (".", lambda: written("gitlab", "")),
    "ci gitlab, cluster": (".", lambda: written("gitlab", "mine")),
}


@pytest.mark.parametrize("case", REFRAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_measured_is_a_failure_with_one_line(tmp_path: Path, command: str, case: str) -> None:
    root, stubs = tmp_path / "railyard", tmp_path / "stubs"
    for new in (root / "tools", tmp_path / "ci/checks", tmp_path / "build/bin"):
        new.mkdir(parents=True)
    for script in ("smoke", "measure", "demo"):
        (root / "tools" / script).symlink_to(CHECKOUT / "tools" / script)
    programs = {stubs / name: text for name, text in STUBS.items()}
    programs[root / ".venv/bin/railyard"] = 'echo "railyard: error: no records" >&2\nexit 2\n'
    if REFRAMES[case]:
        programs[root / ".venv/bin/reframe"] = REFRAMES[case]
    for path, text in programs.items():
        program(path.parent, path.name, text)
    folder, commands = COMMANDS[command]
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(commands())],
        cwd=tmp_path / folder,
        env={
            "PATH": f"{stubs}:/usr/bin:/bin",
            "GITHUB_ACTION_PATH": str(root),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "CI_PROJECT_DIR": str(tmp_path),
            "OUT": str(root) if command == "the action" else "",
            "PARTITION": "netns",
            "TOPOLOGY": "gemini-2x2x2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0, done.stdout
    lines = [line for line in done.stderr.splitlines() if LINES[case] in line]
    assert len(lines) == 1 or (len(lines) > 1 and command.endswith("demo")), done.stdout + done.stderr
