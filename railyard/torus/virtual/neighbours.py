"""Compares what a torus needs of the kernel's table of neighbours, one for all namespaces, with the table's size."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from railyard.torus.plan.plan import TorusPlan

SIZE = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
#: From this Linux on permanent entries do not count against the size.
PERMANENT_ARE_FREE = (5, 0)


def advice(made: TorusPlan, *, with_slurm: bool) -> str:
    """Return what to report of a torus that may overflow this machine's table; empty where it fits or nobody can tell.

    Inside a user namespace the size cannot be read.
    """
    try:
        size = int(SIZE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ""
    return warning(needed(made, with_slurm=with_slurm, release=platform.release()), size)


def needed(made: TorusPlan, *, with_slurm: bool, release: str) -> int:
    """Return how many entries count: permanent ones on old kernels, and what Slurm's daemons learn of each other.

    A daemon of Slurm passes messages on to others, each link with an entry at both ends. Open MPI's and Hydra's talk to
    the head alone, whose entries are permanent.
    """
    nodes = len(made.topology.nodes)
    learned = 2 * nodes if with_slurm else 0
    version = re.match(r"(\d+)\.(\d+)", release)
    if version is None or (int(version[1]), int(version[2])) >= PERMANENT_ARE_FREE:
        return learned
    lines = [
        line for host in made.namespaces for line in (*host.ip, *(x for p in host.ports.values() for x in p))
    ]
    return learned + sum(line.startswith("neigh ") for line in lines)


def warning(entries: int, size: int) -> str:
    """Return the line for a torus that needs so many entries of a table of this size; empty where they fit."""
    if entries <= size:
        return ""
    return (
        f"the torus needs {entries} neighbours and this kernel's table holds {size}; commands on it may hang; "
        f"run: sysctl -w net.ipv4.neigh.default.gc_thresh3={2 * entries}"
    )
