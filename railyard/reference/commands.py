"""Describe every command and option of `railyard`, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

import click

from railyard.cli import cli
from railyard.reference.markdown import code, escaped, table

HEAD = """# Command line

Every command prints its own help: `railyard COMMAND --help`. It ends with status 0, with 1 if the machine or a run
failed, and with 2 if its input is wrong.

"""


def page() -> str:
    """Return one section per command: purpose, arguments, and options with their defaults."""
    return HEAD + "\n".join(_section(context) for context in walk())


def undocumented() -> list[str]:
    """Return the commands and options that have no help text."""
    names = []
    for context in walk():
        if not (context.command.help or "").strip():
            names.append(context.command_path)
        options = [one for one in context.command.params if isinstance(one, click.Option)]
        names += [f"{context.command_path} {one.opts[0]}" for one in options if not one.help]
    return names


def walk() -> Iterator[click.Context]:
    """Yield a context for every command that is not a group's own, in alphabetical order of the command line."""
    root = click.Context(cli, info_name="railyard", **cli.context_settings)
    yield from _below(root)


def _below(context: click.Context) -> Iterator[click.Context]:
    command = context.command
    if not isinstance(command, click.Group):
        yield context
        return
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        yield from _below(click.Context(child, parent=context, info_name=name))


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [record for one in command.params if (record := _option(one, context))]
    parts = [
        f"## {context.command_path}\n",
        f"    {usage}\n",
        _help(command.help or ""),
        _help(command.epilog or ""),
    ]
    if options:
        parts.append(table(["option", "meaning"], options))
    return "\n".join(parts)


def _help(text: str) -> str:
    """Return a command's help as paragraphs. Click's mark for text that keeps its lines becomes a literal block."""
    blocks = []
    for block in text.split("\n\n"):
        if block.startswith("\b"):
            blocks.append("\n".join("    " + line for line in block.splitlines()[1:]))
        else:
            blocks.append(escaped(" ".join(block.split())))
    return "\n\n".join(blocks) + "\n"


def _option(parameter: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    record = parameter.get_help_record(context)
    return (code(record[0]), escaped(record[1])) if record else None
