"""Sources of coordinates: what machines write of themselves, read into name -> coordinate.

    coordinates    HOST X Y Z, docs/formats.md                 what railyard itself writes
    csv            a header with a column for the node's name and one for each dimension
    slurm          topology.conf of Slurm's topology/tree      (leaf switch, 0, 0)
    xtprocadmin    its table of node number, hexadecimal, name  with the interconnect's own coordinate where it is there
    interconnect   interconnect.txt of Pedretti et al., CUG'13 the torus coordinate of each Gemini
    slingshot      a fabric's table of ports, or xnames alone  (group, switch, 0)
    ibnetdiscover  its dump of an InfiniBand subnet            (leaf switch, 0, 0)

Each is one module with `matches(text)` and `parse(text, source)`. `read` finds out which one a file is. A node that a
source does not name has no coordinate; nothing is made up. Leaves out links and rates: they are the topology's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from placements.hosts.sources import (
    coordinates,
    csv_table,
    ibnetdiscover,
    interconnect,
    slingshot,
    slurm_tree,
    xtprocadmin,
)
from placements.hosts.sources.located import NodeCoordinates
from railyard.base.errors import InputError

__all__ = ["SOURCES", "NodeCoordinates", "read"]

#: By name; a text is of the first that recognises it.
SOURCES: Mapping[str, ModuleType] = {
    "interconnect": interconnect,
    "ibnetdiscover": ibnetdiscover,
    "slurm": slurm_tree,
    "xtprocadmin": xtprocadmin,
    "slingshot": slingshot,
    "csv": csv_table,
    "coordinates": coordinates,
}


def read(path: Path, kind: str | None = None) -> NodeCoordinates:
    """Return the coordinates of the nodes of a file; `kind` is a name of SOURCES, by default what the text looks like.

    Raises InputError, in one line, for a file that cannot be read, is of no known kind, or breaks its format.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", path.name, "a readable text file") from error
    if kind is None:
        kind = next((name for name, module in SOURCES.items() if module.matches(text)), None)
    if kind is None or kind not in SOURCES:
        raise InputError(str(path), "", kind or "no known format", ", ".join(SOURCES))
    located: NodeCoordinates = SOURCES[kind].parse(text, str(path))
    if not located.coordinates:
        raise InputError(str(path), "", problem="no node", valid=f"at least one node, as {kind} has them")
    return located
