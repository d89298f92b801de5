"""Find the engines that run a rank in an image. A feature of an environment with the engine's name selects one.

A module of this folder that defines `ENGINE` (`base.ImageEngine`) is an engine; nothing else must be edited to add one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.records.image_engines.base import Bound, ImageEngine
from railyard.records.programs.base import Free

#: The engine of an environment that names none.
DEFAULT = "apptainer"
#: Placeholders of the image's and the MPI's folder in a line, and the patterns of these folders.
_FOLDERS = {"/IMAGE": r"(?:/[^/\0]+)*", "/HOST-MPI": r"(?:/[^/:,\0]+)+"}


@cache
def engines() -> Mapping[str, ImageEngine]:
    """Return the engines by name."""
    return {engine.name: engine for engine in members(__name__, "ENGINE")}


def selected(features: Sequence[str]) -> ImageEngine:
    """Return the engine that an environment's features name, or Apptainer."""
    return next((one for name, one in engines().items() if name in features), engines()[DEFAULT])


def possible(name: str, file: str, *, is_bound: bool) -> Iterator[tuple[Free, ...]]:
    """Yield the words that an engine may write before a program of the image in a file of this name, in any folder.

    With `is_bound` the machine's MPI replaces the image's. Yields nothing for an unknown engine, or one that cannot.
    """
    image, mpi = map(Path, _FOLDERS)
    bounds = [
        Bound(folder=mpi, has_ofi=has_ofi, has_pmix=has_pmix)
        for has_ofi, has_pmix in itertools.product([False, True], repeat=2)
    ]
    for bound in bounds if is_bound else [None]:
        try:
            words = engines()[name].command(image / Path(file).name, bound)
        except (InputError, KeyError):
            return
        patterns = [re.escape(word) for word in words]
        for folder, names in _FOLDERS.items():
            patterns = [pattern.replace(re.escape(folder), names) for pattern in patterns]
        yield tuple(map(Free, patterns, words))
