"""Check a document against a JSON Schema, and report the fault in one line: field, value, what is valid.

Used for topologies and records. Reports only one fault, the most specific one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    import jsonschema_rs as quick_schemas
except ImportError:  # Spack has no package of it; the other decides the same, slowly
    import jsonschema as quick_schemas  # type: ignore[no-redef]

from railyard.base.errors import InputError

_SHOWN_CHARACTERS = 60
#: Rule of a schema -> what is valid by it, with the rule's value in place of {}.
_WANTED = {
    "const": "{}",
    "type": "{}",
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "uniqueItems": "each item once",
    "propertyNames": "names of small letters, digits and _",
}


@dataclass(frozen=True, slots=True)
class Validator:
    """One schema; `quick` only decides, a hundred times as fast as the validator that also finds the fault."""

    quick: quick_schemas.Draft202012Validator
    content: Mapping[str, Any]
    _parts: dict[int, Validator] = field(default_factory=dict)

    def of_part(self, schema: Mapping[str, Any]) -> Validator:
        """Return the validator of a schema that this one holds."""
        if id(schema) not in self._parts:
            whole = {"$defs": self.content.get("$defs", {}), **schema}
            quick = quick_schemas.Draft202012Validator(whole)
            self._parts[id(schema)] = Validator(quick=quick, content=schema)
        return self._parts[id(schema)]


def validator(schema: Path) -> Validator:
    """Return the validator of a schema file."""
    return compiled(json.loads(schema.read_text(encoding="utf-8")))


def compiled(content: dict[str, Any]) -> Validator:
    """Return the validator of a schema."""
    return Validator(quick=quick_schemas.Draft202012Validator(content), content=content)


def validate(document: Any, against: Validator, source: str) -> None:
    """Raise InputError if a document violates the schema, with the most specific fault; `source` names the file."""
    if _surely_valid(document, against):
        return
    fault = best_fault(document, against)
    if fault is not None:
        path, rule = list(fault.absolute_path), str(fault.validator)
        raise _explained(source, path, rule, fault.validator_value, schema=fault.schema, value_of_part=fault.instance)


def _surely_valid(document: Any, against: Validator) -> bool:
    try:
        return against.quick.is_valid(document)
    except (TypeError, ValueError):  # a type or a number that only the slower validator supports
        return False


def best_fault(document: Any, against: Validator) -> Any:
    """Return the most specific violation of the schema, or None for a valid document."""
    import jsonschema  # imported here: takes 0.1 s, and only an invalid document needs it

    def properties(validator: Any, wanted: Any, part: Any, _schema: Any) -> Iterator[Any]:
        for name, schema in wanted.items() if isinstance(part, dict) else ():
            if name in part and not _surely_valid(part[name], against.of_part(schema)):
                yield from validator.descend(part[name], schema, path=name, schema_path=name)

    def items(validator: Any, schema: Any, part: Any, _schema: Any) -> Iterator[Any]:
        for index, item in enumerate(part) if isinstance(part, list) else ():
            if not _surely_valid(item, against.of_part(schema)):
                yield from validator.descend(item, schema, path=index)

    of_parts = {"properties": properties, "items": items}
    explaining: Any = jsonschema.validators
    explains = explaining.extend(jsonschema.Draft202012Validator, of_parts)
    return jsonschema.exceptions.best_match(explains(against.content).iter_errors(document))


def shown(value: Any) -> Any:
    """Return a value for an error message: a scalar, cut if it is long, or the size of a container."""
    if isinstance(value, str) and len(value) > _SHOWN_CHARACTERS:
        return value[:_SHOWN_CHARACTERS] + "..."
    if isinstance(value, Mapping):
        return f"an object of {len(value)} keys"
    if isinstance(value, list):
        return f"an array of {len(value)} items"
    return value


def field_path(path: Iterable[str | int]) -> str:
    """Return a path as text, such as `launches[3].series[0].fom`; a key that is not a plain name is quoted."""
    is_plain = re.compile(r"[\w-]{1,60}").fullmatch
    parts = (f".{part}" if isinstance(part, str) and is_plain(part) else f"[{shown(part)!r}]" for part in path)
    return "".join(parts).removeprefix(".")


def _explained(
    source: str, path: list[str | int], rule: str, wanted: Any, *, schema: Any, value_of_part: Any
) -> InputError:
    """Return the error for a part of a document that breaks a rule of its schema."""
    if rule == "required":
        missing = next(name for name in wanted if name not in value_of_part)
        valid = "a value, because the field is required"
        return InputError(source, field_path([*path, missing]), problem="missing", valid=valid)
    if rule == "additionalProperties":
        allowed = schema.get("properties", {})
        extra = next(name for name in value_of_part if name not in allowed)
        valid = f"one of {', '.join(sorted(allowed)) or 'no field'}"
        return InputError(source, field_path([*path, extra]), problem="an unknown field", valid=valid)
    valid = _wanted_text(rule, wanted, schema)
    if isinstance(value_of_part, Mapping | list):
        return InputError(source, field_path(path), problem=shown(value_of_part), valid=valid)
    return InputError(source, field_path(path), shown(value_of_part), valid)


def _wanted_text(rule: str, wanted: Any, schema: Mapping[str, Any]) -> str:
    if "description" in schema and rule in {"pattern", "type", "minLength", "not"}:
        return str(schema["description"])
    if rule == "enum":
        return f"one of {', '.join(map(str, wanted))}"
    if rule == "type" and isinstance(wanted, list):
        return " or ".join(wanted)
    return _WANTED.get(rule, f"{rule} {{}}").format(wanted)
