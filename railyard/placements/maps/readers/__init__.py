"""Readers of dumps: a module of this folder that defines `READER` is found; nothing else must be edited to add one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from railyard.base.errors import InputError, quoted
from railyard.base.members import members
from railyard.placements.hosts.text import readable
from railyard.placements.maps.node_map import MapReader, NodeMap


@cache
def readers() -> Mapping[str, MapReader]:
    """Return the readers by name."""
    return {reader.name: reader for reader in members(__name__, "READER", "READERS")}


def read(path: Path, node: str) -> NodeMap:
    """Return the map in a file; InputError, in one line, for a file of no known form or with a part missing."""
    return parse(readable(path), node, str(path))


def parse(text: str, node: str, source: str) -> NodeMap:
    """Return the map in a text, as `read` does."""
    for reader in readers().values():
        if reader.matches(text):
            node_map = reader.parse(text, node, source)
            _check(node_map)
            return node_map
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    problem = f"begins with {quoted(first)}, which no reader of maps does" if first else "it is empty"
    valid = "; ".join(f"{reader.name}, {reader.does}" for reader in readers().values())
    raise InputError(source, "line 1", problem=problem, valid=valid)


def _check(node_map: NodeMap) -> None:
    """Raise InputError for a dump without devices, or with one named twice."""
    devices = [device.name for device in (*node_map.gpus, *node_map.nics)]
    if not devices:
        raise InputError(node_map.source, node_map.kind, problem="no GPU and no NIC", valid="one at least")
    twice = next((name for name in devices if devices.count(name) > 1), None)
    if twice:
        raise InputError(
            node_map.source, node_map.kind, problem=f"{twice} is there twice", valid="each device once"
        )
