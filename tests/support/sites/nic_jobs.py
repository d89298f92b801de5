"""A Slurm cluster on a virtual torus of four nodes with two NICs each, which stands for a measured machine."""

from __future__ import annotations

from pathlib import Path

from support.sites import site_jobs

TOPOLOGY = """\
name: dual-rail-tiny
nodes_per_router: 2
rails: 2
sockets_per_node: 2
lanes_per_tile: 4
tile_rates_gbyte_s: {cable: 4.0, host: 4.0}
tree: {leaves: 2, oversubscription: 1}
host: {tiles: 1}
"""


def up(folder: Path, name: str) -> None:
    """Bring up the cluster."""
    path = folder / "dual-rail-tiny.yml"
    path.write_text(TOPOLOGY)
    site_jobs.up(str(path), name)
