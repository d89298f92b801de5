"""`railyard torus throttle`: limit what the nodes of a torus send while its network is congested."""

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

from railyard.base.commands import example
from railyard.base.errors import InputError
from railyard.torus.virtual import counters, lifecycle, live_faults, throttle
from railyard.torus.virtual.lifecycle import VirtualTorus
from railyard.torus.virtual.throttle import Throttle, ThrottleLimits

SAMPLES_PER_PERIOD = 5
POSITIVE = click.FloatRange(0, min_open=True)


@dataclass(slots=True)
class ThrottleLog:
    """The log of a command: printed as it happens as text, or at the end as JSON."""

    as_json: bool
    changes: list[dict[str, Any]] = field(default_factory=list)
    highest: float = 0.0

    def change(self, *, at_s: float, router: str, ratio: float, percent: float | None) -> None:
        """Add a change of the NICs' limit; `percent` None is its end."""
        self.changes.append(
            {"at_s": round(at_s, 3), "router": router, "ratio": round(ratio, 3), "injection_percent": percent}
        )
        if not self.as_json:
            to = "as before" if percent is None else f"at {percent:g} %"
            click.echo(f"{at_s:.1f} s: stalls are {ratio:.2f} times the flits at {router}: injection {to}")

    def end(self, over_s: float) -> None:
        """Print the summary of a command that took `over_s` seconds."""
        if self.as_json:
            document = {
                "watched_s": round(over_s, 3),
                "highest_ratio": round(self.highest, 3),
                "changes": self.changes,
            }
            click.echo(json.dumps(document, indent=1))
        else:
            times = sum(change["injection_percent"] is not None for change in self.changes)
            click.echo(f"throttled {times} times in {over_s:.1f} s; the highest ratio was {self.highest:.2f}")


@click.command("throttle", epilog=example("railyard torus throttle lab --above 30 --to 50"))
@click.argument("name")
@click.option(
    "--above",
    type=POSITIVE,
    default=30.0,
    show_default=True,
    metavar="RATIO",
    help="Limit of a router's stall time over its sending time: 9 in a halo exchange, 60 and more in an all-to-all.",
)
@click.option(
    "--for",
    "period_s",
    type=POSITIVE,
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds above RATIO after which nodes are throttled, and below it after which they are released.",
)
@click.option(
    "--to",
    "percent",
    type=click.FloatRange(0, 100, min_open=True, max_open=True),
    default=50.0,
    show_default=True,
    metavar="PERCENT",
    help="Percentage of its rate to which every NIC is limited meanwhile.",
)
@click.option("--seconds", type=POSITIVE, help="End after so many seconds.  [default: at Ctrl-C]")
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON, at the end.")
def throttle_torus(
    *, name: str, above: float, period_s: float, percent: float, seconds: float | None, as_json: bool
) -> None:
    """Throttle the nodes of the torus NAME while its network is congested, as Cray's network daemon does.

    Run it during a launch. When the command ends, the nodes send as before. It needs the network `router`. If it is
    killed, the nodes stay throttled: `railyard torus status` shows it, and `railyard torus fault NAME --injection 100`
    releases them.
    """
    torus = lifecycle.get(name)
    if torus.shape.network != "router":
        raise InputError(
            "torus", "network", torus.shape.network, "router, because the kernel counts no stalls"
        )
    live_faults.check(torus, throttle.throttled(torus, percent))
    limits = ThrottleLimits(ratio=above, period_s=period_s, percent=percent)
    limited_before, log = torus.faults.injection_percent, ThrottleLog(as_json)
    start_s, watching = time.monotonic(), Throttle(limits)
    try:
        with _end_at_a_signal() as end:
            _watch(torus, watching, log, end=end, until_s=start_s + (seconds or math.inf))
    finally:
        if watching.is_on and name in lifecycle.names():
            throttle.inject(name, None, limited_before)
    log.end(time.monotonic() - start_s)


def _watch(
    torus: VirtualTorus, watching: Throttle, log: ThrottleLog, *, end: threading.Event, until_s: float
) -> None:
    """Sample the ratios of all routers until `end` is set or the clock is at `until_s`; throttle and release nodes."""
    start_s = time.monotonic()
    before = counters.read(torus.name, torus.topology)
    while time.monotonic() < until_s and not end.wait(watching.limits.period_s / SAMPLES_PER_PERIOD):
        now = counters.read(torus.name, torus.topology)
        ratio_of = throttle.ratios(counters.difference(now, before))
        before = now
        router = max(ratio_of, key=lambda name: ratio_of[name])
        log.highest = max(log.highest, ratio_of[router])
        at_s = time.monotonic() - start_s
        if watching.changes(ratio_of[router], at_s):
            percent = watching.limits.percent if watching.is_on else None
            throttle.inject(torus.name, percent, torus.faults.injection_percent)
            log.change(at_s=at_s, router=router, ratio=ratio_of[router], percent=percent)


@contextlib.contextmanager
def _end_at_a_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set, so that a change in progress is completed."""
    end = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.signal(number, lambda *_: end.set()) for number in numbers}
    try:
        yield end
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
