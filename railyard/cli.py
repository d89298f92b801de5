"""The command `railyard`: the rooms' own commands under one name, and errors as one line."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from railyard import __version__
from railyard.base.errors import InputError, RunError, as_seen, did_you_mean
from railyard.base.plain_output import plain_output

#: Heading -> command -> where it is in `railyard`, and its line in the list of commands: none is loaded for that.
GROUPS = {
    "Start here": {
        "doctor": ("doctor.cli:doctor", "Report what railyard can use on this machine."),
        "checks": ("reference.cli:checks", "List the checks that ReFrame can run, and what each measures."),
        "topology": ("placements.cli.place:topology", "Describe a topology: extents, link classes, rates."),
    },
    "Predict, without a run": {
        "place": ("placements.cli.place:place", "Place a grid of ranks on a topology."),
        "links": ("placements.cli.links:links", "Predict bytes and seconds on every link of a topology."),
        "matrix": ("placements.cli.matrix:matrix", "Show what the ranks of a program send to each other."),
        "collectives": ("analysis.judge.collectives_cli:collectives", "List and compare algorithms of collectives."),
        "model": ("torus.modelled.cli:model", "Predict the times of a program if only links took time."),
        "nics": ("placements.cli.nics:nics", "Print the settings that make a stack obey a NIC policy."),
        "plan": ("analysis.plan.cli:plan", "Print how many launches and jobs find a difference."),
    },
    "Run": {
        "torus": ("torus.cli.torus:torus", "Make and use a virtual torus on this machine."),
        "sim": ("torus.simulated.cli:sim", "Run a program on a simulated topology."),
        "fit": ("fit.cli:fit", "Fit the placement of any MPI program to what its ranks send."),
        "admit": ("admit.cli:admit", "Name the slow nodes of a job in few launches."),
        "node-info": ("jobs.nodes.node_cli:node_info", "Print this node's cores, NICs and GPUs as JSON."),
        "coordinates": ("placements.cli.coordinates:coordinates", "Print the coordinates file of nodes."),
        "map": ("jobs.nodes.node_maps:node_maps", "Show which GPU is near to which NIC, and what is wrong there."),
        "application": ("applications.cli:application", "List and try the parsers of third-party programs."),
        "recover": ("jobs.cli:recover", "Make the records of interrupted jobs."),
    },
    "Read what was measured": {
        "report": ("analysis.report.cli:report", "Write a page, or another format, from records."),
        "compare": ("analysis.judge.cli:compare", "Compare systems, placements, NIC policies, dates or archives."),
        "placement-cost": ("analysis.judge.cli:placement_cost", "Answer whether the scheduler's placement costs time."),
        "series": ("analysis.judge.cli:series", "Show records over dates, sizes or allocations."),
        "why": ("analysis.why:why", "Say what may have made the slow launches of a record slow."),
        "results": ("table.cli:results", "Add, import, list, check and export records."),
        "references": ("analysis.references.cli:commands", "Write references for ReFrame from the archive."),
    },
    "Exchange with others": {
        "tender": ("tender.cli:tender", "Write, check and evaluate the bids of a tender."),
        "site": ("tender.site:site", "Write a page of machines from signed bags of several sites."),
        "ci": ("ci.cli:ci", "Print a workflow that runs the smoke checks."),
    },
}
#: Commands that job scripts alone call: the list of commands and the shell's completion leave them out.
IN_JOB_SCRIPTS = {
    "granted": ("jobs.cli:granted", "Place a job on the nodes that were granted (in job scripts)."),
    "enough": ("analysis.plan.enough:enough", "Decide whether a job needs more rounds (in job scripts)."),
    "end-launch": ("jobs.nodes.node_cli:end_launch", "End what a launch left behind (in job scripts)."),
    "launch-roles": ("jobs.cli:launch_roles", "Run a program while others load the network (in job scripts)."),
}
COMMANDS = {name: entry for group in (*GROUPS.values(), IN_JOB_SCRIPTS) for name, entry in group.items()}


class Rooms(click.Group):
    """Loads a room only when its command is called: `torus mpirun` must not wait for the plotting library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(filter(_is_here, COMMANDS.keys() - IN_JOB_SCRIPTS.keys()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS or not _is_here(cmd_name):
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(f"railyard.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; end with the nearest name if there is none."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = did_you_mean(args[0], COMMANDS)
            ctx.fail(f"no command {args[0]!r}{near or '; railyard --help lists them'}")
        return super().resolve_command(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        if _is_here("doctor"):
            formatter.write("\n  ReFrame runs the benchmarks:  reframe -C reframe.yml -c checks -r\n")
            formatter.write("\n  New here?  railyard doctor, then docs/tutorial.md\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items() if _is_here(name)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        options = click.Command.shell_complete(self, ctx, incomplete)
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in names] + options


def _is_here(command: str) -> bool:
    """Return whether the room of a command is installed: a wheel has those that read."""
    module = COMMANDS[command][0].partition(":")[0]
    return Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py").is_file()


@click.group(cls=Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="railyard")
def cli() -> None:
    """Reproducible, placement- and NIC-aware benchmarks of HPC interconnects."""


@plain_output()
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
