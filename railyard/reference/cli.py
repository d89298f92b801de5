"""`railyard checks`: the checks that ReFrame can run, one line each."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import click

from railyard.base.checkout import RESULTS
from railyard.base.commands import example, json_option, option
from railyard.base.errors import InputError, RunError, did_you_mean
from railyard.records.cli import index_of, pass_over
from railyard.records.store import archive
from railyard.reference import checks as sources
from railyard.reference import needs

_WIDTH = 100


@click.command(epilog=example("railyard checks --tag smoke"))
@option("-t --tag", "List only checks that have this tag, as `reframe -t TAG` runs them.")
@json_option("Print JSON, with the file of each check.")
def checks(*, tag: str | None, as_json: bool) -> None:
    """List the checks that ReFrame can run: name, nodes, minutes, what it measures, what it needs, tags.

    Run one by `reframe -C reframe.yml -c checks -n NAME -r`. The nodes are those on a virtual torus: "all" are 64 by
    default, and with "varies" topology or parameter decide. The minutes are those of the newest record in results/.
    """
    every_check = sources.checks()
    if not every_check:
        raise RunError(f"{sources.FOLDER}: no checks; run this in a checkout of railyard")
    needed = {check.name: needs.of(check.name, check.file) for check in every_check}
    tags = sorted({word for need in needed.values() for word in need.tags})
    if tag is not None and tag not in tags:
        near = did_you_mean(tag, tags)
        raise InputError("--tag", "", problem=f"no check has {tag!r}{near}", valid=", ".join(tags))
    chosen = [check for check in every_check if tag is None or tag in needed[check.name].tags]
    taken_s = seconds(RESULTS)
    if as_json:
        rows = [
            {
                "name": check.name,
                "text": check.text,
                "nodes": needed[check.name].nodes,
                "seconds": taken_s.get(check.name),
                "needs": needed[check.name].what,
                "tags": list(needed[check.name].tags),
                "file": check.file.name,
            }
            for check in chosen
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(check.name) for check in chosen)
    click.echo(f"{'check':{width}}  {'nodes':>6}  {'min':>5}  what it measures; what it needs; [tags]")
    for check in chosen:
        need = needed[check.name]
        minutes = f"{taken_s[check.name] / 60:.1f}" if check.name in taken_s else "-"
        text = check.text + (f"; needs {need.what}" if need.what else "")
        text += f" [{', '.join(need.tags)}]" if need.tags else ""
        lines = textwrap.wrap(text, _WIDTH - width - 17) or [""]
        click.echo(f"{check.name:{width}}  {need.nodes:>6}  {minutes:>5}  {lines[0]}")
        for line in lines[1:]:
            click.echo(f"{'':{width + 17}}{line}")


def seconds(root: Path) -> dict[str, float]:
    """Return how long the launches of each check took together, in the newest record of an archive that has some."""
    newest = {
        entry.setting["check"]: root / entry.path
        for entry in sorted(index_of(root).entries(values=False), key=lambda one: str(one.own["created"]))
    }
    return {
        read.case.check: sum(launch.elapsed_s or 0.0 for launch in read.launches)
        for read in archive.iterate(newest.values(), pass_over)
    }
