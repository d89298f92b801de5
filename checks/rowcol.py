"""Collectives in all rows or planes at once: Peña et al., EuroMPI'13, Figure 5."""

from __future__ import annotations

import itertools
import math
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, variable
from reframe.core.exceptions import ReframeError

from checks.base import GROUP_PLACEMENTS, REAL, SizedCheck
from railyard.torus.simulated.smpi import collectives_excess

#: Bytes per pair from which SMPI's selector for MPICH uses an algorithm that works for even numbers of ranks only.
LONG_ALLTOALL = 32768


class RowcolCheck(SizedCheck):
    """One rank per node on a block of nodes; every row (X, Y, Z) or plane (XY, XZ, YZ) runs the collective.

    A message size is that of a block for each pair (alltoall), of a contribution (allgather), or of the vector.
    """

    descr = "Collectives in all rows or planes of a block of nodes at once"
    benchmark = "rowcol"
    needs_coordinates = True
    preparations: Any
    valid_systems = ["+torus", "+modelled"]
    placements = ["cart-create"]
    allocation = "contiguous"

    #: What to split into: X, Y, Z, XY, XZ, YZ, all.
    #: :default: rows and planes
    splits = variable(typ.List[str], value=["X", "Y", "Z", "XY", "XZ", "YZ"])

    #: Collectives: alltoall, allgather, allreduce, bcast, barrier.
    #: :default: all
    collectives = variable(typ.List[str], value=["alltoall", "allgather", "allreduce", "bcast", "barrier"])

    #: How all ranks begin a sample: clock, barrier, or auto (clock where each rank of a node can have a CPU). Where
    #: links are slow, ranks leave a barrier at times that differ by several hops. With the clock they wake at the same
    #: moment, and those that share a CPU wait for each other, which short messages cannot bear.
    #: :default: by `scale`: clock where small, else auto
    start = variable(str, value="")

    small = {"sizes": [1 << 14], "repeats": 3, "start": "clock"}
    standard = {"sizes": [8, 1 << 10, 1 << 14, 1 << 16], "repeats": 100, "start": "auto"}
    large = {"sizes": [8, 1 << 10, 1 << 14, 1 << 16, 1 << 20], "repeats": 1000, "start": "auto"}

    case_of = {"splits": "splits", "collectives": "collectives", "sizes_bytes": "sizes"}
    case_of |= {"repeats": "repeats", "start": "start"}

    @run_after("setup")
    def adapt_to_simulation(self) -> None:
        """Refuse buffers of all simulated ranks above the memory of their one process; choose an alltoall for SMPI.

        SMPI's selector for MPICH would abort for long messages between an odd number of ranks, so a ring is chosen.
        """
        if not self._is_simulated():
            return
        cases = itertools.product(self.splits, self.collectives, self.sizes)
        collectives = ((name, *self._groups(split), size) for split, name, size in cases)
        if excess := collectives_excess(collectives, rounds=self.repeats + 1):
            sizes, nodes = ", ".join(map(str, self.sizes)), "x".join(map(str, self._nodes()))
            raise ReframeError(f"{self.name}: sizes {sizes}, {nodes} nodes: {excess}; expected fewer or smaller")

        long = [size for size in self.sizes if size >= LONG_ALLTOALL]
        is_odd = any(ranks % 2 for _, ranks in map(self._groups, self.splits))
        if "alltoall" not in self.collectives or not long or not is_odd:
            return
        if len(long) < len(self.sizes):
            sizes = ", ".join(map(str, self.sizes))
            valid = f"sizes up to {LONG_ALLTOALL - 1} apart from longer ones, which need another algorithm"
            raise ReframeError(f"{self.name}: sizes {sizes}, alltoall of an odd number of ranks; expected {valid}")
        self.preparations = [*self.preparations, "export RAILYARD_ALGORITHMS=alltoall:ring"]

    def _groups(self, split: str) -> tuple[int, int]:
        """Return how many groups a split makes, and the ranks of each."""
        x, y, z = self._nodes()
        along = {"X": x, "Y": y, "Z": z}
        inside = x * y * z if split == "all" else math.prod(along[letter] for letter in split)
        return x * y * z // inside, inside * self.ranks_per_node

    def _nodes(self) -> tuple[int, int, int]:
        """Return the nodes along X, Y and Z, with both nodes of a router along Y."""
        if self.cube:
            return (self.cube[0], self.cube[1], self.cube[2])
        x, y, z = self.prepared.topology.box_of_cells(self.prepared.granted.block)
        return x, y, z


@rfm.simple_test
class rowcol_cube(RowcolCheck):
    """A cube of 4x4x4 nodes, two on each of 4x2x4 routers.

    A message of 64 KiB is 27 packets of the virtual torus. One of 16 KiB is 7, and so few make an Alltoall in rows
    along X 7 % longer than its links need (docs/simulated.md).
    """

    studies = ["pena2013"]
    torus = "gemini-4x4x4-two-nodes"
    block = [4, 2, 4]
    collectives = ["alltoall", "allgather"]
    launches = 2
    small = {"sizes": [1 << 16], "repeats": 2}


class RowcolPaper(RowcolCheck):
    """A cube of Blue Waters' nodes: simulated, or measured on a machine that has such a block."""

    valid_systems = ["+torus +simulated", "+modelled", REAL]
    studies = ["pena2013"]
    torus = "blue-waters"
    collectives = ["alltoall", "allgather"]
    launches = 1
    small = {"repeats": 1}
    standard = {"sizes": [1 << 14], "repeats": 50, "launches": 6}


@rfm.simple_test
class rowcol_paper(RowcolPaper):
    """Figure 5 on 7x7x7 nodes, both nodes of a router along Y: of 7x4x7 routers the last in Y gives one node."""

    block = [7, 4, 7]
    cube = [7, 7, 7]


@rfm.simple_test
class rowcol_paper_long(RowcolPaper):
    """Figure 5a with longer messages, in rows only: the buffers of planes would exceed the memory."""

    block = [7, 4, 7]
    cube = [7, 7, 7]
    splits = ["X", "Y", "Z"]
    collectives = ["alltoall"]
    small = {"sizes": [1 << 16]}
    standard = {"sizes": [1 << 16]}


@rfm.simple_test
class rowcol_routers(RowcolPaper):
    """Figure 5 on 7x7x7 routers with both of their nodes: rows of 14 ranks along Y, of 7 along X and Z."""

    valid_systems = ["+modelled"]

    block = [7, 7, 7]


@rfm.simple_test
class rowcol_all(RowcolCheck):
    """The collectives of LLNL's multirail poster among all ranks of 16 nodes with two rails, by NIC policy."""

    studies = ["llnl-multirail"]
    needs_coordinates = False
    torus = "dual-rail-small"
    # One rank per NIC. With more, small messages on the virtual torus would be slow for lack of processors.
    ranks_per_node = 2
    splits = ["all"]
    collectives = ["allreduce", "bcast", "barrier"]
    small = {"sizes": [8, 1 << 16], "start": "barrier"}
    launches = 2


@rfm.simple_test
class rowcol_groups(RowcolCheck):
    """Collectives on 24 of the 72 nodes of a dragonfly, chosen in the ways of `halo_groups`."""

    studies = ["dragonfly-placement"]
    needs_coordinates = False
    torus = "dragonfly-72"
    placements = GROUP_PLACEMENTS
    grid = [4, 3, 2]
    splits = ["all"]
    collectives = ["alltoall", "allreduce"]


@rfm.simple_test
class rowcol_alltoall(RowcolCheck):
    """Alltoall among all ranks of any network: rows and coordinates are not needed, so routes may be chosen."""

    needs_coordinates = False
    splits = ["all"]
    collectives = ["alltoall"]
    small = {"sizes": [1 << 12], "start": "barrier"}
    launches = 2


@rfm.simple_test
class rowcol_smoke(RowcolCheck):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"smoke"}
    block = [2, 2, 2]
    splits = ["X", "YZ"]
    small = {"sizes": [1 << 12], "start": "barrier"}
    launches = 1
