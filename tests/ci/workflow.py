"""Run the jobs of a GitHub workflow or action on this machine, as far as they go without GitHub, and print what ran.

    .venv/bin/python tests/ci/workflow.py .github/workflows/check.yml --job check --python 3.12=/opt/bin/python3.12
    .venv/bin/python tests/ci/workflow.py action.yml --root build/roots/bookworm --user runner --input launches=6

Every `run:` step runs as GitHub runs it, in a clone of what is committed. Caches and artefacts are folders of --state.
Leaves out what only GitHub has: attestations, pages, releases, comments, and whatever needs its token.

Why not nektos/act: act fetches each action from GitHub and runs jobs in images of Docker Hub, or all of them as the
user who calls it. This runs without either, in a clean root of Debian, as a user with sudo. Its expressions are those
that railyard's own workflows use.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one step."""

    job: str
    step: str
    what: str
    detail: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where steps run: a root made by tools/clean-root or this machine, as a user, in a workspace inside it."""

    root: Path
    user: str
    workspace: Path
    state: Path
    pythons: Mapping[str, str]
    actions: Mapping[str, Path]
    bind: str

    def outside(self, inside: Path) -> Path:
        """Return the path by which this process reaches a path of the root."""
        return self.root / inside.relative_to("/")

    def command(self, words: list[str]) -> list[str]:
        """Return the command that runs words there as the user."""
        if self.root == Path("/"):
            return (
                words if self.user == "root" else ["setpriv", "--reuid", self.user, "--init-groups", *words]
            )
        return [str(CHECKOUT / "tools/clean-root"), "run", str(self.root), self.user, *words]


@dataclass(slots=True, kw_only=True)
class Job:
    """One job of one matrix cell while it runs."""

    name: str
    machine: Machine
    values: dict[str, str]
    environment: dict[str, str]
    path: list[str] = field(default_factory=list)
    failed: bool = False
    saves: list[Mapping[str, str]] = field(default_factory=list)


class RefusedError(Exception):
    """An action that fails; the text is the reason."""


def evaluate(expression: str, values: Mapping[str, str]) -> str | bool:
    """Return the value of one expression.

    Knows literals, names, `==`, `!=`, `&&`, `||`, always(), hashFiles() and contains(). A list is a text with a
    name per line.
    """
    for operator, decides in (("||", True), ("&&", False)):
        parts = [part.strip() for part in expression.split(operator)]
        if len(parts) > 1:
            sides = [evaluate(part, values) for part in parts]
            return next((side for side in sides if bool(side) is decides), sides[-1])
    compared = re.fullmatch(r"(.+?)\s*(==|!=)\s*(.+)", expression)
    if compared:
        left, right = (evaluate(side, values) for side in (compared[1], compared[3]))
        return (left == right) == (compared[2] == "==")
    if expression[:1] == "'":
        return expression.strip("'")
    if expression == "always()":
        return True
    if searched := re.fullmatch(r"contains\((.+),\s*('.*')\)", expression):
        whole, part = (str(evaluate(side, values)) for side in searched.groups())
        return part in (whole.splitlines() if ".*." in searched[1] else whole)
    return "local" if expression.startswith("hashFiles(") else values.get(expression, "")


def filled(text: object, values: Mapping[str, str]) -> str:
    """Return a text with its expressions replaced by their values."""

    def value(match: re.Match[str]) -> str:
        result = evaluate(match[1], values)
        return str(result).lower() if isinstance(result, bool) else result

    return EXPRESSION.sub(value, str(text))


def cells(job: Mapping[str, Any], chosen: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the cells of a job's matrix that agree with those chosen; one empty cell where there is no matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for values in itertools.product(*matrix.values()):
        cell = dict(zip(matrix, map(str, values), strict=True))
        if all(cell.get(name, value) == value for name, value in chosen.items()):
            yield cell


def title(step: Mapping[str, Any]) -> str:
    """Return what GitHub shows for a step."""
    return str(step.get("name") or step.get("uses", "").partition("@")[0] or step["run"].splitlines()[0])


def run_step(job: Job, step: Mapping[str, Any]) -> Outcome:
    """Run one step, whatever it is, and return its outcome."""
    condition = str(step.get("if", ""))
    expression = condition.removeprefix("${{").removesuffix("}}").strip()
    outcome: Outcome
    if job.failed and "always()" not in condition:
        outcome = Outcome(job=job.name, step=title(step), what=LEFT_OUT, detail="a step before it failed")
    elif condition and not evaluate(expression, job.values):
        outcome = Outcome(job=job.name, step=title(step), what=LEFT_OUT, detail=f"its condition: {condition}")
    elif "uses" in step:
        outcome = use(job, step)
    else:
        outcome = run_script(job, step)
    job.failed = job.failed or outcome.what == FAILED
    return outcome


def run_script(job: Job, step: Mapping[str, Any]) -> Outcome:
    """Run a step's script as GitHub does, with its output in a log, and read the step's outputs."""
    if "github.token" in str(step.get("env", "")) and "tools/accepted" not in step["run"]:
        return Outcome(job=job.name, step=title(step), what=GITHUB, detail="its token")
    machine = job.machine
    files = machine.workspace.parent / "files"
    outside = machine.outside(files)
    for folder in (outside, outside / "temp"):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
    script = outside / "script"
    script.write_text(filled(step["run"], job.values))
    for name in ("output", "summary"):
        (outside / name).touch()
        (outside / name).chmod(0o666)
    labels = [{"name": name} for name in job.values["github.event.pull_request.labels.*.name"].split()]
    event: dict[str, Any] = {"commits": [{"message": job.values["github.event.head_commit.message"]}]}
    if job.values["github.event_name"] == "pull_request":
        event = {"pull_request": {"number": 1, "labels": labels}}
    (outside / "event.json").write_text(json.dumps(event))
    environment = {
        "CI": "true",
        "GITHUB_EVENT_NAME": job.values["github.event_name"],
        "GITHUB_EVENT_PATH": str(files / "event.json"),
        "GITHUB_API_URL": f"file://{files}/api",
        "GITHUB_REPOSITORY": job.values["github.repository"],
        "GITHUB_ACTIONS": "true",
        "GITHUB_SHA": job.values.get("github.sha", ""),
        "GITHUB_WORKSPACE": str(machine.workspace),
        "RUNNER_TEMP": str(files / "temp"),
        "GITHUB_OUTPUT": str(files / "output"),
        "GITHUB_STEP_SUMMARY": str(files / "summary"),
        "PATH": ":".join([*job.path, HOSTED_PATH]),
        **job.environment,
        **{name: filled(value, job.values) for name, value in step.get("env", {}).items()},
    }
    words = ["env", *(f"{name}={value}" for name, value in environment.items())]
    words += ["sh", "-c", f'cd {shlex.quote(str(machine.workspace))} && exec "$@"', "sh"]
    words += [*SHELLS[step.get("shell", "")], str(files / "script")]
    log = machine.state / "logs" / (re.sub(r"\W+", "-", f"{job.name}-{title(step)}") + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with log.open("w") as output:
        done = subprocess.run(
            machine.command(words),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "BIND": machine.bind},
            check=False,
        )
    if "id" in step:
        for line in (outside / "output").read_text().splitlines():
            name, _, value = line.partition("=")
            job.values[f"steps.{step['id']}.outputs.{name}"] = value
    last = next((line for line in reversed(log.read_text().splitlines()) if line.strip()), "")
    return Outcome(
        job=job.name,
        step=title(step),
        what=FAILED if done.returncode else RAN,
        detail=f"status {done.returncode}: {last}" if done.returncode else "",
        elapsed_s=time.monotonic() - begun,
    )


def use(job: Job, step: Mapping[str, Any]) -> Outcome:
    """Run the replacement of an action; the outcome names an action without one."""
    name = step["uses"].partition("@")[0]
    inputs = {key: filled(value, job.values) for key, value in step.get("with", {}).items()}
    if name in job.machine.actions:
        return run_action(job, step, inputs)
    if name not in REPLACEMENTS:
        return Outcome(job=job.name, step=title(step), what=GITHUB, detail=name)
    try:
        outputs = REPLACEMENTS[name](job, inputs)
    except RefusedError as error:
        return Outcome(job=job.name, step=title(step), what=FAILED, detail=str(error))
    job.values |= {f"steps.{step.get('id')}.outputs.{output}": value for output, value in outputs.items()}
    return Outcome(job=job.name, step=title(step), what=REPLACED)


def run_action(job: Job, step: Mapping[str, Any], inputs: Mapping[str, str]) -> Outcome:
    """Run the steps of a composite action of a folder of this machine; its first failure is the step's."""
    name = step["uses"].partition("@")[0]
    begun = time.monotonic()
    folder = job.machine.actions[name]
    within = Job(
        name=f"{job.name}, {name}", machine=job.machine, values=dict(job.values), environment=job.environment
    )
    file = job.machine.outside(folder) / "action.yml"
    outcomes = list(action_steps(within, file, folder, inputs))
    for output, row in yaml.safe_load(file.read_text())["outputs"].items():
        job.values[f"steps.{step.get('id')}.outputs.{output}"] = filled(row["value"], within.values)
    wrong = [outcome.detail for outcome in outcomes if outcome.what == FAILED]
    return Outcome(
        job=job.name,
        step=title(step),
        what=FAILED if wrong else RAN,
        detail=wrong[0] if wrong else "",
        elapsed_s=time.monotonic() - begun,
    )


def action_steps(job: Job, file: Path, folder: Path, inputs: Mapping[str, str]) -> Iterator[Outcome]:
    """Yield the outcomes of an action's steps; `folder` is the action's path as the steps see it."""
    action = yaml.safe_load(file.read_text())
    for name, row in action["inputs"].items():
        job.values[f"inputs.{name}"] = inputs.get(name, str(row.get("default", "")))
    job.values["github.action_path"] = str(folder)
    job.environment = {**job.environment, "GITHUB_ACTION_PATH": str(folder)}
    for step in action["runs"]["steps"]:
        yield run_step(job, step)


def setup_python(job: Job, inputs: Mapping[str, str]) -> dict[str, str]:
    """Put the interpreter of the version first on the PATH, as `python` and `python3`."""
    version = inputs["python-version"]
    if version not in job.machine.pythons:
        raise RefusedError(f"no Python {version} here: name one by --python {version}=PATH")
    folder = job.machine.workspace.parent / f"python-{version}"
    outside = job.machine.outside(folder)
    outside.mkdir(parents=True, exist_ok=True)
    for name in ("python", "python3"):
        (outside / name).unlink(missing_ok=True)
        (outside / name).write_text(f'#!/bin/sh\nexec {job.machine.pythons[version]} "$@"\n')
        (outside / name).chmod(0o755)
    job.path.insert(0, str(folder))
    return {"python-path": f"{folder}/python"}


def paths_of(job: Job, inputs: Mapping[str, str]) -> list[Path]:
    return [job.machine.outside(job.machine.workspace / line) for line in inputs["path"].split()]


def restore(job: Job, inputs: Mapping[str, str]) -> dict[str, str]:
    """Copy the newest saved paths whose key begins with the key or one of restore-keys."""
    caches = job.machine.state / "caches"
    for prefix in [inputs["key"], *inputs.get("restore-keys", "").split()]:
        saved = sorted(caches.glob(f"{prefix}*"), key=lambda folder: folder.stat().st_mtime)
        if saved:
            for number, path in enumerate(paths_of(job, inputs)):
                copy(saved[-1] / str(number), path)
            return {"cache-hit": "true" if saved[-1].name == inputs["key"] else "false"}
    return {}


def save(job: Job, inputs: Mapping[str, str]) -> dict[str, str]:
    """Save the paths that exist below their key."""
    for number, path in enumerate(paths_of(job, inputs)):
        copy(path, job.machine.state / "caches" / inputs["key"] / str(number))
    return {}


def copy(source: Path, target: Path) -> None:
    """Copy a folder, with times and owners, into a folder that may exist; nothing where there is none."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", f"{source}/.", target], check=True)


def cache(job: Job, inputs: Mapping[str, str]) -> dict[str, str]:
    """Restore now, and save when the job is over."""
    job.saves.append(inputs)
    return restore(job, inputs)


def upload(job: Job, inputs: Mapping[str, str]) -> dict[str, str]:
    """Copy what there is of the paths into an artefact; none of them is an error where the step says so."""
    target = job.machine.state / "artefacts" / inputs.get("name", "pages")
    target.mkdir(parents=True, exist_ok=True)
    files = [file for path in paths_of(job, inputs) for file in path.parent.glob(path.name or "*")]
    for file in files:
        subprocess.run(["cp", "-r", file, target], check=True)
    if not files and inputs.get("if-no-files-found") != "warn":
        raise RefusedError(f"nothing to keep at {inputs['path']}")
    return {}


def download(job: Job, inputs: Mapping[str, str]) -> dict[str, str]:
    """Copy an artefact into the workspace."""
    artefact = job.machine.state / "artefacts" / inputs["name"]
    if not artefact.is_dir():
        raise RefusedError(
            f"no artefact {inputs['name']}: run the job that makes it first, with the same --state"
        )
    copy(artefact, job.machine.outside(job.machine.workspace) / inputs.get("path", "."))
    return {}


REPLACEMENTS: dict[str, Callable[[Job, Mapping[str, str]], dict[str, str]]] = {
    "actions/checkout": lambda job, inputs: {},  # the workspace is a clone
    "actions/setup-python": setup_python,
    "actions/cache": cache,
    "actions/cache/restore": restore,
    "actions/cache/save": save,
    "actions/upload-artifact": upload,
    "actions/upload-pages-artifact": upload,
    "actions/download-artifact": download,
}


def run_job(machine: Machine, name: str, job: Mapping[str, Any], values: dict[str, str]) -> Iterator[Outcome]:
    """Yield the outcomes of a job's steps, for one cell of its matrix."""
    running = Job(name=name, machine=machine, values=values, environment={})
    running.environment = {key: filled(value, values) for key, value in job.get("env", {}).items()}
    for step in job["steps"]:
        yield run_step(running, step)
    for inputs in running.saves:
        save(running, inputs)


def clone(machine: Machine, repository: Path) -> None:
    """Put a fresh clone of what is committed into the workspace, which belongs to the user."""
    outside = machine.outside(machine.workspace)
    if outside.exists():
        return
    outside.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", repository, outside], check=True)
    if machine.root != Path("/"):
        subprocess.run(["chown", "-R", owner_in(machine), outside.parent], check=True)


def owner_in(machine: Machine) -> str:
    """Return the numbers of the user and group in the root."""
    rows = (line.split(":") for line in machine.outside(Path("/etc/passwd")).read_text().splitlines())
    owner = next((f"{row[2]}:{row[3]}" for row in rows if row[0] == machine.user), None)
    if owner is None:
        raise SystemExit(
            f"workflow: user: none of this name in {machine.root}: {machine.user}; expected one of its /etc/passwd"
        )
    return owner


def outcomes_of(
    arguments: argparse.Namespace, machine: Machine, values: Mapping[str, str]
) -> Iterator[Outcome]:
    """Yield the outcomes of the jobs that the arguments choose, or of the action's steps."""
    document = yaml.safe_load(arguments.file.read_text())
    if "runs" in document:
        job = Job(name="action", machine=machine, values=dict(values), environment={})
        yield from action_steps(job, arguments.file, machine.workspace, dict(pairs(arguments.input)))
        return
    for name, job_ in document["jobs"].items():
        if arguments.job and name not in arguments.job:
            continue
        for cell in cells(job_, dict(pairs(arguments.matrix))):
            full = ", ".join([name, *cell.values()])
            matrix = {f"matrix.{key}": value for key, value in cell.items()}
            yield from run_job(machine, full, job_, {**values, **matrix})


def pairs(texts: list[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, _, value = text.partition("=")
        yield name, value


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("file", type=Path, help="a workflow, or action.yml")
    add("--job", action="append", default=[], help="a job to run [all]")
    add("--matrix", action="append", default=[], metavar="NAME=VALUE", help="a cell of the matrix [all]")
    add("--input", action="append", default=[], metavar="NAME=VALUE", help="an input of the action")
    add("--event", default="push", choices=["push", "pull_request"], help="what happened [push, to main]")
    add("--label", action="append", default=[], help="a label of the pull request [none]")
    add("--repository", type=Path, default=CHECKOUT, help="the repository that is cloned [this checkout]")
    add("--tag", help="the tag that was pushed, for a workflow of releases [none: the branch main]")
    add("--root", type=Path, default=Path("/"), help="a root made by tools/clean-root [this machine]")
    add("--user", default="root", help="the user who runs the steps in the root [root]")
    add(
        "--workspace",
        type=Path,
        default=Path("/srv/workflow/railyard"),
        help="the clone, inside the root",
    )
    add("--state", type=Path, default=CHECKOUT / "build/workflows", help="caches, artefacts and logs")
    add(
        "--python",
        action="append",
        default=[],
        metavar="VERSION=PATH",
        help="an interpreter, inside the root",
    )
    add(
        "--action",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="an action's folder, inside the root",
    )
    add("--bind", default="", help="folders of this machine that the root sees, separated by colons")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    arguments = parsed(words)
    machine = Machine(
        root=arguments.root.resolve(),
        user=arguments.user,
        workspace=arguments.workspace,
        state=arguments.state.resolve(),
        pythons=dict(pairs(arguments.python)),
        actions={name: Path(folder) for name, folder in pairs(arguments.action)},
        bind=arguments.bind,
    )
    clone(machine, arguments.repository)
    commit, message = (
        subprocess.run(
            ["git", "log", "-1", f"--format={form}"],
            cwd=arguments.repository,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for form in ("%H", "%B")
    )
    ref = "refs/heads/main" if arguments.event == "push" else "refs/pull/1/merge"
    if arguments.tag:
        ref = f"refs/tags/{arguments.tag}"
    values = {
        "github.event_name": arguments.event,
        "github.ref": ref,
        "github.ref_name": ref.split("/", 2)[2],
        "github.sha": commit,
        "github.event.head_commit.message": message,
        "github.event.pull_request.labels.*.name": "\n".join(arguments.label),
        "github.repository": "OWNER/railyard",
        "github.repository_owner": "OWNER",
        "github.actor": "OWNER",
        "github.event.pull_request.number": "1",
    }
    failed = False
    print("| job | step | outcome | seconds | why |\n|---|---|---|---|---|", flush=True)
    for row in outcomes_of(arguments, machine, values):
        failed = failed or row.what == FAILED
        elapsed = f"{row.elapsed_s:.0f}" if row.elapsed_s else ""
        print(f"| {row.job} | {row.step} | {row.what} | {elapsed} | {row.detail} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
