"""Halo exchange under several rank placements: Peña et al., EuroMPI'13, Figure 6."""

from __future__ import annotations

from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import parameter, run_after, variable

from checks.base import GROUP_PLACEMENTS, REAL, RepeatedCheck


class HaloCheck(RepeatedCheck):
    """A halo exchange with one rank per node, on a process grid with the shape of the torus."""

    descr = "Halo exchange with six faces, one rank per node on a grid like the torus"
    benchmark = "halo"
    valid_systems = ["+torus", "+modelled"]

    #: Local cells (doubles) of each rank in each dimension.
    #: :default: by `scale`
    cells = variable(int, value=0)

    #: Doubles of each cell of a face: ghost layers times variables.
    values = variable(int, value=1)

    #: Ways to exchange: manual, persistent, datatypes, neighbours; copy packs alone.
    variants = variable(typ.List[str], value=["manual"])

    #: Untimed iterations of each variant before.
    #: :default: by `scale`
    warmups = variable(int, value=-1)

    #: Bytes of a face's memory before its strides are folded; 0 for the benchmark's own.
    face_memory = variable(int, value=0)

    #: What maps the ranks to the grid: row-major (only the placement), or also the MPI library:
    #: mpi-cart (MPI_Cart_create with reorder), mpi-dist-graph. The record has the mapping.
    order = variable(str, value="row-major")

    #: Neighbours that exchange: faces, or full, with edges and corners (26 in three dimensions).
    stencil = variable(str, value="faces")

    #: Where the messages lie: host, cuda, cuda-managed, hip, hip-managed.
    memory = variable(str, value="host")

    case_unless = {"order": "row-major", "stencil": "faces", "values": 1, "memory": "host"}
    unrecorded = ("warmups",)
    small = {"cells": 64, "repeats": 4, "warmups": 1}  # faces of 32 KiB
    standard = {"cells": 128, "repeats": 100, "warmups": 10}
    large = {"cells": 256, "repeats": 1000, "warmups": 20}

    @run_after("init")
    def name_needs(self) -> None:
        if "neighbours" in self.variants:
            self.needs = ["MPI_Ineighbor_alltoallw"]

    def case(self) -> dict[str, Any]:
        return {
            "grid": self.grid,
            "cells": [self.cells] * len(self.grid),
            "variants": self.variants,
            "repeats": self.repeats,
            **super().case(),
            **({"face_memory_bytes": self.face_memory} if self.face_memory else {}),
        }


@rfm.simple_test
class halo_3d(HaloCheck):
    """The three placements on 64 nodes, with enough launches for a 95 % interval."""

    studies = ["pena2013"]


@rfm.simple_test
class halo_folded(HaloCheck):
    """Figure 6a on 64 nodes: an 8x8 grid on 4x4x2 routers, where the default order splits each row of the grid.

    `cart-create/none` places as `cart-create` does. The two are an A/A pair, whose difference is this machine's noise.
    """

    studies = ["pena2013"]
    placements = ["cart-create", "cart-create/none", "custom"]
    torus = "gemini-4x4x4-two-nodes"
    allocation = "contiguous"
    block = [4, 4, 2]
    grid = [8, 8]
    small = {"cells": 1024}  # faces of 8 KiB


class HaloPaper(HaloCheck):
    """The halo exchange at the paper's scale, simulated on a block of Blue Waters or measured on a machine."""

    valid_systems = ["+torus +simulated", "+modelled", REAL]
    studies = ["pena2013"]
    torus = "blue-waters"
    small = {"repeats": 1, "warmups": 0}  # an exchange that checks the data precedes them
    standard = {"repeats": 50, "warmups": 5}

    def choose_nodes(self, nodes: list[int]) -> None:
        """Request a box of nodes, both nodes of a router along Y; of an odd number the last router contributes one."""
        x, y, z = nodes
        self.block = [x, (y + 1) // 2, z]
        self.cube = nodes if y % 2 else []


@rfm.simple_test
class halo_paper_2d(HaloPaper):
    """Figure 6a: N x N nodes of an XY plane, both nodes of a router along Y; 512 KiB per face, as in the paper."""

    #: Nodes along each side of the square.
    side = parameter(range(2, 13))
    small = {"cells": 65536}
    standard = {"cells": 65536}
    face_memory = 8 * 8 * 65536

    @run_after("init")
    def choose_block(self) -> None:
        self.grid = [self.side, self.side]
        self.choose_nodes([self.side, self.side, 1])


@rfm.simple_test
class halo_paper_3d(HaloPaper):
    """Figure 6b: N x N x N nodes. Simulated faces have 72 KiB, not 18 MiB: 512 ranks share one process's memory."""

    #: Nodes along each side of the cube.
    side = parameter(range(3, 9))
    small = {"cells": 96, "face_memory": 8 * 8 * 96 * 96}
    standard = {"cells": 1536}

    @run_after("init")
    def choose_block(self) -> None:
        self.grid = [self.side] * 3
        self.choose_nodes(self.grid)


@rfm.simple_test
class halo_injection(HaloPaper):
    """Ezell, CUG'13, Figure 7: time by the share of line rate that every NIC may use; 6x6x6 nodes in default order."""

    studies = ["ezell2013"]
    valid_systems = ["+torus +simulated"]
    placements = ["cart-create"]
    #: Share of its rate at which every NIC sends, in percent.
    percent = parameter([10, 25, 50, 75, 100])
    block = [6, 3, 6]
    grid = [6, 6, 6]
    small = {"cells": 96, "face_memory": 8 * 8 * 96 * 96}

    @run_after("setup")
    def limit_injection(self) -> None:
        limited(self, self.percent)


def limited(check: HaloCheck, percent: int) -> None:
    """Let every NIC of a check's network send at `percent` of its rate, and add that to the case."""
    check.parameters = {**check.parameters, "injection_percent": percent}
    if percent == 100:
        return
    simulated = f"export RAILYARD_FAULTS='--injection {percent}'"
    emulated = f'railyard torus fault "$RAILYARD_TORUS" --injection {percent} || exit 1'
    check.preparations = [simulated if check.prepared.where.is_computed else emulated]


@rfm.simple_test
class halo_s3d(HaloCheck):
    """Ezell, CUG'13, Figure 7 with the faces of S3D, four layers of 14 variables, by injection rate; 96 nodes.

    S3D itself is not public. Its 14 variables are nine species and five conserved ones. Emulated on the network
    `router`, whose buffers are finite, so that congestion can cost more than sharing; and simulated.
    """

    studies = ["ezell2013"]
    valid_systems = ["+torus +simulated", "+torus %origin=emulated"]
    torus = "gemini-4x2x6-two-nodes"
    network = "router"
    allocation = "contiguous"
    placements = ["cart-create"]
    grid = [4, 4, 6]
    values = 4 * 14
    #: Share of its rate at which every NIC sends, in percent.
    percent = parameter(range(40, 101, 10))
    small = {"cells": 8}
    launches = 2

    @run_after("setup")
    def limit_injection(self) -> None:
        limited(self, self.percent)


@rfm.simple_test
class halo_groups(HaloCheck):
    """Compares choices of 24 of the 72 nodes of a dragonfly: contiguous, random nodes, switches or groups."""

    studies = ["dragonfly-placement"]
    torus = "dragonfly-72"
    allocation = "contiguous"
    placements = GROUP_PLACEMENTS
    grid = [4, 3, 2]


@rfm.simple_test
class halo_variants(HaloCheck):
    """Compares the ways to exchange on one placement."""

    placements = ["custom"]
    variants = ["manual", "persistent", "datatypes", "neighbours"]
    launches = 2


@rfm.simple_test
class halo_26(HaloCheck):
    """Faces, edges and corners: 26 neighbours, as in a 27-point stencil."""

    placements = ["cart-create", "custom"]
    stencil = "full"
    small = {"cells": 32}
    launches = 2


@rfm.simple_test
class halo_reorder(HaloCheck):
    """Compares the MPI library's own mapping (reorder = 1) with row-major order of the same ranks."""

    placements = ["plain"]
    launches = 2
    #: How ranks are mapped to the grid: row-major, or by MPI_Cart_create or MPI_Dist_graph_create with reordering.
    by = parameter(["row-major", "mpi-cart", "mpi-dist-graph"])

    @run_after("init")
    def choose_order(self) -> None:
        self.order = self.by
        if self.by == "mpi-dist-graph":
            self.needs = ["MPI_Ineighbor_alltoallw"]  # an MPI without this call has no calls on graphs


@rfm.simple_test
class halo_smoke(HaloCheck):
    """Smoke test: runs everything in seconds, with too few launches to compare placements."""

    tags = {"smoke"}
    placements = ["cart-create", "custom"]
    launches = 1
    small = {"cells": 32, "repeats": 3}
