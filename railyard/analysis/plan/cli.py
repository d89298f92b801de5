"""`railyard plan`: how many launches and jobs find a difference of a given size.

Models: which noise is used, and what is printed. Leaves out: the noise of an archive, and the answers
(`railyard.analysis.plan.answers`).
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import click

from railyard.base.commands import COUNT, archive_option, example, fom_option, json_option, option, print_json
from railyard.base.errors import InputError
from railyard.records.cli import index_of


class Share(click.ParamType):  # type: ignore[type-arg]  # generic for the type checker alone
    """A share such as `5%`, as 0.05; a bare number is a percentage, too."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share; an error of Click's for what is none."""
        text = str(value).strip().removesuffix("%").strip()
        try:
            share = float(text) / 100
        except ValueError:
            share = math.nan
        if not 0 < share <= 10:
            self.fail(f"{value!r} is not valid; expected a percentage above 0, such as 5%", param, ctx)
        return share


@click.command(epilog=example("railyard plan halo_3d --find 5%"))
@click.argument("check")
@option("--find change", "Difference to find, such as 5%.", Share(), required=True)
@option("--noise within", "Spread between launches of a job.  [default: the archive's]", Share())
@option("--between", "Spread between jobs.  [default: the archive's]", Share())
@option("--combinations", "Combinations of a job.  [default: the archive's, or 3]", click.IntRange(min=2))
@option("--points", "Points of the figure of merit, such as message sizes.  [default: the archive's, or 1]", COUNT)
@option("--launches", "Launches of a combination.  [default: the archive's, or 6]", COUNT)
@fom_option("This figure of merit")
@archive_option("Archive whose noise is used.")
@json_option()
def plan(
    *,
    check: str,
    change: float,
    within: float | None,
    between: float | None,
    combinations: int | None,
    points: int | None,
    launches: int | None,
    foms: tuple[str, ...],
    root: Path,
    as_json: bool,
) -> None:
    """Print how many launches and jobs CHECK needs to find a difference.

    The noise is that of the check's records in the archive, or stated by --noise and --between. Launches decide between
    combinations of one job, and jobs between machines or dates. A range in parentheses is what the noise of few records
    leaves open, in 80 % of cases.
    """
    from railyard.analysis.plan import answers  # imported here: --help does not need NumPy

    if within is not None:
        measured = [
            answers.Noise(what="", within=within, between=between, jobs=0, launches=6, combinations=3, floor=0.0)
        ]
    else:
        measured = answers.of_archive(index_of(root).entries(), check, foms)
    if not measured:
        problem = f"no record of {check} with two launches of one combination in {root}"
        valid = f"a check with records, or --noise 2%; run: railyard results list --archive {root}"
        raise InputError("CHECK", "", problem=problem, valid=valid)
    named = {"between": between, "combinations": combinations, "points": points, "launches": launches}
    stated: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    plans = [answers.planned(dataclasses.replace(one, **stated), change) for one in measured]
    if as_json:
        print_json(answers.document(check, change, plans))
        return
    for number, one in enumerate(plans):
        click.echo("\n" * bool(number) + answers.head(check, one.noise))
        for line in answers.table(one, change).lines():
            click.echo(f"  {line}")
