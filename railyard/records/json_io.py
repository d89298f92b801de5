"""JSON as railyard reads and writes it: strict in, canonical out.

Models: reading refuses what Python's reader lets through (NaN, a key given twice, half a surrogate pair,
numbers that overflow) and says each fault in one line with its place; `validate` does the same for a JSON
Schema. Writing gives two forms: `canonical` for hashes and `text` for files that git shows line by line.
Leaves out: comments, streams.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from railyard import schemas
from railyard.checkout import RESULTS
from railyard.errors import InputError

#: JSON has no better static type: Mapping, list, str, int, float, bool or None, nested.
Json = Any

SCHEMAS = RESULTS / "schema"
WIDTH = 110
#: A document is a tree; what is nested deeper is no document of railyard's.
MOST_DEPTH = 16
MOST_BYTES = 64 << 20


def read(path: Path) -> Json:
    """The document in a file; raises InputError naming the file and the place of the first fault."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error), "a readable file") from error
    if len(raw) > MOST_BYTES:
        raise InputError(str(path), "", problem="a larger file", valid=f"at most {MOST_BYTES:,} bytes")
    try:
        return loads(raw.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        found = raw[error.start : error.start + 4].hex(" ")
        raise InputError(str(path), f"byte {error.start}", found, "UTF-8 text") from error


def loads(text: str, source: str) -> Json:
    """The document in a text; raises InputError with line and column of the first fault."""

    def refuse(found: str) -> NoReturn:
        raise InputError(source, "", found, "a finite number")

    def number(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else refuse(digits)

    def integer(digits: str) -> int:
        value = int(digits)
        if not -(1 << 63) <= value < 1 << 64:
            raise InputError(source, "", schemas.shown(digits), "an integer of 64 bits")
        return value

    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        document = dict(pairs)
        if len(document) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice = next(name for name, count in counts.items() if count > 1)
            raise InputError(source, "", schemas.shown(twice), "each key once in an object")
        return document

    try:
        document = json.loads(
            text, parse_constant=refuse, parse_float=number, parse_int=integer, object_pairs_hook=unique
        )
        _check_depth(document, source)
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        found = text[error.pos : error.pos + 20] or "the end of the file"
        where = f"line {error.lineno} column {error.colno}"
        raise InputError(source, where, found, f"a complete JSON document ({error.msg})") from error
    except UnicodeEncodeError as error:
        raise InputError(source, "", problem="half a surrogate pair", valid="Unicode text") from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            source, "", problem="a document too deep or a number too long", valid="a JSON document"
        ) from error
    return document


def _check_depth(document: Json, source: str) -> None:
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise InputError(source, "", problem="a document too deep", valid=f"at most {MOST_DEPTH} levels")


def canonical(document: Json) -> str:
    """One line of ASCII, keys sorted, no blanks: equal documents give equal text. NaN is a ValueError."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def text(document: Json) -> str:
    """The form for files: keys sorted, indented by one; arrays of scalars, and flat objects that fit, stay on
    a line.
    """
    return "".join(_lines(document, "")) + "\n"


def _lines(value: Json, indent: str) -> Iterable[str]:
    if _on_one_line(value, indent):
        yield _compact(value)
    elif isinstance(value, Mapping):
        yield from _block("{", "}", [(f"{_compact(key)}: ", value[key]) for key in sorted(value)], indent)
    else:
        yield from _block("[", "]", [("", item) for item in value], indent)


def _block(opening: str, closing: str, items: list[tuple[str, Json]], indent: str) -> Iterable[str]:
    deeper = indent + " "
    yield opening
    for number, (prefix, item) in enumerate(items):
        yield f"{',' if number else ''}\n{deeper}{prefix}"
        yield from _lines(item, deeper)
    yield f"\n{indent}{closing}"


def _on_one_line(value: Json, indent: str) -> bool:
    if not isinstance(value, Mapping | list) or not value:
        return True
    if isinstance(value, list) and not any(isinstance(item, Mapping | list) for item in value):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    flat = not any(isinstance(item, Mapping) or _nested(item) for item in inner)
    return flat and len(indent) + len(_compact(value)) <= WIDTH


def _nested(item: Json) -> bool:
    return isinstance(item, list) and any(isinstance(each, Mapping | list) for each in item)


def _compact(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False)


@functools.cache
def validator(schema_name: str) -> schemas.Validator:
    """The validator of a schema file in `results/schema`."""
    return schemas.validator(SCHEMAS / schema_name)


def validate(document: Json, schema_name: str, source: str) -> None:
    """Raises InputError for the fault that explains a refusal best: field, value, what is valid."""
    schemas.validate(document, validator(schema_name), source)
