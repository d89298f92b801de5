"""`railyard torus throttle`: watches a torus for congestion, and limits what its nodes send meanwhile."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import click

from railyard.base.errors import InputError
from railyard.torus.virtual import counters, lifecycle, live_faults, throttle
from railyard.torus.virtual.lifecycle import VirtualTorus
from railyard.torus.virtual.throttle import Throttle, ThrottleLimits

SAMPLES_A_PERIOD = 5
POSITIVE = click.FloatRange(0, min_open=True)


@dataclass(slots=True)
class ThrottleLog:
    """What happened, for people as it happens and for programs at the end."""

    as_json: bool
    changes: list[dict[str, Any]] = field(default_factory=list)
    highest: float = 0.0

    def change(self, *, at_s: float, router: str, ratio: float, percent: float | None) -> None:
        self.changes.append(
            {"at_s": round(at_s, 3), "router": router, "ratio": round(ratio, 3), "injection_percent": percent}
        )
        if not self.as_json:
            to = "as before" if percent is None else f"at {percent:g} %"
            click.echo(f"{at_s:.1f} s: stalls are {ratio:.2f} times the flits at {router}: injection {to}")

    def end(self, over_s: float) -> None:
        if self.as_json:
            found = {
                "watched_s": round(over_s, 3),
                "highest_ratio": round(self.highest, 3),
                "changes": self.changes,
            }
            click.echo(json.dumps(found, indent=1))
        else:
            times = sum(each["injection_percent"] is not None for each in self.changes)
            click.echo(f"throttled {times} times in {over_s:.1f} s; the highest ratio was {self.highest:.2f}")


@click.command("throttle")
@click.argument("name")
@click.option(
    "--above",
    type=POSITIVE,
    default=30.0,
    show_default=True,
    metavar="RATIO",
    help="Time stalled over time sending, of one router: 9 in a halo exchange, 60 and more in an all-to-all.",
)
@click.option(
    "--for",
    "period_s",
    type=POSITIVE,
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How long it is above before the nodes are throttled, and below before they are released.",
)
@click.option(
    "--to",
    "percent",
    type=click.FloatRange(0, 100, min_open=True, max_open=True),
    default=50.0,
    show_default=True,
    metavar="PERCENT",
    help="The share of its rate at which every NIC then sends.",
)
@click.option("--seconds", type=POSITIVE, help="End after so many.  [default: at Ctrl-C]")
@click.option("--json", "as_json", is_flag=True, help="What happened as JSON, at the end.")
def throttle_torus(
    *, name: str, above: float, period_s: float, percent: float, seconds: float | None, as_json: bool
) -> None:
    """Throttle the nodes of the torus NAME while its network is congested, as Cray's network daemon does.

    Beside a launch, which goes on meanwhile. When the command ends, the nodes send as before. It needs the network
    `router`. One that was killed leaves the nodes throttled: `railyard torus status` says so, and `railyard torus fault
    NAME --injection 100` releases them.
    """
    torus = lifecycle.get(name)
    if torus.shape.network != "router":
        raise InputError("torus", "network", torus.shape.network, "router: the kernel counts no stalls")
    live_faults.check(torus, throttle.throttled(torus, percent))
    limits = ThrottleLimits(ratio=above, period_s=period_s, percent=percent)
    own, said = torus.faults.injection_percent, ThrottleLog(as_json)
    begun_s, watching = time.monotonic(), Throttle(limits)
    try:
        with _ends_at_a_signal() as ended:
            _watch(torus, watching, said, ended=ended, until_s=begun_s + (seconds or math.inf))
    finally:
        if watching.is_on and name in lifecycle.names():
            throttle.inject(name, None, own)
    said.end(time.monotonic() - begun_s)


def _watch(
    torus: VirtualTorus, watching: Throttle, said: ThrottleLog, *, ended: threading.Event, until_s: float
) -> None:
    begun_s = time.monotonic()
    before = counters.read(torus.name, torus.topology)
    while time.monotonic() < until_s and not ended.wait(watching.limits.period_s / SAMPLES_A_PERIOD):
        now = counters.read(torus.name, torus.topology)
        found = throttle.ratios(counters.difference(now, before))
        before = now
        router = max(found, key=lambda each: found[each])
        said.highest = max(said.highest, found[router])
        at_s = time.monotonic() - begun_s
        if watching.changes(found[router], at_s):
            to = watching.limits.percent if watching.is_on else None
            throttle.inject(torus.name, to, torus.faults.injection_percent)
            said.change(at_s=at_s, router=router, ratio=found[router], percent=to)


@contextlib.contextmanager
def _ends_at_a_signal() -> Iterator[threading.Event]:
    """Set the event at the signals that end a command, so that no change is left half made."""
    ended = threading.Event()
    both = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, lambda *_: ended.set()) for each in both}
    try:
        yield ended
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
