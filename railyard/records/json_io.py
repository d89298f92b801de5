"""Read and write JSON: strict when reading, canonical when writing.

Models: reading refuses what Python's reader accepts (NaN, a key given twice, half a surrogate pair, numbers that
overflow) and reports each fault in one line with its position; `validate` does the same for a JSON Schema. Writing
gives two forms: `canonical` for hashes, and `text` for files of which git shows differences line by line.
Leaves out: comments, streams.
"""

from __future__ import annotations

import functools
import gzip
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]  # in no stub
from pathlib import Path
from typing import Any, NoReturn

import orjson

from railyard.base import schemas
from railyard.base.checkout import RESULTS
from railyard.base.errors import InputError

#: Nested Mapping, list, str, int, float, bool or None; Python has no narrower static type that is practical.
Json = Any

SCHEMAS = RESULTS / "schema"
WIDTH = 110
#: The most levels of nesting. No document of railyard is nested deeper.
MOST_DEPTH = 16
#: The most bytes of a file, and of its content if it is compressed.
MOST_BYTES, MOST_UNPACKED_BYTES = 64 << 20, 256 << 20
_GZIP = b"\x1f\x8b"
#: Bytes between tokens.
_BLANKS = b" \t\r\n"
#: The beginning of a line of the deepest level, as orjson indents it by two blanks per level.
_TOO_DEEP = b"\n" + 2 * MOST_DEPTH * b" "
#: Options that make orjson refuse what the standard library refuses: other types than those of JSON.
_SORTED = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
#: An exponent of a number, or such characters in a string, and the number before it.
_EXPONENT, _NUMBER = re.compile(rb"e(?<=[0-9]e)[-+0-9]"), re.compile(rb"[\[,:]-?[0-9.]+\Z")
#: How a number below 0.0001 begins, the bytes of which one is before it, and any number with such digits.
_SMALL, _BEFORE_SMALL = b"0.0000", b":,[-"
_OTHER_DIGITS = re.compile(rb"[\[,:](-?(?:0\.0000[0-9]*|[0-9.]+e[-+]?[0-9]+))(?![^,\]}])")
#: The most digits of a number before its exponent.
_MOST_DIGITS = 32
_ONE_LINE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
#: As `json.dumps(value, sort_keys=True, allow_nan=False)`, which makes a new encoder for each value.
_ONE_SHOT = c_make_encoder(None, _ONE_LINE.default, encode_basestring_ascii, None, ": ", ", ", True, False, False)
_IN_ORDER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_CONTAINERS = (dict, list)
#: How the standard library writes a value of each type, without the way there.
_SCALARS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring_ascii,
    int: int.__repr__,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): lambda _: "null",
    float: lambda value: float.__repr__(value) if math.isfinite(value) else _line(value),
}
_PLAIN = frozenset(_SCALARS)


def read(path: Path) -> Json:
    """Return the document in a file; raises InputError with the file and the position of the first fault."""
    return loads_bytes(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; raises InputError for one that cannot be read, or has more than `MOST_BYTES`."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise InputError(str(path), "", problem=problem, valid="a readable file") from error
    if len(raw) > MOST_BYTES:
        raise InputError(str(path), "", problem="a larger file", valid=f"at most {MOST_BYTES:,} bytes")
    return raw


def packed(content: bytes) -> bytes:
    """Return the content compressed by gzip, without time and name, so that equal content gives equal bytes."""
    return gzip.compress(content, compresslevel=4, mtime=0)  # 6 takes five times as long for 6 % less


def is_packed(raw: bytes) -> bool:
    """Return whether the bytes of a file begin as gzip's do."""
    return raw.startswith(_GZIP)


def unpacked(raw: bytes, source: str) -> bytes:
    """Return the content of a file, decompressed if need be; raises InputError if it is truncated or too large."""
    if not is_packed(raw):
        return raw
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = unpacker.decompress(raw, MOST_UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise InputError(source, "", problem=f"no gzip file ({error})", valid="JSON, or JSON by gzip") from error
    if len(content) > MOST_UNPACKED_BYTES:
        raise InputError(source, "", problem="more bytes when unpacked", valid=f"at most {MOST_UNPACKED_BYTES:,}")
    if not unpacker.eof or unpacker.unused_data:
        raise InputError(source, "", problem="cut off, or followed by more", valid="one whole gzip file")
    return content


def loads_bytes(raw: bytes, source: str) -> Json:
    """Return the document in a file's bytes; raises InputError with the position of the first fault."""
    raw = unpacked(raw, source)
    document = _loads_quickly(raw)
    if document is not None:
        return document
    try:
        return loads(raw.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        bad_bytes = raw[error.start : error.start + 4].hex(" ")
        raise InputError(source, f"byte {error.start}", bad_bytes, "UTF-8 text") from error


def _loads_quickly(raw: bytes) -> Json:
    """Return the document in a file's bytes, ten times as fast as `loads`; None if `loads` has to decide.

    orjson reads a key that is given twice, rounds long integers, and accepts any depth. The document, written again,
    then differs from the file by more than blanks, or is indented too far. A string has no line of its own in JSON.
    """
    try:
        document = orjson.loads(raw)
        written = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except (ValueError, TypeError):  # no JSON, or far too deep to be written
        return None
    if _TOO_DEEP in written:
        return None
    tokens = raw.translate(None, _BLANKS)
    if written.translate(None, _BLANKS) == tokens:
        return document
    # a small number, an exponent or an escape, which only the standard library writes as railyard does
    return document if _IN_ORDER.encode(document).encode("ascii").translate(None, _BLANKS) == tokens else None


def loads(text: str, source: str) -> Json:
    """Return the document in a text; raises InputError with line and column of the first fault."""

    def refuse(constant: str) -> NoReturn:
        raise InputError(source, "", constant, "a finite number")

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
        rest = text[error.pos : error.pos + 20] or "the end of the file"
        where = f"line {error.lineno} column {error.colno}"
        raise InputError(source, where, rest, f"a complete JSON document ({error.msg})") from error
    except UnicodeEncodeError as error:
        raise InputError(source, "", problem="half a surrogate pair", valid="Unicode text") from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        problem = "a document too deep or a number too long"
        raise InputError(source, "", problem=problem, valid="a JSON document") from error
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
    """Return one line of ASCII with sorted keys and no blanks, so that equal documents give equal text.

    Raises ValueError for NaN and infinity.
    """
    return _ONE_LINE.encode(document)


def canonical_bytes(document: Json) -> bytes:
    """Return `canonical` as bytes, ten times as fast unless the document has other text or numbers than usual.

    A number that is not finite becomes null here; a document of `loads` has none.
    """
    try:
        encoded = orjson.dumps(document, option=_SORTED)
    except TypeError:  # an integer of more than 64 bits, or a subclass of str or int
        return canonical(document).encode("ascii")
    if not encoded.isascii() or b"\x7f" in encoded or b"\\" in encoded or encoded[:1] not in b"{[":
        return canonical(document).encode("ascii")
    return _with_usual_digits(encoded) if _has_other_digits(encoded) else encoded


def _has_other_digits(written: bytes) -> bool:
    """Return whether a JSON text may have a number that orjson and the standard library write with other digits.

    That is a number with an exponent, or one below 0.0001.
    """
    ends = (exponent.start() for exponent in _EXPONENT.finditer(written))
    is_small = any(before[-1:] in _BEFORE_SMALL for before in written.split(_SMALL)[:-1])
    return is_small or any(_NUMBER.search(written, max(0, end - _MOST_DIGITS), end) for end in ends)


def _with_usual_digits(written: bytes) -> bytes:
    """Return a JSON text of orjson, without a backslash, with such numbers as the standard library writes them."""
    parts, end, quotes = list[bytes](), 0, 0
    for number in _OTHER_DIGITS.finditer(written):
        begin = number.start(1)
        quotes += written.count(b'"', end, begin)
        is_text = quotes % 2 == 1
        parts += (written[end:begin], number[1] if is_text else repr(float(number[1])).encode())
        end = number.end()
    return b"".join((*parts, written[end:]))


def text(document: Json) -> str:
    """Return the form for files: sorted keys, indented by one blank per level, with a final newline.

    An array of scalars is on one line, as is a flat object that fits into `WIDTH` columns.
    """
    return _text(document, "\n") + "\n"


def _text(value: Json, newline: str) -> str:
    """Return the text of a value; `newline` begins a line at its level."""
    is_object = isinstance(value, dict)
    if not value or not (is_object or isinstance(value, list)):
        return _line(value)
    if not is_object and (line := _numbers(value) or ("" if _has_containers(value) else _line(value))):
        return line
    deeper = newline + " "
    named = _keys(tuple(value)) if is_object else [(index, "") for index in range(len(value))]
    parts = [
        f"{key}{scalar(item) if (scalar := _SCALARS.get(type(item := value[name]))) else _text(item, deeper)}"
        for name, key in named
    ]
    begin, end = "{}" if is_object else "[]"
    width = len(newline) - 1 + sum(map(len, parts)) + 2 * len(parts)
    if width <= WIDTH and not any(map(_is_deep, value.values() if is_object else value)):
        return f"{begin}{', '.join(parts)}{end}"
    return f"{begin}{deeper}{f',{deeper}'.join(parts)}{newline}{end}"


@functools.lru_cache(maxsize=4096)
def _keys(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the keys of an object in order, each with its text."""
    return [(name, f"{encode_basestring_ascii(str(name))}: ") for name in sorted(names)]


def _line(value: Json) -> str:
    """Return a value on one line, with a blank after each comma and colon."""
    return "".join(_ONE_SHOT(value, 0))


def _numbers(values: list[Json]) -> str:
    """Return an array of numbers on one line, by orjson; empty for other arrays, and where digits may be unusual."""
    if not values or type(values[0]) not in (float, int):
        return ""
    try:
        encoded = orjson.dumps(values)
    except TypeError:  # an integer of more than 64 bits, or a subclass of str or int
        return ""
    is_certain = encoded.translate(None, b"0123456789.,-") == b"[]" and b"0.0000" not in encoded
    return encoded.decode().replace(",", ", ") if is_certain else ""


def _has_containers(value: Json) -> bool:
    """Return whether an array has an object or another array in it."""
    return not _PLAIN.issuperset(map(type, value)) and any(isinstance(part, _CONTAINERS) for part in value)


def _is_deep(value: Json) -> bool:
    """Return whether a value is an object, or an array with an object or another array in it."""
    return isinstance(value, dict) or (isinstance(value, list) and _has_containers(value))


@functools.cache
def validator(schema_name: str) -> schemas.Validator:
    """Return the validator of a schema file in `results/schema`."""
    return schemas.validator(SCHEMAS / schema_name)


def validate(document: Json, schema_name: str, source: str) -> None:
    """Raise InputError if a document violates a schema; it names the field, the value and what is valid there."""
    schemas.validate(document, validator(schema_name), source)
