"""`railyard topology` and `railyard place`: the model on the command line."""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click
import yaml

from railyard.base.commands import COUNT, FOLDER, example, format_option, option
from railyard.base.errors import InputError
from railyard.placements import launchers
from railyard.placements.cli.options import SharedOptions, launcher_option, shared
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import Rendered, files, openmpi
from railyard.placements.nics import policies
from railyard.placements.orders import spec
from railyard.placements.orders.allocation import Allocation
from railyard.placements.orders.placement import Placement, check_ranks
from railyard.placements.topology import cabinets, catalog

FORMATS = ("table", "json", "openmpi-hostfile", "openmpi-rankfile", "coordinates", "links")


@click.command(epilog=example("railyard topology gemini-4x4x4"))
@click.argument("name", required=False)
@option("--yaml as_yaml", "Print the YAML document that railyard reads.", is_flag=True)
@option("--cabinets as_cabinets", "Print the place of each router in a large Cray's cabinets.", is_flag=True)
def topology(name: str | None, as_yaml: bool, as_cabinets: bool) -> None:
    """Describe the topology NAME (or a .yml file): extents, link classes, rates. Without NAME list those that ship."""
    if name is None:
        click.echo("\n".join(catalog.known()))
        return
    topo = catalog.load(name)
    if as_yaml:
        click.echo(yaml.safe_dump(topo.to_dict(), sort_keys=False), nl=False)
        return
    if as_cabinets:
        torus = catalog.as_torus(topo, "--cabinets")
        for at in torus.coordinates:
            click.echo(f"{_comma(at)} {cabinets.place(at, torus.extents)}")
        return
    from rich.console import Console
    from rich.table import Table

    links = Counter((topo.joins(k), str(k.link_class), k.rate_gbyte_s) for k in topo.links())
    size = f"{topo.layout}, {topo.nodes_per_router} node(s) a router, {topo.rails} rail(s)"
    title = f"{topo.name}: {size}{topo.routes_text}"
    table = Table("dimension", "link class", "rate (GB/s, each way)", "links (directed)", title=title)
    for (dimension, link_class, rate), count in sorted(links.items()):
        table.add_row(dimension, link_class, f"{rate:.2f}", str(count))
    table.add_row("node", "host", f"{topo.host_rate_gbyte_s:.2f}", str(2 * len(topo.nodes) * topo.rails))
    Console().print(table)


@click.command(epilog=example("railyard place gemini-4x4x4 --grid 4x4x4 --placement custom"))
@shared
@option("--placement", f"ORDER[@CHOICE][/BINDING]: {spec.words()}.", default="custom")
@option("--ranks", "Check that the grid holds this many ranks.", COUNT)
@format_option(FORMATS)
@launcher_option("Print the command, environment and files for this launcher in place of a table")
@option("--output", "With --launcher: the folder to write the files to, instead of printing them.", FOLDER)
def place(
    *, options: SharedOptions, placement: str, ranks: int | None, form: str, launcher: str | None, output: Path | None
) -> None:
    """Place a grid of ranks on TOPOLOGY and print where each rank goes, for people or for a launcher.

    For a real machine --nodes names its hosts, and --coordinates their places on TOPOLOGY. With `unknown` in place of
    TOPOLOGY no coordinates are needed, and only placements without them are possible.
    """
    if ranks is not None:
        check_ranks(options.grid, ranks)
    if output is not None and launcher is None:
        raise InputError("--output", "", str(output), "with --launcher only")
    if options.background is not None and not spec.parse(placement).order.searches:
        raise InputError("--background", "", str(options.background), "with --placement optimised only")
    granted = options.granted()
    placed = options.placed(placement, granted, options.traffic)
    topo = granted.topology
    if launcher is not None:
        _show(launchers.render(launcher, placed), output)
        return
    match form:
        case "table":
            _print(placed, placement)
        case "json":
            document = {
                "placement": placement,
                "grid": options.grid,
                "mean_hops": placed.mean_hops(),
                "nodes": [node.name for node in placed.nodes],
                "groups": _groups(placed.allocation),
            }
            click.echo(json.dumps(document))
        case "openmpi-hostfile":
            click.echo(files.openmpi_hostfile(placed.nodes), nl=False)
        case "openmpi-rankfile":
            click.echo(openmpi.rankfile(placed), nl=False)
        case "links":
            chosen = policies.parse(options.nics, topo.rails) if options.nics else None
            click.echo(files.links(topo, (chosen and chosen.nic) or 0), nl=False)
        case _:
            click.echo(files.coordinates(topo, granted.nodes), nl=False)


def _show(rendered: Rendered, output: Path | None) -> None:
    """Print environment and command as lines to paste, then each file; or write the files to a folder."""
    for name, value in rendered.environment.items():
        click.echo(f"export {name}={shlex.quote(value)}")
    click.echo(shlex.join(rendered.command) + " PROGRAM")
    for name, text in rendered.files.items():
        if output is None:
            click.echo(f"\n# {name}\n{text}", nl=False)
            continue
        try:
            output.mkdir(parents=True, exist_ok=True)
            (output / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError("--output", "", str(output), f"a folder to write to ({error.strerror})") from error


def _print(placed: Placement, name: str) -> None:
    from rich.console import Console
    from rich.table import Table

    topo = placed.allocation.topology
    table = Table("rank", "grid", "node", "router", "core", title=f"{name} on {topo.name}")
    for rank, (node, local) in enumerate(zip(placed.nodes, placed.local_ranks, strict=True)):
        core = str(local) if placed.binding != Binding.NONE else "any"
        cell = [rank // math.prod(placed.grid[d + 1 :]) % extent for d, extent in enumerate(placed.grid)]
        table.add_row(str(rank), _comma(cell), node.name, _comma(node.coordinate), core)
    console = Console()
    console.print(table)
    if counts := _groups(placed.allocation):
        per_group = ", ".join(f"group {group}: {nodes}" for group, nodes in counts["nodes_per_group"].items())
        where = f"{counts['switches']} switches in {counts['groups']} groups ({per_group})"
        console.print(f"{len(placed.allocation.indices)} nodes on {where}")
    every = topo.mean_hops()
    console.print(f"mean hops between grid neighbours: {placed.mean_hops():.3f} (between any two routers: {every:.3f})")


def _groups(allocation: Allocation) -> dict[str, Any] | None:
    """Return how many switches and groups the nodes are on, and the nodes per group; None without groups."""
    try:
        nodes = Counter(allocation.groups.tolist())
    except InputError:
        return None
    per_group = {str(group): nodes[group] for group in sorted(nodes)}
    return {"switches": len(set(allocation.switches.tolist())), "groups": len(nodes), "nodes_per_group": per_group}


def _comma(numbers: tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, numbers))
