"""Run the `run:` steps of a GitHub workflow or action in a clean root, or on this machine, and print what ran.

    .venv/bin/python tests/ci/workflow.py .github/workflows/check.yml --job check --python 3.12=/opt/bin/python3.12
    .venv/bin/python tests/ci/workflow.py action.yml --root build/roots/bookworm --user runner --value inputs.launches=6

Every step runs as GitHub runs it, in a clone of what is committed. Leaves out what only GitHub has: caches, artefacts
and every other action but checkout and setup-python, and whatever needs its token. Each such step is a line.

Why not nektos/act: act fetches each action from GitHub and runs jobs in images of Docker Hub, or all of them as the
user who calls it. This runs without either, as a user with sudo. Its expressions are those that railyard's own
workflows use: literals, names, `==`, `!=`, `&&`, `||` and always().
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
    "": ["bash", "-e"],
    "sh": ["sh", "-e"],
}
#: Where a hosted runner has its programs; Go is among them.
HOSTED_PATH = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: What a step's outcome can be.
RAN, FAILED, REPLACED, GITHUB, LEFT_OUT = "ran", "failed", "replaced", "needs GitHub", "left out"
#: What became of a step, and the reason.
Outcome = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Job:
    """One job of one matrix cell while it runs: in a root, as a user, in a workspace that is a path of the root."""

    name: str
    options: argparse.Namespace
    values: dict[str, str]
    environment: dict[str, str]
    path: list[str] = field(default_factory=list)
    failed: bool = False

    def outside(self, inside: Path) -> Path:
        """Return the path by which this process reaches a path of the root."""
        return Path(self.options.root, inside.relative_to("/"))

    def command(self, words: list[str]) -> list[str]:
        """Return the command that runs words in the root as the user."""
        root, user = self.options.root, self.options.user
        if root == Path("/"):
            return words if user == "root" else ["setpriv", "--reuid", user, "--init-groups", *words]
        return [str(CHECKOUT / "tools/clean-root"), "run", str(root), user, *words]


def evaluate(expression: str, values: Mapping[str, str]) -> str | bool:
    """Return the value of one expression; a name that nobody set is empty."""
    for operator, decides in (("||", True), ("&&", False)):
        parts = [part.strip() for part in expression.split(operator)]
        if len(parts) > 1:
            sides = [evaluate(part, values) for part in parts]
            return next((side for side in sides if bool(side) is decides), sides[-1])
    if compared := re.fullmatch(r"(.+?)\s*(==|!=)\s*(.+)", expression):
        left, right = (evaluate(side, values) for side in (compared[1], compared[3]))
        return (left == right) == (compared[2] == "==")
    if expression[:1] == "'":
        return expression.strip("'")
    return True if expression == "always()" else values.get(expression, "")


def filled(text: object, values: Mapping[str, str]) -> str:
    """Return a text with its expressions replaced by their values."""

    def value(match: re.Match[str]) -> str:
        result = evaluate(match[1], values)
        return str(result).lower() if isinstance(result, bool) else result

    return EXPRESSION.sub(value, str(text))


def cells(job: Mapping[str, Any], values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the cells of a job's matrix that agree with the values; one empty cell where there is no matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for row in itertools.product(*matrix.values()):
        cell = {f"matrix.{name}": str(value) for name, value in zip(matrix, row, strict=True)}
        if all(values.get(name, value) == value for name, value in cell.items()):
            yield cell


def title(step: Mapping[str, Any]) -> str:
    """Return what GitHub shows for a step."""
    return str(step.get("name") or step.get("uses", "").partition("@")[0] or step["run"].splitlines()[0])


def run_step(job: Job, step: Mapping[str, Any]) -> Outcome:
    """Run one step, whatever it is, and return its outcome."""
    condition = str(step.get("if", ""))
    expression = condition.removeprefix("${{").removesuffix("}}").strip()
    action = step.get("uses", "").partition("@")[0]
    if job.failed and "always()" not in condition:
        return LEFT_OUT, "a step before it failed"
    if condition and not evaluate(expression, job.values):
        return LEFT_OUT, f"its condition: {condition}"
    if action == "actions/checkout":  # the workspace is a clone
        return REPLACED, ""
    if action == "actions/setup-python":
        return setup_python(job, step.get("id", ""), filled(step["with"]["python-version"], job.values))
    if action or "github.token" in str(step.get("env", "")):
        return GITHUB, action or "its token"
    return run_script(job, step)


def run_script(job: Job, step: Mapping[str, Any]) -> Outcome:
    """Run a step's script as GitHub does, with its output in a log, and read the step's outputs."""
    workspace, options = job.options.workspace, job.options
    files = workspace.parent / "files"
    outside = job.outside(files)
    for folder in (outside, outside / "temp"):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
    for name in ("output", "summary"):
        (outside / name).touch()
        (outside / name).chmod(0o666)
    (outside / "script").write_text(filled(step["run"], job.values))
    environment = {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_SHA": job.values["github.sha"],
        "GITHUB_WORKSPACE": str(workspace),
        "RUNNER_TEMP": str(files / "temp"),
        "GITHUB_OUTPUT": str(files / "output"),
        "GITHUB_STEP_SUMMARY": str(files / "summary"),
        "PATH": ":".join([*job.path, HOSTED_PATH]),
        **job.environment,
        **{name: filled(value, job.values) for name, value in step.get("env", {}).items()},
    }
    words = ["env", *(f"{name}={value}" for name, value in environment.items())]
    words += ["sh", "-c", f'cd {shlex.quote(str(workspace))} && exec "$@"', "sh"]
    words += [*SHELLS[step.get("shell", "")], str(files / "script")]
    log = options.state / "logs" / (re.sub(r"\W+", "-", f"{job.name}-{title(step)}") + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        done = subprocess.run(
            job.command(words),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "BIND": options.bind},
            check=False,
        )
    outputs = (line.partition("=") for line in (outside / "output").read_text().splitlines())
    job.values |= {f"steps.{step.get('id')}.outputs.{name}": value for name, _, value in outputs}
    if done.returncode == 0:
        return RAN, ""
    last = next((line for line in reversed(log.read_text().splitlines()) if line.strip()), "")
    return FAILED, f"status {done.returncode}: {last}"


def setup_python(job: Job, step: str, version: str) -> Outcome:
    """Put the interpreter of the version first on the PATH, as `python` and `python3`."""
    interpreter = dict(pairs(job.options.python)).get(version)
    if interpreter is None:
        return FAILED, f"no Python {version} here: name one by --python {version}=PATH"
    folder = job.options.workspace.parent / f"python-{version}"
    job.outside(folder).mkdir(parents=True, exist_ok=True)
    for name in ("python", "python3"):
        script = job.outside(folder) / name
        script.write_text(f'#!/bin/sh\nexec {interpreter} "$@"\n')
        script.chmod(0o755)
    job.path.insert(0, str(folder))
    job.values[f"steps.{step}.outputs.python-path"] = f"{folder}/python"
    return REPLACED, ""


def clone(options: argparse.Namespace) -> None:
    """Put a fresh clone of what is committed into the workspace, which belongs to the user."""
    outside = Path(options.root, options.workspace.relative_to("/"))
    if outside.exists():
        return
    outside.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", CHECKOUT, outside], check=True)
    if options.root != Path("/"):
        subprocess.run(["chown", "-R", owner_in(options), outside.parent], check=True)


def owner_in(options: argparse.Namespace) -> str:
    """Return the numbers of the user and group in the root."""
    rows = (line.split(":") for line in Path(options.root, "etc/passwd").read_text().splitlines())
    owner = next((f"{row[2]}:{row[3]}" for row in rows if row[0] == options.user), None)
    if owner is None:
        raise SystemExit(
            f"workflow: user: none of this name in {options.root}: {options.user}; expected one of its /etc/passwd"
        )
    return owner


def jobs(options: argparse.Namespace, values: dict[str, str]) -> Iterator[tuple[Job, list[dict[str, Any]]]]:
    """Yield each job that the options choose, for each cell of its matrix, with its steps; an action is one job."""
    document = yaml.safe_load(options.file.read_text())
    if "runs" in document:
        given = {f"inputs.{name}": str(row.get("default", "")) for name, row in document["inputs"].items()}
        given |= {"github.action_path": str(options.workspace), **values}
        environment = {"GITHUB_ACTION_PATH": str(options.workspace)}
        yield (
            Job(name="action", options=options, values=given, environment=environment),
            document["runs"]["steps"],
        )
        return
    for name, row in document["jobs"].items():
        if options.job and name not in options.job:
            continue
        for cell in cells(row, values):
            own = {**values, **cell}
            environment = {key: filled(value, own) for key, value in row.get("env", {}).items()}
            full = ", ".join([name, *cell.values()])
            yield Job(name=full, options=options, values=own, environment=environment), row["steps"]


def pairs(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values of NAME=VALUE."""
    for text in texts:
        name, _, value = text.partition("=")
        yield name, value


def parsed(words: list[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("file", type=Path, help="a workflow, or action.yml")
    add("--job", action="append", default=[], help="a job to run [all]")
    add(
        "--value",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value of expressions, such as matrix.size=4, inputs.launches=6 or github.ref_name=v1.2.3",
    )
    add("--root", type=Path, default=Path("/"), help="a root made by tools/clean-root [this machine]")
    add("--user", default="root", help="the user who runs the steps in the root [root]")
    workspace = Path("/srv/workflow/railyard")
    add("--workspace", type=Path, default=workspace, help="the clone, inside the root")
    add("--state", type=Path, default=CHECKOUT / "build/workflows", help="where logs go")
    python = "an interpreter, inside the root"
    add("--python", action="append", default=[], metavar="VERSION=PATH", help=python)
    add("--bind", default="", help="folders of this machine that the root sees, separated by colons")
    options = parser.parse_args(words)
    options.root = options.root.resolve()
    return options


def main(words: list[str]) -> int:
    """Run the chosen jobs; return 1 if a step failed."""
    options = parsed(words)
    clone(options)
    log = ["git", "-C", str(CHECKOUT), "log", "-1", "--format=%H"]
    commit = subprocess.run(log, capture_output=True, text=True, check=True).stdout.strip()
    values = {
        "github.event_name": "push",
        "github.ref": "refs/heads/main",
        "github.ref_name": "main",
        "github.sha": commit,
        "github.repository": "OWNER/railyard",
    }
    failed = False
    print("| job | step | outcome | why |\n|---|---|---|---|", flush=True)
    for job, steps in jobs(options, values | dict(pairs(options.value))):
        for step in steps:
            what, why = run_step(job, step)
            job.failed = job.failed or what == FAILED
            print(f"| {job.name} | {title(step)} | {what} | {why} |", flush=True)
        failed = failed or job.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
