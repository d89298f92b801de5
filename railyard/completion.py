"""`railyard completion`: print the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from railyard.base.commands import example

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_RAILYARD_COMPLETE"


@click.command(epilog=example('eval "$(railyard completion bash)"'))
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands and options in SHELL."""
    complete = get_completion_class(shell)
    assert complete is not None
    root = click.get_current_context().find_root().command
    click.echo(complete(root, {}, "railyard", VARIABLE).source())
