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
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
#: Options that make orjson behave as the standard library: other types than those of JSON are errors, keys are sorted.
_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_SORTED = orjson.OPT_SORT_KEYS | _PLAIN
#: Whether this version of orjson writes `1e+16`, as the standard library does, and not `1e16`.
_SIGNED = orjson.dumps([1e16, 1e-7]) == b"[1e+16,1e-7]"
#: Characters that orjson writes in a small number and in an exponent; strings may contain them, too.
_SMALL = b"0.0000"
_EXPONENTS = (b"+", b"e-") if _SIGNED else (b"e",)
#: Characters of orjson's text of a list, any of which means that the standard library may write the list differently.
#: A null may have been NaN; an e occurs in exponents and in true and false.
_NOT_ORDINARY = (b"e", b"n", b'"', b"{", _SMALL)
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True, allow_nan=False)
_ONE_LINE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_CONTAINERS = (dict, list)
#: The keys of a series, the object that fills most lines of a record.
_SERIES = frozenset({"fom", "labels", "samples"})
_string = json.encoder.encode_basestring_ascii
#: The largest list whose text is cached, in bytes; many launches have the same ranks.
_MOST_KEPT = 1 << 16


def read(path: Path) -> Json:
    """Return the document in a file; raises InputError with the file and the position of the first fault."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            str(path), "", problem=(error.strerror or str(error)).lower(), valid="a readable file"
        ) from error
    if len(raw) > MOST_BYTES:
        raise InputError(str(path), "", problem="a larger file", valid=f"at most {MOST_BYTES:,} bytes")
    return loads_bytes(raw, str(path))


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
        raise InputError(
            source, "", problem=f"no gzip file ({error})", valid="JSON, or JSON by gzip"
        ) from error
    if len(content) > MOST_UNPACKED_BYTES:
        raise InputError(
            source, "", problem="more bytes when unpacked", valid=f"at most {MOST_UNPACKED_BYTES:,}"
        )
    if not unpacker.eof or unpacker.unused_data:
        raise InputError(source, "", problem="cut off, or followed by more", valid="one whole gzip file")
    return content


def loads_bytes(raw: bytes, source: str) -> Json:
    """Return the document in a file's bytes; raises InputError with the position of the first fault."""
    raw = unpacked(raw, source)
    document = _written_by_us(raw)
    if document is not None:
        return document
    try:
        return loads(raw.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        bad_bytes = raw[error.start : error.start + 4].hex(" ")
        raise InputError(source, f"byte {error.start}", bad_bytes, "UTF-8 text") from error


def _written_by_us(raw: bytes) -> dict[str, Json] | None:
    """Return the document in bytes that `text` wrote, faster than `loads`; None for any other bytes.

    orjson accepts a key given twice and rounds long integers. Writing the document again and comparing
    shows both.
    """
    if b"\n" + b" " * (MOST_DEPTH - 3) in raw:
        return None  # may be too deep, because one line has up to three further levels
    try:
        document = orjson.loads(raw)
        is_sorted = isinstance(document, dict) and list(document) == sorted(document)
        is_same = is_sorted and text(document).encode("ascii") == raw
    except (ValueError, TypeError, RecursionError):
        return None
    return document if is_same else None


def loads_as_written(raw: bytes, source: str) -> tuple[Json, bool]:
    """Return the document in a file's bytes, and whether `text` writes exactly these bytes; raises InputError."""
    raw = unpacked(raw, source)
    document = _written_by_us(raw)
    if document is not None:
        return document, True
    document = loads_bytes(raw, source)
    return document, text(document).encode("ascii") == raw


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
    """Return one line of ASCII with sorted keys and no blanks, so that equal documents give equal text.

    Raises ValueError for NaN and infinity.
    """
    return _ONE_LINE.encode(document)


def canonical_bytes(document: Json) -> bytes:
    """Return `canonical` of a document that `loads` returned, as bytes.

    Ten times as fast as `canonical` if the text is ASCII and has no number that orjson writes differently.
    """
    encoded = orjson.dumps(document, option=_SORTED)
    is_certain = (
        isinstance(document, dict)
        and encoded.isascii()
        and b"\x7f" not in encoded
        and not _has_other_digits(encoded)
    )
    return encoded if is_certain else canonical(document).encode("ascii")


def _has_other_digits(written: bytes) -> bool:
    """Return whether a JSON text has a small number or an exponent, which the standard library may write otherwise."""
    return any(
        _is_in_a_number(written, at) for mark in (_SMALL, *_EXPONENTS) for at in _places(written, mark)
    )


def _places(written: bytes, mark: bytes) -> Iterator[int]:
    at = written.find(mark)
    while at >= 0:
        yield at
        at = written.find(mark, at + 1)


def _is_in_a_number(written: bytes, at: int) -> bool:
    """Return whether the mark at this position is part of a number: only digits separate it from a bracket or comma."""
    before = written[max(0, at - 32) : at]
    if written.startswith(_SMALL, at):
        return before[-1:] in b"[,:-"
    before = before.rstrip(b"0123456789.-e")
    return not before or before[-1:] in b"[,:"


def text(document: Json) -> str:
    """Return the form for files: sorted keys, indented by one blank per level, with a final newline.

    An array of scalars is on one line, as is a flat object that fits into `WIDTH` columns.
    """
    parts: list[str] = []
    _write(parts, document, "")
    parts.append("\n")
    return "".join(parts)


def _write(parts: list[str], value: Json, indent: str) -> None:
    """Append the text of a value to `parts`, without a final newline."""
    if not value or not isinstance(value, _CONTAINERS):
        parts.append(_compact(value))
    elif isinstance(value, list) and isinstance(value[0], dict):
        is_flat = not any(isinstance(item, dict) for item in value[0].values())
        parts.append((_block if is_flat else _written)(value, indent))
    elif (line := _line(value, indent)) is not None:
        parts.append(line)
    elif isinstance(value, dict):
        deeper = indent + " "
        for key, beginning in _beginnings(tuple(value), deeper):
            item = value[key]
            if (scalar := _SCALARS.get(type(item))) is not None:
                parts.append(beginning + scalar(item))
            elif not item:
                parts.append(beginning + (_EMPTY.get(type(item)) or _compact(item)))
            else:
                parts.append(beginning)
                _write(parts, item, deeper)
        parts.append(f"\n{indent}}}")
    else:
        parts.append(_written(value, indent))


@functools.lru_cache(maxsize=1024)
def _beginnings(keys: tuple[str, ...], indent: str) -> list[tuple[str, str]]:
    """Return the sorted keys of an object, each with the text that precedes its value."""
    lines = [(key, f"\n{indent}{_string(key)}: ") for key in sorted(keys)]
    return [(key, f"{',' if number else '{'}{line}") for number, (key, line) in enumerate(lines)]


def _float(value: float) -> str:
    return repr(value) if math.isfinite(value) else _ENCODER.encode(value)


_EMPTY: Mapping[type, str] = {list: "[]", dict: "{}"}
#: Type of a scalar -> function that writes it as the encoder does.
_SCALARS: Mapping[type, Callable[[Any], str]] = {
    str: _string,
    int: repr,
    float: _float,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
}


def _block(items: list[Json], indent: str) -> str:
    """Return the text of a list of flat objects; it is cached, because launches often have equal lists of ranks."""
    try:
        key = orjson.dumps(items, option=_PLAIN)
    except TypeError:  # an integer of more than 64 bits, or no plain JSON
        key = b""
    if not key or len(key) > _MOST_KEPT or b"null" in key:  # orjson writes NaN as null
        return _written(items, indent)
    return _kept(key, indent)


@functools.lru_cache(maxsize=256)
def _kept(items: bytes, indent: str) -> str:
    return _written(orjson.loads(items), indent)


def _written(items: list[Json], indent: str) -> str:
    deeper = indent + " "
    parts: list[str] = []
    mark = "["
    for item in items:
        parts.append(f"{mark}\n{deeper}")
        if (series := _series(item, deeper)) is not None:
            parts.append(series)
        else:
            _write(parts, item, deeper)
        mark = ","
    parts.append(f"\n{indent}]")
    return "".join(parts)


def _series(item: Json, indent: str) -> str | None:
    """Return the text of a series without labels, twice as fast as `_write`; None for any other value."""
    if type(item) is not dict or item.keys() != _SERIES or item["labels"] != {}:
        return None
    fom, samples = item["fom"], item["samples"]
    numbers = _numbers(samples) if type(fom) is str and type(samples) is list else None
    if numbers is None:
        return None
    inner = f"\n{indent} "
    return f'{{{inner}"fom": {_string(fom)},{inner}"labels": {{}},{inner}"samples": {numbers}\n{indent}}}'


def _line(value: dict[str, Json] | list[Json], indent: str) -> str | None:
    """Return a list of scalars, or a flat object that fits into `WIDTH`, in one line; None for any other value."""
    if isinstance(value, list):
        if (line := _numbers(value)) is not None:
            return line
        if not any(isinstance(item, _CONTAINERS) for item in value):
            return _compact(value)
        inner: list[Json] = value
    else:
        inner = list(value.values())
        if dict in map(type, inner):
            return None
    for item in inner:
        if isinstance(item, dict) or (
            isinstance(item, list) and any(isinstance(part, _CONTAINERS) for part in item)
        ):
            return None
    line = _compact(value)
    return line if len(indent) + len(line) <= WIDTH else None


def _compact(value: Json) -> str:
    """Return a value in one line; the standard encoder is used only for values that faster ways do not cover."""
    if (scalar := _SCALARS.get(type(value))) is not None:
        return scalar(value)
    if isinstance(value, list) and (line := _numbers(value)) is not None:
        return line
    if type(value) is dict and (line := _flat(value)) is not None:
        return line
    return "[]" if value == [] else _ENCODER.encode(value)


def _flat(value: dict[str, Json]) -> str | None:
    """Return an object of scalars in one line, faster than the encoder and equal to it; None for any other object."""
    parts, beginnings = [], _in_line(tuple(value))
    if beginnings is None:
        return None
    for key, beginning in beginnings:
        if (scalar := _SCALARS.get(type(value[key]))) is None:
            return None
        parts.append(beginning + scalar(value[key]))
    return f"{{{''.join(parts)}}}"


@functools.lru_cache(maxsize=1024)
def _in_line(keys: tuple[str, ...]) -> list[tuple[str, str]] | None:
    """Return the sorted keys, each with the text that precedes its value in one line; None if a key is no string."""
    if not all(type(key) is str for key in keys):
        return None
    return [(key, f"{', ' if number else ''}{_string(key)}: ") for number, key in enumerate(sorted(keys))]


def _numbers(items: list[Json]) -> str | None:
    """Return a list of numbers, ten times as fast as the encoder; None if the encoder may write it differently."""
    if not items:
        return None
    try:
        encoded = orjson.dumps(items, option=_PLAIN)
    except TypeError:  # an integer of more than 64 bits, or no plain JSON
        return None
    if any(mark in encoded for mark in _NOT_ORDINARY) or b"[" in encoded[1:]:
        return None
    return encoded.decode().replace(",", ", ")


@functools.cache
def validator(schema_name: str) -> schemas.Validator:
    """Return the validator of a schema file in `results/schema`."""
    return schemas.validator(SCHEMAS / schema_name)


def validate(document: Json, schema_name: str, source: str) -> None:
    """Raise InputError if a document violates a schema; it names the field, the value and what is valid there."""
    schemas.validate(document, validator(schema_name), source)
