"""Whether this kernel can delay packets (netem), which is what scaling the latency of a hop needs."""

from __future__ import annotations

import subprocess

from placements.topology.base import Topology

PROBE = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us"]


def can_scale(topology: Topology) -> bool:
    """Return whether the topology says what a hop costs and a namespace of its own accepts a netem queue."""
    if not topology.hop_latency_us:
        return False
    try:
        return subprocess.run(PROBE, capture_output=True, check=False).returncode == 0
    except OSError:
        return False  # no util-linux: what cannot do without it reports so itself
