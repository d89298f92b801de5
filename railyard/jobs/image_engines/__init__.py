"""Find the engines that run a rank in an image. A feature of an environment with the engine's name selects one.

A module of this folder that defines `ENGINE` (`base.ImageEngine`) is an engine; nothing else must be edited to add one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from railyard.base.members import members
from railyard.jobs.image_engines.base import ImageEngine

#: The engine of an environment that names none.
DEFAULT = "apptainer"


@cache
def engines() -> Mapping[str, ImageEngine]:
    """Return the engines by name."""
    return {engine.name: engine for engine in members(__name__, "ENGINE")}


def selected(features: Sequence[str]) -> ImageEngine:
    """Return the engine that an environment's features name, or Apptainer."""
    return next((one for name, one in engines().items() if name in features), engines()[DEFAULT])
