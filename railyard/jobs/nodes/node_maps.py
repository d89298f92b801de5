"""Define the command `railyard map`, which shows and checks which GPU is near to which NIC on the nodes of a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from railyard.base.commands import FILE, example, json_option, option
from railyard.base.errors import InputError
from railyard.placements.hosts.text import readable
from railyard.placements.maps import findings as checks
from railyard.placements.maps import readers
from railyard.placements.maps.node_map import NodeMap
from railyard.records import record


@click.command(name="map", epilog=example("railyard map node1.topo.xml node2.topo.xml --bytes record.json"))
@click.argument("dumps", nargs=-1, required=True, metavar="[NODE=]FILE...")
@option("--bytes sent", "Bytes of a launch's NICs: a record, or lines of NODE NIC BYTES.", FILE)
@option("--launch", "Number of the record's launch, from 0.", click.IntRange(0), 0)
@option("--plot", "File (.svg, .png) for a picture of the first node with the bytes on it.", FILE)
@json_option("Print JSON: every node's GPUs, NICs, distances and rails, and the findings.")
def node_maps(dumps: tuple[str, ...], *, sent: Path | None, launch: int, plot: Path | None, as_json: bool) -> None:
    """Show GPU, NUMA domain, NIC, distance and rail of each node by its dump, and name what is wrong.

    NODE is by default the part of the file's name before the first full stop. Ends with status 1 if something is
    wrong: a node that differs from the others, a NIC that serves two GPUs, a GPU without a near NIC, a PCIe link
    narrower than its twin, or bytes on other NICs than those of the dump.
    """
    names = (dump.rpartition("=") for dump in dumps)
    maps = [readers.read(Path(file), node or Path(file).name.partition(".")[0]) for node, _, file in names]
    counted = _bytes(sent, launch) if sent is not None else {}
    problems = checks.findings(maps) + (checks.against_bytes(maps, counted) if sent is not None else [])
    if plot is not None:
        # The plotting library takes longer to load than the rest.
        from railyard.placements.linkload import heatmap
        from railyard.placements.maps import picture

        heatmap.check_path(plot)
        picture.draw(maps[0], {nic: size for (node, nic), size in counted.items() if node == maps[0].node}, plot)
    if as_json:
        nodes = [_document(node_map) for node_map in maps]
        click.echo(json.dumps({"nodes": nodes, "findings": [asdict(finding) for finding in problems]}))
    else:
        _print(maps)
        for finding in problems:
            click.echo(f"{finding.node}: {finding.kind}: {finding.text}")
        if not problems:
            click.echo(f"nothing wrong on {len(maps)} node{'s' if len(maps) > 1 else ''}")
    if problems:
        raise SystemExit(1)


def _bytes(path: Path, launch: int) -> dict[tuple[str, str], float]:
    """Return the bytes sent by node and NIC (without its port); InputError names what is wrong."""
    text = readable(path)
    if text.lstrip().startswith("{"):
        launches = record.load(path).launches
        nics = launches[launch].nics if launch < len(launches) else None
        if not nics:
            problem = f"has no bytes of NICs in launch {launch}, of {len(launches)}"
            raise InputError(str(path), "launches", problem=problem, valid="a record with counters")
        return {(node, nic.partition(":")[0]): float(size) for (node, nic), size in nics.sent.items()}
    rows = [(line.split() + [""] * 3)[:3] for line in text.splitlines() if line.strip() and line[0] != "#"]
    wrong = next((row for row in rows if not row[2].isdecimal()), None)
    if wrong:
        raise InputError(str(path), "bytes", " ".join(wrong), "NODE NIC BYTES")
    return {(node, nic.partition(":")[0]): float(size) for node, nic, size in rows}


def _print(maps: list[NodeMap]) -> None:
    """Print a line per GPU of the nodes that differ from those before."""
    shown: dict[str, str] = {}
    for node_map in maps:
        lines = "\n".join(_lines(node_map))
        if (like := shown.setdefault(lines, node_map.node)) != node_map.node:
            click.echo(f"{node_map.node}: as {like}")
        else:
            click.echo(f"{node_map.node}: {lines}")


def _lines(node_map: NodeMap) -> Iterator[str]:
    yield f"{len(node_map.gpus)} GPU(s), {len(node_map.nics)} NIC(s), by {node_map.kind}"
    for gpu in node_map.gpus:
        nics = node_map.assigned.get(gpu.name, ())
        distance = node_map.distances.get((gpu.name, "".join(nics[:1])), "-")
        numa = "-" if gpu.numa is None else gpu.numa
        rail = ",".join(str(node_map.rails.index(nic)) for nic in nics) or "-"
        yield f"  {gpu.name:16} NUMA {numa:<2} {','.join(nics) or '-':12} {distance:4} rail {rail}"
    if others := [nic.name for nic in node_map.nics if nic.name not in sum(node_map.assigned.values(), ())]:
        yield f"  NICs of no GPU: {', '.join(others)}"


def _document(node_map: NodeMap) -> dict[str, object]:
    rails = {nic: rail for rail, nic in enumerate(node_map.rails)}
    return {
        "node": node_map.node,
        "kind": node_map.kind,
        "gpus": [asdict(gpu) | {"nics": node_map.assigned.get(gpu.name, ())} for gpu in node_map.gpus],
        "nics": [asdict(nic) | {"rail": rails.get(nic.name)} for nic in node_map.nics],
        "distances": [[*pair, distance] for pair, distance in node_map.distances.items()],
    }
