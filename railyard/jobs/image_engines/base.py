"""Define what a container engine provides: how it runs a program in an image, and what it reads from the image.

Leaves out how images are built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Where an image sees the machine's MPI; railyard's definitions make the folder.
HOST_MPI = "/opt/host-mpi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The machine's MPI in an image: its folder, and the variables that lead the program to it."""

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEngine:
    """One engine, as functions.

    `missing(file)` returns in one line why an image file cannot be run here; empty if it can.
    `check(file)` raises InputError for a file or folder that is no image of this engine.
    `labels(file)` returns the labels in the image, `version()` the engine's version.
    `command(file, bound)` returns the words before the program; InputError where the engine cannot bind an MPI.
    """

    name: str
    missing: Callable[[Path], str]
    check: Callable[[Path], None]
    labels: Callable[[Path], Mapping[str, str]]
    version: Callable[[], str]
    command: Callable[[Path, Bound | None], tuple[str, ...]]
