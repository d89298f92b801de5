"""The command `railyard`: the rooms' own commands under one name, and errors as one line."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys

import click

from railyard import __version__
from railyard.errors import InputError, RunError, as_seen

COMMANDS = {
    "application": "railyard.applications.cli:application",
    "ci": "railyard.ci.cli:ci",
    "compare": "analysis.compare.cli:compare",
    "completion": "railyard.completion:completion",
    "coordinates": "placements.cli.coordinates:coordinates",
    "doctor": "railyard.doctor.cli:doctor",
    "granted": "railyard.jobs.cli:granted",
    "links": "placements.cli.links:links",
    "model": "railyard.torus.modelled.cli:model",
    "moved": "analysis.compare.moved:moved",
    "nics": "placements.cli.nics:nics",
    "over": "analysis.over.cli:over",
    "place": "placements.cli.place:place",
    "recover": "railyard.jobs.cli:recover",
    "references": "analysis.references.cli:commands",
    "report": "analysis.report.cli:report",
    "results": "railyard.records.cli:results",
    "strays": "railyard.jobs.nodes.node_cli:strays",
    "sim": "railyard.torus.simulated.cli:sim",
    "where": "railyard.jobs.nodes.node_cli:where",
    "topology": "placements.cli.place:topology",
    "tender": "railyard.tender.cli:tender",
    "together": "railyard.jobs.cli:together",
    "torus": "railyard.torus.cli.torus:torus",
}


class Rooms(click.Group):
    """Loads a room only when its command is called: `torus mpirun` must not wait for the plotting library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


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
    advice = "; run: ulimit -n 1024" if error.errno == errno.EMFILE else ""
    return f"{error.filename or 'input or output'}: {error.strerror}{advice}"


def _end(text: str, status: int) -> None:
    for line in f"railyard: error: {text}".splitlines():
        click.echo(as_seen(line), err=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
