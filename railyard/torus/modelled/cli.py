"""`railyard model`: the link-load model in place of a launcher and a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from railyard.base.commands import FILE, RAW, example, option
from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.hosts.hostfile import read_nics
from railyard.placements.topology import catalog
from railyard.torus.modelled import programs


@click.command(
    context_settings=RAW, epilog=example("railyard model --hostfile hosts gemini-4x4x4 halo --json halo.json")
)
@click.argument("topology")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@option("--hostfile", "File whose line k names the node of rank k.", FILE, required=True)
def model(topology: str, program: Sequence[str], hostfile: Path) -> None:
    """Print the times (us) that PROGRAM (halo, rowcol, minighost) would report on TOPOLOGY if only links took time.

    Nothing is run. The document is written to the file of PROGRAM's option --json. Options come before TOPOLOGY.
    """
    words = list(program)
    if "--json" not in words[:-1]:
        raise InputError("model", "--json", problem="missing", valid="the program's --json FILE")
    option = words.index("--json")
    output = Path(words[option + 1])
    del words[option : option + 2]
    network = catalog.load(topology)
    index = {node.name: k for k, node in enumerate(network.nodes)}
    ranks = read_nics(hostfile, network)
    nodes = np.array([index[rank.node.name] for rank in ranks], dtype=np.int64)
    document = programs.document(words, network, nodes)
    output.write_text(json.dumps(document) + "\n")
    for series in document["series"]:
        labels = " ".join(f"{name}={value}" for name, value in series["labels"].items())
        click.echo(f"{series['fom']} {series['samples'][0]:.6g} {labels}".rstrip())
