"""Name the folders of the checkout, which railyard runs from. The one place that derives them from a file's path."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / "build"
RESULTS = CHECKOUT / "results"
TOPOLOGIES = CHECKOUT / "placements" / "topologies"
TORUS_BIN = CHECKOUT / "railyard" / "torus" / "bin"


def cache() -> Path:
    """Return the user's folder for caches; one in the checkout for a user without a home folder."""
    home = os.environ.get("HOME")
    return Path(os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else BUILD / "cache"))
