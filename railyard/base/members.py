"""Find the members of a kind: objects of one name, in the modules of one package.

Models: a kind is a package, such as `railyard.placements.launchers`. Its members are the modules of that package, those
of the same folder (`placements/launchers`) below the checkout and each folder of the variable `RAILYARD_PATH`, and the
entry points of the group of the package's name, which other packages declare. Leaves out what a member is.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError

if TYPE_CHECKING:
    from importlib import metadata

#: Folders with members of one's own, a colon between.
PATH = "RAILYARD_PATH"


def members(package: str, attribute: str, several: str = "") -> list[Any]:
    """Return the objects of one name of all modules of a kind, in the order of the modules' names.

    With `several`, a module may have a tuple of such objects under that name. InputError for a name that two have.
    """
    every = modules(package, *filter(None, (attribute, several))).values()
    alone = [getattr(module, attribute) for module in every if hasattr(module, attribute)]
    together = [*alone, *itertools.chain.from_iterable(getattr(module, several, ()) for module in every)]
    names = Counter(one.name for one in together if hasattr(one, "name"))
    if twice := next((name for name, count in names.items() if count > 1), None):
        raise InputError(package, "", twice, "one member of this name")
    return together


def modules(package: str, *attributes: str) -> dict[str, ModuleType]:
    """Import every module of a kind; return name -> module, by name, of those that have one of the attributes.

    Raises InputError for a name that two modules have, and for a module of one's own that cannot be imported or, unless
    its name begins with `_`, has none of the attributes.
    """
    home = import_module(package)
    folders = [
        folder
        for root in (CHECKOUT, *map(Path, filter(None, os.environ.get(PATH, "").split(":"))))
        if (folder := root.joinpath(*package.split(".")[1:])).is_dir() and str(folder) not in home.__path__
    ]
    home.__path__ += [str(folder) for folder in folders]
    shipped, *own = ([module.name for module in iter_modules([folder])] for folder in home.__path__)
    entries = {entry.name: entry for entry in _entry_points() if entry.group == package}
    names = Counter([*shipped, *itertools.chain.from_iterable(own), *entries])
    if twice := next((name for name, count in names.items() if count > 1), None):
        raise InputError(package, "", twice, f"one module of this name in {', '.join(home.__path__)} and packages")
    every = dict[str, ModuleType]()
    for name in sorted(names):
        try:
            every[name] = entries[name].load() if name in entries else import_module(f"{package}.{name}")
        except Exception as error:  # whatever a module of one's own does when it is imported
            if name in shipped:
                raise
            problem = f"cannot be imported ({type(error).__name__}: {error})"
            raise InputError(package, name, problem=problem, valid="a module of Python") from error
        if not any(hasattr(every[name], attribute) for attribute in attributes):
            if name not in shipped and not name.startswith("_"):
                raise InputError(package, name, problem="has no member", valid=" or ".join(attributes))
            del every[name]
    return every


@functools.cache
def _entry_points() -> list[metadata.EntryPoint]:
    """Return the members that installed packages declare."""
    declared = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    readable = (file.read_text("utf-8", errors="replace") for file in declared if os.access(file, os.R_OK))
    if not any("[railyard." in text for text in readable):
        return []
    from importlib import metadata  # loads modules of e-mail and CSV: 30 ms

    installed = itertools.chain.from_iterable(one.entry_points for one in metadata.distributions())
    return [entry for entry in installed if entry.group.startswith("railyard.")]
