"""MVAPICH2 by mpirun_rsh: line k of the host file is the node of rank k, variables precede the program.

Source: user guide of MVAPICH2 2.3, "Run using mpirun_rsh", "Hostfile Format" and "Specifying Environmental Variables".
Any order is possible. Bindings are those of `railyard.placements.launchers.mvapich`.
"""

from __future__ import annotations

from collections.abc import Mapping

from railyard.placements.launchers import mvapich
from railyard.placements.launchers.base import BATCH_NODE_FILES, Launcher, Passed, Rendered
from railyard.placements.launchers.files import openmpi_hostfile
from railyard.placements.orders.placement import Placement


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; any order of ranks is possible."""
    file = f"{stem}.hosts"
    ranks = ("mpirun_rsh", "-np", str(len(placed.indices)), "-hostfile", file)
    settings = pass_before_program(mvapich.affinity(placed)).options
    return Rendered(command=(*ranks, *settings), files={file: openmpi_hostfile(placed.nodes)})


def pass_before_program(variables: Mapping[str, str]) -> Passed:
    """Write the variables as NAME=VALUE between mpirun_rsh's own options and the program."""
    return Passed(options=tuple(f"{name}={value}" for name, value in variables.items()))


LAUNCHER = Launcher(
    name="mpirun-rsh",
    render=render,
    selected_by=(("mpirun", "mpirun-rsh"), ("mpiexec", "mpirun-rsh")),
    local_rank=mvapich.LOCAL_RANK,
    node_files=BATCH_NODE_FILES,
    bindings=mvapich.BINDINGS,
    pass_variables=pass_before_program,
    source=mvapich.SOURCE,
)
