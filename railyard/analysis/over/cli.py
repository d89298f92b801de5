"""`railyard over`: what many records show over dates, sizes and allocations.

Models: which records are chosen, and where the result goes. Leaves out: what is computed and printed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from railyard.analysis.compare import sides
from railyard.analysis.compare.sides import Side
from railyard.analysis.text.datatable import DataTable
from railyard.base.commands import (
    PATH,
    Commands,
    archive_option,
    example,
    fom_option,
    json_option,
    option,
    print_json,
)
from railyard.base.errors import InputError
from railyard.records.cli import entries_of
from railyard.records.store.entries import Entry

_F = TypeVar("_F", bound=Callable[..., Any])


@click.group(cls=Commands)
def over() -> None:
    """Show series of records over dates, sizes or allocations."""


def _options(command: _F) -> _F:
    """Add the options that the three commands share."""
    for decorate in (
        click.argument("chosen", required=False, default="", metavar="[KEY=VALUE,...]"),
        archive_option("Archive, or a record file.", PATH),
        fom_option(),
        json_option(),
    ):
        command = decorate(command)
    return command


@over.command(epilog=example("railyard over dates check=halo_3d"))
@_options
def dates(*, chosen: str, root: Path, foms: tuple[str, ...], as_json: bool) -> None:
    """Find where a series changed its level, and what its records name differently there.

    KEY=VALUE,... chooses records as a side of `railyard compare` does; without it all records count.
    """
    from railyard.analysis.over import (
        dates as of_dates,  # imported here: SciPy takes 1 s, and --help does not need it
    )
    from railyard.analysis.over import text

    side = _side(chosen)
    series = of_dates.dated(_entries(root), side, foms)
    _require(series, side, root)
    if as_json:
        print_json(text.dates_document(series))
    else:
        _print(text.changes_table(series), text.changes_sentence(series))


@over.command("sizes", epilog=example("railyard over sizes check=halo_3d"))
@_options
def sizes_(*, chosen: str, root: Path, foms: tuple[str, ...], as_json: bool) -> None:
    """Show weak and strong scaling: speedup and efficiency over the number of ranks.

    KEY=VALUE,... chooses records as a side of `railyard compare` does; without it all records count.
    """
    from railyard.analysis.over import sizes, text

    side = _side(chosen)
    families = sizes.scaled(_entries(root), side, foms)
    _require(families, side, root)
    if as_json:
        print_json(text.sizes_document(families))
    else:
        _print(text.sizes_table(families), f"{len(families)} series have at least two numbers of ranks.")


@over.command("allocations", epilog=example("railyard over allocations check=halo_3d"))
@_options
@option(
    "--limit limit_percent",
    "Spread between allocations, in percent, that is called steady.",
    click.FloatRange(min=0, min_open=True),
    5.0,
)
def allocations_(
    *, chosen: str, root: Path, foms: tuple[str, ...], as_json: bool, limit_percent: float
) -> None:
    """Show how much the same run differs between sets of nodes, and whether that is steady or variable.

    KEY=VALUE,... chooses records as a side of `railyard compare` does; without it all records count.
    """
    from railyard.analysis.over import allocations, text

    side = _side(chosen)
    spreads = allocations.spreads(_entries(root), side, foms, limit_percent)
    _require(spreads, side, root)
    if as_json:
        print_json(text.allocations_document(spreads, limit_percent))
    else:
        _print(text.allocations_table(spreads), text.allocations_sentence(spreads, limit_percent))


def _require(series: Sequence[object], side: Side | None, root: Path) -> None:
    """Raise InputError if there is no series because the side chooses no record."""
    if side is not None and not series:
        sides.require(side, _entries(root))


def _entries(root: Path) -> Iterator[Entry]:
    if not root.exists():
        raise InputError("--archive", "", str(root), "an archive's folder or a record file that exists")
    return entries_of(root)


def _side(chosen: str) -> Side | None:
    if not chosen:
        return None
    if "=" not in chosen:
        raise InputError("records", "", chosen, f"KEY=VALUE,... with keys {', '.join(sides.KEYS)}")
    (side,) = sides.parse([chosen], functools.partial(list[Entry]))
    return side


def _print(table: DataTable, sentence: str) -> None:
    if table.rows:
        for line in table.lines():
            click.echo(line)
        click.echo()
    click.echo(sentence)
