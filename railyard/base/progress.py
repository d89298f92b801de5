"""Show how far a long loop is, and how long it still takes, on a terminal's last line."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], count: int | None, what: str) -> Iterable[Item]:
    """Return the items, with a bar on standard error while they are taken if that is a terminal.

    `count` is None if it is unknown; the bar then only moves.
    """
    if not sys.stderr.isatty():
        return items
    from rich.console import Console  # imported here: most commands need no bar
    from rich.progress import track

    return track(items, what, count, console=Console(stderr=True), transient=True)
