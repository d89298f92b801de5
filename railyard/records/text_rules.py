"""Refuse text that does not show all its characters: control, bidirectional and invisible ones.

Models: every key and string of a JSON document. A terminal executes an escape sequence, and a name with a zero-width
character looks like another name, as does a name with letters of another script (`mixed_scripts`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

import orjson

from railyard.base import schemas
from railyard.base.errors import InputError
from railyard.records.json_io import Json

#: Unicode categories: control, format, surrogate, private use, unassigned, line and paragraph separators.
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Characters that are allowed in a launch's command, which may have several lines.
IN_COMMANDS = frozenset("\n\t")
#: A JSON escape, except that of a quotation mark or a backslash.
_ESCAPE = re.compile(rb"\\[^\"\\]")
VALID = "visible characters in normal form C; no control, bidirectional or invisible ones"


def check(document: Json, source: str, written: bytes = b"") -> None:
    """Raise InputError for the first key or string that contains an invisible character.

    `written` is the document as ASCII of JSON, if the caller has it.
    """
    try:
        written = written or orjson.dumps(document)
    except TypeError:  # half a surrogate pair, or a value that is not JSON
        written = b"\x7f"
    if b"\x7f" not in written and written.isascii() and not (b"\\" in written and _ESCAPE.search(written)):
        return  # a fast test: all is printable ASCII
    for path, text in strings(document):
        allowed = IN_COMMANDS if path and path[-1] == "command" else frozenset()
        if not is_visible(text, allowed):
            raise InputError(source, schemas.field_path(path), schemas.shown(text), VALID)


def is_visible(text: str, allowed: frozenset[str] = frozenset()) -> bool:
    """Return whether all characters of a text are visible or in `allowed`, and the text is in normal form C."""
    if text.isascii():
        return text.isprintable() or all(character.isprintable() or character in allowed for character in text)
    if unicodedata.normalize("NFC", text) != text:
        return False
    return all(character in allowed or unicodedata.category(character) not in INVISIBLE for character in text)


def strings(document: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield (path, string) for every string and key of a document; a key has the path of its value."""
    if isinstance(document, str):
        yield path, document
    elif isinstance(document, Mapping):
        for key, value in document.items():
            yield (*path, key), key
            yield from strings(value, (*path, key))
    elif isinstance(document, list | tuple):
        for index, item in enumerate(document):
            yield from strings(item, (*path, index))


#: Letters of other scripts that look like a Latin letter, lower case after folding, and that letter.
_LIKE_LATIN = str.maketrans("абвгеёзіїјкмнорсѕтуүхһԁԛѡαβγεηικνορτυχωո", "a6bree3iijkmhopcstyyxhdqwabyehikvoptuxwn")


def skeleton(name: str) -> str:
    """Return a text that is equal for names that look alike: case, blanks, marks and look-alike letters are folded."""
    folded = unicodedata.normalize("NFKD", name.casefold()).translate(_LIKE_LATIN)
    return "".join(letter for letter in folded if letter.isalnum())


def mixed_scripts(name: str) -> str:
    """Return the letters of a name that are of another script than the first of their word; empty if none are.

    A script is the first word of a letter's Unicode name, such as LATIN or CYRILLIC.
    """
    strange = []
    for word in name.split():
        scripts = [(letter, unicodedata.name(letter, "").split(" ")[0]) for letter in word if letter.isalpha()]
        counts = Counter(script for _, script in scripts)
        strange += [letter for letter, script in scripts if script != counts.most_common(1)[0][0]]
    return ", ".join(f"{letter} ({unicodedata.name(letter, '?')})" for letter in dict.fromkeys(strange))
