"""Define the errors that a user sees as one line: bad input (`InputError`), failure of the machine (`RunError`)."""

from __future__ import annotations

from typing import Any


def as_seen(text: str) -> str:
    """Return a text with unprintable characters escaped, so that a name in a file cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


class InputError(ValueError):
    """Bad input in one line; the command line prints it and exits with 2, without a traceback.

    `source` names the file or option, `field` the path inside it (may be empty), and `valid` what is accepted there.
    The message quotes `value`, which the input has, or contains `problem`, which is prose:
    `topology.yml: extents: 0 is not valid; expected 1 or more`, `hosts: no node; expected one node per line`.
    """

    def __init__(
        self, source: str, field: str, value: object = None, valid: str = "", *, problem: str = ""
    ) -> None:
        self.source, self.field, self.value, self.valid, self.problem = source, field, value, valid, problem
        place = f"{source}: {field}" if field else source
        problem = problem or ("no value" if value is None else "")
        super().__init__(as_seen(f"{place}: {problem or f'{value!r} is not valid'}; expected {valid}"))

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Return how a worker process passes the error to its parent."""
        return _made, (type(self), self.source, self.field, self.value, self.valid, self.problem)


def _made(*parts: Any) -> InputError:
    kind, source, field, value, valid, problem = parts
    error: InputError = kind(source, field, value, valid, problem=problem)
    return error


class RunError(RuntimeError):
    """A failure of the machine in one line: a command, a permission, a missing program. The exit status is 1."""
