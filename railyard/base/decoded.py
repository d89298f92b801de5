"""Make dataclasses and Structs of JSON by the types of their fields: enumerations, tuples, classes within, None.

Models: documents that a schema or their writer values valid; msgspec converts them. Leaves out fields whose values are
not of one JSON value: the caller gives these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar, get_type_hints

import msgspec

from railyard.base.errors import InputError

Made = TypeVar("Made")


def decoded(
    kind: Callable[..., Made],
    document: Mapping[str, Any],
    source: str,
    place: str = "",
    *,
    hook: Callable[[type, Any], Any] | None = None,
    **given: Any,
) -> Made:
    """Return an object of a class from a JSON object; `given` are fields that the caller has decoded itself.

    `hook` makes a value of a type that JSON lacks, as of `msgspec.convert`. What the document has and the class does
    not is in the class's field `others`, if there is one, as JSON. Raises InputError, which names `source`, and the
    field after `place`, for a value of another type.
    """
    names, converted = _fields(kind, (*given, *(() if "others" in document else ("others",))))
    if "others" in names and not document.keys() <= names:
        given["others"] = {name: document[name] for name in document.keys() - names}
    try:
        values = msgspec.convert(document, converted, dec_hook=hook)
    except msgspec.ValidationError as error:
        problem, _, field = str(error).replace("`", "").partition(" - at $.")
        field = ".".join(filter(None, [place, field]))
        raise InputError(source, field, problem=problem, valid=f"a value of {kind.__name__}") from error
    return kind(**{**values, **given})


@functools.cache
def _fields(kind: Any, given: tuple[str, ...]) -> tuple[frozenset[str], Any]:
    """Return the fields of a class, and the type of a JSON object that has those which the caller does not give."""
    hints = get_type_hints(kind)
    rest = {name: hint for name, hint in hints.items() if name not in given}
    return frozenset(hints), TypedDict(kind.__name__, rest, total=False)  # type: ignore[operator]  # of known fields
