"""The help of every command, as a terminal of 80 columns shows it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from repository.test_page_commands import refused
from support.commands import CHECKOUT

from railyard.cli import COMMANDS, cli

pytestmark = pytest.mark.unit

#: An option's help that says only that the output is JSON, or that begins in the middle of a sentence.
FRAGMENT = re.compile(r"^(As|What|Only|Who) ")


def contexts() -> Iterator[click.Context]:
    """Yield a context for each command, groups and those of job scripts as well."""
    assert isinstance(cli, click.Group)
    root = click.Context(cli, info_name="railyard", terminal_width=80, max_content_width=80)
    yield root
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        yield from below(click.Context(command, info_name=name, parent=root))


def below(context: click.Context) -> Iterator[click.Context]:
    yield context
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            child = group.get_command(context, name)
            assert child is not None
            yield click.Context(child, info_name=name, parent=context)


CONTEXTS = {context.command_path: context for context in contexts()}


@pytest.mark.parametrize("name", CONTEXTS)
def test_help_fits_80_columns_and_cuts_no_sentence(name: str) -> None:
    text = CONTEXTS[name].get_help()
    usage, _, rest = text.partition("\n\n")
    assert max(map(len, text.splitlines())) <= 80, usage
    assert not re.search(r"\w\.\.\.$", rest, re.MULTILINE)
    first = " ".join(rest.split("\n\n")[0].split())
    assert first.endswith(".") and first[0].isupper(), first


@pytest.mark.parametrize("name", [n for n, c in CONTEXTS.items() if not isinstance(c.command, click.Group)])
def test_help_has_an_example_that_the_command_takes(name: str) -> None:
    epilog = CONTEXTS[name].command.epilog or ""
    lines = [line.strip() for line in epilog.splitlines()[2:]]
    assert lines and all(name in line for line in lines)
    for line in lines:
        assert epilog.replace("\b\n", "") in CONTEXTS[name].get_help().replace("\n  ", "\n"), "kept as it is"
        words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0])
        error = refused(words[1:])
        assert error is None, f"{line}: {error and error.format_message()}"


@pytest.mark.parametrize("name", CONTEXTS)
def test_every_option_is_a_whole_phrase(name: str) -> None:
    options = [one for one in CONTEXTS[name].command.params if isinstance(one, click.Option)]
    for option in options:
        text = option.help or ""
        assert text[:1].isupper(), f"{option.opts}: {text!r}"
        assert not FRAGMENT.match(text), f"{option.opts}: {text!r}"


def test_every_command_has_the_arguments_and_options_that_its_users_know() -> None:
    """What goes from tests/data/commands.txt is in CHANGELOG.md with its reason; what is new is added to it."""
    lines = (" ".join([name, *map(words, CONTEXTS[name].command.params)]) for name in sorted(CONTEXTS))
    assert (CHECKOUT / "tests/data/commands.txt").read_text().splitlines() == list(lines)


def words(parameter: click.Parameter) -> str:
    """Return the names of an option with a comma between; of an argument, what its usage shows."""
    if isinstance(parameter, click.Option):
        return ",".join([*parameter.opts, *parameter.secondary_opts])
    return parameter.make_metavar(CONTEXTS["railyard"])
