"""Check the guard of a virtual torus: its figures exist and are consistent, and its verdict follows from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from railyard.records.json_io import Json
from railyard.records.record import Guarded, Launch, Origin, Record
from railyard.records.rules.registry import Fault, ended_well, rule

#: The same values as in railyard.torus.virtual.fidelity; a test compares them.
HOST_SHARE = 0.5
ENOUGH_TRAFFIC_S = 1.0
SHARES = ("idle_share", "softirq_share", "steal_share")
NUMBERS = ("watched_s", "traffic_s", "host_limited_s", *SHARES, "busiest_link_share", "drops")
#: Two programs time the same launch differently, by the time that the second needs to start.
SLACK_S = 2.0


def guarded(read: Record) -> Iterator[tuple[str, Launch, Mapping[str, Json]]]:
    """Yield (path of the field, launch, the guard's figures) for each launch on a virtual torus that ended well."""
    for field, launch in ended_well(read):
        if read.origin is Origin.EMULATED and launch.guard is not None:
            yield f"{field}.guard", launch, launch.guard.figures


def has_figures(figures: Mapping[str, Json]) -> bool:
    """Return whether a guard's figures are all there, each of its kind."""
    numbers = all(type(figures.get(name)) in (int, float) for name in NUMBERS)
    return numbers and type(figures.get("conserved")) is bool


@rule("guard-figures")
def figures(read: Record) -> Iterator[Fault]:
    """The guard's figures are there, shares lie between 0 and 1, times within one another and within the launch."""
    for field, launch, guard in guarded(read):
        if not has_figures(guard):
            lacking = [name for name in (*NUMBERS, "conserved") if name not in guard]
            yield Fault(field, f"lacks {', '.join(lacking)}" if lacking else "figures are no numbers")
            continue
        for name in SHARES:
            if not 0 <= guard[name] <= 1:
                yield Fault(f"{field}.{name}", f"{guard[name]} is no share")
        longest = float("inf") if launch.elapsed_s is None else launch.elapsed_s + SLACK_S
        limits = [0.0, guard["host_limited_s"], guard["traffic_s"], guard["watched_s"], longest]
        if any(one > other + 1e-6 for one, other in itertools.pairwise(limits)):
            yield Fault(field, "host_limited_s, traffic_s, watched_s and elapsed_s do not rise")


@rule("guard-verdict")
def verdict(read: Record) -> Iterator[Fault]:
    """The guard's verdict is the one that its figures give; anything but `ok` has a reason."""
    for field, launch, guard in guarded(read):
        if launch.guard is None or not has_figures(guard):
            continue
        stated, wanted = launch.guard.verdict, judged(guard)
        if stated is Guarded.OK and wanted is not Guarded.OK:
            yield Fault(f"{field}.verdict", f"ok; the figures say {wanted}")
        if (stated is Guarded.OK) == bool(launch.guard.reasons):
            yield Fault(f"{field}.reasons", f"{len(launch.guard.reasons)} reasons for {stated}")


def judged(figures: Mapping[str, Json]) -> Guarded:
    """Return the verdict that a guard's figures give."""
    traffic_s = figures["traffic_s"]
    is_limited = figures["host_limited_s"] > HOST_SHARE * traffic_s
    if figures["drops"] or not figures["conserved"] or (is_limited and traffic_s >= ENOUGH_TRAFFIC_S):
        return Guarded.VOID
    return Guarded.CANNOT_TELL if is_limited or not figures["watched_s"] else Guarded.OK
