"""`railyard coordinates`: the coordinates of a machine's nodes, from files that the machine writes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from railyard.base.commands import FILE, example, json_option, option, print_json
from railyard.placements.hosts import naming, sources
from railyard.placements.hosts.sources import cray
from railyard.placements.launchers import files
from railyard.placements.topology import catalog

FORMS = "; ".join(f"{name}, {source.does}" for name, source in sources.sources().items())


@click.command(epilog=example("railyard coordinates topology.conf > coordinates"))
@click.argument("file", type=FILE)
@option(
    "--source kind",
    f"Form of FILE: {FORMS}.  [default: what it looks like]",
    click.Choice(list(sources.sources())),
    metavar="FORM",
)
@option("--names", "Hosts of the nodes: a table of xtprocadmin, or lines HOST NAME.", FILE)
@option("--topology", "Check that every node fits this topology (a name or a .yml file).")
@json_option("Print JSON, with what the numbers mean.")
def coordinates(*, file: Path, kind: str | None, names: Path | None, topology: str | None, as_json: bool) -> None:
    """Print the coordinates file (a line HOST X Y Z per node) of the nodes in FILE.

    FILE has one of the forms of --source. In trees of two levels X is the leaf switch; in trees of more levels X is the
    pod and Y its leaf; in a Slingshot fabric X is the group and Y the switch. Lines that are passed over are reported.
    """
    located = sources.read(file, kind)
    notes = [located.note(str(file))]
    if names is not None:
        host_of_name, note = cray.read_hosts(names)
        notes.append(note)
        located = cray.renamed(located, host_of_name, str(names))
    for note in filter(None, notes):
        click.echo(f"railyard: {note}", err=True)
    extents = located.extents
    if topology is not None:
        machine = catalog.load(topology)
        fits = naming.fitted(machine, located, str(file))
        extents = naming.named(machine, fits, str(file)).extents
        located = dataclasses.replace(located, coordinates=fits)
    if as_json:
        document = {"kind": located.kind, "stands": located.coordinates, "extents": extents}
        print_json({**document, "dimensions": located.dimensions})
        return
    if extents is not None:
        click.echo(f"torus {files.three(extents, 1)}")
    for name, at in located.coordinates.items():
        click.echo(f"{name} {files.three(at, 0)}")
