"""Compare the rate scale of a virtual torus with bytes and times, because it decides how fast its network is."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.record import Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.emulated.busiest_link import ROOM
from railyard.records.rules.registry import Fault, ended_well, rule


@rule("rate-scale")
def scale(read: Record) -> Iterator[Fault]:
    """A rate scale is neither too low for the NICs' bytes nor too high for what the busiest link sent of them."""
    torus, topology = read.provenance["torus"] or {}, rebuilt.topology_of(read)
    if read.origin is not Origin.EMULATED or topology is None:
        return
    stated, rate = torus["rate_scale"], 1e9 * torus["rate_scale"] * topology.host_rate_gbyte_s
    is_full = not torus.get("faults") and read.case.parameters.get("injection_percent", 100) == 100
    for field, launch in ended_well(read):
        if not launch.nics or launch.elapsed_s is None:
            continue
        needed_s = max(map(max, zip(launch.nics.tx_bytes, launch.nics.rx_bytes, strict=True))) / rate
        if needed_s > ROOM * launch.elapsed_s:
            text = f"{stated:g}: a NIC's bytes need {needed_s:.2f} s of a launch of {launch.elapsed_s:.2f} s"
            yield Fault(field="provenance.torus.rate_scale", text=f"{text} ({field})")
            return
        guard = launch.guard.figures if launch.guard and is_full else {}
        link = topology.links_by_name.get(str(guard.get("busiest_link")))
        rate_of_link = rate if link is None else 1e9 * stated * link.rate_gbyte_s
        iterating_s = 1e-6 * sum(sum(one.samples) for one in launch.series if one.fom == "iteration_us")
        carried, counted = (
            guard.get("busiest_link_share", 0.0) * rate_of_link * iterating_s,
            sum(launch.nics.tx_bytes),
        )
        if carried > ROOM * counted:
            text = f"{stated:g}: the busiest link sent {carried:.0f} bytes; the NICs sent {counted}"
            yield Fault(field="provenance.torus.rate_scale", text=f"{text} ({field})")
            return
