"""jsrun: IBM's launcher under LSF, a node for each rank by an explicit resource file. `lrun` of LLNL wraps it.

Sources: "Explicit Resource File (ERF) format" of IBM's Job Step Manager (--erf_input; rank, hostname, cpu,
overlapping_rs); Horovod, which writes such files with `*` for all of a resource; "Slurm srun versus
IBM CSM jsrun" of LLNL. Each rank has all processors of its node, and a script binds it. Any order is possible. Not run:
no such machine was at hand.
"""

from __future__ import annotations

from railyard.placements.hosts.node import Binding
from railyard.placements.launchers.base import BATCH_NODE_FILES, Launcher, Rendered
from railyard.placements.orders.placement import Placement

PREAMBLE = "overlapping_rs: allow\noversubscribe_cpu: allow\ncpu_index_using: logical\n"
STARTED_BY = ("jsrun", "lrun", "lrun-gpu")


def render(placed: Placement, stem: str) -> Rendered:
    """Return the command and files that start the ranks as placed; any order of ranks is possible."""
    file = f"{stem}.erf"
    lines = [
        f"rank: {rank}: {{ hostname: {node.name}; cpu: * ; gpu: * ; mem: * }}\n"
        for rank, node in enumerate(placed.nodes)
    ]
    return Rendered(command=("jsrun", "--erf_input", file), files={file: PREAMBLE + "".join(lines)})


LAUNCHER = Launcher(
    name="jsrun",
    render=render,
    selected_by=(*((name, "mpi") for name in STARTED_BY), ("local", "jsrun"), ("mpirun", "jsrun")),
    local_rank=("JSM_NAMESPACE_LOCAL_RANK",),
    node_files=BATCH_NODE_FILES,
    bindings=frozenset({Binding.NONE}),
    source="[Job Step Manager](https://www.ibm.com/docs/en/spectrum-lsf/10.1.0?topic=jsm-explicit-resource-file-erf-format)"
    " of IBM, [jsrun and lrun](https://hpc.llnl.gov/banks-jobs/running-jobs/slurm-srun-versus-ibm-csm-jsrun) of LLNL",
    cannot="`core`, `numa`, `launcher`: on real machines a script binds",
)
