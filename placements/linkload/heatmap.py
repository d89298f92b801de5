"""The heat map of a torus: seconds of every link, one panel for each dimension and direction.

A panel shows one row for each Y and, from left to right, the planes Z = 0, 1, ... each with one column for each X. All
panels share one scale from 0 to the slowest link, so that a dark cell is a slow link wherever it is.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from placements.linkload.model import LinkLoads
from placements.topology.torus import DIMENSIONS
from railyard.errors import InputError

SUFFIXES = (".svg", ".png", ".pdf")


def check_path(path: Path) -> None:
    """InputError for a file name that is no picture's, or a folder that is not there."""
    if path.suffix not in SUFFIXES:
        raise InputError("--plot", "", path.name, f"a name that ends in {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError("--plot", "", str(path.parent), "a folder that exists")


def draw(loads: LinkLoads, title: str, path: Path) -> None:
    """Write the picture; SVG text stays text, and the same loads give the same bytes."""
    ms, worst = loads.link_s * 1e3, max(loads.slowest_s * 1e3, 1e-12)
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "railyard", "font.family": "sans-serif"}):
        figure, panels = plt.subplots(3, 2, figsize=(10, 5.2), layout="constrained", squeeze=False)
        for dimension in range(3):
            for direction in range(2):
                axes = panels[dimension, direction]
                values = np.where(loads.rate_gbyte_s > 0, ms, np.nan)[..., dimension, direction]
                image = axes.imshow(_planes(values), cmap="magma_r", vmin=0, vmax=worst, aspect="auto")
                _label(
                    axes,
                    loads.topology.extents,
                    f"{DIMENSIONS[dimension]}{'-' if direction else '+'}",
                    values,
                )
        figure.colorbar(image, ax=panels, label="seconds of a link (ms)", shrink=0.8)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        _save(figure, path)


def _planes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(X, Y, Z) as rows of Y and, for each Z, a column for each X, with an empty column between planes."""
    x, y, z = values.shape
    padded = np.full((y, z, x + 1), np.nan)
    padded[..., :x] = values.transpose(1, 2, 0)
    return padded.reshape(y, -1)[:, :-1]


def _label(axes: Axes, extents: tuple[int, ...], name: str, values: NDArray[np.float64]) -> None:
    x, y, z = extents
    slowest = f"slowest {np.nanmax(values):.3g} ms" if np.isfinite(values).any() else "no such links"
    axes.set_title(f"{name}   {slowest}", loc="left", fontsize=9)
    every = max(1, z // 8)
    axes.set_xticks(
        [k * (x + 1) + (x - 1) / 2 for k in range(0, z, every)], [f"z={k}" for k in range(0, z, every)]
    )
    axes.set_yticks(range(0, y, max(1, y // 4)))
    axes.set_ylabel("y", rotation=0)
    axes.tick_params(labelsize=7, length=0)
    axes.spines[:].set_visible(False)


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)
    except OSError as error:
        raise InputError("--plot", "", str(path), f"a file that can be written ({error.strerror})") from error
    finally:
        plt.close(figure)
