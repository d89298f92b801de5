"""How many packets a second this machine forwards, and whether a torus could ask for more.

Measured once and cached: TCP streams between the nodes of a small torus without shaping, counted at every interface.
A torus with every link busy at once needs, for each directed link and each NIC, its rate over the packet size, and
half as many acknowledgements on the way back.
"""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import os
import platform
import socket
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError

from placements.topology.base import LinkClass, Node, Topology
from placements.topology.torus import Dimension, Torus
from railyard.base import checkout
from railyard.base.errors import RunError
from railyard.torus.engines import netns
from railyard.torus.plan import addresses, plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import counters, locks

RING = Torus(
    name="packet-budget",
    dimensions=(
        Dimension(extent=4, tiles=1, pattern=(LinkClass.CABLE,)),
        Dimension(extent=1, tiles=1, pattern=(LinkClass.CABLE,)),
        Dimension(extent=1, tiles=1, pattern=(LinkClass.CABLE,)),
    ),
    tile_rates_gbyte_s={LinkClass.CABLE: 1.0, LinkClass.HOST: 1.0},
    host_tiles=1,
)
UNSHAPED = Shape(rate_scale=10.0)
MEASURE_S = 0.6
PORT = 5201
READY_S = 10.0
ACKNOWLEDGED_PACKETS = 2
# At a third of it, 8 bytes between 8 nodes were void in half of the smoke runs of an idle machine.
HOP_US = 1000.0
GEMINI_HOP_US = 0.1  # for a topology that names no latency
BUSY_TRIES = 5  # the launches of one suite keep the load average up, so every job would measure for a second
RESERVE = 15  # at a fifteenth of the packets an A/A pair of 64 ranks was 1.4 % apart; at a quarter, 14 %


def demand_packets_s(topology: Topology, shape: Shape) -> float:
    """Packets a second with every directed link and every NIC busy, acknowledgements included."""
    hosts = 2 * len(topology.nodes) * topology.rails * topology.host_rate_gbyte_s
    total_gbyte_s = sum(link.rate_gbyte_s for link in topology.links()) + hosts
    data = shape.rate_bit_s(total_gbyte_s) / (8 * (shape.mtu_bytes + plan.ETHERNET_BYTES))
    return data * (1 + 1 / ACKNOWLEDGED_PACKETS)


def warning(topology: Topology, shape: Shape, budget_packets_s: float) -> str:
    """Return what to say of a torus that could ask for more than the machine forwards; nothing when it could not."""
    wanted = demand_packets_s(topology, shape)
    if wanted <= budget_packets_s:
        return ""
    better = shape.rate_scale * budget_packets_s / wanted
    return (
        f"every link busy at once would be {wanted / 1e3:.0f} thousand packets/s, and this machine forwards about "
        f"{budget_packets_s / 1e3:.0f}; for such loads use --rate-scale {better:.2g}, or fewer nodes"
    )


def reserved_scale(
    topology: Topology, shape: Shape, budget_packets_s: float, *, ranks_per_node: int = 1
) -> float:
    """Return the largest rate scale of 1, 2, 3 or 5 times a power of ten at which the machine keeps its reserve.

    Every link busy at once then needs at most one `RESERVE`th of the packets that the machine forwards, and a hop takes
    `HOP_US` at least, beside which the time that a rank takes to wake is small. Each rank of a node adds as much to the
    machine's work, so there is one such reserve for each. A machine that cannot keep it gets the least scale at which
    every link can be shaped; the guard then judges each launch.
    """
    by_packets = shape.rate_scale * budget_packets_s / (RESERVE * demand_packets_s(topology, shape))
    by_hops = (topology.hop_latency_us or GEMINI_HOP_US) / HOP_US
    largest = min(by_packets, by_hops) / ranks_per_node * (1 + 1e-9)  # a rounded quotient is no smaller scale
    lowest, _ = plan.rate_scales(topology, shape)
    steps = _steps(largest)
    within = [step for step in steps if lowest <= step <= largest]
    return max(within) if within else min(step for step in _steps(lowest) if step >= lowest)


def _steps(about: float) -> list[float]:
    """Return 1, 2, 3 and 5 times the power of ten below `about`, and the next power of ten."""
    power = 10.0 ** math.floor(math.log10(about))
    return [float(f"{step * power:.1g}") for step in (1, 2, 3, 5, 10)]


def advice(topology: Topology, shape: Shape) -> str:
    """Return what to say of a torus that was brought up; nothing where the machine was too busy to be measured.

    The torus is up whether or not the measurement works, so no failure of it may end the command.
    """
    try:
        return warning(topology, shape, known_packets_s())
    except (BrokenBarrierError, RunError, OSError):
        return ""


def auto_scale(topology: Topology, shape: Shape, *, ranks_per_node: int) -> float:
    """Return the rate scale that `auto` means on this machine. Raises as `known_packets_s` does."""

    def scale(packets_s: float) -> float:
        return reserved_scale(topology, shape, packets_s, ranks_per_node=ranks_per_node)

    return scale(known_packets_s(lambda packets_s: scale(packets_s) == scale(math.inf)))


def known_packets_s(is_enough: Callable[[float], bool] = lambda _: False) -> float:
    """Return the machine's budget: from the cache, else measured now (about a second).

    What was measured while other work was running is too low. It is measured again the next time, `BUSY_TRIES` times
    in all, and the largest is kept. It is not measured again where `is_enough` returns true for what is known.
    Raises BrokenBarrierError where the processes that send do not start within READY_S.
    """
    machine = {"kernel": platform.release(), "cpus": os.cpu_count(), "machine": platform.node()}
    path, known, tries = _cache(), 0.0, 0
    try:
        cached = json.loads(path.read_text(encoding="utf-8"))
        if cached["machine"] == machine:
            known, tries = float(cached["packets_per_s"]), int(cached["busy_tries"])
            if not tries or tries >= BUSY_TRIES or is_enough(known):
                return known
    except (OSError, ValueError, KeyError, TypeError):
        pass
    is_busy = os.getloadavg()[0] > (os.cpu_count() or 1) / 2
    measured = max(known, measure_packets_s())
    kept = {"machine": machine, "packets_per_s": measured, "busy_tries": tries + 1 if is_busy else 0}
    _store(path, json.dumps(kept))
    return measured


def _cache() -> Path:
    return checkout.cache() / "railyard" / "packet-budget.json"


def _store(path: Path, text: str) -> None:
    """As a whole; a folder that cannot be written only means that it is measured again."""
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.rename(path)
    except OSError:
        return


def measure_packets_s() -> float:
    """Streams between neighbours round a ring of four unshaped routers: packets that all interfaces sent a second."""
    name = f"budget{os.getpid()}"
    made = plan.make(RING, UNSHAPED)
    with locks.turn():
        try:
            netns.create(name, made)
            return _streamed(name)
        finally:
            netns.remove(name)


def _streamed(name: str) -> float:
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(2 * len(RING.nodes) + 1)
    pairs = list(zip(RING.nodes, (*RING.nodes[1:], RING.nodes[0]), strict=True))
    ends = [context.Process(target=_receive, args=(name, target, ready), daemon=True) for _, target in pairs]
    ends += [context.Process(target=_send, args=(name, *pair, ready), daemon=True) for pair in pairs]
    for end in ends:
        end.start()
    try:
        ready.wait(timeout=READY_S)
        time.sleep(MEASURE_S / 4)
        before, begun = _packets(name), time.monotonic()
        time.sleep(MEASURE_S)
        after, ended = _packets(name), time.monotonic()
    finally:
        for end in reversed(ends):
            end.kill()
        for end in ends:
            end.join()
    return (after - before) / (ended - begun)


def _packets(name: str) -> int:
    return sum(link.packets for link in counters.read(name, RING).links)


def _receive(name: str, node: Node, ready: Barrier) -> None:
    netns.enter(netns.full_name(name, node.name))
    with socket.create_server(("", PORT)) as server:
        ready.wait()
        connection, _ = server.accept()
        for _ in _chunks(connection):
            pass


def _chunks(connection: socket.socket) -> Iterator[bytes]:
    while data := connection.recv(1 << 18):
        yield data


def _send(name: str, node: Node, target: Node, ready: Barrier) -> None:
    netns.enter(netns.full_name(name, node.name))
    ready.wait()
    address, chunk = (addresses.node_address(RING, target, 0), PORT), os.urandom(1 << 18)
    with contextlib.suppress(OSError), socket.create_connection(address) as connection:
        while True:
            connection.sendall(chunk)
