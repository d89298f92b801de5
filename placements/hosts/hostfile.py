"""Host files: the nodes of an allocation, or the node of each rank, as a scheduler or a person wrote them.

One node per line, its name first; the rest of the line (`slots=4`) and what follows `#` is not read. A name may be a
Slurm host list (`nid[001000-001003]`). The names are those of the topology: a node that it does not have has no
coordinate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from placements.arrays import NDArray, np
from placements.hosts.sources.located import expand
from placements.topology.base import Node, Topology
from railyard.base.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """Where a rank runs: a node, and the rail that it sends on."""

    node: Node
    rail: int = 0


def read(path: Path, topology: Topology, *, most: int = 1) -> NDArray[np.int64]:
    """Return the nodes of a host file as indices into `topology.nodes`, line by line.

    Raises InputError, in one line, for a file that cannot be read or is empty, a node that the topology does not have,
    or one named more than `most` times.
    """
    index = {node.name: k for k, node in enumerate(topology.nodes)}
    indices: list[int] = []
    seen: Counter[str] = Counter()
    for number, name in _names(path):
        if name not in index:
            valid = f"a node of {topology.name}, whose coordinate is known: {_some(topology)}"
            raise InputError(str(path), f"line {number}", name, valid)
        seen[name] += 1
        if seen[name] > most:
            times = "once" if most == 1 else f"at most {most} times"
            raise InputError(
                str(path), f"line {number}", problem=f"{name} is named again", valid=f"each node {times}"
            )
        indices.append(index[name])
    return np.array(indices, dtype=np.int64)


def read_nics(path: Path, topology: Topology) -> list[Nic]:
    """Return where each rank runs: line k names the node of rank k (`n0-0-0`), or one of its NICs (`n0-0-0.nic1`).

    Raises InputError that names the line.
    """
    nodes = {node.name: node for node in topology.nodes}
    nics = []
    for number, word in _names(path):
        name, _, nic = (word, "", "") if word in nodes else word.rpartition(".nic")
        rail = int(nic) if nic.isdecimal() else 0
        if name not in nodes or rail >= topology.rails or (nic and not nic.isdecimal()):
            valid = f"a node of {topology.name}, {_some(topology)}, or NODE.nicK"
            raise InputError(str(path), f"line {number}", word, valid)
        nics.append(Nic(node=nodes[name], rail=rail))
    return nics


def names(path: Path) -> list[str]:
    """Return the names in a host file, in its order; raises InputError for a file without one."""
    return [name for _, name in _names(path)]


def _names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and first word of each line that has one; InputError where none has."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", path.name, "a readable host file") from error
    content = [(number, line.partition("#")[0].split()) for number, line in enumerate(lines, start=1)]
    if not any(words for _, words in content):
        raise InputError(str(path), "", problem="no node", valid="one node a line")
    yield from ((number, name) for number, words in content if words for name in expand(words[0]))


def _some(topology: Topology) -> str:
    return ", ".join(node.name for node in topology.nodes[:2]) + ", ..."
