"""Read the energy that nodes counted during a launch, as series `energy_joule`, one per kind of counter.

The file is that of the NICs (docs/formats.md, "NICs"). Models: counters of one kind (the packages of a node, its
accelerators) are summed over all nodes; a kind that a node lacks has no series, because a sum over some nodes would
look like a saving. Leaves out: which process used the energy, idle nodes, switches, cooling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railyard.base import host_names
from railyard.jobs.nodes.nic_counters import document
from railyard.records import units
from railyard.records.benchmark import Series

FOM = units.fom("energy_joule", "J", "lower")
#: The number of a socket, a die or an accelerator behind a counter's name.
_NUMBER = re.compile(r"(-?\d+)+$")


def read(path: Path, hosts: Sequence[str], own_names: Mapping[str, str]) -> list[Series]:
    """Return the series of a launch on `hosts`; empty if the file has no energy, or is no file of NICs.

    `own_names` maps a host's own name to the scheduler's, where they differ.
    """
    sums: dict[str, dict[str, float]] = {}
    for row in document(path).get("energy", []):
        if isinstance(row["joules"], int | float) and math.isfinite(row["joules"]):
            of_node, node = sums.setdefault(_kind(row), {}), own_names.get(row["node"], row["node"])
            of_node[node] = of_node.get(node, 0.0) + row["joules"]
    wanted = list(dict.fromkeys(hosts))
    return [
        Series(fom=FOM, labels={"counter": kind}, samples=(math.fsum(by_node.values()),))
        for kind, by_node in sorted(sums.items())
        if len(host_names.matched(wanted, by_node)) == len(wanted)
    ]


def _kind(row: Mapping[str, Any]) -> str:
    return _NUMBER.sub("", str(row["counter"])) or "other"
