"""Define the limits of the search of the order `optimised`, and the load of other jobs that it takes into account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from railyard.placements.linkload.background import Background
from railyard.placements.linkload.model import PROTOCOLS, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Limits of a search, bytes on the wire (`protocol`), and the load of other jobs (`background`).

    `progress(done, slowest_s)` is called after every round, `done` from 0 to 1.
    """

    trials_per_rank: int = 300
    most_trials: int = 3_000_000
    time_limit_s: float = 60.0
    protocol: Protocol = PROTOCOLS["payload"]
    progress: Callable[[float, float], None] | None = None
    background: Background | None = None
