"""`railyard enough`: whether a running job with `until` needs more rounds (in job scripts).

Models: the record that the job would have now, judged like any other; its first figure of merit decides. Leaves out:
after which rounds a job looks (`railyard.records.looks`), and what then happens (`railyard.jobs.schedule`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.commands import COUNT, FOLDER, example
from railyard.jobs import stagedir
from railyard.jobs.job import submitted
from railyard.records import looks
from railyard.records.units import Better

if TYPE_CHECKING:
    from railyard.analysis.cases.judgement import Comparison


@click.command(epilog=example("railyard enough 8 stage/mycluster/compute/gnu/halo_3d"))
@click.argument("rounds", type=COUNT)
@click.argument("folder", type=FOLDER, default=".")
def enough(rounds: int, folder: Path) -> None:
    """Exit with 0 if the first ROUNDS of the job in the stage directory FOLDER are enough, else with 1.

    They are if the interval of every ratio to the baseline is as narrow as the variable `until` requests.
    """
    wanted = looks.half_width_percent(submitted.read(folder).spec.until)
    from railyard.analysis.cases import cases, comparison  # imported here: --help does not need NumPy

    (case,) = cases.group([stagedir.first_rounds(folder, rounds)])
    widths = half_widths(comparison.comparisons(case))
    texts = [f"{name} {'unknown' if half is None else f'{half:.2g} %'}" for name, half in widths.items()]
    click.echo(f"{rounds} rounds, half widths of ratios: {', '.join(texts) or 'no ratio'}; wanted: {wanted:g} %")
    sys.exit(0 if is_enough(widths, wanted) else 1)


def is_enough(widths: Mapping[str, float | None], wanted: float) -> bool:
    """Return whether there is a ratio, and every half width is known and at most `wanted` percent."""
    return bool(widths) and all(half is not None and half <= wanted for half in widths.values())


def half_widths(comparisons: Sequence[Comparison]) -> dict[str, float | None]:
    """Return half the width of the interval of each ratio to the baseline, in percent; None where there is none.

    The ratios are those of the first figure of merit that has a better direction, at each of its points.
    """
    from railyard.analysis.cases.comparison import label_text  # imported here, as above

    judged = [member for member in comparisons if member.fom.better is not Better.NEITHER and not member.follows]
    return {
        " ".join(filter(None, [group.name, label_text(member.labels)])): member.half_width_percent(group)
        for member in judged
        if member.fom == judged[0].fom
        for group in member.measured
        if group.name != member.baseline
    }
