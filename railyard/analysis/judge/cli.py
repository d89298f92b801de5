"""Run `railyard compare`, `placement-cost` and `series`: show an archive's records side by side, or as series.

Models: what the user names and where the result goes. Leaves out: what is computed and printed
(`railyard.analysis.judge.versus`, `railyard.analysis.judge.over`, `railyard.analysis.judge.text`), which is imported
where it is needed, because --help does not need NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from railyard.base.commands import PATH, Commands, archive_option, example, fom_option, json_option, option, print_json
from railyard.base.errors import InputError
from railyard.records.cli import entries_of, index_of
from railyard.records.store.entries import Entry

if TYPE_CHECKING:
    from railyard.analysis.judge.sides import Side
    from railyard.analysis.text import DataTable

_F = TypeVar("_F", bound=Callable[..., Any])
_Row = TypeVar("_Row")


@click.command(epilog=example("railyard compare placement=plain placement=custom"))
@click.argument("sides", nargs=-1, required=True, metavar="A B [...]")
@option("--baseline", "The side that changes are relative to.  [default: the first]")
@archive_option("Archive that the sides choose from.")
@json_option("Print JSON for programs, with the values as recorded.")
@fom_option()
def compare(*, sides: tuple[str, ...], baseline: str | None, root: Path, as_json: bool, foms: tuple[str, ...]) -> None:
    """Compare two or more sides A B [...].

    A side is KEY=VALUE[,KEY=VALUE...] with the keys system, partition, environment, check, topology, commit, mpi,
    study, placement, nic, software (native, image), image (the beginning of its sha256), date (2026-11-21 or
    2026-11-01..2026-11-21); or the path of an archive or record; or a bare
    word that is a system, placement, NIC policy or date of the archive.
    """
    from railyard.analysis.judge import text, versus

    if len(sides) < 2:
        raise InputError("SIDE", "", problem=f"{len(sides)} side", valid="at least two sides")
    archive = functools.cache(lambda: index_of(root))
    compared = versus.of_texts(
        sides, lambda **values: archive().entries(**values), baseline, foms, for_people=not as_json
    )
    if as_json:
        print_json(text.document(compared))
    else:
        click.echo("\n".join(text.terminal(compared)))


@click.group(cls=Commands)
def series() -> None:
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


@click.command("placement-cost", epilog=example("railyard placement-cost system=NAME,check=halo_smoke"))
@_options
@option("--baseline", "The placement that the others are compared with.", default="scheduler")
def placement_cost(*, chosen: str, root: Path, foms: tuple[str, ...], as_json: bool, baseline: str) -> None:
    """Answer whether the scheduler's placement costs time, and how many node hours the best placement saves.

    KEY=VALUE,... chooses records as a side of `railyard compare` does. Every placement that ran in one job with the
    baseline is compared with it.
    """
    from railyard.analysis.judge import sides, text, versus

    wanted = dict(side.wanted) if (side := _side(chosen)) else {}
    own = sides.Side(name=baseline, wanted={**wanted, "placement": baseline})
    entries = list(_entries(root))
    sides.require(own, entries)
    jobs = [one for one in entries if own.has_setting(one.setting) and own.has_date(one.own["created"])]
    names = list(dict.fromkeys([baseline, *(name for one in jobs for name in one.setting["placements"])]))
    choosing = [sides.Side(name=name, wanted={**wanted, "placement": name}) for name in names]
    compared = versus.compare([(jobs, choosing)], names, baseline, foms, for_people=not as_json)
    if as_json:
        print_json(text.document(compared))
    else:
        click.echo("\n".join(text.cost(compared)))


@series.command(epilog=example("railyard series dates check=halo_3d"))
@_options
def dates(*, chosen: str, root: Path, foms: tuple[str, ...], as_json: bool) -> None:
    """Find where a series changed its level, and what its records name differently there.

    KEY=VALUE,... chooses records as a side of `railyard compare` does; without it all records count.
    """
    from railyard.analysis.judge import over, text

    rows = _rows(over.dated, chosen, root, foms)
    _print(as_json and text.dates_document(rows), text.changes_table(rows), text.changes_sentence(rows))


@series.command(epilog=example("railyard series sizes check=halo_3d"))
@_options
def sizes(*, chosen: str, root: Path, foms: tuple[str, ...], as_json: bool) -> None:
    """Show weak and strong scaling: speedup and efficiency over the number of ranks.

    KEY=VALUE,... chooses records as a side of `railyard compare` does; without it all records count.
    """
    from railyard.analysis.judge import over, text

    rows = _rows(over.scaled, chosen, root, foms)
    sentence = f"{len(rows)} series have at least two numbers of ranks."
    _print(as_json and text.sizes_document(rows), text.sizes_table(rows), sentence)


@series.command(epilog=example("railyard series allocations check=halo_3d"))
@_options
@option(
    "--limit limit_percent",
    "Spread between allocations, in percent, that is called steady.",
    click.FloatRange(min=0, min_open=True),
    5.0,
)
def allocations(*, chosen: str, root: Path, foms: tuple[str, ...], as_json: bool, limit_percent: float) -> None:
    """Show how much the same run differs between sets of nodes, and whether that is steady or variable.

    KEY=VALUE,... chooses records as a side of `railyard compare` does; without it all records count.
    """
    from railyard.analysis.judge import over, text

    rows = _rows(functools.partial(over.spreads, limit_percent=limit_percent), chosen, root, foms)
    document = as_json and text.allocations_document(rows, limit_percent)
    _print(document, text.allocations_table(rows), text.allocations_sentence(rows, limit_percent))


def _rows(find: Callable[..., list[_Row]], chosen: str, root: Path, foms: Sequence[str]) -> list[_Row]:
    """Return the rows that `find` makes of the chosen records; InputError if the choice is of no record."""
    from railyard.analysis.judge import sides

    side = _side(chosen)
    rows = find(_entries(root), side, foms)
    if side is not None and not rows:
        sides.require(side, _entries(root))
    return rows


def _entries(root: Path) -> Iterator[Entry]:
    if not root.exists():
        raise InputError("--archive", "", str(root), "an archive's folder or a record file that exists")
    return entries_of(root)


def _side(chosen: str) -> Side | None:
    if not chosen:
        return None
    from railyard.analysis.judge import sides

    if "=" not in chosen:
        raise InputError("records", "", chosen, f"KEY=VALUE,... with keys {', '.join(sides.KEYS)}")
    (side,) = sides.parse([chosen], functools.partial(list[Entry]))
    return side


def _print(document: object, table: DataTable, sentence: str) -> None:
    """Print the document for programs if there is one, otherwise the table and the sentence."""
    if document:
        print_json(document)
    else:
        click.echo("\n".join([*(table.lines() if table.rows else ()), *([""] if table.rows else []), sentence]))
