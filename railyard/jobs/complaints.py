"""Find the line of a standard error that explains a failure, among the notices and the consequences around it.

Models: each line has a kind, by the table in complaints.yml; the first line of the strongest kind is the reason, and
notices are kept beside it. Open MPI's messages between two rules are one line, their first sentence. Leaves out:
whether the launch failed (`railyard.records.assemble`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

from railyard.base import yaml_io


class Kind(IntEnum):
    """What a line is, the strongest reason first; a frame contains no information at all."""

    SIGNAL = 0
    FATAL = 1
    CAUSE = 2
    WORDS = 3
    DETAIL = 4
    CONSEQUENCE = 5
    NOTICE = 6
    FRAME = 7


TABLE: dict[str, Any] = yaml_io.read(Path(__file__).with_suffix(".yml"))
KINDS = [(Kind[row["kind"].upper()], re.compile("|".join(row["lines"]), re.IGNORECASE)) for row in TABLE["kinds"]]
LEVEL = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in TABLE["levels"].items()))
FAILURE = re.compile(rf"\b(?:{'|'.join(TABLE['failures'])})\b", re.IGNORECASE)
TAGS = re.compile(TABLE["tags"])
RULE = re.compile(r"-{20,}\s*$")
NOTICED = re.compile(r"(mpirun|prterun)\S* noticed that ")
#: The longest notice that is shown with a reason.
MOST_CHARACTERS = 80


def first(path: Path) -> str:
    """Return the line of a standard error that explains a failure; empty if there is none but notices.

    A heading such as `usage:` is returned together with the line that completes it and the name of the file.
    """
    lines = [(kind, line) for kind, line in _classified(path) if kind < Kind.NOTICE]
    if not lines:
        return ""
    index = min(range(len(lines)), key=lambda number: lines[number][0])
    line, following = lines[index][1], [text for _, text in lines[index + 1 :]]
    for heading, completion, which in TABLE["headings"]:
        if re.search(heading, line):
            end = next((number for number, text in enumerate(following) if re.search(heading, text)), None)
            later = [text for text in following[:end] if re.search(completion, text)]
            return f"{line} {later[which]} ({path.name} has all of it)" if later else line
    return line


def last(path: Path) -> str:
    """Return the last line that is neither a notice nor a frame: why a job script ended; empty if there is none."""
    return next((line for kind, line in reversed(_classified(path)) if kind < Kind.NOTICE), "")


def notices(path: Path) -> str:
    """Return the first notice of a standard error and the number of the others, in one line; empty if there is none."""
    texts = [line for kind, line in _classified(path) if kind is Kind.NOTICE]
    if not texts:
        return ""
    more = f" and {len(texts) - 1} more in {path.name}" if texts[1:] else ""
    return f"notice beside it: {texts[0][:MOST_CHARACTERS]}{more}"


def _classified(path: Path) -> list[tuple[Kind, str]]:
    """Return kind and text of each line of a file, and of each message between two rules."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        if RULE.match(line):
            parts.append([])
        else:
            parts[-1].append(line)
    inside = set(range(1, len(parts) - 1, 2))
    return [
        (kind, " ".join(NOTICED.sub("", line).split()).lstrip("= "))
        for number, part in enumerate(parts)
        for kind, line in (_message(part) if number in inside else _lines(part))
    ]


def _message(lines: list[str]) -> Iterator[tuple[Kind, str]]:
    """Yield a message between two rules: its first sentence, with the kind of all of it; a signal for itself."""
    own = [line for line in lines if line.strip()]
    if not own:
        return
    paragraph = re.split(r"\n\s*\n", "\n".join(lines).strip())[0]
    sentence = re.split(r"(?<=\.)\s", " ".join(paragraph.split()))[0]
    whole = _kind(" ".join(line.strip() for line in own))
    kind = next((kind for kind in (_kind(own[0]), _kind(sentence)) if kind != Kind.WORDS), whole)
    kind = Kind.NOTICE if (kind, whole) == (Kind.CAUSE, Kind.NOTICE) else kind
    yield kind, sentence
    if kind >= Kind.NOTICE:
        yield from ((Kind.SIGNAL, line) for line in own[1:] if _kind(line) == Kind.SIGNAL)


def _lines(lines: list[str]) -> Iterator[tuple[Kind, str]]:
    """Yield the lines outside of messages; one that is indented is a detail of the line before."""
    before = Kind.WORDS
    for line in lines:
        kind = _kind(line)
        if line[:1].isspace() and kind in (Kind.WORDS, Kind.CAUSE):
            kind = before if before >= Kind.NOTICE else Kind.DETAIL if kind == Kind.WORDS else Kind.WORDS
        else:
            before = kind
        yield kind, line


def _kind(line: str) -> Kind:
    text = TAGS.sub("", line, count=1)
    for kind, pattern in KINDS:
        if pattern.search(text):
            return kind
    if level := LEVEL.search(text):
        return Kind.NOTICE if level["notice"] else Kind.CAUSE
    return Kind.CAUSE if FAILURE.search(text) else Kind.WORDS
