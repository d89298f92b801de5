"""numpy, loaded when something first uses it: it is half of the start of `railyard torus`, which seldom does.

Modules take `np` and the types of arrays from here. A library that imports numpy itself loads it then.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Floats", "Ints", "Ints32", "NDArray", "np"]


def _on_first_use(name: str) -> ModuleType:
    """Return a module that is loaded when an attribute of it is first asked for (the recipe of Python's importlib)."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    assert spec and spec.loader
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Ints32 = NDArray[np.int32]
    Floats = NDArray[np.float64]
else:
    np = _on_first_use("numpy")
    # For annotations, which nothing evaluates.
    NDArray = Ints = Ints32 = Floats = Any
