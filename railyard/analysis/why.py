"""`railyard why`: print what may have made each slow launch of a record slow, with the evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.checkout import ARCHIVE
from railyard.base.commands import COUNT, PATH, example, json_option, option, print_json
from railyard.base.errors import InputError
from railyard.records.cli import find, index_of
from railyard.records.record import Record
from railyard.records.store import archive

if TYPE_CHECKING:
    from railyard.analysis.report.causes import Suspect
    from railyard.records.folded.slow import SlowLaunch


@click.command(epilog=example("railyard why 9f1c2ab0", "railyard why 9f1c2ab0 --launch 7"))
@click.argument("name")
@option("--archive root", "Folder of the archive.", PATH, ARCHIVE)
@option("--launch number", "A launch of the job, from 1 on.  [default: those that were slow]", COUNT)
@option(
    "--drain", "Print instead the command by which Slurm's administrator drains each node with a fault.", is_flag=True
)
@json_option("Print JSON.")
def why(name: str, root: Path, *, number: int | None, drain: bool, as_json: bool) -> None:
    """Print why launches of the record NAME were slow: a file, or an id (or its beginning) in the archive.

    A launch is compared with the others of its combination in the same job. Each possible cause is answered with yes,
    no or unknown, and its evidence; the first yes explains the launch. A yes that holds for the other launches, too,
    explains nothing. --drain runs nothing.
    """
    from railyard.records.folded import slow

    (read,) = archive.iterate([find(name, root)])
    if number is not None and number > len(read.launches):
        raise InputError("--launch", "", number, f"1 to {len(read.launches)}, the launches of {read.id}")
    if number is not None and not (chosen := read.launches[number - 1]).is_result:
        reasons = "; ".join(chosen.guard.reasons) if chosen.is_void and chosen.guard else chosen.reason
        raise InputError("--launch", "", number, f"a launch with a result; this one has none: {reasons}")
    launches = slow.launches(read, every=number is not None)
    launches = [one for one in launches if number is None or one.launch.index == number - 1]
    if drain:
        click.echo("\n".join(_drains(read, launches)))
        return
    from railyard.analysis.report import causes

    noise = _noise(read, root)
    answered = [(one, causes.suspects(one, noise)) for one in launches]
    if as_json:
        print_json([_document(one, suspects) for one, suspects in answered])
    else:
        click.echo("\n".join(_lines(read, answered)))


def _noise(read: Record, root: Path) -> Record | None:
    """Return the archive's latest record of the check `noise` on the same system; None without one."""
    if not root.is_dir():
        return None
    of_noise = [
        entry
        for entry in index_of(root).entries(values=False)
        if entry.setting["benchmark"] == "noise" and entry.setting["system"] == read.system.name
    ]
    latest = max(of_noise, key=lambda entry: str(entry.own["created"]), default=None)
    return next(iter(archive.iterate([root / latest.path])), None) if latest else None


def _document(one: SlowLaunch, suspects: Sequence[Suspect]) -> dict[str, object]:
    return {
        "launch": one.launch.index,
        "placement": one.launch.placement,
        "nic_policy": one.launch.nic_policy,
        "slower_percent": one.percent,
        "of": one.of,
        "events": [dataclasses.asdict(event) for event in one.causes],
        "explained_by": _explained(suspects) or None,
        "suspects": [suspect._asdict() for suspect in suspects],
    }


def _lines(read: Record, answered: Sequence[tuple[SlowLaunch, Sequence[Suspect]]]) -> Iterator[str]:
    from railyard.records.folded import slow

    results = sum(launch.is_result for launch in read.launches)
    count = sum(one.is_slow for one, _ in answered)
    few = f"; none has the {slow.ENOUGH} launches that this takes" if slow.are_few(read) else ""
    counts = f"{count} of {results} launches slower than the others of their combination{few}"
    yield f"{read.case.check} on {read.system.name}: {counts}"
    for one, suspects in answered:
        yield f"\n{one.launch.placement}, {one.launch.nic_policy}: {one.text()}"
        for suspect in suspects:
            yield f"  {suspect.cause:<20} {suspect.answer:<8} {suspect.evidence}"
        yield f"  explained by: {_explained(suspects) or 'nothing that was looked at'}"


def _explained(suspects: Sequence[Suspect]) -> str:
    """Return the first cause that explains a launch; empty if none does."""
    return next((suspect.cause for suspect in suspects if suspect.answer == "yes"), "")


def _drains(read: Record, launches: Sequence[SlowLaunch]) -> Iterator[str]:
    """Yield a command for each node that has an event which explains a slow launch, for a person to run."""
    by_node: dict[str, list[str]] = {}
    for one in launches:
        for event in (event for event in one.causes if event.node in one.launch.ranks.hosts):
            by_node.setdefault(event.node, []).append(event.text().partition(": ")[2])
    for node, events in by_node.items():
        reason = f"railyard {read.id}: {'; '.join(dict.fromkeys(events))}".replace('"', "'")
        yield f'scontrol update NodeName={node} State=DRAIN Reason="{reason}"'
    if not by_node:
        yield "# no node has an event that explains a slow launch"
