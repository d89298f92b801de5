"""Open MPI 5: the mappers of Open MPI 4 in PRRTE's words (prte-map(1): --map-by seq, rankfile:file=).

Without a scheduler PRRTE refuses a rank file whose nodes no host file grants; Open MPI 4 takes them from the rank file.
"""

from placements.launchers import openmpi

LAUNCHER = openmpi.launcher(
    "openmpi5",
    ("openmpi5",),
    "--map-by rankfile:file={}",
    source="[mpirun(1) of 5.0](https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html), prte-map(1)",
    allocates=True,
)
