"""railyard: the command line and what every room shares (one error class). The rooms do the work."""

import gc
import importlib
import sys
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Records, figures and ReFrame's copies of variables are many objects and hardly any garbage: 7 % of a report's time.
gc.set_threshold(10_000)

#: A ReFrame of the site's own has its own packages. Those of `make setup` come after them, for the same Python.
_OWN = Path(__file__).resolve().parents[1] / ".venv"
_PACKAGES = _OWN / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
if _PACKAGES.is_dir() and Path(sys.prefix).resolve() != _OWN and str(_PACKAGES) not in sys.path:
    sys.path.append(str(_PACKAGES))


def __getattr__(name: str) -> Any:
    """Return `railyard.Placed`, the mixin for ReFrame tests, which is imported only where it is used."""
    if name != "Placed":
        raise AttributeError(f"module 'railyard' has no attribute {name!r}")
    return getattr(importlib.import_module("railyard.placed.mixin"), name)
