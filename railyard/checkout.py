"""Name the folders of the checkout, which railyard runs from. The one place that derives them from a file's path."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
BUILD = CHECKOUT / "build"
RESULTS = CHECKOUT / "results"
TOPOLOGIES = CHECKOUT / "placements" / "topologies"
TORUS_BIN = CHECKOUT / "railyard" / "torus" / "bin"
