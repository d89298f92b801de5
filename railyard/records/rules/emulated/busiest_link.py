"""Bound what a launch's busiest link sent: no link can send longer than the launch took."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.record import Record
from railyard.records.rules.emulated.guard import guarded, has_figures
from railyard.records.rules.registry import Fault, rule

#: Relative room for token buckets.
ROOM = 1.05
#: The most time of a launch with traffic that is not watched: an interval at its beginning and one at its end.
UNWATCHED_S = 0.2
#: The largest share of its rate that a link may send in an interval that counts as one without traffic.
TRAFFIC_SHARE = 0.05


@rule("busiest-link")
def busiest(read: Record) -> Iterator[Fault]:
    """The busiest link sent no more than its rate allows in the time of the launch."""
    for field, launch, guard in guarded(read):
        share, elapsed_s = guard.get("busiest_link_share"), launch.elapsed_s
        if not has_figures(guard) or elapsed_s is None:
            continue
        unwatched_s = min(UNWATCHED_S, max(0.0, elapsed_s - guard["watched_s"]))
        quiet_s = TRAFFIC_SHARE * (guard["watched_s"] - guard["traffic_s"])
        if not 0 <= share * guard["traffic_s"] <= ROOM * (guard["traffic_s"] + quiet_s + unwatched_s):
            yield Fault(f"{field}.busiest_link_share", f"{share:g} of its rate")
