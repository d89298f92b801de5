"""`railyard pairs`: print the worst pairs and nodes of a file that `pt2pt --pairs` writes, and draw its matrices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.commands import PATH, THERE, example, json_option, option, print_json
from railyard.base.errors import InputError

if TYPE_CHECKING:
    from railyard.analysis.pairs.matrices import Matrices, Matrix

COLUMN_IN = 4.2


@click.command(epilog=example("railyard pairs all.pairs --worst 100 --image all.png"))
@click.argument("file", type=THERE)
@option("--worst", "Number of pairs, and nodes.", click.IntRange(min=0), 10)
@option("--image", "Draw all matrices into this file: .png, .svg or .pdf.", PATH)
@json_option("Print JSON.")
def pairs(file: Path, worst: int, image: Path | None, *, as_json: bool) -> None:
    """Print the worst pairs and nodes of FILE, which `pt2pt --pairs FILE` writes while it measures.

    A node counts by the median of its pairs, both ways. The file is whole at any time: a run that was killed, or still
    runs, has the pairs that it has measured.
    """
    from railyard.analysis.pairs import matrices

    read = matrices.read(file)
    if as_json:
        print_json([_document(read, point, worst) for point in read.points])
    else:
        click.echo("\n\n".join(_text(read, point, worst) for point in read.points))
    if image is not None:
        _draw(read, image)


def _document(read: Matrices, point: Matrix, worst: int) -> dict[str, Any]:
    """Return what is printed of a point, as data."""
    return {
        "test": point.test,
        "size_bytes": point.size_bytes,
        "unit": point.unit,
        "better": str(point.better),
        "pairs": int(point.measured.size),
        "of": len(read.nodes) * (len(read.nodes) - 1),
        "median": point.median,
        "worst_pairs": [
            {"from": read.nodes[source], "to": read.nodes[target], "value": value}
            for source, target, value in point.worst(worst)
        ],
        "worst_nodes": [
            {"node": read.nodes[node], "median": median} for node, median in point.worst_nodes(worst)
        ],
    }


def _text(read: Matrices, point: Matrix, worst: int) -> str:
    """Return a block of lines for a point: pairs with their distance from the median, then nodes."""
    from railyard.analysis.text.numbers import size_text

    stated = _document(read, point, worst)
    title = f"{point.test} {size_text(point.size_bytes)}: {stated['pairs']:,} of {stated['of']:,} pairs"
    if stated["median"] is None:
        return title
    median = stated["median"]
    rows = [(f"{pair['from']} -> {pair['to']}", pair["value"]) for pair in stated["worst_pairs"]] + [
        (f"{node['node']}, median", node["median"]) for node in stated["worst_nodes"]
    ]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [
        f"  {name:{width}}  {value:.4g} {point.unit}  {100 * (value / median - 1):+.1f} %"
        for name, value in rows
    ]
    return "\n".join([f"{title}, median {median:.4g} {point.unit}", *lines])


def _draw(read: Matrices, path: Path) -> None:
    """Draw the matrices side by side: rows send, columns receive, and dark is bad."""
    from matplotlib.figure import Figure

    from railyard.analysis.text.numbers import size_text

    figure = Figure(figsize=(COLUMN_IN * len(read.points), COLUMN_IN), layout="constrained")
    for axes, point in zip(figure.subplots(1, len(read.points), squeeze=False)[0], read.points, strict=True):
        colours = "viridis" if point.better == "higher" else "viridis_r"
        last = len(read.nodes) - 0.5
        drawn = axes.imshow(
            point.binned(), cmap=colours, extent=(-0.5, last, last, -0.5), interpolation="nearest"
        )
        axes.set_title(f"{point.test} {size_text(point.size_bytes)}")
        axes.set_xlabel("to node")
        axes.set_ylabel("from node")
        figure.colorbar(drawn, ax=axes, label=point.unit, shrink=0.8)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(
            "--image", "", str(path), f"a .png, .svg or .pdf that can be written ({error})"
        ) from error
