"""Write the reference pages into a folder: `python -m railyard.reference FOLDER`; what pages show: `--tables`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from railyard.base.checkout import CHECKOUT, RESULTS, TOPOLOGIES
from railyard.reference import catalogue, checks, pictures, tables
from railyard.table import rows

SCHEMAS = (*sorted((RESULTS / "schema").glob("*.json")), TOPOLOGIES / "schema.json")


def schemas() -> str:
    """Return the page of the JSON Schemas of records, bids, tenders and topologies, as they are, with a record."""
    example = _shortened(json.loads(min((RESULTS / "example").glob("*/*.json")).read_text()))
    parts = ["# Formats, field by field\n\n[Formats](../formats.md) explains them.\n"]
    parts.append(f"\n## A record\n\n```json\n{json.dumps(example, indent=1)}\n```\n")
    for path in SCHEMAS:
        title = json.loads(path.read_text()).get("title", path.stem)
        name = f"../../{path.relative_to(CHECKOUT)}"
        parts.append(f"\n## {title}\n\n```{{literalinclude}} {name}\n:language: json\n```\n")
    return "".join(parts)


def _shortened(part: Any) -> Any:
    """Return a document with at most two members of each list, and at most 60 characters of each text."""
    if isinstance(part, dict):
        return {name: _shortened(value) for name, value in part.items()}
    if isinstance(part, list):
        return [*map(_shortened, part[:2]), *["..."] * (len(part) > 2)]
    return f"{part[:60]}..." if isinstance(part, str) and len(part) > 60 else part


PAGES: Mapping[str, Callable[[], str]] = {
    "checks": checks.page,
    "catalogue": catalogue.page,
    "schemas": schemas,
    "columns": rows.page,
}


def write(folder: Path) -> None:
    """Write one Markdown file per page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m railyard.reference FOLDER, or --tables")
    if sys.argv[1] == "--tables":
        tables.write()
        pictures.write()
    else:
        write(Path(sys.argv[1]))
