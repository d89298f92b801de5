"""Check the guard of a virtual torus: its figures exist and are consistent, and its verdict follows from them.

The busiest link sent no longer than the launch took.
The rate scale, which decides how fast the network is, fits bytes and times.
The error bound, which a bidder could lower while the verdict stays `ok`, is computed again from its parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields

from railyard.placements.topology.base import Topology
from railyard.records.json_io import Json
from railyard.records.record import Guard, Guarded, Launch, Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import Fault, ended_well, rule
from railyard.torus.virtual.error_bound import ENOUGH_TRAFFIC_S, HOST_SHARE, TRAFFIC_SHARE, VOID_PERCENT, ErrorBound

SHARES = ("idle_share", "softirq_share", "steal_share")
NUMBERS = ("watched_s", "traffic_s", "host_limited_s", *SHARES, "busiest_link_share", "drops")
#: Two programs time the same launch differently, by the time that the second needs to start.
SLACK_S = 2.0


def guarded(read: Record) -> Iterator[tuple[str, Launch, Guard]]:
    """Yield (path of the field, launch, its guard) for each launch on a virtual torus that ended well."""
    for field, launch in ended_well(read):
        if read.origin is Origin.EMULATED and launch.guard is not None:
            yield f"{field}.guard", launch, launch.guard


def with_figures(read: Record) -> Iterator[tuple[str, Launch, Guard, Mapping[str, Json]]]:
    """Yield what `guarded` does, and the guard's figures, where they are all there."""
    for field, launch, guard in guarded(read):
        if has_figures(guard.figures):
            yield field, launch, guard, guard.figures


def has_figures(figures: Mapping[str, Json]) -> bool:
    """Return whether a guard's figures are all there, each of its kind."""
    numbers = all(type(figures.get(name)) in (int, float) for name in NUMBERS)
    return numbers and type(figures.get("conserved")) is bool


@rule("guard-figures")
def figures(read: Record) -> Iterator[Fault]:
    """The guard's figures are there, shares lie between 0 and 1, times within one another and within the launch."""
    for field, launch, guard in guarded(read):
        numbers = guard.figures
        if not has_figures(numbers):
            lacking = [name for name in (*NUMBERS, "conserved") if name not in numbers]
            yield Fault(field, f"lacks {', '.join(lacking)}" if lacking else "figures are no numbers")
            continue
        for name in SHARES:
            if not 0 <= numbers[name] <= 1:
                yield Fault(f"{field}.{name}", f"{numbers[name]} is no share")
        longest = float("inf") if launch.elapsed_s is None else launch.elapsed_s + SLACK_S
        limits = [0.0, numbers["host_limited_s"], numbers["traffic_s"], numbers["watched_s"], longest]
        if any(one > other + 1e-6 for one, other in itertools.pairwise(limits)):
            yield Fault(field, "host_limited_s, traffic_s, watched_s and elapsed_s do not rise")


@rule("guard-verdict")
def verdict(read: Record) -> Iterator[Fault]:
    """The guard's verdict is the one that its figures give; anything but `ok` has a reason."""
    for field, _, guard, numbers in with_figures(read):
        stated, wanted = guard.verdict, judged(numbers)
        if stated is Guarded.OK and wanted is not Guarded.OK:
            yield Fault(f"{field}.verdict", f"ok; the figures say {wanted}")
        if (stated is Guarded.OK) == bool(guard.reasons):
            yield Fault(f"{field}.reasons", f"{len(guard.reasons)} reasons for {stated}")


def judged(figures: Mapping[str, Json]) -> Guarded:
    """Return the verdict that a guard's figures give."""
    traffic_s = figures["traffic_s"]
    is_limited = figures["host_limited_s"] > HOST_SHARE * traffic_s
    if figures["drops"] or not figures["conserved"] or (is_limited and traffic_s >= ENOUGH_TRAFFIC_S):
        return Guarded.VOID
    return Guarded.CANNOT_TELL if is_limited or not figures["watched_s"] else Guarded.OK


#: Relative room for token buckets.
ROOM = 1.05
#: The most time of a launch with traffic that is not watched: an interval at its beginning and one at its end.
UNWATCHED_S = 0.2


@rule("busiest-link")
def busiest(read: Record) -> Iterator[Fault]:
    """The busiest link sent no more than its rate allows in the time of the launch."""
    for field, launch, _, numbers in with_figures(read):
        share, elapsed_s = numbers["busiest_link_share"], launch.elapsed_s
        if elapsed_s is None:
            continue
        unwatched_s = min(UNWATCHED_S, max(0.0, elapsed_s - numbers["watched_s"]))
        quiet_s = TRAFFIC_SHARE * (numbers["watched_s"] - numbers["traffic_s"])
        if not 0 <= share * numbers["traffic_s"] <= ROOM * (numbers["traffic_s"] + quiet_s + unwatched_s):
            yield Fault(f"{field}.busiest_link_share", f"{share:g} of its rate")


@rule("rate-scale")
def scale(read: Record) -> Iterator[Fault]:
    """A rate scale is neither too low for the NICs' bytes nor too high for what the busiest link sent of them."""
    topology = rebuilt.topology_of(read)
    if read.origin is not Origin.EMULATED or topology is None:
        return
    for field, launch in ended_well(read):
        if launch.nics and (problem := _contradiction(read, topology, launch)):
            yield Fault("provenance.torus.rate_scale", f"{problem} ({field})")
            return


def _contradiction(read: Record, topology: Topology, launch: Launch) -> str:
    """Return what a launch contradicts in the rate scale; empty if it agrees."""
    torus, nics, elapsed_s = read.provenance["torus"] or {}, launch.nics, launch.elapsed_s
    scale, counted = torus["rate_scale"], sum(nics.tx_bytes) if nics else 0
    most = max(*nics.tx_bytes, *nics.rx_bytes) if nics else 0
    needed_s = most / (1e9 * scale * topology.host_rate_gbyte_s)
    if elapsed_s is not None and needed_s > ROOM * elapsed_s:
        return f"{scale:g}: a NIC's bytes need {needed_s:.2f} s of a launch of {elapsed_s:.2f} s"
    guard = launch.guard.figures if launch.guard else {}
    is_slower = torus.get("faults") or read.case.parameters.get("injection_percent", 100) != 100
    if is_slower or not has_figures(guard):
        return ""
    link = topology.links_by_name.get(str(guard.get("busiest_link")))
    rate_gbyte_s = topology.host_rate_gbyte_s if link is None else link.rate_gbyte_s
    iterating_s = 1e-6 * sum(sum(one.samples) for one in launch.series if one.fom == "iteration_us")
    busy_s = guard["busiest_link_share"] * min(iterating_s, guard["traffic_s"])
    carried = busy_s * 1e9 * scale * rate_gbyte_s
    if carried > ROOM * counted:
        return f"{scale:g}: the busiest link sent {carried:.0f} bytes; the NICs sent {counted}"
    return ""


PARTS = tuple(part.name for part in fields(ErrorBound))
#: Network -> the parts of the bound that void a launch above `VOID_PERCENT` (railyard.torus.virtual.fidelity).
DECIDING = {"router": ("percent",), "kernel": ("steal_percent", "throttled_percent")}


@rule("error-bound")
def bound(read: Record) -> Iterator[Fault]:
    """A guard's error bound is what its parts, its shares and its lateness give, and allows its verdict."""
    deciding = DECIDING["kernel" if (read.provenance["torus"] or {}).get("network") == "kernel" else "router"]
    for field, _, judge, guard in with_figures(read):
        field, parts = f"{field}.error_bound", guard.get("error_bound")
        numbers = parts if isinstance(parts, Mapping) else {}
        if any(type(numbers.get(name)) not in (int, float) or numbers[name] < 0 for name in PARTS):
            yield Fault(field, "a part is missing, negative or no number")
            continue
        sum_percent = sum(numbers[name] for name in PARTS if name not in {"percent", "idle_percent"})
        given = {
            "idle_percent": 100 * (1 - min(guard["busiest_link_share"], 1.0)),
            "steal_percent": 100 * guard["steal_share"],
            "lateness_percent": (guard.get("lateness") or {}).get("mean_percent", 0.0),
            "percent": min(sum_percent, numbers["idle_percent"]),
        }
        for name, value in given.items():
            if not math.isclose(numbers[name], value, rel_tol=1e-9, abs_tol=1e-6):
                yield Fault(f"{field}.{name}", f"{numbers[name]:.6g}; the rest gives {value:.6g}")
        if guard.get("error_bound_percent") != numbers["percent"]:
            text = f"{guard.get('error_bound_percent')}; error_bound has {numbers['percent']:.6g}"
            yield Fault(f"{field}_percent", text)
        for name in deciding:
            if numbers[name] > VOID_PERCENT and judge.verdict is Guarded.OK:
                yield Fault(f"{field}.{name}", f"{numbers[name]:.6g}, with which no launch is ok")
