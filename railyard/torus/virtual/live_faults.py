"""Apply faults to a torus that is up, while traffic flows. Only differences between two plans are applied.

The order is: bring ports up, then change all routes, then rates, then take ports down. So no packet is sent towards a
dead link. Packets in the queue of a link that goes down are lost, as on a real machine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Iterable, Mapping

from railyard.base.errors import InputError, RunError
from railyard.placements.topology.base import Link, Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.engines import netns, router
from railyard.torus.plan import plan
from railyard.torus.virtual import lifecycle, machines
from railyard.torus.virtual.lifecycle import VirtualTorus

#: The longest that a packet may be held up by jitter, in s of the torus: MPI over TCP makes little progress with more.
MOST_JITTER_S = 1.0


def apply(torus: VirtualTorus, faults: Faults) -> VirtualTorus:
    """Replace the faults of a torus by these; return the torus with them.

    torus.json names the change as pending until it is complete. A change that was interrupted is undone first, so the
    same command can be repeated. Raises InputError for a rate that cannot be shaped and RunError if a pair of routers
    has no route left; then nothing has changed. Raises RunError if the kernel or the router refuses the change.
    """
    check(torus, faults)
    if not lifecycle.carries(torus):
        raise RunError(f"the router of torus {torus.name} does not run; run: railyard torus down {torus.name}")
    torus = settle(torus)
    troubled = {
        name: dataclasses.replace(trouble, put_s=trouble.put_s or round(time.time(), 3))
        for name, trouble in faults.troubled.items()
    }
    faults = dataclasses.replace(faults, troubled=troubled)
    before = torus.plan()
    pending = dataclasses.replace(torus, pending=faults)
    lifecycle.write(pending, before)
    try:
        _change(torus, torus.faults, faults)
    except RunError:
        with contextlib.suppress(RunError):
            settle(pending)
        raise
    changed = dataclasses.replace(torus, faults=faults)
    lifecycle.write(changed, changed.plan())
    if torus.parts and torus.parts.own == torus.parts.head:
        words = [*machines.PART, "faults", torus.name]
        machines.on_others(torus.parts, words, json.dumps(faults.to_dict()))
    return changed


def check(torus: VirtualTorus, faults: Faults) -> None:
    """Raise what `apply` raises for faults that a torus cannot have; change nothing."""
    if torus.shape.network != "router":
        faults.check_steady()
    plan.make(torus.topology, torus.shape, faults)
    lowest, full = torus.shape.lowest_rate_bit_s, torus.shape.rate_bit_s(torus.topology.host_rate_gbyte_s)
    for name in faults.lost:
        left = faults.rate_gbyte_s(torus.topology, torus.topology.links_by_name[name])
        if torus.shape.rate_bit_s(left) < lowest:
            valid = f"a loss that leaves at least {lowest / 1e6:.2g} Mbit/s; use a higher --rate-scale"
            raise InputError("--lanes-lost", "link", name, valid)
    for percent in set(faults.injection_percent.values()):
        if full * percent / 100 < lowest:
            raise InputError("--injection", "", percent, f"{100 * lowest / full:.3g} to 100 at this rate scale")
    most_us = MOST_JITTER_S * 1e6 * torus.shape.rate_scale
    for name, trouble in faults.troubled.items():
        if trouble.jitter_us > most_us:
            scale = torus.shape.rate_scale
            valid = f"at most {most_us:g}us: at the rate scale {scale:g} of this torus each packet then waits up to 1 s"
            raise InputError("--jitter", name, f"{trouble.jitter_us:g}us", valid)


def settle(torus: VirtualTorus) -> VirtualTorus:
    """Undo a change of faults that was interrupted, at whatever step; return the torus without it."""
    if torus.pending is None:
        return torus
    _change(torus, torus.pending, torus.faults)
    settled = dataclasses.replace(torus, pending=None)
    lifecycle.write(settled, settled.plan())
    return settled


def _change(torus: VirtualTorus, from_faults: Faults, to_faults: Faults) -> None:
    """Change the network of a torus from one set of faults to another; skip what has been changed already."""
    if torus.shape.network == "router":
        router.change(torus.name, torus.plan(to_faults), torus.folder, parts=torus.parts)
        return
    before, after = torus.plan(from_faults), torus.plan(to_faults)
    healed = _ports(torus.topology, from_faults.down - to_faults.down)
    dead = _ports(torus.topology, to_faults.down - from_faults.down)
    old = {namespace.name: namespace for namespace in before.namespaces}
    again = torus.pending is not None
    steps: tuple[tuple[str, Mapping[str, list[str]]], ...] = (
        ("ip", {n.name: netns.revive_lines(n, healed.get(n.name, ())) for n in after.namespaces}),
        ("ip", {n.name: netns.reroute_lines(old[n.name], n, again=again) for n in after.namespaces}),
        ("tc", {n.name: netns.reshape_lines(old[n.name].shapers, n.shapers) for n in after.namespaces}),
        ("ip", {name: [f"link set {port} down" for port in ports] for name, ports in dead.items()}),
    )
    for program, lines_of in steps:
        netns.batches(torus.name, program, lines_of)


def _ports(topology: Topology, names: Iterable[str]) -> Mapping[str, list[str]]:
    """Return router -> its ports at which these directed links begin, by the names of the links."""
    ports: dict[str, list[str]] = {}
    for name in names:
        link: Link = topology.links_by_name[name]
        ports.setdefault(topology.router_name(link.source), []).append(link.port)
    return ports
