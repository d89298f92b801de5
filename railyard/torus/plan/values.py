"""Describe routes and shapers as values. Only `engines.netns` turns them into lines for `ip` and `tc`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route of a host: a prefix of destinations, and the interface through which packets to them leave.

    `gateway` is the address of the next hop, empty if the destination is on the interface. `source` is the source
    address of the host's own packets. `tcp` are attributes of TCP connections, as words of `ip route`. `table` is the
    number of the routing table, empty for the main one.
    """

    prefix: str
    interface: str
    gateway: str = ""
    source: str = ""
    tcp: str = ""
    table: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return (table, prefix), by which the kernel identifies a route: a table has one route per prefix."""
        return self.table, self.prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaper:
    """The queueing of an interface that limits its rate: a token bucket, and a delay unless `delay_us` is None.

    The bucket holds `burst_bytes`. At most `queue_bytes` wait for it, and at most `delay_packets` are delayed at once.
    """

    interface: str
    rate_bit_s: int
    burst_bytes: int
    queue_bytes: int
    delay_us: float | None = None
    delay_packets: int = 0

    @property
    def kernel_rate_bit_s(self) -> int:
        """Return the rate as the kernel reports it: rounded down to whole bytes per second."""
        return self.rate_bit_s // 8 * 8
