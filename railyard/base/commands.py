"""What the help of commands shares: lists of commands that cut no sentence, and examples.

Click cuts the sentence of a subcommand at 45 characters, however wide the terminal is.
"""

from __future__ import annotations

import click


class Commands(click.Group):
    """A group of commands that lists each with the first sentence of its help."""

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
