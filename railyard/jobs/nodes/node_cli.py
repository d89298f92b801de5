"""Define `railyard node-info` and `railyard end-launch`, which a job runs on each node. They start without numpy."""

from __future__ import annotations

import json
from pathlib import Path

import click

from railyard.base.commands import FOLDER, example, option
from railyard.jobs.nodes import leftovers, node


@click.command(epilog=example("railyard node-info"))
@option("--into", "Write the description into this folder, as HOST.json (in job scripts).", FOLDER)
def node_info(into: Path | None) -> None:
    """Print this node's description as JSON: cores that may be used, NUMA domains, NICs, GPUs, place in the network."""
    if into is None:
        click.echo(json.dumps(node.describe()))
    else:
        node.write(into)


@click.command(epilog=example("railyard end-launch launch-007"))
@click.argument("stem")
@option("--here", "Look on this node alone.", is_flag=True)
def end_launch(stem: str, here: bool) -> None:
    """End the processes that launch STEM (launch-007) of this job left behind (in job scripts, after a time limit)."""
    if here:
        leftovers.end_here(Path(), stem)
    else:
        from railyard.jobs.job import launched  # the other commands start without it

        if late := launched.ended_late(Path(), stem):
            click.echo(f"railyard: {stem} {late}", err=True)
        leftovers.end_on_all_nodes(Path(), stem)
