"""Compare the rate scale of a virtual torus with bytes and times, because it decides how fast its network is."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.placements.topology.base import Topology
from railyard.records.record import Launch, Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.emulated.busiest_link import ROOM
from railyard.records.rules.emulated.guard import has_figures
from railyard.records.rules.registry import Fault, ended_well, rule


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
