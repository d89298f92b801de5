"""Define the command `railyard map`, which shows and checks which GPU is near to which NIC on the nodes of a job."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from railyard.base.commands import FILE, example, json_option, option
from railyard.base.errors import InputError
from railyard.placements.hosts.text import readable
from railyard.placements.maps import findings as checks
from railyard.placements.maps import picture, readers
from railyard.placements.maps.findings import Finding
from railyard.placements.maps.node_map import NodeMap

FORMS = ", ".join(f"{reader.name} ({reader.does})" for reader in readers.readers().values())


@click.command(name="map", epilog=example("railyard map node1.topo.xml node2.topo.xml --bytes record.json"))
@click.argument("dumps", nargs=-1, required=True, metavar="[NODE=]FILE...")
@option(
    "--bytes sent",
    "Bytes of a launch's NICs: a record, or lines of NODE NIC BYTES.",
    FILE,
)
@option("--launch", "Number of the record's launch, from 0.", click.IntRange(0), 0)
@option("--plot", "File (.svg) for a picture of the first node with the bytes on it.", FILE)
@json_option("Print JSON: every node's GPUs, NICs, distances and rails, and the findings.")
def node_maps(
    dumps: tuple[str, ...], *, sent: Path | None, launch: int, plot: Path | None, as_json: bool
) -> None:
    """Show GPU, NUMA domain, NIC, distance and rail of each node by its dump, and name what is wrong.

    NODE is by default the part of the file's name before the first full stop. Ends with status 1 if something is
    wrong: a node that differs from the others, a NIC that serves two GPUs, a GPU without a near NIC, a PCIe link
    narrower than its twin, or bytes on other NICs than those of the dump.
    """
    if plot is not None and plot.suffix != ".svg":
        raise InputError("--plot", "", str(plot), "a file that ends in .svg")
    maps = [_read(dump) for dump in dumps]
    counted = _bytes(sent, launch) if sent is not None else {}
    problems = checks.findings(maps)
    if sent is not None:
        problems += checks.against_bytes(maps, counted)
    if plot is not None:
        own = {nic: size for (node, nic), size in counted.items() if node == maps[0].node}
        plot.write_text(picture.draw(maps[0], own), encoding="utf-8")
    if as_json:
        nodes = [_document(node_map) for node_map in maps]
        click.echo(json.dumps({"nodes": nodes, "findings": [asdict(finding) for finding in problems]}))
    else:
        _print(maps, problems)
    if problems:
        raise SystemExit(1)


def _read(dump: str) -> NodeMap:
    node, equals, name = dump.partition("=")
    path = Path(name if equals else dump)
    return readers.read(path, node if equals else path.name.partition(".")[0])


def _bytes(path: Path, launch: int) -> dict[tuple[str, str], float]:
    """Return the bytes sent by node and NIC; InputError names the line that is wrong."""
    text = readable(path)
    if text.lstrip().startswith("{"):
        try:
            launches = json.loads(text)["launches"]
            nics = launches[launch]["nics"]
            return {(str(nic["node"]), str(nic["nic"])): float(nic["tx_bytes"]) for nic in nics}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            problem = f"has no bytes of NICs in launch {launch} ({error})"
            raise InputError(
                str(path), "launches", problem=problem, valid="a record with counters"
            ) from error
    sent = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if len(words) != 3 or not words[2].isdecimal():
            raise InputError(str(path), f"line {number}", line.strip(), "NODE NIC BYTES")
        sent[words[0], words[1]] = float(words[2])
    return sent


def _print(maps: list[NodeMap], problems: list[Finding]) -> None:
    """Print a line per GPU of the nodes that differ from those before, then the findings."""
    shown: dict[str, str] = {}
    for node_map in maps:
        lines = list(_lines(node_map))
        text = "\n".join(lines)
        if text in shown:
            click.echo(f"{node_map.node}: as {shown[text]}")
            continue
        shown[text] = node_map.node
        click.echo(
            f"{node_map.node}: {len(node_map.gpus)} GPU(s), {len(node_map.nics)} NIC(s), by {node_map.kind}"
        )
        click.echo(text)
    for finding in problems:
        click.echo(f"{finding.node}: {finding.kind}: {finding.text}")
    if not problems:
        click.echo(f"nothing wrong on {len(maps)} node{'s' if len(maps) > 1 else ''}")


def _lines(node_map: NodeMap) -> list[str]:
    rails = {nic: rail for rail, nic in enumerate(node_map.rails)}
    lines = []
    for gpu in node_map.gpus:
        nics = node_map.assigned.get(gpu.name, ())
        distance = node_map.distances.get((gpu.name, nics[0]), "") if nics else ""
        numa = "-" if gpu.numa is None else gpu.numa
        rail = ",".join(str(rails[nic]) for nic in nics if nic in rails) or "-"
        lines.append(
            f"  {gpu.name:16} NUMA {numa:<2} {','.join(nics) or '-':12} {distance or '-':4} rail {rail}"
        )
    others = [
        nic.name
        for nic in node_map.nics
        if nic.name not in {n for own in node_map.assigned.values() for n in own}
    ]
    return [*lines, *([f"  NICs of no GPU: {', '.join(others)}"] if others else [])]


def _document(node_map: NodeMap) -> dict[str, Any]:
    rails = {nic: rail for rail, nic in enumerate(node_map.rails)}
    return {
        "node": node_map.node,
        "kind": node_map.kind,
        "gpus": [asdict(gpu) | {"nics": node_map.assigned.get(gpu.name, ())} for gpu in node_map.gpus],
        "nics": [asdict(nic) | {"rail": rails.get(nic.name)} for nic in node_map.nics],
        "distances": [[*pair, distance] for pair, distance in node_map.distances.items()],
    }
