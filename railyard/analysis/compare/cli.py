"""`railyard compare`: systems, placements, NIC policies, dates or archives against each other.

Models: what the user names and where the result goes. Leaves out: what is compared and printed
(`railyard.analysis.compare.compare`, `railyard.analysis.compare.text`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.analysis.compare import gather as gathering
from railyard.analysis.compare import sides
from railyard.analysis.compare.gather import Gathered
from railyard.base.commands import archive_option, example, fom_option, json_option, option, print_json
from railyard.base.errors import InputError
from railyard.base.parent import workers
from railyard.records.cli import index_of

if TYPE_CHECKING:
    from railyard.analysis.compare.compare import Versus


@click.command(epilog=example("railyard compare placement=plain placement=custom"))
@click.argument("sides", nargs=-1, required=True, metavar="A B [...]")
@option("--baseline", "The side that changes are relative to.  [default: the first]")
@archive_option("Archive that the sides choose from.")
@json_option("Print JSON for programs, with the values as recorded.")
@fom_option()
def compare(
    *, sides: tuple[str, ...], baseline: str | None, root: Path, as_json: bool, foms: tuple[str, ...]
) -> None:
    """Compare two or more sides A B [...].

    A side is KEY=VALUE[,KEY=VALUE...] with the keys system, partition, environment, check, topology, commit, mpi,
    study, placement, nic, software (native, image), image (the beginning of its sha256), date (2026-11-21 or
    2026-11-01..2026-11-21); or the path of an archive or record; or a bare
    word that is a system, placement, NIC policy or date of the archive.
    """
    versus = compared(sides, baseline, root, foms, for_people=not as_json)
    if as_json:
        from railyard.analysis.compare import text

        print_json(text.document(versus))
    else:
        _print(versus)


def compared(
    texts: Sequence[str], baseline: str | None, root: Path, foms: Sequence[str] = (), *, for_people: bool
) -> Versus:
    """Return the comparison of the sides that the texts describe; raises InputError."""
    if len(texts) < 2:
        raise InputError("SIDE", "", problem=f"{len(texts)} side", valid="at least two sides")
    chosen = baseline or texts[0]
    if chosen not in texts:
        raise InputError("--baseline", "", chosen, f"one of {', '.join(texts)}")
    with workers(1) as other:
        gathering_job = other.submit(_gathered, texts, root, foms, for_people=for_people)
        # imported here: importing SciPy takes as long as reading 100,000 records from the index
        from railyard.analysis.compare import compare as versus

        gathered = gathering_job.result()
    for name in (name for name, counts in gathered.counts.items() if not counts["records"]):
        for side in sides.parse([name], lambda: index_of(root).entries(values=False)):
            sides.require(side, index_of(root).entries(values=False))
    unknown = next((fom for fom in foms if fom not in gathered.foms), None)
    if unknown is not None:
        raise InputError("--fom", "", unknown, f"one of {', '.join(sorted(gathered.foms)) or 'none'}")
    return versus.judged(gathered, texts, chosen)


def _gathered(texts: Sequence[str], root: Path, foms: Sequence[str], *, for_people: bool) -> Gathered:
    """Return the values of the sides' records; raises InputError."""
    archive = functools.cache(lambda: index_of(root))
    parsed = sides.parse(texts, lambda: archive().entries(values=False))
    sources = gathering.sources(parsed, lambda: archive().entries())
    return gathering.gather(sources, foms, for_people=for_people)


def _print(versus: Versus) -> None:
    from railyard.analysis.compare import text

    for name in versus.sides:
        click.echo(_count_text(versus, name))
    if text.is_converted(versus):
        click.echo(
            "Rates and times of links are those of the modelled machine; --json has the recorded ones."
        )
    click.echo()
    for line in text.terminal_lines(versus):
        click.echo(line)
    for side, case, count in text.alone(versus):
        click.echo(f"only {side} has {case} ({count} row{'' if count == 1 else 's'}): not compared")
    click.echo()
    for sentence in text.sentences(versus):
        click.echo(sentence)


def _count_text(versus: Versus, name: str) -> str:
    counts = versus.counts[name]
    others = [
        f"{counts[ending]} {ending.replace('_', ' ')}" for ending in gathering.ENDINGS[1:] if ending in counts
    ]
    mark, plural = " (baseline)" if name == versus.baseline else "", "" if counts["records"] == 1 else "s"
    launches = ", ".join([f"{counts['ok']} results", *others])
    return f"{name}{mark}: {counts['records']} record{plural}, launches: {launches}"
