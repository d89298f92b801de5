"""SNAP, a mini-application of radiation transport: swept cells per second under placements and NIC policies.

None of the four papers uses it; procurements require it. A manufactured solution allows every run to be verified. Ranks
form a plane of Y and Z, through which sweeps go from every corner. The messages are many and small, and each is awaited
by the next rank. Leaves out: time steps, because the manufactured solution does not depend on time.
"""

from __future__ import annotations

from reframe.core.builtins import run_after, variable

from checks.application import MiniAppCheck, variants

DECK = "snap.inp"
#: Edge of a cell, as in the program's own test of the manufactured solution.
CELL = 0.01


@variants("strong", "multirail", "profile")
class SnapCheck(MiniAppCheck):
    """Sweeps through a cube of cells, whose solution is known."""

    descr = "SNAP: sweeps of discrete ordinates through a regular mesh"
    benchmark = "snap"
    program = "gsnap"
    leaves = "snap.out"
    decomposition = "plane"

    #: Edge of the whole cube in cells: the manufactured solution is close to SNAP's on a cube alone.
    sizes = {"strong": {"laptop": 8, "ci": 18, "node": 64, "rack": 64}}
    scaling = "strong"

    #: Angles of an octant; 0 for 12 at the scales laptop and ci, and for 48, as SNAP's own benchmark, at node and rack.
    angles = variable(int, value=0)

    #: Energy groups; 0 for 10 at laptop and ci, for 54 at node and rack.
    groups = variable(int, value=0)

    @run_after("setup")
    def choose_options(self) -> None:
        """Write the input: Y varies fastest over the program's ranks, as over the grid's."""
        small = self.scale in {"laptop", "ci"}
        angles, groups = self.angles or (12 if small else 48), self.groups or (10 if small else 54)
        self.parameters = {**self.parameters, "angles": angles, "groups": groups}
        ranks: list[int] = self.grid
        self.inputs = {DECK: deck(ranks, self.size, (angles, groups), max(self.threads, 1))}
        self.options = [DECK, self.leaves]


def deck(ranks: list[int], size: int, phase: tuple[int, int], threads: int) -> str:
    """Return the input for `ranks` along Z and Y and a cube of `size` cells; `phase` is angles and groups."""
    edge = f"{size * CELL:.2f}"
    values = {
        "npey": ranks[1],
        "npez": ranks[0],
        "ichunk": size // 2,
        "nthreads": threads,
        "ndimen": 3,
        **dict.fromkeys(("nx", "ny", "nz"), size),
        **dict.fromkeys(("lx", "ly", "lz"), edge),
        "nmom": 4,
        "nang": phase[0],
        "ng": phase[1],
        "src_opt": 3,
        "fixup": 0,
        "epsi": "1.0E-4",
        "iitm": 5,
        "oitm": 100,
    }
    return "\n".join(["&invar", *(f"  {name}={value}" for name, value in values.items()), "/", ""])
