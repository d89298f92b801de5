"""`railyard report`: records in, one page out.

Models: which records are meant and where the page goes. Everything is read and rendered before anything is
written, and each file appears whole or not at all. Heavy imports (matplotlib) wait until the command runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from railyard.errors import InputError, RunError
from results import archive
from results.record import Record

if TYPE_CHECKING:
    from analysis.cases import Case
    from analysis.comparison import Comparison

ARCHIVE = Path(__file__).resolve().parent.parent / "results"
_MANY = 20


@click.command()
@click.argument("records", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page to write.  [default: report.html; none with --figure unless given]",
)
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Summary for programs."
)
@click.option(
    "--figure",
    "figure_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Overview picture, an SVG file.",
)
@click.option("-q", "--quiet", is_flag=True, help="No table on the terminal.")
def report(
    records: tuple[Path, ...],
    output: Path | None,
    json_file: Path | None,
    figure_file: Path | None,
    quiet: bool,
) -> None:
    """Write one self-contained HTML page from RECORDS.

    RECORDS are record files or folders that hold them (an archive, or one system of it). Without any, the
    archive of this checkout, `results/`, is meant.
    """
    loaded = load(records or (ARCHIVE,), quiet)
    written = render(loaded, output or (None if figure_file else Path("report.html")), json_file, figure_file)
    for path, content in written:
        _write(path, content)
    if not quiet:
        console = Console()
        for table in terminal_tables(loaded):
            console.print(table, "")
        for path, _ in written:
            console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def load(arguments: Sequence[Path], quiet: bool) -> list[Record]:
    """The records meant; raises InputError for a bad record, a missing file and a folder without records."""
    files = list(dict.fromkeys(path for argument in arguments for path in record_files(argument)))
    shown: Iterable[Path] = files
    if len(files) >= _MANY and not quiet:
        shown = track(files, "reading records", console=Console(stderr=True), transient=True)
    return list(archive.iterate(shown))


def record_files(argument: Path) -> list[Path]:
    """The files an argument means: itself, or the records in a folder or in its systems' folders."""
    if not argument.is_dir():
        return [argument]
    found = archive.paths(argument) or archive.paths_of_system(argument)
    if not found:
        raise InputError(
            str(argument), "", "a folder without records", "a folder with <date>-<id>.json files"
        )
    return found


def render(
    loaded: Sequence[Record], page: Path | None, json_file: Path | None, figure_file: Path | None
) -> list[tuple[Path, str]]:
    """Files to write with their content."""
    from analysis import (  # here: matplotlib takes a second that other commands need not wait
        figures,
        report,
        summary,
    )
    from results import strictjson

    written = []
    if page:
        written.append((page, report.html(loaded)))
    if json_file:
        written.append((json_file, strictjson.text(summary.summary(loaded))))
    if figure_file:
        written.append((figure_file, figures.overview_svg(loaded)))
    return written


def _write(path: Path, content: str) -> None:
    try:
        archive.write_whole(path, content, replace=True)
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror}") from error


def terminal_tables(loaded: Sequence[Record]) -> list[Table]:
    """The comparisons, short: one table a case."""
    from analysis import cases, comparison

    return [
        _case_table(case, found) for case in cases.group(loaded) if (found := comparison.comparisons(case))
    ]


def _case_table(case: Case, found: Sequence[Comparison]) -> Table:
    from analysis import report, tables

    title = Text(f"{report.title(case)} ({case.origin})", style="bold")
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", header_style="dim")
    table.add_column("figure", max_width=24)
    table.add_column(case.head, overflow="fold")
    for name in ("median", "95 % interval", "n", "change"):
        table.add_column(name, justify="right", no_wrap=name != "95 % interval")
    for each in found:
        figure = f"{each.title}, {each.unit.text}"
        for row in tables.rows(each):
            cells = (figure, row.name, row.median, row.interval, row.n, row.change)
            table.add_row(*(Text(cell) for cell in cells))
            figure = ""
    return table
