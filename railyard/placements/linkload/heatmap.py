"""The heat map of a network: seconds of every link, one panel for each dimension or type and each direction.

On a torus a panel shows one row for each Y and, from left to right, the planes Z = 0, 1, ... each with one column for
each X. On other networks a panel has the links of one type: a row for each switch that they leave, a column for each
switch that they lead to, within its group. Cables between groups have a row and a column for each group; of parallel
cables the slowest is shown. All panels share one scale from 0 to the slowest link, so that a dark cell is a slow link
wherever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from railyard.base.errors import InputError
from railyard.placements.linkload.model import LinkLoads
from railyard.placements.topology.base import Link
from railyard.placements.topology.torus import DIMENSIONS

SUFFIXES = (".svg", ".png", ".pdf")


def check_path(path: Path) -> None:
    """Raise InputError for a file name that is no picture's, or a folder that is not there."""
    if path.suffix not in SUFFIXES:
        raise InputError("--plot", "", path.name, f"a name that ends in {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError("--plot", "", str(path.parent), "a folder that exists")


def style() -> AbstractContextManager[None]:
    """Return the settings of a picture: SVG text stays text, and the same figure gives the same bytes."""
    return plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "railyard", "font.family": "sans-serif"})


def draw(loads: LinkLoads, title: str, path: Path) -> None:
    """Write the picture of the loads."""
    loads = loads.busiest_rail()
    worst = max(loads.slowest_s * 1e3, 1e-12)
    with style():
        figure, panels, image = (_by_type if loads.topology.rings is None else _by_dimension)(loads, worst)
        figure.colorbar(image, ax=panels, label="seconds of a link (ms)", shrink=0.8)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        save(figure, path)


Drawn = tuple[Figure, NDArray[np.object_], AxesImage]


def _by_dimension(loads: LinkLoads, worst: float) -> Drawn:
    figure, panels = plt.subplots(3, 2, figsize=(10, 5.2), layout="constrained", squeeze=False)
    ms = np.where(loads.rate_gbyte_s > 0, loads.link_s * 1e3, np.nan)
    for dimension in range(3):
        for direction in range(2):
            axes, values = panels[dimension, direction], ms[..., dimension, direction]
            x, y, z = values.shape
            # Rows of Y and, for each Z, a column for each X, with an empty column between planes.
            planes = np.full((y, z, x + 1), np.nan)
            planes[..., :x] = values.transpose(1, 2, 0)
            image = axes.imshow(planes.reshape(y, -1)[:, :-1], cmap="magma_r", vmin=0, vmax=worst, aspect="auto")
            _frame(axes, f"{DIMENSIONS[dimension]}{'-' if direction else '+'}", values)
            some = range(0, z, max(1, z // 8))
            axes.set_xticks([k * (x + 1) + (x - 1) / 2 for k in some], [f"z={k}" for k in some])
            axes.set_yticks(range(0, y, max(1, y // 4)))
            axes.set_ylabel("y", rotation=0)
    return figure, panels, image


def _by_type(loads: LinkLoads, worst: float) -> Drawn:
    topology, links_by_type = loads.topology, dict[str, list[tuple[Link, float]]]()
    for link, seconds in zip(topology.first_rail, loads.link_s.ravel().tolist(), strict=True):
        name = f"{link.name.split(' ')[0]} ({topology.joins(link)})"  # such as: up (leaf to spine)
        links_by_type.setdefault(name, []).append((link, seconds * 1e3))
    rows = (len(links_by_type) + 1) // 2
    size = (10, 0.6 + 2.6 * rows)
    figure, panels = plt.subplots(rows, 2, figsize=size, layout="constrained", squeeze=False)
    for axes in panels.ravel()[len(links_by_type) :]:
        axes.set_visible(False)
    for axes, (name, links) in zip(panels.ravel(), links_by_type.items(), strict=False):
        values = _matrix(links)
        image = axes.imshow(values, cmap="magma_r", vmin=0, vmax=worst, aspect="auto")
        _frame(axes, name, values)
        axes.set_ylabel("from")
        axes.set_xlabel("to", labelpad=1)
        axes.locator_params(integer=True)
    return figure, panels, image


def _matrix(links: Sequence[tuple[Link, float]]) -> NDArray[np.float64]:
    """Return milliseconds by (from, to), NaN where no link is."""
    between = all(link.source.coordinate[0] != link.target.coordinate[0] for link, _ in links)
    axis = 0 if between or len({link.target.coordinate[1] for link, _ in links}) == 1 else 1
    by_rail = any(link.rail for link, _ in links)
    first, second = slice(1 if between and not by_rail else None), slice(None if by_rail else axis + 1)
    sources = [(link.source.rail, *link.source.coordinate[first]) for link, _ in links]
    targets = [(link.target.rail, *link.target.coordinate[second][0 if by_rail else axis :]) for link, _ in links]
    rows = {source: row for row, source in enumerate(sorted(set(sources)))}
    columns = {target: column for column, target in enumerate(sorted(set(targets)))}
    values = np.full((len(rows), len(columns)), np.nan)
    for source, target, (_, ms) in zip(sources, targets, links, strict=True):
        at = rows[source], columns[target]
        values[at] = np.fmax(values[at], ms)
    return values


def _frame(axes: Axes, name: str, values: NDArray[np.float64]) -> None:
    slowest = f"slowest {np.nanmax(values):.3g} ms" if np.isfinite(values).any() else "no such links"
    axes.set_title(f"{name}   {slowest}", loc="left", fontsize=9)
    axes.tick_params(labelsize=7, length=0)
    axes.spines[:].set_visible(False)


def save(figure: Figure, path: Path) -> None:
    """Write a figure and close it; InputError for a file that cannot be written."""
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)
    except OSError as error:
        raise InputError("--plot", "", str(path), f"a file that can be written ({error.strerror})") from error
    finally:
        plt.close(figure)
