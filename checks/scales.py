"""Choose the sizes of a check by scale: `small` for a virtual torus, `standard` and `large` for machines.

A check names its sizes in class attributes of those names, each a mapping from variable to value. A class inherits the
sizes of its bases and replaces what it names. A variable that was set by hand is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from railyard.base.errors import InputError

KIB, MIB = 1 << 10, 1 << 20

#: Values that mean "not set by the user", for variables where that is neither empty nor 0.
UNSET: Mapping[str, Any] = {"warmups": -1, "launches": 1}


class Scale(StrEnum):
    """Names of the scales: `small` for slow links, the others for real machines."""

    SMALL = "small"
    STANDARD = "standard"
    LARGE = "large"


#: Message sizes on a machine, each 16 times the one before, from 64 B to 4 MiB, and a word of 8 B.
SWEEP = [8, *(1 << power for power in range(6, 23, 4))]


def chosen(check: str, named: str, origin: str) -> Scale:
    """Return the scale that was named, or else that of the numbers' origin; raises InputError for an unknown name."""
    if named:
        if named not in set(Scale):
            raise InputError(check, "scale", named, ", ".join(Scale))
        return Scale(named)
    return Scale.STANDARD if origin == "measured" else Scale.SMALL


def sizes(check: type, scale: Scale) -> dict[str, Any]:
    """Return the variables of a scale, those of a class before those of its bases; `large` begins with `standard`."""
    values: dict[str, Any] = {}
    names = (Scale.STANDARD, Scale.LARGE) if scale is Scale.LARGE else (scale,)
    for base in reversed(check.__mro__):
        for name in names:
            values |= vars(base).get(str(name), {})
    return values


def is_set(name: str, value: Any) -> bool:
    """Return whether a variable was set by hand."""
    return bool(value != UNSET[name] if name in UNSET else value)


def chosen_values(check: Any, scale: Scale) -> dict[str, Any]:
    """Return the values of a scale for the variables of a check that the user did not set."""
    sized = sizes(type(check), scale).items()
    return {name: value for name, value in sized if not is_set(name, getattr(check, name))}
