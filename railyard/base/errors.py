"""The one error class that a user sees: which input, which field, which value, and what would have been valid."""

from __future__ import annotations

from typing import Any


def as_seen(text: str) -> str:
    """Return a text with every unprintable character as its escape: no name in a bag steers a terminal."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


class InputError(ValueError):
    """Bad input in one line; the command line prints it and exits with 2, without a traceback.

    `source` names the file or option, `field` the path inside it (may be empty), and `valid` what is accepted there.
    What is wrong is either a `value` that was found, which is quoted, or a `problem` in prose, which is not:
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
        """Return how another process makes the same error from its parts."""
        return _made, (type(self), self.source, self.field, self.value, self.valid, self.problem)


def _made(*parts: Any) -> InputError:
    kind, source, field, value, valid, problem = parts
    made: InputError = kind(source, field, value, valid, problem=problem)
    return made


class RunError(RuntimeError):
    """Something railyard asked of the machine failed (a command, a permission, a missing program)."""
