"""What rank orders and node choices have in common: a word of a placement's name, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a placement's name.

    `does` describes it in docs/placements.md. `argument` is the form of what follows its colon (empty: nothing may),
    `example` the argument with which the tests place (empty: none). A word that `needs_coordinates` means nothing on a
    machine of which nobody knows how the nodes are joined.
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
        """Return the name with its argument, in brackets where that may be left out."""
        if not self.argument:
            return self.name
        return f"{self.name}:{self.argument}" if self.needs_argument else f"{self.name}[:{self.argument}]"

    @property
    def has_seed(self) -> bool:
        """Return whether the argument is a seed, which may be given apart from the name."""
        return self.argument == "SEED"
