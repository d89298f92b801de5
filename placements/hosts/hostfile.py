"""Host files: the nodes of an allocation, or the node of each rank, as a scheduler or a person wrote them.

One node a line, its name first; what follows on the line (`slots=4`) and after `#` is not read. The names are those of
the topology: a node that it does not have has no coordinate.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from placements.topology.base import Topology
from railyard.errors import InputError


def read(path: Path, topology: Topology, *, most: int = 1) -> NDArray[np.int64]:
    """Indices into `topology.nodes`, line by line.

    Raises InputError, in one line, for a file that cannot be read or is empty, a node that the topology does not have,
    or one named more than `most` times.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), "", path.name, "a readable host file") from error
    index = {node.name: k for k, node in enumerate(topology.nodes)}
    found: list[int] = []
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name = words[0]
        if name not in index:
            some = ", ".join(node.name for node in topology.nodes[:2])
            valid = f"a node of {topology.name}, whose coordinate is known: {some}, ..."
            raise InputError(str(path), f"line {number}", name, valid)
        seen[name] += 1
        if seen[name] > most:
            times = "once" if most == 1 else f"at most {most} times"
            raise InputError(str(path), f"line {number}", f"{name} again", f"each node {times}")
        found.append(index[name])
    if not found:
        raise InputError(str(path), "", "no node", "one node a line")
    return np.array(found, dtype=np.int64)
