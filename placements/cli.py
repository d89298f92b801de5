"""`railyard place` and `railyard topology`: the model on the command line."""

from __future__ import annotations

import json
import re
from collections import Counter

import click
import yaml
from rich.console import Console
from rich.table import Table

from placements import render
from placements import topology as topologies
from placements.allocation import Order, allocate
from placements.placement import Kind, Placement, check_ranks
from placements.placement import place as make_placement
from placements.routing import mean_hops
from railyard.errors import InputError

FORMATS = ("table", "json", "openmpi-hostfile", "openmpi-rankfile", "coordinates", "links")


def parse_extents(text: str, option: str) -> tuple[int, ...]:
    """`4x4x2` as (4, 4, 2); InputError names the option."""
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){0,2}", text):
        raise InputError(option, "", text, "AxB or AxBxC, each at least 1")
    return tuple(int(word) for word in text.split("x"))


@click.command()
@click.argument("name", required=False)
@click.option("--yaml", "as_yaml", is_flag=True, help="As the YAML document that railyard reads.")
def topology(name: str | None, as_yaml: bool) -> None:
    """Describe the topology NAME (or a .yml file): extents, link classes, rates. Without NAME list those that ship."""
    if name is None:
        click.echo("\n".join(topologies.known()))
        return
    topo = topologies.load(name)
    if as_yaml:
        click.echo(yaml.safe_dump(topo.to_dict(), sort_keys=False), nl=False)
        return
    links = Counter(
        (topologies.DIMENSIONS[k.dimension], str(k.link_class), k.rate_gbyte_s) for k in topo.links()
    )
    table = Table("dimension", "link class", "rate (GB/s, each way)", "links (directed)", title=_title(topo))
    for (dimension, link_class, rate), count in sorted(links.items()):
        table.add_row(dimension, link_class, f"{rate:.2f}", str(count))
    table.add_row("node", "host", f"{topo.host_rate_gbyte_s:.2f}", str(2 * len(topo.nodes) * topo.rails))
    Console().print(table)


@click.command()
@click.argument("topology")
@click.option("--grid", required=True, help="Process grid, AxB or AxBxC.")
@click.option(
    "--placement",
    type=click.Choice([str(k) for k in Kind]),
    default=str(Kind.CUSTOM),
    show_default=True,
    help="How ranks take the slots.",
)
@click.option(
    "--allocation",
    type=click.Choice([str(o) for o in Order]),
    default=str(Order.SNAKE),
    show_default=True,
    help="Order in which the nodes are granted.",
)
@click.option("--block", help="Routers of the allocation, AxBxC from 0,0,0.  [default: all]")
@click.option("--ranks", type=click.IntRange(1), help="Check that the grid holds this many ranks.")
@click.option(
    "--ranks-per-node", type=click.IntRange(1), default=1, show_default=True, help="Slots of each node."
)
@click.option("--seed", type=int, help="For random allocations and placements.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="What to print."
)
def place(
    topology: str,
    grid: str,
    placement: str,
    allocation: str,
    block: str | None,
    ranks: int | None,
    ranks_per_node: int,
    seed: int | None,
    form: str,
) -> None:
    """Place a grid of ranks on TOPOLOGY and print where each rank goes, for people or for a launcher."""
    topo = topologies.load(topology)
    extents = parse_extents(grid, "--grid")
    if ranks is not None:
        check_ranks(extents, ranks)
    box = parse_extents(block, "--block") if block else None
    granted = allocate(topo, allocation, block=box, seed=seed)
    placed = make_placement(placement, granted, extents, ranks_per_node=ranks_per_node, seed=seed)
    match form:
        case "table":
            _print(placed)
        case "json":
            nodes = [node.name for node in placed.nodes]
            click.echo(json.dumps({"grid": extents, "mean_hops": placed.mean_hops(), "nodes": nodes}))
        case "openmpi-hostfile":
            click.echo(render.openmpi_hostfile(placed.nodes), nl=False)
        case "openmpi-rankfile":
            click.echo(render.openmpi_rankfile(placed.nodes), nl=False)
        case "links":
            click.echo(render.links(topo), nl=False)
        case _:
            click.echo(render.coordinates(topo, granted.nodes), nl=False)


def _print(placed: Placement) -> None:
    table = Table("rank", "node", "router x,y,z", title=f"{placed.kind} on {placed.allocation.topology.name}")
    for rank, node in enumerate(placed.nodes):
        table.add_row(str(rank), node.name, ",".join(map(str, node.coordinate)))
    console = Console()
    console.print(table)
    every = mean_hops(placed.allocation.topology.extents)
    console.print(
        f"mean hops between grid neighbours: {placed.mean_hops():.3f} (between any two routers: {every:.3f})"
    )


def _title(topo: topologies.Topology) -> str:
    return f"{topo.name}: {topo.layout}, {topo.nodes_per_router} node(s) a router, {topo.rails} rail(s)"
