"""Find the members of a kind: objects of one name, each in a module of its own in one folder."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def members(package: str, attribute: str) -> list[Any]:
    """Import every module of a package and return their objects of that name, in the order of the modules' names."""
    names = (f"{package}.{module.name}" for module in iter_modules(import_module(package).__path__))
    modules = [import_module(name) for name in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]
