"""`railyard checks`: the checks that ReFrame can run, one line each."""

from __future__ import annotations

import json
import textwrap

import click

from railyard.base.commands import example
from railyard.base.errors import InputError, RunError, did_you_mean
from railyard.reference import checks as sources

_WIDTH = 100


@click.command(epilog=example("railyard checks --tag smoke"))
@click.option("-t", "--tag", help="List only checks that have this tag, as `reframe -t TAG` runs them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the file of each check.")
def checks(*, tag: str | None, as_json: bool) -> None:
    """List the checks that ReFrame can run: name, what it measures, tags.

    Run one by `reframe -C reframe.yml -c checks -n NAME -r`.
    """
    every_check = sources.checks()
    if not every_check:
        raise RunError(f"{sources.FOLDER}: no checks; run this in a checkout of railyard")
    tags = sorted({word for check in every_check for word in check.tags})
    if tag is not None and tag not in tags:
        near = did_you_mean(tag, tags)
        raise InputError("--tag", "", problem=f"no check has {tag!r}{near}", valid=", ".join(tags))
    chosen = [check for check in every_check if tag is None or tag in check.tags]
    if as_json:
        rows = [
            {"name": check.name, "text": check.text, "tags": list(check.tags), "file": check.module}
            for check in chosen
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(check.name) for check in chosen)
    for check in chosen:
        text = check.text + (f" [{', '.join(check.tags)}]" if check.tags else "")
        lines = textwrap.wrap(text, _WIDTH - width - 2) or [""]
        click.echo(f"{check.name:{width}}  {lines[0]}")
        for line in lines[1:]:
            click.echo(f"{'':{width}}  {line}")
