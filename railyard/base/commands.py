"""Share what the command lines have in common: options of one name, kinds of paths, JSON, help with examples.

Models: an option that several commands have is one function here, which takes only what differs: its help, its kind of
path, its default. Leaves out: options of placements (`railyard.placements.cli.options`), and errors, which
`railyard.cli.main` prints in one line for all commands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from railyard.base.checkout import ARCHIVE

_F = TypeVar("_F", bound=Callable[..., Any])


class Decorator(Protocol):
    """What adds an option to any command."""

    def __call__(self, command: _F, /) -> _F: ...


#: Kinds of paths: any, a file, a folder, a file that exists.
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
THERE = click.Path(path_type=Path, dir_okay=False, exists=True)
#: A number of 1 or more.
COUNT = click.IntRange(1)
#: Settings of a command whose later arguments are those of another program.
RAW = {"ignore_unknown_options": True, "allow_interspersed_args": False}


class Commands(click.Group):
    """A group of commands that lists each with the first sentence of its help.

    Click cuts that sentence at 45 characters, however wide the terminal is.
    """

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            assert command is not None
            text = " ".join((command.help or "").split("\n\n")[0].split())
            rows.append((name, text.partition(". ")[0].removesuffix(".") + "."))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def example(*lines: str) -> str:
    """Return the end of a command's help: command lines that a reader can copy."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])


def option(names: str, text: str, kind: Any = None, default: Any = None, **rest: Any) -> Decorator:
    """Return an option of Click's; `names` with blanks between. A default is shown after the text, unless it is empty.

    `kind` is Click's type, by default that of the default, or a text. `rest` is passed to Click as it is.
    """
    if default is not None:
        rest = {"default": default, "show_default": default != "", **rest}
    return click.option(*names.split(), type=kind, help=text, **rest)


def json_option(text: str = "Print JSON for programs.") -> Decorator:
    """Return the option --json, which the command gets as `as_json`."""
    return option("--json as_json", text, is_flag=True)


def print_json(document: Any) -> None:
    """Print a document as JSON, one field per line."""
    click.echo(json.dumps(document, indent=1, ensure_ascii=False))


def format_option(forms: Sequence[str], text: str = "Form of the output.") -> Decorator:
    """Return the option --format, which the command gets as `form`; the first form is the default."""
    return option("--format form", text, click.Choice(forms), forms[0])


def archive_option(text: str = "Folder of the archive.", kind: click.Path = FOLDER) -> Decorator:
    """Return the option --archive, which the command gets as `root`; in a wheel its default is the folder `results`."""
    text += "  [default: results/ of the checkout]"
    return option("--archive root", text, kind, ARCHIVE, show_default=False)


def fom_option(text: str = "Show only this figure of merit") -> Decorator:
    """Return the option --fom, which the command gets as the tuple `foms`."""
    return option("--fom foms", f"{text}, such as iteration_us; may be repeated.", multiple=True)


def output_option(
    text: str = "The file to write; otherwise the standard output.",
    kind: click.Path = FILE,
    default: Path | None = None,
    **rest: Any,
) -> Decorator:
    """Return the option -o, --output, which the command gets as `output`."""
    return option("-o --output output", text, kind, default, **rest)
