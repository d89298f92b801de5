"""Open MPI 5: the mappers of Open MPI 4 in PRRTE's words (prte-map(1): --map-by seq, rankfile:file=)."""

from placements.launchers import openmpi

LAUNCHER = openmpi.launcher("openmpi5", ("openmpi5",), "--map-by rankfile:file={}")
