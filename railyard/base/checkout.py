"""Name the folders of the checkout, which railyard runs from. The one place that derives them from a file's path.

The wheel that reads has a part of these folders in its own `suite` (setup.py).
"""

from __future__ import annotations

import os
from pathlib import Path

_SUITE = Path(__file__).resolve().parents[1] / "suite"
CHECKOUT = _SUITE if _SUITE.is_dir() else _SUITE.parents[1]
BUILD = CHECKOUT / "build"
RESULTS = CHECKOUT / "results"
#: The archive where none is named: the checkout's; of a wheel, the folder `results` of the current one.
ARCHIVE = Path("results") if _SUITE.is_dir() else RESULTS
TOPOLOGIES = CHECKOUT / "placements" / "topologies"
TORUS_BIN = CHECKOUT / "railyard" / "torus" / "bin"


def cache() -> Path:
    """Return the user's folder for caches; one in the checkout for a user without a home folder."""
    home = os.environ.get("HOME")
    return Path(os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else BUILD / "cache"))
