"""`railyard report`: records in, one page out.

Models: which records are meant and where the page goes. Everything is read and rendered before anything is
written, and each file appears whole or not at all. Heavy imports (matplotlib) wait until the command runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from railyard.checkout import RESULTS
from railyard.errors import InputError, RunError
from railyard.records import json_io
from railyard.records.cli import files_of
from railyard.records.record import Record
from railyard.records.store import archive, entries
from railyard.records.store.entries import Entry

if TYPE_CHECKING:
    from analysis.cases.cases import Case
    from analysis.cases.comparison import Comparison
    from analysis.compare.compare import Versus

_MANY = 20


@click.command()
@click.argument("records", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.  [default: report.html for a page, else the standard output; none with --figure alone]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md", "csv", "json"]),
    default="html",
    show_default=True,
    help="A page, Markdown for a job's summary, CSV for spreadsheets, JSON for programs.",
)
@click.option(
    "--compare", "sides", multiple=True, help="A side to compare, as in `railyard compare`; twice or more."
)
@click.option("--baseline", help="The side that changes are relative to.  [default: the first]")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Summary for programs, as well.",
)
@click.option(
    "--figure",
    "figure_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Overview picture, an SVG file.",
)
@click.option(
    "--figures",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for every figure as an SVG file.",
)
@click.option("-q", "--quiet", is_flag=True, help="No table on the terminal.")
def report(
    records: tuple[Path, ...],
    output: Path | None,
    form: str,
    sides: tuple[str, ...],
    baseline: str | None,
    json_file: Path | None,
    figure_file: Path | None,
    folder: Path | None,
    quiet: bool,
) -> None:
    """Write one self-contained HTML page, or another format, from RECORDS.

    RECORDS are record files or folders that hold them (an archive, or one system of it). Without any, the
    archive of this checkout, `results/`, is meant. Systems of one origin that ran the same are compared with each
    other, the first by name as baseline, unless --compare names sides.
    """
    loaded = load(records or (RESULTS,), quiet)
    versus = compared(loaded, sides, baseline)
    if output is None and form == "html" and not (figure_file or folder):
        output = Path("report.html")
    wanted = Wanted(form=form, output=output, json_file=json_file, figure_file=figure_file, folder=folder)
    written = render(loaded, wanted, versus)
    if folder is not None:
        _make(folder)
    for path, content in written:
        _write(path, content)
    if output is None and form != "html":
        click.echo(text_of(loaded, form, versus), nl=False)
    elif not quiet:
        _tell(loaded, [path for path, _ in written])


def _tell(loaded: Sequence[Record], written: Sequence[Path]) -> None:
    console = Console()
    for table in terminal_tables(loaded):
        console.print(table, "")
    for path in written:
        console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def load(arguments: Sequence[Path], quiet: bool) -> list[Record]:
    """The records meant; raises InputError for a bad record, a missing file and a folder without records."""
    files = list(dict.fromkeys(path for argument in arguments for path in files_of(argument)))
    shown: Iterable[Path] = files
    if len(files) >= _MANY and not quiet:
        shown = track(files, "reading records", console=Console(stderr=True), transient=True)
    return list(archive.iterate(shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be written, and where."""

    form: str = "html"
    output: Path | None = None
    json_file: Path | None = None
    figure_file: Path | None = None
    folder: Path | None = None


def render(loaded: Sequence[Record], wanted: Wanted, versus: Versus | None = None) -> list[tuple[Path, str]]:
    """Files to write with their content."""
    from analysis.figures import general  # here: matplotlib takes a second that other commands need not wait
    from analysis.report import exports

    written = []
    if wanted.output:
        written.append((wanted.output, text_of(loaded, wanted.form, versus)))
    if wanted.json_file:
        written.append((wanted.json_file, text_of(loaded, "json", versus)))
    if wanted.figure_file:
        written.append((wanted.figure_file, general.overview_svg(loaded)))
    if wanted.folder:
        written += [(wanted.folder / name, content) for name, content in exports.svg_files(loaded)]
    return written


def text_of(loaded: Sequence[Record], form: str, versus: Versus | None) -> str:
    """The report in a format."""
    from analysis.report import exports

    return exports.text(loaded, exports.Format(form), versus)


def compared(loaded: Sequence[Record], texts: Sequence[str], baseline: str | None) -> Versus | None:
    """The comparison that the page shows: of the sides named, or of systems that ran the same."""
    from analysis.compare import compare as versus
    from analysis.compare import sides

    found = [entries.of_record(each) for each in loaded]
    chosen = list(texts) or _systems(found)
    if len(chosen) < 2:
        if texts or baseline:
            raise InputError("--compare", "", ", ".join(chosen) or "none", "at least two sides")
        return None
    meant = sides.parse(chosen, lambda: found)
    base = baseline or chosen[0]
    if base not in chosen:
        raise InputError("--baseline", "", base, f"one of {', '.join(chosen)}")
    return versus.compare([(found, meant)], chosen, base)


def _systems(found: Sequence[Entry]) -> list[str]:
    """`system=NAME` of the systems of the first origin that has several which ran the same check and parameters."""
    for origin in dict.fromkeys(entry.setting["origin"] for entry in found):
        ran: dict[tuple[str, str], set[str]] = {}
        for setting in (entry.setting for entry in found if entry.setting["origin"] == origin):
            what = setting["check"], json_io.canonical(setting["parameters"])
            ran.setdefault(what, set()).add(setting["system"])
        names = {name for systems in ran.values() if len(systems) > 1 for name in systems}
        if names:
            return [f"system={name}" for name in sorted(names)]
    return []


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} could not be made: {error.strerror}") from error


def _write(path: Path, content: str) -> None:
    try:
        archive.write_whole(path, content, replace=True)
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror}") from error


def terminal_tables(loaded: Sequence[Record]) -> list[Table]:
    """The comparisons, short: one table a case."""
    from analysis.cases import cases, comparison

    return [
        _case_table(case, found) for case in cases.group(loaded) if (found := comparison.comparisons(case))
    ]


def _case_table(case: Case, found: Sequence[Comparison]) -> Table:
    from analysis.cases import tables, titles

    title = Text(f"{titles.title(case)} ({case.origin})", style="bold")
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
