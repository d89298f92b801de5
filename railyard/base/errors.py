"""Define the errors that a user sees as one line: bad input (`InputError`), failure of the machine (`RunError`)."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable

#: How much alike two words are, of 1, from which on one is taken for a slip of the other.
_NEAR = 0.7
#: Most characters of a value that a message quotes, and of a list of what is valid.
MOST_QUOTED = 200
MOST_LISTED = 1000


def as_seen(text: str) -> str:
    """Return a text with unprintable characters escaped, so that a name in a file cannot control the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def quoted(value: object) -> str:
    """Return a value as a message shows it: text in quotes, cut to its first characters if it is long."""
    if isinstance(value, str) and len(value) > MOST_QUOTED:
        return f"{value[:MOST_QUOTED]!r}..."
    text = repr(value)
    return text if isinstance(value, str) or len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}..."


def listed(text: str) -> str:
    """Return a text, which may be a list with commas, cut to its first items and the number of the others."""
    if len(text) <= MOST_LISTED:
        return text
    first = text[:MOST_LISTED].rpartition(", ")[0] or text[:MOST_LISTED]
    more = text[len(first) :].count(", ")
    return f"{first}, ... ({more} more)" if more else f"{first}..."


def did_you_mean(word: object, words: Iterable[str]) -> str:
    """Return ` (did you mean 'report'?)` for a word that is nearly one of these, otherwise an empty text."""
    near = difflib.get_close_matches(word, list(words), 1, _NEAR) if isinstance(word, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""


class InputError(ValueError):
    """Bad input in one line; the command line prints it and exits with 2, without a traceback.

    `source` names the file or option, `field` the path inside it (may be empty), and `valid` what is accepted there.
    The message quotes `value`, which the input has, or contains `problem`, which is prose:
    `topology.yml: extents: 0 is not valid; expected 1 or more`, `hosts: no node; expected one node per line`.
    """

    def __init__(self, source: str, field: str, value: object = None, valid: str = "", *, problem: str = "") -> None:
        self.source, self.field, self.value, self.valid, self.problem = source, field, value, valid, problem
        place = f"{source}: {field}" if field else source
        problem = problem or ("no value" if value is None else "")
        text = problem or f"{quoted(value)} is not valid{did_you_mean(value, re.split(', | or ', valid))}"
        super().__init__(as_seen(f"{place}: {listed(text)}; expected {listed(valid)}"))

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Return how a worker process passes the error to its parent."""
        remake = functools.partial(type(self), problem=self.problem)
        return remake, (self.source, self.field, self.value, self.valid)


class RunError(RuntimeError):
    """A failure of the machine in one line: a command, a permission, a missing program. The exit status is 1."""
