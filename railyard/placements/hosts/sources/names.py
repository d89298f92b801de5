"""Hosts for nodes that a source knows by other names: a table of xtprocadmin, or `HOST NAME` a line.

On a Cray, interconnect.txt and Slingshot's tables name nodes by their slot in a cabinet, schedulers by host.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from railyard.base.errors import InputError
from railyard.placements.hosts.sources import xtprocadmin
from railyard.placements.hosts.sources.located import NodeCoordinates, Reading, described, note
from railyard.placements.hosts.text import content_lines, readable


def read(path: Path) -> tuple[dict[str, str], str]:
    """Return physical name -> host, and one line about what was passed over; InputError if no line can be read."""
    text = readable(path)
    lines = Reading(str(path))
    hosts = xtprocadmin.hosts(text, lines) if xtprocadmin.matches(text) else _pairs(text, lines)
    if lines.odd and not hosts:
        raise lines.odd[0]
    return hosts, note([described(error) for error in lines.odd], str(path))


def _pairs(text: str, lines: Reading) -> dict[str, str]:
    hosts: dict[str, str] = {}

    def read_line(line: str) -> None:
        words = line.split()
        if len(words) != 2:
            raise lines.odd_line(line, "HOST NAME, or a table of xtprocadmin")
        hosts[words[1]] = words[0]

    lines.each(content_lines(text), read_line)
    return hosts


def renamed(located: NodeCoordinates, hosts: dict[str, str], source: str) -> NodeCoordinates:
    """Return the same nodes under their hosts, without those that have none; InputError if none has one."""
    coordinates = {hosts[name]: at for name, at in located.coordinates.items() if name in hosts}
    if not coordinates:
        example = next(iter(located.coordinates))
        raise InputError(source, "", next(iter(hosts), "no name"), f"names of the source, such as {example}")
    return dataclasses.replace(located, coordinates=coordinates)
