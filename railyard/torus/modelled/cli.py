"""`railyard model`: the link-load model where a launcher and a program would stand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from placements.arrays import np
from placements.hosts.hostfile import read_nics
from placements.topology import catalog
from railyard.base.errors import InputError
from railyard.torus.modelled import programs

RAW = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command(context_settings=RAW)
@click.argument("topology")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--hostfile",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Line k is the node of rank k.",
)
def model(topology: str, program: Sequence[str], hostfile: Path) -> None:
    """Print the times (us) of PROGRAM (halo, rowcol, minighost) on TOPOLOGY if only links took time.

    Nothing is run. The program's --json FILE gets the document; options come before TOPOLOGY.
    """
    words = list(program)
    if "--json" not in words[:-1]:
        raise InputError("model", "--json", problem="missing", valid="the program's --json FILE")
    place = words.index("--json")
    output = Path(words[place + 1])
    del words[place : place + 2]
    network = catalog.load(topology)
    index = {node.name: k for k, node in enumerate(network.nodes)}
    ranks = read_nics(hostfile, network)
    nodes = np.array([index[rank.node.name] for rank in ranks], dtype=np.int64)
    found = programs.document(words, network, nodes)
    output.write_text(json.dumps(found) + "\n")
    for each in found["series"]:
        labels = " ".join(f"{name}={value}" for name, value in each["labels"].items())
        click.echo(f"{each['fom']} {each['samples'][0]:.6g} {labels}".rstrip())
