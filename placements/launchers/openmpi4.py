"""Open MPI 4: sequential mapper, or a rank file where ranks are bound (mpirun(1) of 4.1, "rankfile", "seq")."""

from placements.launchers import openmpi

LAUNCHER = openmpi.launcher("openmpi4", ("openmpi",), "--rankfile {}")
