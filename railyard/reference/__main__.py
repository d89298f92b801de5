"""Write the reference pages into a folder: `python -m railyard.reference FOLDER`; what pages show: `--tables`."""

from __future__ import annotations

import sys
from pathlib import Path

from railyard.reference import catalogue, checks, commands, glossary, pictures, schemas, tables, variables

PAGES = {
    "cli": commands,
    "checks": checks,
    "variables": variables,
    "catalogue": catalogue,
    "schemas": schemas,
    "glossary": glossary,
}


def undocumented() -> list[str]:
    """Return every name that the reference has no description for."""
    return [f"{page}: {name}" for page, module in PAGES.items() for name in module.undocumented()]


def write(folder: Path) -> None:
    """Write one Markdown file per page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in PAGES.items():
        (folder / f"{name}.md").write_text(module.page())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m railyard.reference FOLDER, or --tables")
    if sys.argv[1] == "--tables":
        tables.write()
        pictures.write()
    else:
        write(Path(sys.argv[1]))
