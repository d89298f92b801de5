"""Describe every field of railyard's JSON and YAML documents, and the rules of the strict check, from their sources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from railyard.base.checkout import CHECKOUT, TOPOLOGIES
from railyard.records import rules
from railyard.reference.markdown import code, escaped, table

Schema = Mapping[str, Any]
HEAD = """# Formats, field by field

[Formats](../formats.md) explains them. `[]` is any item of a list, `*` any name.
"""
FORMATS = CHECKOUT / "docs" / "formats.md"


def files() -> list[Path]:
    """Return the schemas: those of records and tenders, and that of topologies."""
    return [*sorted((CHECKOUT / "results" / "schema").glob("*.json")), TOPOLOGIES / "schema.json"]


def page() -> str:
    """Return one table of fields per schema, and the table of rules. `[]` is any item of a list, `*` any name."""
    parts = [HEAD]
    for path in files():
        schema = json.loads(path.read_text())
        rows = [
            (code(name), escaped(_type(field, schema)), escaped(_text(field, schema)))
            for name, field in dict(fields(schema)).items()
        ]
        parts.append(f"## {schema.get('title', path.stem)}\n\n" + table(["field", "type", "meaning"], rows))
    parts.append(f"## Rules of the strict check\n\n{rules.table()}")
    return "\n".join(parts)


def undocumented() -> list[str]:
    """Return the fields without a description in their schema whose name is not on the page docs/formats.md either."""
    names = []
    pages = FORMATS.read_text() + (CHECKOUT / "docs" / "tender.md").read_text()
    for path in files():
        schema = json.loads(path.read_text())
        for name, field in dict(fields(schema)).items():
            last = name.rpartition(".")[2].removesuffix("[]")
            if not _text(field, schema) and last not in pages:
                names.append(f"{path.name}: {name}")
    return names


def fields(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield every field as its dotted path and its schema; a definition that contains itself is followed once."""
    yield from _below(schema, schema, "", ())


def _below(part: Schema, root: Schema, prefix: str, seen: tuple[str, ...]) -> Iterator[tuple[str, Schema]]:
    reference = part.get("$ref", "")
    if reference in seen:
        return
    seen = (*seen, reference) if reference else seen
    part = _resolved(part, root)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for alternative in part.get(keyword, []):
            yield from _below(alternative, root, prefix, seen)
    if isinstance(part.get("items"), dict):
        yield from _below(part["items"], root, f"{prefix}[]", seen)
    if isinstance(part.get("additionalProperties"), dict):
        yield from _below(part["additionalProperties"], root, f"{prefix}.*".lstrip("."), seen)
    for name, field in part.get("properties", {}).items():
        path = f"{prefix}.{name}".lstrip(".")
        if isinstance(field, dict):
            yield path, field
            yield from _below(field, root, path, seen)


def _resolved(part: Schema, root: Schema) -> Schema:
    """Return the definition that a `$ref` names, merged with the keys next to the reference."""
    reference = part.get("$ref", "")
    if not reference.startswith("#/"):
        return part
    target: Any = root
    for word in reference.removeprefix("#/").split("/"):
        target = target[word]
    return {**_resolved(target, root), **{key: value for key, value in part.items() if key != "$ref"}}


def _type(field: Schema, root: Schema) -> str:
    whole = _resolved(field, root)
    if "const" in whole:
        return f"`{whole['const']}`"
    if "enum" in whole:
        return ", ".join(f"`{value}`" for value in whole["enum"])
    kind = whole.get("type", "")
    return ", ".join(kind) if isinstance(kind, list) else str(kind)


def _text(field: Schema, root: Schema) -> str:
    return str(_resolved(field, root).get("description", ""))
