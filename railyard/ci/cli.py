"""`railyard ci`: print a workflow for GitHub or GitLab, on a virtual torus or on a site's own runner and scheduler.

Models: actions of others are pinned as in railyard's own workflow `smoke.yml`, which an updater of pins sees. Leaves
out what the job does: `tools/smoke` on a virtual torus, ReFrame on a cluster.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click

from railyard.base.checkout import CHECKOUT
from railyard.base.commands import example, option
from railyard.base.errors import InputError
from railyard.records import provenance

#: The rates of the torus as a share of the modelled ones, as in action.yml: a slower runner has the same references.
RATE_SCALE = "0.0001"
#: The workflow of railyard that uses every action of others that a printed one uses.
PINNED = CHECKOUT / ".github/workflows/smoke.yml"
TEMPLATES = Path(__file__).resolve().parent / "templates"


def workflow(service: str, choices: Mapping[str, str]) -> str:
    """Return the workflow file of a service; `choices` has the text of each option of `railyard ci`, without dashes."""
    import jinja2  # here, because the help of `railyard ci` needs no library

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        variable_start_string="<<",  # Jinja's own signs are those of GitHub's expressions
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["json"] = json.dumps
    steps = _cluster_steps(choices) if choices["system"] else _virtual_steps(choices)
    return environment.get_template(f"{service}.yml.j2").render(**choices, pin=_pin, steps=steps)


def _pin(action: str) -> str:
    """Return an action with its commit and version, as railyard's own workflow uses it."""
    ours = PINNED.read_text(encoding="utf-8") if PINNED.exists() else ""
    match = re.search(rf"uses: ({action}@[0-9a-f]{{40}}  # \S+)", ours)
    if match is None:
        raise InputError(str(PINNED), "", problem=f"no commit of {action}", valid="a checkout of railyard")
    return match[1]


def _virtual_steps(choices: Mapping[str, str]) -> list[str]:
    folders = {"CHECKS": choices["checks"], "PROGRAMS": choices["programs"]}
    optional = "".join(f' {name}="$CI_PROJECT_DIR/{folder}"' for name, folder in folders.items() if folder)
    select = f" SELECT={shlex.quote(choices['select'])}" if choices["select"] else ""
    return [
        *([choices["build"]] if choices["programs"] else []),
        'case "$CI_COMMIT_MESSAGE" in *"[accept]"*) export ACCEPT=true ;; esac',
        f"make -C railyard smoke TOPOLOGY={choices['topology']} RAILYARD_RATE_SCALE={RATE_SCALE} LAUNCHES=6"
        f' BASELINE="$CI_PROJECT_DIR/baseline"{optional}{select}',
        "rm -rf baseline && cp -r railyard/baseline baseline",
    ]


def _cluster_steps(choices: Mapping[str, str]) -> list[str]:
    checks, system = f" -c ../{choices['checks']}" if choices["checks"] else "", choices["system"]
    return [
        "cd railyard && make setup",
        f"tools/measure results/{system} -C reframe.yml -C ../mine.yml"
        f" --system {system} -c checks{checks} {choices['select'] or '-t smoke'} -S launches=6 -r",
        f".venv/bin/railyard report --quiet -o report.html results/{system}",
    ]


PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
#: Options whose texts are words of a shell.
OF_WORDS = frozenset({"build", "select"})


@click.command(epilog=example("railyard ci github > .github/workflows/railyard.yml"))
@click.argument("service", type=click.Choice(["github", "gitlab"]))
@option("--source", "Repository of railyard, as OWNER/NAME.  [default: the remote of this checkout]", default="")
@option("--ref", "Version of railyard.  [default: this checkout's commit]", default="")
@option("--topology", "Topology of the virtual torus.", default="gemini-2x2x2")
@option("--checks", "Folder of your own ReFrame checks in your repository.  [default: none]", default="")
@option("--programs", "Folder of your own MPI programs.  [default: none]", default="")
@option("--build", "Command that builds them.", default="make")
@option("--select", "Options of ReFrame that choose checks.  [default: -t smoke]", default="")
@option("--runner", "Label of your own runner.  [default: a hosted runner]", default="")
@option("--system", "System of mine.yml: use its scheduler.  [default: a virtual torus]", default="")
def ci(*, service: str, **texts: str) -> None:
    """Print a workflow for SERVICE that runs the smoke checks.

    Without --system they run on a virtual torus and fail if a figure is worse than on the main branch. With
    --system they run on a cluster, from a runner of your own, with the configuration mine.yml.
    """
    for name, text in texts.items():
        if name not in OF_WORDS and text and not PLAIN.fullmatch(text):
            raise InputError(f"--{name}", "", text, "letters, digits, '.', '_', '/' and '-'")
        if name in OF_WORDS and not text.isprintable():
            raise InputError(f"--{name}", "", text, "words of one line")
    if texts["system"] and texts["programs"]:
        raise InputError("--programs", "", texts["programs"], "no --system: on a cluster, checks build their programs")
    texts = {**texts, "ref": texts["ref"] or _commit(), "source": texts["source"] or _repository()}
    click.echo(workflow(service, texts), nl=False)


def _repository() -> str:
    """Return OWNER/NAME of the checkout's remote on GitHub; InputError where it has none."""
    address = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$", _git("remote", "get-url", "origin"))
    if address is None:
        raise InputError("--source", "", problem="the checkout has no remote on GitHub", valid="OWNER/NAME")
    return address[1]


def _commit() -> str:
    """Return the commit of the checkout; warn if no branch of its remote has it. InputError if it is unknown."""
    commit = provenance.code()["git_commit"]
    if not isinstance(commit, str):
        raise InputError("--ref", "", problem="the checkout has no commit", valid="a commit or a tag of railyard")
    if _git("remote") and not _git("branch", "--remotes", "--contains", commit):
        click.echo(f"warning: no branch of the checkout's remote has its commit: {commit}; run: git push", err=True)
    return commit


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
