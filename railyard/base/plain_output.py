"""Print names that others chose so that none of them controls the reader: a terminal, or a CI service's log.

GitHub and Azure take a line that begins with `::`, and `##[` anywhere, as a command. A backslash before it makes it
text. Control characters are escaped. Leaves out: what programs print that a command starts.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from typing import TextIO

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|\r(?!\n)")


class PlainOutput(io.TextIOWrapper):
    """A text stream in which no line is a command."""

    is_blank = True

    def write(self, text: str) -> int:
        """Write a text; return its number of characters."""
        parts = CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text).split("\n")
        for index, part in enumerate(parts):
            if (index or self.is_blank) and part.lstrip().startswith("::"):
                parts[index] = part.replace("::", "\\::", 1)
        self.is_blank = (len(parts) > 1 or self.is_blank) and not parts[-1].strip()
        super().write("\n".join(parts).replace("##[", "#\\#["))
        return len(text)


@contextlib.contextmanager
def plain_output() -> Iterator[None]:
    """Make standard output and error of this process such streams within the block."""
    own = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_plain, own)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, PlainOutput):
                stream.detach()
        sys.stdout, sys.stderr = own


def _plain(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return PlainOutput(
        stream.buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
