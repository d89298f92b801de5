"""Define the base class of rank orders and node choices: a word of a placement's name, and its argument."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a placement's name.

    `does` describes it in docs/placements.md. `argument` is the form of the text after its colon (empty: none is
    allowed), `example` the argument that the tests use (empty: none). A word that `needs_coordinates` cannot be used on
    a machine whose nodes have no known coordinates.
    """

    name: str
    does: str
    argument: str = ""
    needs_argument: bool = False
    example: str = ""
    needs_coordinates: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def form(self) -> str:
        """Return the name with the form of its argument, such as `NAME:FILE`, or `NAME[:SEED]` if it is optional."""
        if not self.argument:
            return self.name
        return f"{self.name}:{self.argument}" if self.needs_argument else f"{self.name}[:{self.argument}]"

    @property
    def has_seed(self) -> bool:
        """Return whether the argument is a seed, which may be given apart from the name."""
        return self.argument == "SEED"
