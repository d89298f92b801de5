"""Packages of the virtual environment beside which nothing else is visible: an environment with what some require."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement


def link(requirements: Iterable[str], folder: Path, *, without: Iterable[str] = ()) -> None:
    """Link what these requirements need into a folder, as `pip install --target` would install it."""
    for path in set(_files_of(requirements, {*without})):
        (folder / path.name).symlink_to(path)


def _files_of(requirements: Iterable[str], seen: set[str]) -> Iterator[Path]:
    """Yield what the packages that these lines require have at the top of their folder, and what those require."""
    for line in map(Requirement, requirements):
        name = line.name.lower()
        if name in seen or (line.marker and not line.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        package = metadata.distribution(name)
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            yield Path(str(package.locate_file(top)))
        yield from _files_of(package.requires or [], seen)
