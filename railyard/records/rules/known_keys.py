"""Refuse keys that railyard does not write where the schema allows any: nothing would judge their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from railyard.records.record import Record
from railyard.records.rules.registry import Fault, rule

#: Object of a record or of a launch's guard -> the keys that railyard writes there.
KNOWN = {
    "reframe": "version session check job wrapper launcher",
    "torus": "name engine rate_scale mtu_bytes burst_bytes latency_scaled network buffer_cells routes faults image"
    " image_sha256 machines slowed_from calibration calibration_sha256 algorithms",
    "guard": "watched_s traffic_s host_limited_s idle_share softirq_share steal_share busiest_link busiest_link_share"
    " packets_per_s drops conserved by_load attempts waited_s error_bound_percent error_bound lateness",
    "error_bound": "percent lateness_percent waiting_percent steal_percent throttled_percent idle_percent",
    "lateness": "chunks median_us p99_us max_us median_percent p99_percent mean_percent",
}


@rule("known-keys")
def known(read: Record) -> Iterator[Fault]:
    """ReFrame, torus and guard have no keys but those that railyard writes."""
    objects = [(f"provenance.{name}", name, read.provenance[name]) for name in ("reframe", "torus")]
    for index, launch in enumerate(read.launches):
        if launch.guard is not None:
            guard, field = launch.guard.figures, f"launches[{index}].guard"
            objects += [(field, "guard", guard)]
            objects += [(f"{field}.{name}", name, guard.get(name)) for name in ("error_bound", "lateness")]
    for field, name, there in objects:
        keys = there.keys() if isinstance(there, Mapping) else ()  # other rules refuse what is not an object
        if strange := sorted(set(keys) - set(KNOWN[name].split())):
            yield Fault(f"{field}.{strange[0][:60]}", "railyard writes no such key")
