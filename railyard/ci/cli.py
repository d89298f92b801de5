"""`railyard ci`: print a workflow."""

from __future__ import annotations

import re
import subprocess

import click

from railyard.base.checkout import CHECKOUT
from railyard.base.commands import example, option
from railyard.base.errors import InputError
from railyard.ci.workflows import Choices, Service, workflow
from railyard.records import provenance

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
#: Options whose texts are words of a shell.
OF_WORDS = frozenset({"build", "select"})


@click.command(epilog=example("railyard ci github > .github/workflows/railyard.yml"))
@click.argument("service", type=click.Choice([str(service) for service in Service]))
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
    origin = {"ref": texts["ref"] or _commit(), "source": texts["source"] or _repository()}
    click.echo(workflow(Service(service), Choices(**{**texts, **origin})), nl=False)


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
