"""Define the command `railyard site`: a static page of machines from the signed bags of several sites.

Models: one table, a row per machine and network, with the measures of `railyard.tender.machines`, what it lists as
refused, a report of each machine, and the same as JSON. The page sorts and filters in the browser, reads nothing from
elsewhere, and is complete without its script. Equal bags in equal order give equal bytes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.commands import PATH, example, output_option
from railyard.base.errors import InputError
from railyard.base.parent import workers
from railyard.records.cli import write
from railyard.tender.cli import signers_option

if TYPE_CHECKING:
    from railyard.tender.machines import Given, Machine, Value

#: Format of the document for programs.
FORMAT = "railyard-site/1"


@click.command(epilog=example("railyard site alps.bag frontier.bag -o site --allowed-signers signers"))
@click.argument("given", nargs=-1, required=True, type=PATH, metavar="BAGS...")
@output_option("The folder of the page, which is made.", PATH, required=True)
@signers_option
@click.option("--reports/--no-reports", default=True, help="Write a report of each machine, too (about 2 s each).")
@click.pass_context
def site(
    ctx: click.Context, *, given: tuple[Path, ...], output: Path, allowed_signers: Path | None, reports: bool
) -> None:
    """Write a page of machines from BAGS (of `railyard tender pack --sign`), in the order in which they arrived.

    A bag that is not signed, forged, a copy of an earlier one, or older than another of its signer is refused, and the
    page has the reason. Ends with 1 if no machine is left.
    """
    from railyard.records.store import bag
    from railyard.tender import machines

    if allowed_signers is not None:
        bag.signers(allowed_signers)  # a mistake in the reader's own file is no site's fault
    for path in given:
        if not bag.is_bag(path):
            raise InputError(str(path), "", problem="no bag", valid="a folder that `railyard tender pack` wrote")
    with workers(min(len(given), os.cpu_count() or 1)) as pool:
        bags: list[Given] = []
        for one in pool.map(partial(machines.read, allowed=allowed_signers), given):
            bags.append(one)
            click.echo(f"read {len(bags)} of {len(given)}: {one.name}", err=True)
        rows, refused = machines.chosen(bags)
        # The beginning of the bag's digest keeps the names of reports apart.
        stems = (re.sub("[^A-Za-z0-9.-]+", "-", f"{one.system}-{one.network}") for one in rows)
        names = [f"{stem}-{one.bag[:8]}.html" if reports else "" for stem, one in zip(stems, rows, strict=True)]
        for name, content in zip(names, pool.map(_report, rows) if reports else (), strict=False):
            write(output / name, content, make_folder=True)
    write(output / "machines.json", json.dumps(_document(rows, refused), indent=1) + "\n", make_folder=True)
    write(output / "index.html", _page(rows, refused, names))
    for name, _, why in refused:
        click.echo(f"refused {name}: {why}")
    click.echo(f"wrote {output}/index.html: {len(rows)} machines, {len(refused)} refused")
    ctx.exit(0 if rows else 1)


def _report(machine: Machine) -> str:
    from railyard.analysis.judge.judged import judge
    from railyard.analysis.report import page

    return page.html(judge(machine.records))


def _document(rows: Sequence[Machine], refused: Sequence[tuple[str, str, str]]) -> dict[str, object]:
    """Return the page for programs; a measure has `value`, `low`, `high`, `jobs` and `of`."""
    return {
        "format": FORMAT,
        "machines": [
            {
                **{field.name: getattr(one, field.name) for field in dataclasses.fields(one)},
                "records": [record.sha256 for record in one.records],
                "values": {name: value._asdict() for name, value in one.values.items()},
            }
            for one in rows
        ],
        "refused": [{"bag": bag, "site": whose, "reason": why} for bag, whose, why in refused],
    }


def _page(rows: Sequence[Machine], refused: Sequence[tuple[str, str, str]], names: Sequence[str]) -> str:
    from markupsafe import Markup

    from railyard.tender import board
    from railyard.tender.machines import MEASURES

    style, script = board.file("board.css"), board.file("site.js")
    used = [measure for measure in MEASURES if any(measure.name in one.values for one in rows)]
    return (
        board.environment()
        .get_template("site.html.j2")
        .render(
            rows=list(zip(rows, names, strict=True)),
            refused=refused,
            measures=used,
            unused=[measure for measure in MEASURES if measure not in used],
            style=Markup(style),
            script=Markup(script),
            style_hash=board.hash_of(style),
            script_hash=board.hash_of(script),
            cell=_cell,
        )
    )


def _cell(value: Value, unit: str) -> str:
    """Return a value with its bounds as a reader sees them: 43.2 % (41.0 to 45.1)."""
    form = "{:.1f}" if unit else "{:.2f}"
    bounds = "" if value.low is None or value.high is None else f"{form} to {form}".format(value.low, value.high)
    text = form.format(value.value) + (f"\N{NO-BREAK SPACE}{unit}" if unit else "\N{MULTIPLICATION SIGN}")
    return f"{text} ({bounds})" if bounds else text
