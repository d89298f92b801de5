"""Make dataclasses of JSON by the types of their fields: enumerations, tuples and classes within, None where allowed.

Models: documents that a schema or their writer values valid. Leaves out checks, and fields whose values are not of one
JSON value: the caller gives these.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Made = TypeVar("Made")
Decoder = Callable[[Any], Any]


def decoded(kind: Callable[..., Made], document: Mapping[str, Any], **given: Any) -> Made:
    """Return an object of a dataclass from a JSON object; `given` are fields that the caller has decoded itself.

    What the document has and the class does not is in the class's field `others`, if there is one, as JSON.
    """
    values, names = {**document, **given}, _names(kind)
    for name, decode in _decoders(kind):
        if name in document and name not in given:
            values[name] = decode(document[name])
    if "others" in names and not values.keys() <= names:
        values["others"] = {name: values.pop(name) for name in values.keys() - names}
    return kind(**values)


@functools.cache
def _names(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(kind))


@functools.cache
def _decoders(kind: Any) -> list[tuple[str, Decoder]]:
    """Return field and decoder of a dataclass, without the fields whose JSON is their value."""
    hints = get_type_hints(kind)
    return [(name, decode) for name in _names(kind) if (decode := _decoder(hints[name])) is not None]


def _decoder(hint: Any) -> Decoder | None:
    """Return what makes a value of a type from JSON; None where the JSON is the value."""
    origin, parts = get_origin(hint), [part for part in get_args(hint) if part is not types.NoneType]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {member.value: member for member in hint}.__getitem__
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return functools.partial(decoded, hint)
    within = _decoder(parts[-1] if origin is Mapping else parts[0]) if parts else None
    if origin is tuple:
        return tuple if within is None else lambda values: tuple(map(within, values))
    if within is None:
        return None
    if origin is types.UnionType:
        return lambda value: None if value is None else within(value)
    if origin is Mapping:
        return lambda values: {name: within(value) for name, value in values.items()}
    return lambda values: list(map(within, values))
