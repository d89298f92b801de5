"""Test whether this kernel can delay packets (netem), as scaled hop latencies need."""

from __future__ import annotations

import subprocess

from railyard.placements.topology.base import Topology

PROBE = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us"]


def can_scale(topology: Topology) -> bool:
    """Return whether the topology gives the latency of a hop and the kernel accepts a netem queue."""
    if not topology.hop_latency_us:
        return False
    try:
        return subprocess.run(PROBE, capture_output=True, check=False).returncode == 0
    except OSError:
        return False  # util-linux is missing, which commands that need it report themselves
