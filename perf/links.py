"""Measure the payload rate of TCP through every link of a torus, router to router, one direction at a time."""

from __future__ import annotations

import multiprocessing
import socket
import time
from dataclasses import dataclass, replace
from multiprocessing.queues import SimpleQueue
from statistics import median

import numpy as np
from numpy.typing import NDArray

from railyard.placements.topology.base import Link
from railyard.torus.engines import netns
from railyard.torus.plan import addresses, plan
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual.lifecycle import VirtualTorus

PORT = 5001
CHUNK = bytes(65536)
SECONDS = 1.5
#: A slow link is slow in each pass, unlike a receiver that got the processor late.
PASSES = 3
#: Links under load at a time: 64 of the fastest need more packets per second than some two-core machines forward.
AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A link's measured and expected payload rate, bytes per second."""

    link: Link
    measured_byte_s: float
    expected_byte_s: float

    @property
    def error_percent(self) -> float:
        return 100 * (self.measured_byte_s / self.expected_byte_s - 1)


def payload_share(shape: Shape) -> float:
    """Return the payload's share of the bytes on the wire: TCP with timestamps over IPv4 over Ethernet."""
    return (shape.mtu_bytes - 52) / (shape.mtu_bytes + plan.ETHERNET_BYTES)


def measure(torus: VirtualTorus) -> list[Rate]:
    """Return the rate of every directed link by direction (X+ X- Y+ Y- Z+ Z-), medians of `PASSES` passes."""
    passes = [_once(torus) for _ in range(PASSES)]
    return [
        replace(rates[0], measured_byte_s=median(rate.measured_byte_s for rate in rates))
        for rates in zip(*passes, strict=True)
    ]


def _once(torus: VirtualTorus) -> list[Rate]:
    rates = []
    for dimension in range(3):
        for step in (1, -1):
            links = [k for k in torus.topology.links() if (k.dimension, k.step) == (dimension, step)]
            for first in range(0, len(links), AT_ONCE):
                rates += _phase(torus, links[first : first + AT_ONCE])
    return rates


def _phase(torus: VirtualTorus, links: list[Link]) -> list[Rate]:
    """Return the rates of links under load together, each from a sender to a receiver, forks of this process."""
    context = multiprocessing.get_context("fork")
    rates_byte_s: SimpleQueue[tuple[int, float]] = context.SimpleQueue()
    ready, listening = context.Barrier(2 * len(links)), context.Barrier(2 * len(links))
    lines = [torus.shape.rate_bit_s(torus.faults.rate_gbyte_s(torus.topology, link)) / 8 for link in links]

    def receive(index: int, link: Link, port: int) -> None:
        """Measure the rate after the first tenth of a second, without slow start and the first bucket of tokens."""
        netns.enter(netns.full_name(torus.name, torus.topology.router_name(link.target)))
        with socket.create_server(("", port)) as server:
            listening.wait()
            connection, _ = server.accept()
            # Woken for each packet, 32 receivers take the processors that the routers need.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(CHUNK) // 4)
            ready.wait()
            times, totals = [time.monotonic()], [0]
            while data := connection.recv(len(CHUNK)):
                times.append(time.monotonic())
                totals.append(totals[-1] + len(data))
        rates_byte_s.put((index, _slope(np.array(times), np.array(totals))))

    def send(index: int, link: Link, port: int) -> None:
        netns.enter(netns.full_name(torus.name, torus.topology.router_name(link.source)))
        listening.wait()
        target, size = addresses.router_address(torus.topology, link.target), int(SECONDS * lines[index])
        with socket.create_connection((target, port)) as connection:
            # In a queue of seconds TCP takes waiting for loss, sends twice, and the link looks slow.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(CHUNK))
            ready.wait()
            while size > 0:
                size -= connection.send(CHUNK[:size])

    ends = [
        context.Process(target=end, args=(index, link, PORT + link.dimension * 2 + (link.step < 0)))
        for index, link in enumerate(links)
        for end in (receive, send)
    ]
    for process in ends:
        process.start()
    measured = dict(rates_byte_s.get() for _ in links)
    for process in ends:
        process.join()
    share = payload_share(torus.shape)
    return [
        Rate(link=link, measured_byte_s=measured[index], expected_byte_s=share * line)
        for index, (link, line) in enumerate(zip(links, lines, strict=True))
    ]


def _slope(times_s: NDArray[np.float64], totals_bytes: NDArray[np.int64]) -> float:
    """Return a fit in bytes per second: a receiver that gets the processor late moves one point, not the rate."""
    steady = times_s > times_s[0] + 0.1
    return float(np.polyfit(times_s[steady], totals_bytes[steady], 1)[0])
