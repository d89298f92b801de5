"""Refuse keys that railyard does not write where the schema allows any: nothing would judge their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from railyard.records.record import Record
from railyard.records.rules.registry import Fault, rule
from railyard.torus.virtual.error_bound import ErrorBound, Lateness

_TORUS = (
    "name engine rate_scale mtu_bytes burst_bytes latency_scaled network buffer_cells routes faults image image_sha256"
    " calibration calibration_sha256 algorithms"
)
_GUARD = (
    "watched_s traffic_s host_limited_s idle_share softirq_share steal_share busiest_link busiest_link_share"
    " packets_per_s drops conserved by_load attempts waited_s error_bound_percent error_bound lateness"
)
#: Object of a record or of a launch's guard -> the keys that railyard writes there.
KNOWN = {
    "reframe": frozenset({"version", "session", "check", "job", "wrapper", "launcher"}),
    "torus": frozenset(_TORUS.split()),
    "guard": frozenset(_GUARD.split()),
    "error_bound": frozenset(part.name for part in fields(ErrorBound)),
    "lateness": frozenset(part.name for part in fields(Lateness)),
}


@rule("known-keys")
def known(read: Record) -> Iterator[Fault]:
    """ReFrame, torus and guard have no keys but those that railyard writes."""
    objects = [(f"provenance.{name}", name, read.provenance[name]) for name in ("reframe", "torus")]
    for index, launch in enumerate(read.launches):
        guard, field = launch.guard.figures if launch.guard else {}, f"launches[{index}].guard"
        objects += [(field, "guard", guard)]
        objects += [(f"{field}.{name}", name, guard.get(name)) for name in ("error_bound", "lateness")]
    for field, name, there in objects:
        if strange := sorted((there or {}).keys() - KNOWN[name]):
            yield Fault(field=f"{field}.{strange[0][:60]}", text="railyard writes no such key")
