"""Engines: what makes the nodes of a virtual torus, found by module, and what carries its packets (`router`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from railyard.torus.engines.base import Engine

DEFAULT = "netns"


@cache
def engines() -> Mapping[str, Engine]:
    """Return the engines by name, the default one first."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found: list[Engine] = [module.ENGINE for module in modules if hasattr(module, "ENGINE")]
    return {one.name: one for one in sorted(found, key=lambda one: (one.name != DEFAULT, one.name))}
