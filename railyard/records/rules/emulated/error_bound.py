"""Recompute a guard's error bound from its parts, which a bidder could lower while the verdict stays `ok`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields

from railyard.records.record import Guarded, Record
from railyard.records.rules.emulated.guard import guarded, has_figures
from railyard.records.rules.registry import Fault, rule
from railyard.torus.virtual.error_bound import VOID_PERCENT, ErrorBound

PARTS = tuple(part.name for part in fields(ErrorBound))
#: Network -> the parts of the bound that void a launch above `VOID_PERCENT` (railyard.torus.virtual.fidelity).
DECIDING = {"router": ("percent",), "kernel": ("steal_percent", "throttled_percent")}


@rule("error-bound")
def bound(read: Record) -> Iterator[Fault]:
    """A guard's error bound is what its parts, its shares and its lateness give, and allows its verdict."""
    deciding = DECIDING["kernel" if (read.provenance["torus"] or {}).get("network") == "kernel" else "router"]
    for field, launch, guard in guarded(read):
        if not has_figures(guard):
            continue
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
            if numbers[name] > VOID_PERCENT and launch.guard and launch.guard.verdict is Guarded.OK:
                yield Fault(f"{field}.{name}", f"{numbers[name]:.6g}, with which no launch is ok")
