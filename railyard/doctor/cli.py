"""Define the command `railyard doctor`: report what railyard can do here, and print a configuration to start from."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from railyard.doctor import findings as diagnosis
from railyard.doctor import scope, trial
from railyard.doctor.inventory import look


@click.command()
@click.option(
    "--fragment", "only_fragment", is_flag=True, help="The configuration alone, to be written to a file."
)
@click.option("--json", "as_json", is_flag=True, help="What was found, as JSON.")
@click.option(
    "--on-a-node",
    "on_a_node",
    is_flag=True,
    help="Read the NICs on one compute node, by one step of the scheduler (srun), instead of here.",
)
@click.option(
    "--spack-scope",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write Spack's configuration for the first MPI that was found into FOLDER, and nothing else.",
)
def doctor(only_fragment: bool, as_json: bool, on_a_node: bool, spack_scope: Path | None) -> None:
    """Report what railyard can use on this machine, and what a missing part would enable.

    Looks at scheduler, MPI, NICs and their NUMA nodes, containers, Spack and permissions, and changes nothing. Run it
    where you would type `reframe`.
    """
    if spack_scope:
        click.echo(scope.write(spack_scope, look().mpis))
        return
    machine = trial.with_nics_of_a_node(look()) if on_a_node else look()
    if as_json:
        rows = [asdict(finding) for finding in diagnosis.findings(machine)]
        click.echo(json.dumps({"machine": asdict(machine), "findings": rows}, indent=1))
        return
    fragment = diagnosis.fragment(machine)
    if reason := trial.fault(fragment, diagnosis.system_name(machine)):
        click.echo(f"railyard: this configuration does not work yet: {reason}", err=True)
    if not only_fragment:
        from rich.console import Console
        from rich.table import Table

        table = Table("part", "", "found", "enables", title=f"{machine.hostname}: {machine.cpus} CPUs")
        for finding in diagnosis.findings(machine):
            table.add_row(
                finding.part, "yes" if finding.there else "no", finding.found or "-", finding.enables
            )
        Console().print(table)
        click.echo()
    click.echo(fragment, nl=False)
