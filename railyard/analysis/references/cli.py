"""`railyard references`: references for ReFrame from archived records.

Leaves out: what a reference is (`railyard.records.references`) and how it is made
(`railyard.analysis.references.update`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.analysis.text import counted
from railyard.base.commands import FILE, Commands, archive_option, example, option, output_option
from railyard.base.errors import InputError
from railyard.records import references
from railyard.records.cli import index_of, write
from railyard.records.record import Status
from railyard.records.references import Entry
from railyard.records.store import archive

if TYPE_CHECKING:
    from railyard.analysis.references.limits import Limits
    from railyard.records.units import Fom

NEEDED = "a case with 6 good launches of a commit without changes"

_TEXT = "The file of references.  [default: checks/references/archive.yaml of the checkout]"


@click.group("references", cls=Commands)
def commands() -> None:
    """Write and judge references for ReFrame, so that a regression fails `reframe -r`."""


@commands.command(epilog=example("railyard references update"))
@archive_option()
@output_option(_TEXT, default=references.FILE, show_default=False)
@option(
    "--accept-regressions accept",
    "Also accept records that are worse than the references allow, and name them in the history.",
    is_flag=True,
)
def update(root: Path, output: Path, accept: bool) -> None:
    """Add the archive's good records of commits without changes to the history that references follow from.

    A case needs 6 launches. A record that is worse than its references allow is left out and named. Where no case has
    a reference, nothing is written, and that is an error: nothing could ever get worse.
    """
    from railyard.analysis.references.update import updated  # SciPy takes a second that other commands need not wait

    after = updated(index_of(root).entries(), references.load(output), accept=accept)
    count = sum(len(of_check) for of_check in after.references.values())
    if not count:
        why = after.notes[0] if after.notes else "no record"
        raise InputError(str(root), "", problem=f"no reference ({why})", valid=NEEDED)
    write(output, references.text(after.references), make_folder=True)
    for note in after.notes:
        click.echo(note)
    click.echo(f"wrote {output}: {counted(count, 'case')}")


@commands.command(epilog=example("railyard references show"))
@output_option(_TEXT, default=references.FILE, show_default=False)
def show(output: Path) -> None:
    """Show the references: check, case, history, and for each variable what the next run would find."""
    from railyard.analysis.references import update

    entries = references.load(output)
    if not entries:
        valid = "a file that `railyard references update` wrote"
        raise InputError(str(output), "", problem="no references", valid=valid)
    family = max(1, update.variables_of(entries))
    for check, of_check in sorted(entries.items()):
        for case, entry in sorted(of_check.items()):
            for line in _lines(f"{check}, {case}", entry, update.limits_of(entry, family)):
                click.echo(line)


def _lines(title: str, entry: Entry, now: Limits[Fom]) -> Iterator[str]:
    """Yield a case's history, and for each variable its reference and what its limit can find."""
    about, launches = entry.about, entry.history[-1].launches if entry.history else 0
    yield f"{title}: {counted(about.records, 'record')}, n = {about.launches}, {about.date}, commit {about.commit[:12]}"
    for past in entry.history:
        for change in past.accepted:
            yield f"  accepted {past.created[:10]}, commit {past.commit[:12]}: {change}"
    if now.shift is not None:
        yield f"  all variables together: {100 * math.expm1(max(0.0, now.shift)):.1f} % allowed"
    limits = {str(name): limit for name, limit in now.of.items()}
    for name, reference in sorted(entry.references.items()):
        line = f"  {name:<40} {reference.median:>12.6g} {reference.unit}, {100 * reference.tolerance:.1f} % allowed"
        if limit := limits.get(name):
            power = f"find 10 % in {limit.found_of_100} of 100 runs"
            line += f"; {launches} launches at {100 * limit.noise:.1f} % noise {power}"
        yield line


@commands.command(epilog=example("railyard references judge --summary summary.md"))
@archive_option()
@output_option(_TEXT, default=references.FILE, show_default=False)
@option(
    "--summary summary_file",
    "Markdown file with the changed variables alone, short enough for a comment on GitHub, as well.",
    FILE,
)
def judge(root: Path, output: Path, summary_file: Path | None) -> None:
    """Hold the newest good record of each check and case against the references; end with 1 if a variable is worse.

    It is an error if none of them has a reference. A case without a reference whose check has others is a warning.
    """
    from railyard.analysis.references import judging

    history = references.load(output)
    good = [entry for entry in index_of(root).entries() if entry.own["status"] == Status.OK]
    newest = {
        (entry.setting["check"], references.case_of(entry.head)): entry
        for entry in sorted(good, key=lambda entry: str(entry.own["created"]))
    }
    values = {key: references.medians(entry) for key, entry in sorted(newest.items())}
    judgements = {key: judging.judged(*key, of_case, history) for key, of_case in values.items()}
    warnings = [line for judgement in judgements.values() for line in judgement.missing]
    worse = [f"{check}: {line}" for (check, _), judgement in judgements.items() for line in judgement.worse]
    judged = sum(judgement.judged for judgement in judgements.values())
    for line in [*(f"warning: {line}" for line in warnings), *(f"worse: {line}" for line in worse)]:
        click.echo(line)
    if summary_file:
        entries = {(check, case): history[check][case] for check, case in values if case in history.get(check, {})}
        changed = [
            change
            for (check, case), entry in entries.items()
            for change in judging.changes(check, values[check, case], entry, judgements[check, case].names)
        ]
        text = judging.markdown(judged, changed, warnings, entries.values())
        archive.write_whole(summary_file, text)
    if not judged and any(judgement.is_new for judgement in judgements.values()):
        click.echo("no reference on this kind of machine: these records are its first")
        return
    if not judged:
        raise InputError(str(root), "", problem=f"no record has a reference in {output}", valid=NEEDED)
    click.echo(f"{judged} variable{'' if judged == 1 else 's'} judged, {len(worse)} worse")
    if worse:
        raise click.exceptions.Exit(1)
