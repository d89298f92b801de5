"""The command `railyard`: the rooms' own commands under one name, and errors as one line."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys

import click
from click.shell_completion import CompletionItem

from railyard import __version__
from railyard.base.errors import InputError, RunError, as_seen

#: Where each command is, and its line in the list of commands: none is loaded for that.
COMMANDS = {
    "application": (
        "railyard.applications.cli:application",
        "List and try the parsers of third-party programs.",
    ),
    "ci": ("railyard.ci.cli:ci", "Print a workflow that runs the smoke checks."),
    "compare": (
        "analysis.compare.cli:compare",
        "Compare systems, placements, NIC policies, dates or archives.",
    ),
    "completion": ("railyard.completion:completion", "Print the script that completes commands in a shell."),
    "coordinates": ("placements.cli.coordinates:coordinates", "Print the coordinates file of nodes."),
    "doctor": ("railyard.doctor.cli:doctor", "Report what railyard can use on this machine."),
    "granted": ("railyard.jobs.cli:granted", "Place a job on the nodes that were granted (in job scripts)."),
    "links": ("placements.cli.links:links", "Predict bytes and seconds on every link of a topology."),
    "model": ("railyard.torus.modelled.cli:model", "Predict the times of a program if only links took time."),
    "moved": ("analysis.compare.moved:moved", "Compare outputs of topobw before and after a repair."),
    "nics": ("placements.cli.nics:nics", "Print the settings that make a stack obey a NIC policy."),
    "over": ("analysis.over.cli:over", "Show series of records over dates, sizes or allocations."),
    "place": ("placements.cli.place:place", "Place a grid of ranks on a topology."),
    "plan": ("analysis.plan.cli:plan", "Print how many launches and jobs find a difference."),
    "recover": ("railyard.jobs.cli:recover", "Make the records of interrupted jobs."),
    "references": ("analysis.references.cli:commands", "Write references for ReFrame from the archive."),
    "report": ("analysis.report.cli:report", "Write a page, or another format, from records."),
    "results": ("railyard.records.cli:results", "Add, list, show, check, pack and unpack records."),
    "sim": ("railyard.torus.simulated.cli:sim", "Run a program on a simulated topology."),
    "strays": ("railyard.jobs.nodes.node_cli:strays", "End what a launch left behind (in job scripts)."),
    "tender": ("railyard.tender.cli:tender", "Write, check and evaluate the bids of a tender."),
    "together": (
        "railyard.jobs.cli:together",
        "Run a program while others load the network (in job scripts).",
    ),
    "topology": ("placements.cli.place:topology", "Describe a topology: extents, link classes, rates."),
    "torus": ("railyard.torus.cli.torus:torus", "Make and use a virtual torus on this machine."),
    "where": ("railyard.jobs.nodes.node_cli:where", "Print this node's cores, NICs and GPUs as JSON."),
}
#: Commands that job scripts alone call: the list of commands and the shell's completion leave them out.
IN_JOB_SCRIPTS = {"granted", "strays", "together"}


class Rooms(click.Group):
    """Loads a room only when its command is called: `torus mpirun` must not wait for the plotting library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self._for_people(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        options = click.Command.shell_complete(self, ctx, incomplete)
        names = [name for name in self._for_people(ctx) if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in names] + options

    def _for_people(self, ctx: click.Context) -> list[str]:
        return [name for name in self.list_commands(ctx) if name not in IN_JOB_SCRIPTS]


@click.group(cls=Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="railyard")
def cli() -> None:
    """Reproducible, placement- and NIC-aware benchmarks of HPC interconnects.

    The benchmarks themselves are run by ReFrame: reframe -C reframe.yml -c checks -r
    """


def main() -> None:
    """Run the command; bad input ends with one line and status 2, a failure of the machine with one line and 1."""
    try:
        if sys.stdout is None:
            raise RunError("the standard output is closed; expected a file, a pipe or a terminal")
        try:
            cli(prog_name="railyard")
        finally:
            sys.stdout.flush()
    except InputError as error:
        _end(str(error), 2)
    except RunError as error:
        _end(str(error), 1)
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        _end("no memory is left for this command; its limits: ulimit -a", 1)
    except OSError as error:
        with contextlib.suppress(OSError):  # what is left in the buffer would fail again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _end(_in_words(error), 1)


def _in_words(error: OSError) -> str:
    """Return what the machine refused, and how to change that where it is known."""
    if isinstance(error, FileNotFoundError) and "/" not in str(error.filename):
        return f"no {error.filename} on the PATH; run: make setup"
    advice = {errno.EMFILE: "; run: ulimit -n 1024", errno.ENOSPC: "; run: df -h /run /tmp ."}
    return f"{error.filename or 'input or output'}: {error.strerror}{advice.get(error.errno or 0, '')}"


def _end(text: str, status: int) -> None:
    for line in f"railyard: error: {text}".splitlines():
        click.echo(as_seen(line), err=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
