"""Report what this kernel can do for a torus: delay packets (netem), hold its neighbours in one table, be fair.

With `kernel.sched_autogroup_enabled` each session is a group with one share of the processors, and the ranks of each
node are a session. Between Linux 6.12 and 7.0 the scheduler can place a group too early each time the group's
weight changes (commit 6d71a9c61604; Linux 7.1 reverts it in 101f3498b4bd, and so do stable releases from August 2026
on). A group whose tasks often sleep and wake can then run alone. On Linux 6.18.44 the ranks of one node used both
processors for 65 s, while those of the other node and everything else waited. `turn_off_groups` turns autogroups off
while a torus is up. Leaves out groups that are cgroups (containers of the engine docker, slices of systemd), and users
who are not root.
"""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess
from pathlib import Path

from railyard.base import sysfs
from railyard.placements.topology.base import Topology
from railyard.torus.plan.plan import TorusPlan

#: The command that adds a queue of netem in a network namespace of its own.
PROBE = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us"]
#: The size of the table of neighbours, one for all namespaces.
SIZE = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
#: Since this version of Linux permanent entries do not count towards the size.
PERMANENT_ARE_FREE = (5, 0)
#: Whether sessions are groups of the scheduler, `0` or `1`.
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
#: The first release of Linux whose groups may starve others, and the first that does not. Those between may be mended.
STARVES = ((6, 12), (7, 1))
#: A file in the folder of all tori. It exists while autogroups are off because of tori.
GROUPS_WERE_ON = ".autogroup"


def _version(release: str) -> tuple[int, int]:
    """Return the first two numbers of a release such as `6.12.3-amd64`."""
    major, minor = re.findall(r"\d+", release)[:2]
    return int(major), int(minor)


def may_starve(release: str) -> bool:
    """Return whether a kernel of this release may let one group of its scheduler starve the others."""
    return STARVES[0] <= _version(release) < STARVES[1]


def turn_off_groups(folder: Path) -> None:
    """Turn autogroups off and mark in a folder that they were on; do nothing if this is not needed or not allowed."""
    mark = folder / GROUPS_WERE_ON
    try:
        if may_starve(platform.release()) and sysfs.text(AUTOGROUP) == "1":
            mark.touch()  # first, so that `restore_groups` finds it after a kill at any moment
            AUTOGROUP.write_text("0\n", encoding="ascii")
    except OSError:
        mark.unlink(missing_ok=True)


def restore_groups(folder: Path) -> None:
    """Turn autogroups on again if `turn_off_groups` has turned them off, as its mark in the folder shows."""
    if (folder / GROUPS_WERE_ON).exists():
        with contextlib.suppress(OSError):
            AUTOGROUP.write_text("1\n", encoding="ascii")
        (folder / GROUPS_WERE_ON).unlink()


def can_scale(topology: Topology) -> bool:
    """Return whether the topology gives the latency of a hop and the kernel accepts a netem queue."""
    if not topology.hop_latency_us:
        return False
    try:
        return subprocess.run(PROBE, capture_output=True, check=False).returncode == 0
    except OSError:
        return False  # util-linux is missing, which commands that need it report themselves


def neighbour_advice(torus_plan: TorusPlan, *, with_slurm: bool) -> str:
    """Return the warning for a torus that may overflow this machine's table of neighbours; an empty text if it fits.

    The text is also empty if the size cannot be read, as in a user namespace.
    """
    size = sysfs.text(SIZE)
    entries = needed_neighbours(torus_plan, with_slurm=with_slurm, release=platform.release())
    if not size or entries <= int(size):
        return ""
    return (
        f"the torus needs {entries} neighbours and this kernel's table holds {size}; commands on it may hang; "
        f"run: sysctl -w net.ipv4.neigh.default.gc_thresh3={2 * entries}"
    )


def needed_neighbours(torus_plan: TorusPlan, *, with_slurm: bool, release: str) -> int:
    """Return the number of entries that count towards the table's size on a Linux `release`.

    A daemon of Slurm forwards messages to others, and each such link takes an entry at both ends. Open MPI's and
    Hydra's daemons connect to the head alone, whose entries are permanent; those count on old kernels.
    """
    learned = 2 * len(torus_plan.topology.nodes) if with_slurm else 0
    if _version(release) >= PERMANENT_ARE_FREE:
        return learned
    lines = [
        line for host in torus_plan.namespaces for line in (*host.ip, *(x for p in host.ports.values() for x in p))
    ]
    return learned + sum(line.startswith("neigh ") for line in lines)
