"""SMPI, and the link-load model in a program's place: host file, rank by rank, and the topology, as a file.

These are railyard's own `railyard sim` and `railyard model`.
"""

from __future__ import annotations

import yaml

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import Launcher, Rendered
from railyard.placements.launchers.files import openmpi_hostfile
from railyard.placements.orders.placement import Placement


def launcher(name: str, command: str) -> Launcher:
    """Return the launcher of `railyard COMMAND`; it binds nothing, because there are no cores."""

    def render(placed: Placement, stem: str) -> Rendered:
        hostfile, topology = f"{stem}.hostfile", "topology.yml"
        text = yaml.safe_dump(placed.allocation.topology.to_dict(), sort_keys=False)
        return Rendered(
            command=("railyard", command, "--hostfile", hostfile, topology),
            files={hostfile: openmpi_hostfile(placed.nodes), topology: text},
        )

    return Launcher(
        name=name,
        render=render,
        selected_by=(("local", name),),
        bindings=frozenset({Binding.NONE}),
        nic_by_host=True,
        source="railyard's own `railyard sim` and `railyard model`",
        cannot="a binding: there are no cores",
    )


LAUNCHERS = (launcher("smpi", "sim"), launcher("linkload", "model"))
