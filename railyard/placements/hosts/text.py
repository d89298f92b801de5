"""Read the texts that other tools and people write, whatever editor or spreadsheet saved them."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from railyard.base.errors import InputError

#: The marks that show how a text is encoded, the longest first.
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
#: The largest text: the dump of a fabric with 10,000 nodes is a tenth of it.
MOST_BYTES = 1 << 27


def readable(path: Path) -> str:
    """Return the text of a file without its byte order mark, with its lines ended as in Unix.

    What is not UTF-8 is read as Latin-1, because only comments differ. Raises InputError for a file that cannot be
    read or is not text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        encoding = next((name for mark, name in MARKS if content.startswith(mark)), "utf-8")
        text = content.decode(encoding)
    except OSError as error:
        raise InputError(str(path), "", problem=f"cannot be read ({error.strerror})", valid="a text file") from error
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if "\0" in text:
        raise InputError(str(path), "", problem="it is no text", valid="a text file")
    if len(content) > MOST_BYTES:
        raise InputError(str(path), "", problem="it is too long", valid=f"at most {MOST_BYTES:,} bytes")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def content_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield line numbers from 1 and lines, without comments (#), outer blanks and empty lines."""
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.partition("#")[0].strip()
        if content:
            yield number, content
