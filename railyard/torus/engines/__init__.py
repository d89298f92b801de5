"""Make the nodes of a virtual torus (one engine per module), and forward its packets (`router`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from railyard.base.members import members
from railyard.torus.engines.base import Engine

DEFAULT = "netns"


@cache
def engines() -> Mapping[str, Engine]:
    """Return the engines by name, the default one first: all modules of this folder that define `ENGINE`."""
    ordered = sorted(members(__name__, "ENGINE"), key=lambda one: (one.name != DEFAULT, one.name))
    return {one.name: one for one in ordered}
