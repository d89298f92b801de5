"""Mix two link loads so that the busiest link takes the least time."""

from __future__ import annotations

from railyard.placements.arrays import Floats, np
from railyard.placements.topology.carried import Carried

_NARROWINGS = 48


def best_between(rates: Floats, one: Carried, other: Carried) -> Carried:
    """Return the mixture of two loads whose busiest link takes the least time: one of the two, or between them."""
    low, high = 0.0, 1.0
    for _ in range(_NARROWINGS):
        third = (high - low) / 3
        nearer, farther = low + third, high - third
        if busiest(rates, _mixture(one, other, nearer)) <= busiest(rates, _mixture(one, other, farther)):
            high = farther
        else:
            low = nearer
    candidates = [one, other, _mixture(one, other, (low + high) / 2)]
    return min(candidates, key=lambda candidate: busiest(rates, candidate))


def busiest(rates: Floats, of: Carried) -> float:
    """Return the time of the busiest link, in nanoseconds; `rates` are GB/s, 0 where there is no link."""
    times = np.divide(of.link_bytes, rates, out=np.zeros_like(of.link_bytes), where=rates > 0)
    return float(times.max(initial=0))


def _mixture(one: Carried, other: Carried, part: float) -> Carried:
    return _scaled(one, 1 - part) + _scaled(other, part)


def _scaled(of: Carried, part: float) -> Carried:
    return Carried(link_bytes=of.link_bytes * part, hops_bytes=of.hops_bytes * part)
