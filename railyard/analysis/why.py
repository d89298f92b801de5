"""`railyard why`: print what may have made each slow launch of a record slow, with the evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.checkout import ARCHIVE
from railyard.base.commands import PATH, example, json_option, option, print_json
from railyard.records.cli import find
from railyard.records.record import Record
from railyard.records.store import archive

if TYPE_CHECKING:
    from railyard.analysis.cases.slow import SlowLaunch


@click.command(epilog=example("railyard why 9f1c2ab0"))
@click.argument("name")
@option("--archive root", "Folder of the archive.", PATH, ARCHIVE)
@json_option("Print JSON.")
def why(name: str, root: Path, *, as_json: bool) -> None:
    """Print why launches of the record NAME were slow: a file, or an id (or its beginning) in the archive.

    A launch is compared with the others of its combination in the same job. Each possible cause is answered with yes,
    no or unknown, and its evidence. A yes that holds for the other launches, too, explains nothing.
    """
    from railyard.analysis.cases import slow

    (read,) = archive.iterate([find(name, root)])
    launches = slow.launches(read)
    if as_json:
        print_json([_document(one) for one in launches])
    else:
        click.echo("\n".join(_lines(read, launches)))


def _document(one: SlowLaunch) -> dict[str, object]:
    return {
        "launch": one.launch.index,
        "placement": one.launch.placement,
        "nic_policy": one.launch.nic_policy,
        "slower_percent": one.percent,
        "of": one.of,
        "events": [dataclasses.asdict(event) for event in one.causes],
        "suspects": [dataclasses.asdict(suspect) for suspect in one.suspects()],
    }


def _lines(read: Record, launches: Sequence[SlowLaunch]) -> Iterator[str]:
    results = sum(launch.is_result for launch in read.launches)
    yield f"{read.case.check} on {read.system.name}: {len(launches)} of {results} launches slow beside their like"
    for one in launches:
        launch = one.launch
        yield f"\n{launch.placement}, {launch.nic_policy}: {one.text()}"
        for suspect in one.suspects():
            yield f"  {suspect.cause:<16} {suspect.answer:<8} {suspect.evidence}"
