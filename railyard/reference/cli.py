"""`railyard checks`: the families of checks that ReFrame can run, and the checks of one, one line each."""

from __future__ import annotations

import itertools
import json
import operator
import re
from collections.abc import Sequence
from pathlib import Path

import click

from railyard.analysis.text import DataTable
from railyard.base.checkout import RESULTS
from railyard.base.commands import example, json_option, option
from railyard.base.errors import InputError, RunError, did_you_mean
from railyard.records.cli import index_of, pass_over
from railyard.records.store import archive
from railyard.reference import checks as sources
from railyard.reference.checks import Check

#: What a launch takes on a virtual torus of a machine with two processors, for checks that the archive does not have.
_LAUNCH_S = 12.0


@click.command(epilog=example("railyard checks", "railyard checks halo", "railyard checks --tag smoke"))
@click.argument("family", default="")
@option("-t --tag", "List only checks that have this tag, as `reframe -t TAG` runs them.")
@json_option("Print JSON, with the file of each check.")
def checks(*, family: str, tag: str | None, as_json: bool) -> None:
    """List the families of checks that ReFrame can run, or the checks of one FAMILY or tag, one line each.

    A family is the first word of the names: halo of halo_3d. Run a check by `reframe -C reframe.yml -c checks -n NAME
    -r`. The nodes are those on a virtual torus: "all" are 64 by default, and with "varies" topology or parameter
    decide. The minutes are those of the newest record in results/; after ~ they are estimated from the launches.
    """
    every_check = sources.checks()
    if not every_check:
        raise RunError(f"{sources.FOLDER}: no checks; run this in a checkout of railyard")
    needed = {check.name: sources.of(check) for check in every_check}
    tags = sorted({word for need in needed.values() for word in need.tags})
    if tag is not None and tag not in tags:
        near = did_you_mean(tag, tags)
        raise InputError("--tag", "", problem=f"no check has {tag!r}{near}", valid=", ".join(tags))
    families = sorted({_family(check) for check in every_check})
    if family and family not in families:
        near = did_you_mean(family, families)
        raise InputError("FAMILY", "", problem=f"no check begins with {family!r}{near}", valid=", ".join(families))
    chosen = [
        check
        for check in every_check
        if (tag is None or tag in needed[check.name].tags) and family in ("", _family(check))
    ]
    taken_s = seconds(RESULTS)
    if as_json:
        rows = [
            {
                "name": check.name,
                "text": check.text,
                "nodes": need.nodes,
                "seconds": taken_s.get(check.name),
                "launches": need.launches,
                "needs": need.what,
                "tags": list(need.tags),
                "file": check.file.name,
            }
            for check in chosen
            for need in [needed[check.name]]
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    minutes = {  # what a check took, or an estimate
        name: f"{taken_s[name] / 60:.1f}" if name in taken_s else f"~{max(1.0, need.launches * _LAUNCH_S / 60):.0f}"
        for name, need in needed.items()
    }
    rows_of_text = []
    for _, members in itertools.groupby(chosen, key=operator.attrgetter("name") if family or tag else _family):
        first, *others = of_family = list(members)
        needs_text = f"; needs {needed[first.name].what}" if needed[first.name].what else ""
        rows_of_text.append(
            (
                f"{_family(first)}_* ({len(of_family)})" if others else first.name,
                _span([needed[check.name].nodes for check in of_family]),
                _span([minutes[check.name] for check in of_family]),
                first.text.rpartition(". ")[2] if others else first.text.partition(". ")[0] + needs_text,
            )
        )
    columns = ("check", "nodes", "min", "what it measures")
    for line in DataTable(columns=columns, rows=rows_of_text, numbers=frozenset(columns[1:3])).lines():
        click.echo(line)
    if not (family or tag):
        click.echo("\nrailyard checks FAMILY lists the checks of one, such as: railyard checks halo")


def _family(check: Check) -> str:
    return check.name.partition("_")[0]


def _span(texts: Sequence[str]) -> str:
    """Return a text that all have, or the smallest and the largest number of several; words come last."""
    ranked = sorted(set(texts), key=lambda text: float(re.sub("[^0-9.]", "", text) or "inf"))
    return sources.VARIES if sources.VARIES in ranked else " to ".join(dict.fromkeys((ranked[0], ranked[-1])))


def seconds(root: Path) -> dict[str, float]:
    """Return how long the launches of each check took together, in the newest record of an archive that has some."""
    newest = {
        entry.setting["check"]: root / entry.path
        for entry in sorted(index_of(root).entries(values=False), key=lambda one: str(one.own["created"]))
    }
    return {
        read.case.check: sum(launch.elapsed_s or 0.0 for launch in read.launches)
        for read in archive.iterate(newest.values(), pass_over)
    }
