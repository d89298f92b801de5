"""Define the command `railyard doctor`: report what railyard can do here, try and print a configuration."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from railyard.base.checkout import CHECKOUT
from railyard.base.commands import example, json_option, option, print_json
from railyard.base.errors import InputError, RunError
from railyard.base.sysfs import Device
from railyard.doctor import findings as diagnosis
from railyard.doctor.inventory import Machine, look


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
    machines = [asked_on_a_node(one) for one in machines] if on_a_node else machines
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
        reason = fault(fragment, diagnosis.system_name(machine))
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


#: The check whose file is read soonest.
TRIAL = "noise_smoke"
LIMIT_S = 300
#: The time limit of the step that describes a node, in minutes.
STEP_MIN = 2
SHOW = "import json; from railyard.doctor import inventory as i; from dataclasses import asdict; "
SHOW += "shown = {'interfaces': [*map(asdict, i.sysfs.devices(i.SYS))], 'node': i.node.describe()}; "
SHOW += "print(json.dumps(shown))"


def fault(fragment: str, system: str) -> str:
    """Load a fragment into ReFrame and dry-run one check; returns why that fails, empty if it works."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "mine.yml")
        path.write_text(fragment, encoding="utf-8")
        words = ["reframe", "-C", str(CHECKOUT / "reframe.yml"), "-C", str(path), "--system", system]
        words += ["--prefix", folder, "-c", str(CHECKOUT / "checks/noise.py"), "-n", TRIAL]
        words += ["--dry-run", "--exec-policy=serial"]  # the other policy sleeps between its questions
        path_of = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
        environment = {**os.environ, "PATH": path_of, "RAILYARD_CHECKOUT": str(CHECKOUT), "PWD": str(CHECKOUT)}
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, cwd=CHECKOUT, env=environment, timeout=LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    tried = re.search(r"Ran (\d+)/", output)
    if done.returncode == 0 and tried and int(tried[1]):
        return ""
    wrong = re.search(r"(?:Reason: |ERROR: |SKIP\s*\] .*?\[)(.*)", output)
    return wrong[1].strip() if wrong else f"no check runs on {system} with an MPI that was found"


def asked_on_a_node(machine: Machine) -> Machine:
    """Return the machine with the NICs and GPUs of a compute node of the chosen partition; RunError if no step runs.

    What srun prints, such as that the step is queued, goes to the user.
    """
    chosen = machine.scheduler.chosen
    if chosen is None or machine.scheduler.name not in {"slurm", "squeue"}:
        raise RunError("--on-a-node: no Slurm partition here; run: qsub -I, then railyard doctor on the node")
    cluster = [f"--clusters={chosen.cluster}"] if chosen.cluster else []
    options = [*cluster, f"--partition={chosen.name}", *shlex.split(" ".join(machine.access))]
    step = ["srun", *options, "--nodes=1", "--ntasks=1", f"--time={STEP_MIN}", "--mpi=none"]
    print(f"railyard: one step on a node: {shlex.join(step)}", file=sys.stderr, flush=True)
    try:
        words = [*step, sys.executable, "-c", SHOW]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, errors="replace", cwd=CHECKOUT, check=False)
    except OSError as error:
        raise RunError(f"--on-a-node: srun: {error.strerror}") from error
    if done.returncode:
        advice = "run: railyard doctor --on-a-node --access '--account=NAME --qos=NAME', with what jobs need here"
        raise RunError(f"--on-a-node: srun ended with status {done.returncode} and the lines above; {advice}")
    try:
        shown = json.loads(done.stdout.splitlines()[-1])
        node = shown["node"]
        return dataclasses.replace(
            machine,
            interfaces=tuple(Device(**one) for one in shown["interfaces"]),
            gpus=len(node["gpus"]),
            nics_of_a_node=True,
            nodes={**machine.nodes, node["host"]: node},
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        problem = f"the step printed no description of a node: {done.stdout[-80:]!r}"
        raise RunError(f"--on-a-node: {problem}; run: railyard doctor on a node") from error
