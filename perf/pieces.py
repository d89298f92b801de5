"""Save each figure of a long measurement as soon as it is measured, so that another call can continue.

A figure has a key. `python -m perf SECTION --minutes M` measures what the file lacks for M minutes. Delete the file to
measure again. Batches of seeded work also have the digest of the sources in their keys, so that findings of other
sources are not continued; the other figures leave out whether the sources have changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from railyard.base import parent
from railyard.base.checkout import BUILD, CHECKOUT

Row = Mapping[str, Any]


class Pieces:
    """The rows of a file, and the time that is left for more of them."""

    def __init__(self, path: Path, minutes: float | None = None) -> None:
        self.path = path
        self.deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
        self.row_of = dict[str, Row]()
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            with contextlib.suppress(ValueError):  # the last line may be torn
                document = json.loads(line)
                self.row_of[document["key"]] = document["row"]

    @property
    def is_over(self) -> bool:
        """Return whether the time for this call has passed."""
        return time.monotonic() >= self.deadline

    def get(self, *key: Any) -> Row | None:
        """Return the row of a key; None where it is still to be measured."""
        return self.row_of.get(_name(key))

    def add(self, row: Row, *key: Any) -> Row:
        """Keep a row."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            print(json.dumps({"key": _name(key), "row": row}), file=file)
        self.row_of[_name(key)] = row
        return row


def _name(key: tuple[Any, ...]) -> str:
    return " ".join(map(str, key))


def batches(name: str, count: int, batch: Callable[[int], Row]) -> Iterator[Row]:
    """Yield the findings of the batches with the seeds 0 to count - 1, those from build/NAME.jsonl first.

    A batch is its seed, so that it repeats exactly. Batches run at the lowest priority of the machine.
    """
    pieces, digest = Pieces(BUILD / f"{name}.jsonl"), _sources()
    missing = [seed for seed in range(count) if pieces.get(digest, seed) is None]
    yield from (row for seed in range(count) if (row := pieces.get(digest, seed)) is not None)
    with parent.workers(os.cpu_count() or 1) as pool:
        rows = pool.map(functools.partial(_humbly, batch), missing)
        for seed, row in zip(missing, rows, strict=True):
            yield pieces.add(row, digest, seed)


def _humbly(batch: Callable[[int], Row], seed: int) -> Row:
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    return batch(seed)


def _sources() -> str:
    """Return a digest of the sources that a batch depends on."""
    digest = hashlib.sha256()
    for folder in ("railyard", "tests/support", "perf"):
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
