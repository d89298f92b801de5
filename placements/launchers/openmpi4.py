"""Open MPI 4: sequential mapper, or a rank file where ranks are bound (mpirun(1) of 4.1, "rankfile", "seq")."""

from placements.launchers import openmpi

LAUNCHER = openmpi.launcher(
    "openmpi4",
    ("openmpi",),
    "--rankfile {}",
    source="[mpirun(1) of 4.1](https://www.open-mpi.org/doc/v4.1/man1/mpirun.1.php)",
)
