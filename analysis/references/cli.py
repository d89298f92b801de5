"""`railyard references`: references for ReFrame from archived records.

Leaves out: what a reference is (`railyard.records.references`) and how it is made (`analysis.references.update`).
"""

from __future__ import annotations

from pathlib import Path

import click

from railyard.base.errors import InputError, RunError
from railyard.records import references
from railyard.records.cli import archive_option, index_of
from railyard.records.store import archive

NEEDED = "a case with 6 good launches of a commit without changes"

file_option = click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=references.FILE,
    help="The file of references.  [default: checks/references/archive.yaml of the checkout]",
)


@click.group("references")
def commands() -> None:
    """References for ReFrame from the archive: a regression then fails `reframe -r`."""


@commands.command()
@archive_option
@file_option
@click.option(
    "--accept-regressions",
    "accept",
    is_flag=True,
    help="Also take medians that are worse than the references allow.",
)
def update(root: Path, file: Path, accept: bool) -> None:
    """Write the medians of the archive's good records of commits without changes, with tolerances from their spread.

    A case needs 6 launches. One that got worse than its reference allows is kept as it was and named. Where no case has
    a reference, nothing is written, and that is an error: nothing could ever get worse.
    """
    from analysis.references.update import updated  # SciPy takes a second that other commands need not wait

    made = updated(index_of(root).entries(), references.load(file), accept=accept)
    count = sum(len(of_check) for of_check in made.references.values())
    if not count:
        why = made.notes[0] if made.notes else "no record"
        raise InputError(str(root), "", problem=f"no reference ({why})", valid=NEEDED)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        archive.write_whole(file, references.text(made.references), replace=True)
    except OSError as error:
        raise RunError(f"{file} could not be written: {error.strerror}") from error
    for note in made.notes:
        click.echo(note)
    click.echo(f"wrote {file}: {count} case{'' if count == 1 else 's'}")


@commands.command()
@file_option
def show(file: Path) -> None:
    """Show the references with their age: check, case, launches, and the commit at which each last passed."""
    for check, of_check in sorted(references.load(file).items()):
        for case, entry in sorted(of_check.items()):
            about = entry.about
            click.echo(f"{check}, {case}: n = {about.launches}, {about.date}, commit {about.commit[:12]}")
            for name, each in sorted(entry.references.items()):
                click.echo(
                    f"  {name:<40} {each.median:>12.6g} {each.unit}, {100 * each.tolerance:.1f} % worse allowed"
                )
