"""`railyard report`: records in, one page out, and one screen that sums it up.

Models: which records are reported and where the page goes. Everything is read, judged once and rendered before
anything is written, and each file appears whole or not at all. Heavy imports (matplotlib) wait until the command runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from railyard.base.checkout import ARCHIVE
from railyard.base.commands import FILE, FOLDER, PATH, example, format_option, option, output_option
from railyard.base.errors import InputError, RunError
from railyard.records.cli import files_of, pass_over, progress, write
from railyard.records.record import Record
from railyard.records.store import archive


@click.command(
    epilog=example("railyard report -o report.html results/example", "railyard report --format text results/example")
)
@click.argument("records", nargs=-1, type=PATH)
@output_option(
    "The file to write.  [default: report.html for a page, else the standard output; none with --figures alone]"
)
@format_option(
    ["html", "text", "md", "csv", "json", "openmetrics", "bencher"],
    "A page, one screen of text, Markdown for a job's summary, CSV for spreadsheets, JSON for programs, "
    "OpenMetrics and Bencher's JSON for services that watch figures over time.",
)
@option("--compare sides", "A side to compare, as in `railyard compare`; twice or more.", multiple=True)
@option("--baseline", "The side that changes are relative to.  [default: the first]")
@option("--json json_file", "Summary for programs, as well.", FILE)
@option("--figures folder", "Folder for every figure as an SVG file.", FOLDER)
@option("-q --quiet", "No summary on the terminal.", is_flag=True)
def report(
    *,
    records: tuple[Path, ...],
    output: Path | None,
    form: str,
    sides: tuple[str, ...],
    baseline: str | None,
    json_file: Path | None,
    folder: Path | None,
    quiet: bool,
) -> None:
    """Write one self-contained HTML page, or another format, from RECORDS.

    RECORDS are record files or folders that hold them (an archive, or one system of it). Without any, they are the
    archive of this checkout, `results/`. Systems of one origin that ran the same are compared with each
    other, the first by name as baseline, unless --compare names sides.
    """
    from railyard.analysis.cases import modelled  # imported here: takes 1 s, and --help does not need it
    from railyard.analysis.judge.judged import judge
    from railyard.analysis.report import exports, screen

    if output is None and form == "html" and not folder:
        output = Path("report.html")
    read = load(records or (ARCHIVE,))
    judged = judge(modelled.records(read), sides, baseline)
    recorded = judge(read, sides, baseline) if form in exports.DATA or json_file else judged
    content = exports.text(recorded if form in exports.DATA else judged, form) if output or form != "html" else ""
    written = {output: content} if output else {}
    if json_file:
        written[json_file] = exports.text(recorded, "json")
    shown = list(map(str, written))
    if folder is not None:
        figures = {folder / name: drawn for name, drawn in exports.svg_files(judged)}
        written |= figures
        shown += [f"{folder}/ ({len(figures)} figures)"] if figures else []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder} could not be made: {error.strerror}") from error
    for path, text in written.items():
        write(path, text)
    if output is None and form != "html":
        click.echo(content, nl=False)
    elif not quiet:
        for line in screen.lines(judged, shown):
            click.echo(line)


def load(arguments: Sequence[Path]) -> list[Record]:
    """Return the records that the arguments name; a bad one of a folder is skipped with a line.

    Raises InputError for a bad record that was named, a missing file and a folder without records.
    """
    named = {str(argument) for argument in arguments if not argument.is_dir()}
    bad: list[InputError] = []

    def refused(error: InputError) -> None:
        if error.source in named:
            raise error
        pass_over(error)
        bad.append(error)

    files = list(dict.fromkeys(path for argument in arguments for path in files_of(argument)))
    read = list(archive.iterate(progress(files, len(files)), refused))
    if bad and not read:
        raise bad[0]
    return read
