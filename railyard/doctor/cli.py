"""Define the command `railyard doctor`: report what railyard can do here, and print a configuration to start from."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import asdict

import click

from railyard.base.commands import example, json_option, option, print_json
from railyard.base.errors import InputError
from railyard.doctor import findings as diagnosis
from railyard.doctor import trial
from railyard.doctor.inventory import look


@click.command(epilog=example("railyard doctor --fragment > mine.yml"))
@option("--fragment only_fragment", "Print the configuration alone, to be written to a file.", is_flag=True)
@json_option("Print the findings as JSON.")
@option(
    "--on-a-node on_a_node",
    "Read NICs and GPUs on a compute node of each partition, by a step of two minutes (srun), not here.",
    is_flag=True,
)
@option(
    "--partition partitions",
    "A partition or queue to write; may be repeated.  [default: the scheduler's default]",
    multiple=True,
    metavar="NAME",
)
@option(
    "--access",
    'Options that every job needs here, for srun and the configuration: "--account=X --qos=Y -C gpu".',
    default="",
    metavar="OPTIONS",
)
def doctor(*, only_fragment: bool, as_json: bool, on_a_node: bool, partitions: Sequence[str], access: str) -> None:
    """Report what railyard can use on this machine, and what a missing part would enable.

    Looks at scheduler, MPI, NICs and their NUMA nodes, containers, Spack and permissions, and changes nothing. Run it
    where you would type `reframe`.
    """
    here = dataclasses.replace(look(), access=_options(access))
    machines = [here.on(name) for name in dict.fromkeys(partitions)] or [here]
    machines = [trial.on_a_node(one) for one in machines] if on_a_node else machines
    machine = machines[0]
    if as_json:
        rows = [asdict(finding) for finding in diagnosis.findings(machine)]
        print_json({"machine": asdict(machine), "findings": rows})
        return
    for line in diagnosis.unbuilt(machine):
        click.echo(f"railyard: {line}", err=True)
    from rich.console import Console

    if not only_fragment:
        from rich.table import Table

        table = Table("part", "", "found", "enables", title=f"{machine.hostname}: {machine.cpus} CPUs")
        for finding in diagnosis.findings(machine):
            table.add_row(finding.part, "yes" if finding.there else "no", finding.found or "-", finding.enables)
        Console().print(table)
        click.echo()
    fragment = diagnosis.fragment(*machines)
    with Console(stderr=True).status("trying the configuration under ReFrame"):
        reason = trial.fault(fragment, diagnosis.system_name(machine))
    if reason:
        click.echo(f"railyard: this configuration does not work yet: {reason}", err=True)
    click.echo(fragment, nl=False)


def _options(text: str) -> tuple[str, ...]:
    """Return options as ReFrame's `access` has them, an option and its value in one entry; InputError for other words.

    Each becomes a line of a job script's head.
    """
    options: list[list[str]] = []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError("--access", "", text, "words of a shell, with both quotes") from error
    for word in words:
        if word.startswith("-"):
            options.append([word])
        elif options:
            options[-1].append(word)
        else:
            raise InputError("--access", "", text, "options, such as --account=NAME -C gpu")
    return tuple(shlex.join(option) for option in options)
