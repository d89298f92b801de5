"""Report what this kernel can do for a torus: delay packets (netem), and hold its neighbours in one table."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

from railyard.placements.topology.base import Topology
from railyard.torus.plan.plan import TorusPlan

#: The command that adds a queue of netem in a network namespace of its own.
PROBE = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us"]
#: The size of the table of neighbours, one for all namespaces.
SIZE = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
#: Since this version of Linux permanent entries do not count towards the size.
PERMANENT_ARE_FREE = (5, 0)


def can_scale(topology: Topology) -> bool:
    """Return whether the topology gives the latency of a hop and the kernel accepts a netem queue."""
    if not topology.hop_latency_us:
        return False
    try:
        return subprocess.run(PROBE, capture_output=True, check=False).returncode == 0
    except OSError:
        return False  # util-linux is missing, which commands that need it report themselves


def neighbour_advice(torus_plan: TorusPlan, *, with_slurm: bool) -> str:
    """Return the warning for a torus that may overflow this machine's table; an empty text if it fits.

    The text is also empty if the size cannot be read, as in a user namespace.
    """
    try:
        size = int(SIZE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ""
    return neighbour_warning(needed_neighbours(torus_plan, with_slurm=with_slurm, release=platform.release()), size)


def needed_neighbours(torus_plan: TorusPlan, *, with_slurm: bool, release: str) -> int:
    """Return the number of entries that count towards the table's size on a Linux `release`.

    A daemon of Slurm forwards messages to others, and each such link takes an entry at both ends. Open MPI's and
    Hydra's daemons connect to the head alone, whose entries are permanent; those count on old kernels.
    """
    nodes = len(torus_plan.topology.nodes)
    learned = 2 * nodes if with_slurm else 0
    version = re.match(r"(\d+)\.(\d+)", release)
    if version is None or (int(version[1]), int(version[2])) >= PERMANENT_ARE_FREE:
        return learned
    lines = [
        line for host in torus_plan.namespaces for line in (*host.ip, *(x for p in host.ports.values() for x in p))
    ]
    return learned + sum(line.startswith("neigh ") for line in lines)


def neighbour_warning(entries: int, size: int) -> str:
    """Return the warning for a torus that needs more `entries` than the table's `size`; an empty text if they fit."""
    if entries <= size:
        return ""
    return (
        f"the torus needs {entries} neighbours and this kernel's table holds {size}; commands on it may hang; "
        f"run: sysctl -w net.ipv4.neigh.default.gc_thresh3={2 * entries}"
    )
