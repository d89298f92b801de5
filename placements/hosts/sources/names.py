"""Hosts for nodes that a source knows by other names: a table of xtprocadmin, or `HOST NAME` a line.

On a Cray, interconnect.txt and Slingshot's tables name nodes by their slot in a cabinet, schedulers by host.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from placements.hosts.sources import xtprocadmin
from placements.hosts.sources.located import NodeCoordinates
from placements.hosts.text import content_lines, readable
from railyard.base.errors import InputError


def read(path: Path) -> dict[str, str]:
    """Return physical name -> host; InputError, in one line, for a file that cannot be read or breaks its format."""
    text = readable(path)
    if xtprocadmin.matches(text):
        return xtprocadmin.hosts(text, str(path))
    hosts: dict[str, str] = {}
    for number, line in content_lines(text):
        words = line.split()
        if len(words) != 2:
            raise InputError(str(path), f"line {number}", line, "HOST NAME, or a table of xtprocadmin")
        hosts[words[1]] = words[0]
    return hosts


def renamed(located: NodeCoordinates, hosts: dict[str, str], source: str) -> NodeCoordinates:
    """Return the same nodes under their hosts, without those that have none; InputError if none has one."""
    coordinates = {hosts[name]: at for name, at in located.coordinates.items() if name in hosts}
    if not coordinates:
        example = next(iter(located.coordinates))
        raise InputError(source, "", next(iter(hosts), "no name"), f"names of the source, such as {example}")
    return dataclasses.replace(located, coordinates=coordinates)
