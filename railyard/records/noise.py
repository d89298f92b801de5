"""Return the noise floor of a record: a difference between two groups of its launches up to the floor means nothing.

Models: on a virtual torus all nodes share one machine, so that two measurements of the same placement differ by up to
`SAME_PERCENT` (`python -m perf same`), even if a test calls the difference significant. On the network
`router` the error estimate of a launch limits how much too long its times may be. The floor is the median of these
estimates if that is larger. Leaves out other origins, whose floor is 0: the launches of a real machine show its noise,
and a model has none.
"""

from __future__ import annotations

from railyard.records.record import Origin, Record

SAME_PERCENT = 2.0


def floor_percent(read: Record) -> float:
    """Return the noise floor of a record, in percent of the larger of the two values compared."""
    if read.origin is not Origin.EMULATED:
        return 0.0
    torus = read.provenance["torus"] or {}
    if torus.get("network") != "router":
        return SAME_PERCENT
    guards = [launch.guard for launch in read.launches if launch.is_result and launch.guard]
    stated = (guard.figures.get("error_bound_percent") for guard in guards)
    bounds = sorted(float(bound) for bound in stated if isinstance(bound, int | float) and bound)
    return max(SAME_PERCENT, bounds[len(bounds) // 2]) if bounds else SAME_PERCENT
