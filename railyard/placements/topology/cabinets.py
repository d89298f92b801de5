"""Locate a router of a large Cray XE or XK: cabinet, chassis, slot, and which of the slot's two Geminis it is.

Ezell, CUG'13, section II: a cabinet has three chassis of eight modules, a module two Geminis that are neighbours along
Y. X is the row of cabinets, Y the column (two coordinates for each row), Z the modules of a cabinet. The rings along X
and Y are folded: every other cabinet is joined, with loops at the ends, so that no cable passes more than one cabinet.
Leaves out: smaller systems, which are cabled otherwise, and machines whose rings are not folded from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.topology.base import Coordinate

SLOTS = 8
CHASSIS = 3
GEMINIS = 2


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """The position of a Gemini router in the machine room; `column` and `row` are the cabinet's."""

    column: int
    row: int
    chassis: int
    slot: int
    gemini: int

    @property
    def cabinet(self) -> str:
        """Return the cabinet's name as Cray prints it, such as c3-0."""
        return f"c{self.column}-{self.row}"

    def __str__(self) -> str:
        """Return the Gemini's name as Cray prints it, such as c3-0c1s7g0."""
        return f"{self.cabinet}c{self.chassis}s{self.slot}g{self.gemini}"


def folded(position: int, length: int) -> int:
    """Return where the position of a ring is in a line when the ring is folded: 0, 2, 4, ... and back."""
    back = (length + 1) // 2
    return 2 * position if position < back else 2 * (length - position) - 1


def place(coordinate: Coordinate, extents: Coordinate) -> Place:
    """Return where the router is; InputError for extents that no row of whole cabinets has."""
    x, y, z = coordinate
    if extents[1] % GEMINIS or extents[2] != SLOTS * CHASSIS:
        shape = "x".join(map(str, extents))
        raise InputError("cabinets", "extents", shape, f"Xx2Rx{SLOTS * CHASSIS}, for R rows of cabinets")
    return Place(
        column=folded(x, extents[0]),
        row=folded(y // GEMINIS, extents[1] // GEMINIS),
        chassis=z // SLOTS,
        slot=z % SLOTS,
        gemini=y % GEMINIS,
    )
