"""Save each figure of a long measurement as soon as it is measured, so that another call can continue.

A figure has a key. `python -m perf SECTION --minutes M` measures what the file lacks for M minutes. Delete the file to
measure again. Leaves out whether the sources have changed since.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def options(parser: argparse.ArgumentParser, sections: str = "") -> None:
    """Add how long a call measures; `sections` are those that stop, empty for every part of the command."""
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="MINUTES",
        help=f"{sections}stop after so many; call again to go on  [default: no limit]",
    )


class Pieces:
    """The rows of a file, and the time that is left for more of them."""

    def __init__(self, path: Path, minutes: float | None = None) -> None:
        self.path = path
        self.deadline = None if minutes is None else time.monotonic() + 60 * minutes
        self.kept = dict(_read(self.path))

    @property
    def rows(self) -> list[Row]:
        """Return all rows, those of earlier calls first."""
        return list(self.kept.values())

    @property
    def is_over(self) -> bool:
        """Return whether the time for this call has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def get(self, *key: Any) -> Row | None:
        """Return the row of a key; None where it is still to be measured."""
        return self.kept.get(_name(key))

    def add(self, row: Row, *key: Any) -> Row:
        """Keep a row."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            print(json.dumps({"key": _name(key), "row": row}), file=file)
        self.kept[_name(key)] = row
        return row


def _name(key: tuple[Any, ...]) -> str:
    return " ".join(map(str, key))


def _read(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a file; the last line may be torn."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            document = json.loads(line)
        except ValueError:
            continue
        yield document["key"], document["row"]
