"""Define `railyard matrix`: show, compare and convert what the ranks of a program send to each other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from railyard.base.commands import FILE, Commands, example, json_option, option
from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.linkload import matrix as matrices
from railyard.placements.linkload.matrix import KINDS, NOT_WHOLE, Kind, Matrix
from railyard.placements.linkload.traffic import Traffic

FILES = click.argument("files", nargs=-1, required=True, type=FILE)


@click.group(cls=Commands)
def matrix() -> None:
    """Show, compare and convert what the ranks of a program send to each other.

    `railyard-witness` captures it under any MPI, without a new build of the program, where RAILYARD_MATRIX names a
    file. A file may also be Open MPI's of pml_monitoring (one for each rank), Matrix Market (.mtx), or CSV with a line
    for each pair (source,target,bytes) or for each rank.
    """


@matrix.command(epilog=example("railyard matrix show traffic.csv --plot traffic.png"))
@FILES
@option("--kind", "Kind of bytes to count.  [default: all]", click.Choice(list(KINDS)))
@option("--phase", "Phase to count.  [default: all]", click.IntRange(0))
@option("--top", "Largest pairs to name.", click.IntRange(0), 5)
@option("--plot", "A picture of the matrix (.svg, .png), at most 512 x 512 cells.", FILE)
@json_option("Print JSON.")
def show(
    *,
    files: tuple[Path, ...],
    kind: Kind | None,
    phase: int | None,
    top: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Summarise the matrix in FILES: bytes by kind and phase, partners of a rank, the largest pairs."""
    if plot is not None:
        from railyard.placements.linkload import heatmap

        heatmap.check_path(plot)
    read = matrices.read(files)
    if phase is not None and phase not in read.phase:
        valid = ", ".join(map(str, np.unique(read.phase).tolist()))
        raise InputError("--phase", "", phase, valid)
    kinds = KINDS if kind is None else (Kind(kind),)
    document = _summary(read, kinds, phase, top)
    if as_json:
        click.echo(json.dumps(document))
    else:
        _print(document)
    if plot is not None:
        _draw(read.traffic(kinds, phase), plot, files[0].name)


@matrix.command(epilog=example("railyard matrix diff before.csv after.csv"))
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@option("--kind", "Kind of bytes to compare.", click.Choice(list(KINDS)), Kind.MESSAGES)
@option("--top", "Largest differences to name.", click.IntRange(0), 5)
def diff(before: Path, after: Path, kind: Kind, top: int) -> None:
    """Compare the bytes of each pair in two matrices; the exit status is 1 if they differ."""
    left, right = matrices.read([before]), matrices.read([after])
    if left.ranks != right.ranks:
        raise InputError(str(after), "ranks", right.ranks, f"{left.ranks}, as in {before}")
    one, other = (read.traffic([Kind(kind)]).matrix() for read in (left, right))
    change = (other - one).tocoo()
    wrong = np.flatnonzero(change.data)
    click.echo(f"{kind}: {one.sum():.0f} and {other.sum():.0f} bytes; {len(wrong)} pairs differ")
    for at in wrong[np.argsort(-np.abs(change.data[wrong]), kind="stable")][:top]:
        source, target = int(change.row[at]), int(change.col[at])
        click.echo(f"  {source} to {target}: {one[source, target]:.0f} and {other[source, target]:.0f} bytes")
    sys.exit(1 if len(wrong) else 0)


@matrix.command(
    name="import", epilog=example("railyard matrix import rank.0.prof rank.1.prof --output traffic.csv")
)
@FILES
@option("--output", "File to write.  [default: standard output]", FILE)
def import_matrix(files: tuple[Path, ...], output: Path | None) -> None:
    """Write the matrix in FILES, of any form, in railyard's own form."""
    read = matrices.read(files)
    if output is None:
        matrices.write(sys.stdout, read)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            matrices.write(file, read)
    except OSError as error:
        raise InputError("--output", "", str(output), f"a file to write ({error.strerror})") from error
    click.echo(f"{output}: {read.ranks} ranks, {len(read.source)} rows")


def _summary(read: Matrix, kinds: tuple[Kind, ...], phase: int | None, top: int) -> dict[str, Any]:
    rows = slice(None) if phase is None else read.phase == phase
    sent = read.traffic(kinds, phase)
    largest = np.argsort(-sent.size_bytes, kind="stable")[:top].tolist()
    partners = np.bincount(sent.source, minlength=read.ranks)
    of_rank = np.bincount(sent.source, sent.size_bytes, minlength=read.ranks)
    return {
        "ranks": read.ranks,
        "pairs": len(sent.source),
        "bytes": sent.total_bytes,
        "kinds": {
            kind: {
                "messages": int(read.messages[rows][:, at].sum()),
                "bytes": float(read.size_bytes[rows][:, at].sum()),
            }
            for at, kind in enumerate(KINDS)
        },
        "phases": {int(number): _phase_bytes(read, int(number)) for number in np.unique(read.phase)},
        "partners": {"mean": float(partners.mean()), "max": int(partners.max())},
        "rank_bytes": {"mean": float(of_rank.mean()), "max": float(of_rank.max())},
        "left_out_calls": read.left_out,
        "finalized": read.is_whole,
        "largest": [
            {"source": int(sent.source[k]), "target": int(sent.target[k]), "bytes": float(sent.size_bytes[k])}
            for k in largest
        ],
    }


def _phase_bytes(read: Matrix, phase: int) -> float:
    return float(read.size_bytes[read.phase == phase].sum())


def _print(document: dict[str, Any]) -> None:
    partners, of_rank = document["partners"], document["rank_bytes"]
    click.echo(f"{document['ranks']} ranks, {document['pairs']} pairs, {_size(document['bytes'])}")
    for kind, amount in document["kinds"].items():
        if amount["bytes"] or amount["messages"]:
            click.echo(f"  {kind:12} {_size(amount['bytes']):>12} in {amount['messages']:,} messages")
    if len(document["phases"]) > 1:
        for phase, size in document["phases"].items():
            click.echo(f"  phase {phase:<6} {_size(size):>12}")
    click.echo(f"a rank sends to {partners['mean']:.1f} others on average, at most to {partners['max']}")
    click.echo(f"a rank sends {_size(of_rank['mean'])} on average, at most {_size(of_rank['max'])}")
    for pair in document["largest"]:
        click.echo(f"  {pair['source']} to {pair['target']}: {_size(pair['bytes'])}")
    if document["left_out_calls"]:
        click.echo(f"railyard: {document['left_out_calls']} calls were not counted (docs/fit.md)", err=True)
    if not document["finalized"]:
        click.echo(f"railyard: {NOT_WHOLE}", err=True)


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"


def _draw(sent: Traffic, path: Path, name: str) -> None:
    """Draw bytes by source and target on a logarithmic scale; many ranks share a cell."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    cells = min(sent.ranks, 512)
    row, column = (side.astype(np.int64) * cells // sent.ranks for side in (sent.source, sent.target))
    grid = np.zeros((cells, cells))
    np.add.at(grid, (row, column), sent.size_bytes)
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.add_subplot(title=f"{name}: bytes by pair of ranks", xlabel="to rank", ylabel="from rank")
    extent = (-0.5, sent.ranks - 0.5, sent.ranks - 0.5, -0.5)
    shown = np.ma.masked_equal(grid, 0)
    norm = LogNorm() if shown.count() else None
    image = axes.imshow(shown, norm=norm, cmap="viridis", extent=extent, interpolation="nearest")
    figure.colorbar(image, label="bytes")
    figure.savefig(path)
