"""Measure how many packets per second this machine forwards, and compare a torus's demand with it.

The budget is measured once and cached: TCP streams between the nodes of a small torus without shapers, counted at every
interface. The demand is that of a torus with every link busy at once: for each directed link and each NIC its rate over
the packet size, and half as many acknowledgements in the other direction.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import multiprocessing
import os
import platform
import socket
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError

from railyard.base import checkout
from railyard.base.errors import RunError
from railyard.base.json_files import json_object
from railyard.placements.topology.base import LinkClass, Node, Topology
from railyard.placements.topology.torus import Dimension, Torus
from railyard.torus.engines import netns
from railyard.torus.engines.base import replace_file
from railyard.torus.plan import addresses, plan
from railyard.torus.plan.parts import Parts
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import counters, locks, machines

_SINGLE = Dimension(extent=1, tiles=1, pattern=(LinkClass.CABLE,))
RING = Torus(
    name="packet-budget",
    dimensions=(dataclasses.replace(_SINGLE, extent=4), _SINGLE, _SINGLE),
    tile_rates_gbyte_s={LinkClass.CABLE: 1.0, LinkClass.HOST: 1.0},
    host_tiles=1,
)
UNSHAPED = Shape(rate_scale=10.0)
MEASURE_S = 0.6
PORT = 5201
READY_S = 10.0
ACKNOWLEDGED_PACKETS = 2
#: The least time of a hop on the torus. At a third of it, half of the launches with messages of 8 bytes between 8 nodes
#: were void on an idle machine.
HOP_US = 1000.0
#: The least time of a hop, in round trips between machines: cells for the other machine wait behind others.
HOP_WIRES = 4
GEMINI_HOP_US = 0.1  # for a topology that names no latency
#: Measurements on a busy machine. Without a limit every job of a suite would measure again, because launches keep the
#: load average up.
BUSY_TRIES = 5
#: The budget over the demand at the automatic rate scale. At 15 two equal launches of 64 ranks differed by 1.4 %, at 4
#: by 14 %.
RESERVE = 15
#: The rate scale over the first one of a torus that is slowed down as far as possible.
SLOWEST_SHARE = 0.25


def demand_packets_s(topology: Topology, shape: Shape) -> float:
    """Return packets per second with every directed link and every NIC busy, acknowledgements included."""
    hosts = 2 * len(topology.nodes) * topology.rails * topology.host_rate_gbyte_s
    total_gbyte_s = sum(link.rate_gbyte_s for link in topology.links()) + hosts
    data = shape.rate_bit_s(total_gbyte_s) / (8 * (shape.mtu_bytes + plan.ETHERNET_BYTES))
    return data * (1 + 1 / ACKNOWLEDGED_PACKETS)


def reserved_scale(
    topology: Topology,
    shape: Shape,
    budget_packets_s: float,
    *,
    ranks_per_node: int = 1,
    hop_us: float = HOP_US,
    times: float = 1,
) -> float:
    """Return the largest rate scale of 1, 2, 3 or 5 times a power of ten at which the machine keeps its reserve.

    With every link busy at once the demand is then at most a `RESERVE`th of the budget, or `times` as much: for a
    program that loads few links at once. A hop takes at least `hop_us`, so that the time in which a rank wakes up is
    small in comparison. Each rank of a node adds the same work, so the scale is divided by `ranks_per_node`.

    If the machine cannot keep the reserve, returns the smallest scale at which every link can be shaped. The guard then
    judges each launch.
    """
    by_packets = times * shape.rate_scale * budget_packets_s / (RESERVE * demand_packets_s(topology, shape))
    by_hops = (topology.hop_latency_us or GEMINI_HOP_US) / hop_us
    # The last factor prevents that rounding selects the next smaller scale.
    largest = min(by_packets, by_hops) / ranks_per_node * (1 + 1e-9)
    lowest, _ = plan.rate_scales(topology, shape)
    steps = _steps(largest)
    within = [step for step in steps if lowest <= step <= largest]
    return max(within) if within else min(step for step in _steps(lowest) if step >= lowest)


def _steps(about: float) -> list[float]:
    """Return 1, 2, 3 and 5 times the power of ten below `about`, and the next power of ten."""
    power = 10.0 ** math.floor(math.log10(about))
    return [float(f"{step * power:.1g}") for step in (1, 2, 3, 5, 10)]


def slower_scale(topology: Topology, shape: Shape) -> float:
    """Return the next smaller rate scale for a torus whose launches load made void; 0 where it was slowed down enough.

    Enough is `SLOWEST_SHARE` of its first scale, or the smallest at which every link can be shaped.
    """
    lowest = max(plan.rate_scales(topology, shape)[0], SLOWEST_SHARE * (shape.slowed_from or shape.rate_scale))
    steps = [*_steps(shape.rate_scale / 10), *_steps(shape.rate_scale)]
    return max((step for step in steps if lowest <= step < shape.rate_scale * (1 - 1e-9)), default=0.0)


def advice(topology: Topology, shape: Shape) -> str:
    """Return the warning for a torus whose demand exceeds the machine's budget; an empty text if it does not.

    The text is also empty if the budget cannot be measured: the torus is up, so a failure must not end the command.
    """
    try:
        budget_packets_s = cached_packets_s()
    except (BrokenBarrierError, RunError, OSError):
        return ""
    demand = demand_packets_s(topology, shape)
    if demand <= budget_packets_s:
        return ""
    better = shape.rate_scale * budget_packets_s / demand
    return (
        f"every link busy at once would be {demand / 1e3:.0f} thousand packets/s, and this machine forwards about "
        f"{budget_packets_s / 1e3:.0f}; for such loads use --rate-scale {better:.2g}, or fewer nodes"
    )


def most_scale(topology: Topology, shape: Shape) -> float:
    """Return the rate scale at which all links together need all packets that this machine forwards, 0 if unknown."""
    budget_packets_s: float = json_object(_cache()).get("packets_per_s", 0.0)
    return shape.rate_scale * budget_packets_s / demand_packets_s(topology, shape)


def auto_scale(
    topology: Topology, shape: Shape, *, ranks_per_node: int, times: float = 1, parts: Parts | None = None
) -> float:
    """Return the rate scale of `--rate-scale auto`, or `auto*TIMES`, on this machine, or on those of `parts`.

    Of several machines the slowest has an equal part of the packets, and a hop takes `HOP_WIRES` round trips at least.
    Raises as `cached_packets_s` does, and RunError for a machine that does not answer.
    """
    hop_us = max(HOP_US, HOP_WIRES * machines.wire_s(parts) * 1e6) if parts else HOP_US
    others = [float(text) for text in machines.on_others(parts, [*machines.PART, "budget"])]

    def scale(packets_s: float) -> float:
        all_packets_s = (len(others) + 1) * min(packets_s, *others, math.inf)
        return reserved_scale(topology, shape, all_packets_s, ranks_per_node=ranks_per_node, hop_us=hop_us, times=times)

    return scale(cached_packets_s(lambda packets_s: scale(packets_s) == scale(math.inf)))


def cached_packets_s(is_enough: Callable[[float], bool] = lambda _: False) -> float:
    """Return the machine's budget in packets per second: from the cache, else measured now (about a second).

    A measurement while other work is running is too low. It is repeated at the next calls, up to `BUSY_TRIES` times in
    all, and the largest is cached. It is not repeated if `is_enough` returns True for the cached budget. Raises
    BrokenBarrierError if the sending processes do not start within `READY_S`.
    """
    machine = {"kernel": platform.release(), "cpus": os.cpu_count(), "machine": platform.node()}
    cached = json_object(_cache())
    budget, tries = 0.0, 0
    if cached.get("machine") == machine:
        budget, tries = float(cached["packets_per_s"]), int(cached.get("busy_tries", 0))
        if not tries or tries >= BUSY_TRIES or is_enough(budget):
            return budget
    is_busy = os.getloadavg()[0] > (os.cpu_count() or 1) / 2
    measured = max(budget, measure_packets_s())
    document = {"machine": machine, "packets_per_s": measured, "busy_tries": tries + 1 if is_busy else 0}
    with contextlib.suppress(OSError):  # it can be measured again
        _cache().parent.mkdir(parents=True, exist_ok=True)
        replace_file(_cache(), json.dumps(document))
    return measured


def _cache() -> Path:
    """Return the file that holds the budget of this user's machine."""
    return checkout.cache() / "railyard" / "packet-budget.json"


def measure_packets_s() -> float:
    """Return packets per second, summed over all interfaces, with streams between neighbours in a ring without shapers.

    The ring has four routers, and is made and removed here.
    """
    name = f"budget{os.getpid()}"
    ring_plan = plan.make(RING, UNSHAPED)
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(2 * len(RING.nodes) + 1)
    pairs = list(zip(RING.nodes, (*RING.nodes[1:], RING.nodes[0]), strict=True))
    ends = [context.Process(target=_receive, args=(name, target, ready), daemon=True) for _, target in pairs]
    ends += [context.Process(target=_send, args=(name, *pair, ready), daemon=True) for pair in pairs]
    with locks.turn():
        try:
            netns.create(name, ring_plan)
            for end in ends:
                end.start()
            ready.wait(timeout=READY_S)
            time.sleep(MEASURE_S / 4)
            before, before_s = counters.read(name, RING), time.monotonic()
            time.sleep(MEASURE_S)
            after, after_s = counters.read(name, RING), time.monotonic()
        finally:
            for end in (end for end in reversed(ends) if end.pid):
                end.kill()
                end.join()
            netns.remove(name)
    return sum(link.packets for link in counters.difference(after, before).links) / (after_s - before_s)


def _receive(name: str, node: Node, ready: Barrier) -> None:
    """Receive on a node, in a process of its own, until it is killed."""
    netns.enter(netns.full_name(name, node.name))
    with socket.create_server(("", PORT)) as server:
        ready.wait()
        connection, _ = server.accept()
        while connection.recv(1 << 18):
            pass


def _send(name: str, node: Node, target: Node, ready: Barrier) -> None:
    """Send from a node to `target`, in a process of its own, until it is killed."""
    netns.enter(netns.full_name(name, node.name))
    ready.wait()
    address, chunk = (addresses.node_address(RING, target, 0), PORT), os.urandom(1 << 18)
    with contextlib.suppress(OSError), socket.create_connection(address) as connection:
        while True:
            connection.sendall(chunk)
