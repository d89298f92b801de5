"""Provide NumPy as `np`, imported on first use, because importing it takes a third of the start of `railyard torus`.

All modules import `np` and the types of arrays from here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["Floats", "Ints", "Ints32", "NDArray", "np"]


class _OnFirstUse:
    """A module that is loaded when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Ints32 = NDArray[np.int32]
    Floats = NDArray[np.float64]
else:
    np = _OnFirstUse("numpy")
    # For annotations, which nothing evaluates.
    NDArray = Ints = Ints32 = Floats = Any
