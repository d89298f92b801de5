"""The commands that the pages print: taken from their blocks of code, split into words as a shell would.

Models: indented and fenced blocks, lines continued by a backslash, comments, lines of a synopsis (`[OPTION]`, `A|B`),
two of which may be side by side. Leaves out: blocks with a language, and quoting that spans lines.
"""

from __future__ import annotations

import functools
import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from support.commands import CHECKOUT, tracked

#: Programs whose lines in a block are commands, wherever they are installed.
PROGRAMS = "railyard|reframe|make|mpirun|git|cmake|python|docker|env|unshare|bash|eval"
#: A command line begins with a program, or with a file of the checkout.
BEGINNING = re.compile(
    rf"([A-Z_]+=(\S+|\".*?\") |sudo )*(\.venv/bin/)?({PROGRAMS}|(tools|containers|build)/\S+)\s+(?!<)"
)
SEPARATORS = {"&&", "||", ";", "|", "&"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One command line of a page, without its comment: what a reader would paste."""

    page: str
    number: int
    text: str

    def commands(self) -> list[list[str]]:
        """Return the words of each simple command, without assignments, redirections and what is optional."""
        text = self.text.replace("[", "").replace("]", "")
        text = re.sub(r"(?<=\s)([\w-]+)(\|[\w-]+)+(?=\s|$)", r"\1", text)
        lexer = shlex.shlex(text, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split = True
        lexer.commenters = ""
        groups = itertools.groupby(lexer, lambda word: word in SEPARATORS)
        simple = [_simple(list(words)) for is_separator, words in groups if not is_separator]
        return [words for words in simple if words]


def _simple(words: list[str]) -> list[str]:
    """Return a simple command without assignments, `sudo`, and redirections."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in (">", "<", ">>"):
            next(rest, None)
        elif kept or not (re.match(r"[A-Z_]+=", word) or word in ("sudo", "(")):
            kept.append(word)
    return kept


@functools.cache
def pages() -> list[str]:
    """Return the paths of all pages with commands; the changelog tells of the past."""
    return [page for page in tracked("*.md") if page != "CHANGELOG.md" and lines(page)]


@functools.cache
def lines(page: str) -> list[Line]:
    """Return the command lines of a page, in its order."""
    return [Line(page=page, number=number, text=text) for number, text in _joined(page) if BEGINNING.match(text + " ")]


def _joined(page: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line of code, with those that continue it."""
    begun, text = 0, ""
    for number, line in _code((CHECKOUT / page).read_text(encoding="utf-8")):
        begun = begun if text else number
        text += re.sub(r"(^|\s)#( .*)?$", "", line).strip()
        if text.endswith("\\"):
            text = text[:-1]
            continue
        yield from ((begun, part) for part in re.split(r"\s{6,}", text) if part)
        text = ""


def _code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of indented blocks and of fenced blocks without a language."""
    fence: str | None = None
    is_before_blank = True
    is_indented = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fence = None if fence is not None else line.strip().removeprefix("```")
            continue
        is_indented = line.startswith("    ") and (is_before_blank or is_indented)
        if fence == "" or (fence is None and is_indented):
            yield number, line
        is_before_blank = not line.strip()


def questions(page: str) -> list[tuple[str, str]]:
    """Return the questions of a page in bold, with the SQL below each."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    return re.findall(r"^\*\*([^*]+\?)\*\*\n\n```sql\n(.*?)```$", text, re.MULTILINE | re.DOTALL)
