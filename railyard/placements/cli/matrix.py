"""Define `railyard matrix`: make, show and convert what the ranks of a program send to each other."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import click

from railyard.base.commands import FILE, Commands, example, json_option, option
from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.cli.options import parse_extents
from railyard.placements.collectives import algorithms
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape
from railyard.placements.linkload import matrix as matrices
from railyard.placements.linkload.matrix import KINDS, NOT_WHOLE, Kind, Matrix

FILES = click.argument("files", nargs=-1, required=True, type=FILE)
OUTPUT = option("--output", "File to write.  [default: standard output]", FILE)


@click.group(cls=Commands)
def matrix() -> None:
    """Make, show and convert what the ranks of a program send to each other.

    `railyard-witness` captures it under any MPI, without a new build of the program, where RAILYARD_MATRIX names a
    file. A file may also be Open MPI's of pml_monitoring (one for each rank), Matrix Market (.mtx), or CSV with a line
    for each pair (source,target,bytes) or for each rank.
    """


@matrix.command(epilog=example("railyard matrix show traffic.csv"))
@FILES
@option("--kind", "Kind of bytes to count.  [default: all]", click.Choice(list(KINDS)))
@option("--phase", "Phase to count.  [default: all]", click.IntRange(0))
@option("--top", "Largest pairs to name.", click.IntRange(0), 5)
@json_option("Print JSON.")
def show(*, files: tuple[Path, ...], kind: Kind | None, phase: int | None, top: int, as_json: bool) -> None:
    """Summarise the matrix in FILES: bytes by kind and phase, partners of a rank, the largest pairs."""
    read = matrices.read(files)
    if phase is not None and phase not in read.phase:
        valid = ", ".join(map(str, np.unique(read.phase).tolist()))
        raise InputError("--phase", "", phase, valid)
    document = _summary(read, KINDS if kind is None else (Kind(kind),), phase, top)
    if as_json:
        click.echo(json.dumps(document))
    else:
        _print(document)


@matrix.command(epilog=example("railyard matrix make --algorithm recursive-doubling --bytes 64KiB"))
@option("--collective", f"Collective: {', '.join(ALGORITHMS)}.", default="allreduce")
@option("--algorithm", "Algorithm; a wrong name lists those of the collective.", required=True)
@option("--ranks", "Ranks of the collective.", click.IntRange(2), 64)
@option("--bytes", "Bytes of the vector (allreduce, bcast) or of a block, such as 64KiB.", default="1MiB")
@option("--per-node", "Ranks of a node, for hierarchical and multi-rail.", click.IntRange(1), 1)
@option("--grid", "Grid of ranks for the variants of a torus, AxB or AxBxC.")
@option("--schedule", "Write the schedule that railyard-collectives executes instead.", is_flag=True)
@OUTPUT
def make(
    *,
    collective: str,
    algorithm: str,
    ranks: int,
    bytes: str,
    per_node: int,
    grid: str | None,
    schedule: bool,
    output: Path | None,
) -> None:
    """Make the matrix of a collective's algorithm, with a phase for each step."""
    extents = parse_extents(grid, "--grid") if grid else ()
    plan = algorithms.schedule(collective, algorithm, Shape(ranks=ranks, per_node=per_node, grid=extents))
    if schedule:
        _write(output, lambda file: schedules.write(file, plan), f"{ranks} ranks, {len(plan.steps)} steps")
    else:
        _write_matrix(output, schedules.matrix_of(plan, _bytes(bytes)))


def _bytes(text: str) -> int:
    """Return a number of bytes such as 8, 64KiB or 1MiB."""
    match = re.fullmatch(r"(\d{1,15})(|KiB|MiB|GiB)", text)
    if match is None:
        raise InputError("--bytes", "", text, "a whole number, or one of KiB, MiB or GiB, such as 64KiB")
    return int(match[1]) << {"": 0, "KiB": 10, "MiB": 20, "GiB": 30}[match[2]]


@matrix.command(name="import", epilog=example("railyard matrix import rank.0.prof rank.1.prof --output traffic.csv"))
@FILES
@OUTPUT
def import_matrix(files: tuple[Path, ...], output: Path | None) -> None:
    """Write the matrix in FILES, of any form, in railyard's own form."""
    _write_matrix(output, matrices.read(files))


def _write_matrix(output: Path | None, read: Matrix) -> None:
    _write(output, lambda file: matrices.write(file, read), f"{read.ranks} ranks, {len(read.source)} rows")


def _write(output: Path | None, write: Callable[[IO[str]], None], what: str) -> None:
    """Write to a file, and print what is in it; without one write to standard output."""
    if output is None:
        write(sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            write(file)
    except OSError as error:
        raise InputError("--output", "", str(output), f"a file to write ({error.strerror})") from error
    click.echo(f"{output}: {what}")


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
        "phases": {int(phase): float(read.size_bytes[read.phase == phase].sum()) for phase in np.unique(read.phase)},
        "partners": {"mean": float(partners.mean()), "max": int(partners.max())},
        "rank_bytes": {"mean": float(of_rank.mean()), "max": float(of_rank.max())},
        "left_out_calls": read.left_out,
        "finalized": read.is_whole,
        "largest": [
            {"source": int(sent.source[k]), "target": int(sent.target[k]), "bytes": float(sent.size_bytes[k])}
            for k in largest
        ],
    }


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
