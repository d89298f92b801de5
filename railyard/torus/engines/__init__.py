"""Make the nodes of a virtual torus (one engine per module), and forward its packets (`router`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from railyard.torus.engines.base import Engine

DEFAULT = "netns"


@cache
def engines() -> Mapping[str, Engine]:
    """Return the engines by name, the default one first: all modules of this folder that define `ENGINE`."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    all_engines: list[Engine] = [module.ENGINE for module in modules if hasattr(module, "ENGINE")]
    return {one.name: one for one in sorted(all_engines, key=lambda one: (one.name != DEFAULT, one.name))}
