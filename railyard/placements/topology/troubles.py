"""Troubles of a link that come and go: it falls silent, damages packets, or has jitter, all the time or in spells.

The user-space router has them cell by cell (railyard/torus/native/router/troubles.h). Leaves out: links that are down
for good, which routes avoid, and lost lanes (`railyard.placements.topology.faults`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from railyard.base.errors import InputError

_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s)")
MOST_ERRORS_PERCENT = 99.0
MOST_SPELLS = 20
_UNITS_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def microseconds(text: str) -> float | None:
    """Return the microseconds of a time such as `10us` or `1.5s`; None for any other text."""
    match = _TIME.fullmatch(text)
    return float(match[1]) * _UNITS_US[match[2]] if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What a directed link has while a spell lasts.

    A spell begins `at_s` after the trouble was put on the link, and again every `every_s` unless that is 0. It lasts
    for `for_s`, for ever if that is 0. These are seconds of this machine's clock. A silent link sends nothing.
    `errors_percent` is the share of packets that are damaged each time that they are sent, up to 99. `jitter_us` is
    the longest time by which a packet's latency grows, of the real machine. `put_s` is when the trouble was put on the
    link, in seconds since 1970; 0 before that.
    """

    at_s: float = 0.0
    for_s: float = 0.0
    every_s: float = 0.0
    silent: bool = False
    errors_percent: float = 0.0
    jitter_us: float = 0.0
    put_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.errors_percent <= MOST_ERRORS_PERCENT:
            raise InputError("--errors", "", self.errors_percent, f"0 to {MOST_ERRORS_PERCENT:g} percent")
        if self.every_s and not 0 < self.for_s < self.every_s:
            raise InputError("--every", "", f"{self.every_s:g}s", "a time longer than that of --for")

    def spells(self, begin_s: float, end_s: float) -> list[tuple[float, float]]:
        """Return begin and end of the first spells between two times, at most `MOST_SPELLS`; all since 1970."""
        first_s = self.put_s + self.at_s
        skipped = max(0, int((begin_s - first_s) // self.every_s)) if self.every_s else 0
        begins = [first_s + k * self.every_s for k in range(skipped, skipped + (MOST_SPELLS if self.every_s else 1))]
        lasting_s = self.for_s or math.inf
        return [
            (max(begin_s, begun_s), min(end_s, begun_s + lasting_s))
            for begun_s in begins
            if begun_s < end_s and begun_s + lasting_s > begin_s
        ]

    @property
    def text(self) -> str:
        """Return the trouble for people: `silent for 2 s every 10 s`."""
        spell = [
            f"from {self.at_s:g} s on" if self.at_s else "",
            f"for {self.for_s:g} s" if self.for_s else "",
            f"every {self.every_s:g} s" if self.every_s else "",
        ]
        return " ".join(filter(None, [self.what, *spell]))

    @property
    def what(self) -> str:
        """Return what a link has while a spell lasts: `silent`."""
        parts = [
            "silent" if self.silent else "",
            f"{self.errors_percent:g} % of packets damaged" if self.errors_percent else "",
            f"jitter up to {self.jitter_us:g} us" if self.jitter_us else "",
        ]
        return ", ".join(filter(None, parts))
