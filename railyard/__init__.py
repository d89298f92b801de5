"""railyard: the command line and what every room shares (one error class). The rooms do the work."""

import importlib
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Return `railyard.Placed`, the mixin for ReFrame tests, which is imported only where it is used."""
    if name != "Placed":
        raise AttributeError(f"module 'railyard' has no attribute {name!r}")
    return getattr(importlib.import_module("railyard.placed.mixin"), name)
