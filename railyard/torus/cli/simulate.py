"""`railyard torus simulate`: exchanges in the router's network alone, compared with theory, without a torus."""

from __future__ import annotations

import sys

import click

from railyard.base.commands import example, json_option, option, print_json
from railyard.base.errors import InputError
from railyard.placements.cli.links import MESSAGES, modelled
from railyard.placements.cli.options import SharedOptions, shared
from railyard.placements.linkload import model
from railyard.placements.linkload.patterns import patterns
from railyard.placements.orders import spec
from railyard.torus.native import messages

#: Seconds above which a simulation needs `--patient`.
LONG_S = 60.0


@click.command(epilog=example("railyard torus simulate gemini-4x4x4 --grid 4x4x4 --placements custom"))
@shared
@option("--placements", f"Placements, with commas between: {spec.words()}.", default="scheduler,random:1")
@option("--pattern", f"Traffic of the ranks: {MESSAGES}.", click.Choice(list(patterns())), "stencil6")
@option("--patient", "Do not ask before a simulation that takes minutes.", is_flag=True)
@json_option()
def simulate(*, options: SharedOptions, placements: str, pattern: str, patient: bool, as_json: bool) -> None:
    """Simulate that all ranks send everything at once in the network of TOPOLOGY, cell by cell.

    SIMULATED is when the last message arrives. LINKS is the time of the slowest link or node in the link-load model,
    which no network with these routes is below. Times (ms) are of the real machine. Placements run side by side.
    """
    granted = options.granted()
    sent = options.traffic or modelled(options, pattern, within="", sizes=None, cells=64)
    names, topology = placements.split(","), granted.topology
    seconds = messages.estimated_s(topology, len(names), sent)
    if seconds > LONG_S and not patient:
        text = f"about {seconds / 60:.0f} minutes or more for {len(names)} placements"
        if not sys.stdin.isatty():
            raise InputError("torus simulate", "", problem=text, valid="--patient")
        click.confirm(f"{text}; go on?", abort=True, err=True)
    nodes = [options.placed(name, granted, sent).indices for name in names]
    nics = options.rank_nics(topology)
    loads = [model.load(topology, at, sent, model.PROTOCOLS["payload"], nics=nics) for at in nodes]
    links_s = [max(load.slowest_s, load.slowest_host_s) for load in loads]
    times = list(zip(names, links_s, messages.exchanges_s(topology, nodes, sent, nics), strict=True))
    if as_json:
        print_json({name: {"links_s": links, "simulated_s": simulated} for name, links, simulated in times})
        return
    width = max(map(len, names))
    click.echo(f"{'':{width}}  SIMULATED      LINKS  RATIO")
    for name, links, simulated in times:
        ratio = f"{simulated / links:6.2f}" if links else "     -"
        click.echo(f"{name:{width}} {simulated * 1e3:10.4g} {links * 1e3:10.4g} {ratio}")
