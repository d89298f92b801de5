"""The noise floor of a record: the largest difference between two groups of its launches that shows nothing.

Models: on a virtual torus all nodes share one machine, so the same placement measured twice differs by up to
`SAME_PERCENT` (`python -m perf same`), whatever a rank test shows. On the network `router` a launch's error bound says
by how much its times may be too long; where the middle one of a record is larger, it is the floor. Leaves out: other
origins, whose floor is 0: a real machine's noise is in its launches, and a model has none.
"""

from __future__ import annotations

from railyard.records.record import Launch, Origin, Record

SAME_PERCENT = 2.0


def floor_percent(read: Record) -> float:
    """Return the noise floor of a record, in percent of the larger of two values."""
    if read.origin is not Origin.EMULATED:
        return 0.0
    torus = read.provenance["torus"] or {}
    if torus.get("network") != "router":
        return SAME_PERCENT
    bounds = sorted(filter(None, (_bound_percent(launch) for launch in read.launches if launch.is_result)))
    return max(SAME_PERCENT, bounds[len(bounds) // 2]) if bounds else SAME_PERCENT


def _bound_percent(launch: Launch) -> float | None:
    bound = launch.guard.figures.get("error_bound_percent") if launch.guard else None
    return float(bound) if isinstance(bound, int | float) else None
