"""Routes and shapers as values; `engines.netns` alone turns them into lines for `ip` and `tc`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route of a host: a prefix and the interface that its packets leave by.

    `gateway` is the next hop, empty where the destination itself is on the interface. `source` is the address that the
    host's own packets get. `tcp` are the kernel's attributes of TCP connections along the route. `table` is the routing
    table, empty for the main one.
    """

    prefix: str
    interface: str
    gateway: str = ""
    source: str = ""
    tcp: str = ""
    table: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return what the kernel knows the route by: a table has one route per prefix."""
        return self.table, self.prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaper:
    """What an interface does to what it sends: a token bucket, and a delay where latency is scaled (`delay_us` > 0).

    A bucket holds `burst_bytes`; `queue_bytes` wait for it. At most `delay_packets` are delayed at a time.
    """

    interface: str
    rate_bit_s: int
    burst_bytes: int
    queue_bytes: int
    delay_us: float | None = None
    delay_packets: int = 0

    @property
    def kernel_rate_bit_s(self) -> int:
        """Return the rate as the kernel reports it, which is in whole bytes."""
        return self.rate_bit_s // 8 * 8
