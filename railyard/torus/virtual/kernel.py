"""Compare one namespace of a torus, as the kernel reports it, with its plan: ports, routes, delays, settings, rates.

Runs in a worker process, which enters the namespace and calls `ip` and `tc` once each. Leaves out addresses and
neighbours, because without them no packet would arrive.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import RunError
from railyard.torus.engines import netns
from railyard.torus.plan.plan import Namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNamespace:
    """A namespace: its full name, its plan, and those of its ports that faults have taken down."""

    name: str
    host: Namespace
    down: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNamespace:
    """What the kernel reports of a namespace.

    `rates` are interface -> bit/s of its shapers, `differences` what else differs from the plan, one line each, and
    `absent` the planned settings that the kernel lacks.
    """

    name: str
    rates: Mapping[str, int]
    differences: tuple[str, ...]
    absent: tuple[str, ...]


def look(planned: PlannedNamespace) -> ObservedNamespace:
    """Enter a namespace and compare it with its plan. RunError if `ip` or `tc` fails."""
    netns.enter(planned.name)
    queues = _answer(["tc", "-j", "qdisc"])[0]
    links, table = _answer(["ip", "-j", "-4", "-batch", "-"], "link show\nroute show\n")
    return ObservedNamespace(
        name=planned.name,
        rates={q["dev"]: q["options"]["rate"] * 8 for q in queues if q["kind"] == "tbf"},
        differences=(*_ports(planned, links), *_routes(planned, table), *_delays(planned, queues), *_settings(planned)),
        absent=tuple(key for key, _ in planned.host.sysctls if not Path("/proc/sys", key).exists()),
    )


def _answer(command: list[str], text: str = "") -> list[list[dict[str, Any]]]:
    """Return the JSON lists that a command prints one after another; `text` is its stdin. RunError if it fails."""
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RunError(f"{command[0]} failed: {result.stderr.strip()}")
    decoder, rest, lists = json.JSONDecoder(), result.stdout.strip(), []
    while rest:
        rows, end = decoder.raw_decode(rest)
        lists.append(rows)
        rest = rest[end:].lstrip()
    return lists


def _ports(planned: PlannedNamespace, links: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each port that is missing, or up or down against the plan."""
    up = {link["ifname"]: "UP" in link["flags"] for link in links}
    for port in planned.host.ports:
        if port not in up:
            yield f"{planned.name} has no port {port}"
        elif up[port] == (port in planned.down):
            yield f"{planned.name} {port} is {'up' if up[port] else 'down'}, planned the opposite"


def _routes(planned: PlannedNamespace, table: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each route of the main table that is missing, differs or is not planned."""
    wanted = {
        _short(route.prefix): (route.gateway or None, route.interface)
        for route in planned.host.routes
        if not route.table and route.interface not in planned.down  # the kernel drops routes of dead ports
    }
    existing = {
        _short(r["dst"]): (r.get("gateway"), r.get("dev"))
        for r in table
        if r.get("protocol") != "kernel" and not r.get("metric")  # planned routes win over these
    }
    for prefix in sorted({*wanted, *existing}):
        if wanted.get(prefix) != existing.get(prefix):
            yield f"{planned.name}: route to {prefix} {_hop(existing, prefix)}, planned {_hop(wanted, prefix)}"


def _short(prefix: str) -> str:
    """Return a prefix as `ip` prints it: without /32."""
    return prefix.removesuffix("/32")


def _hop(table: Mapping[str, tuple[str | None, str | None]], prefix: str) -> str:
    """Return in words the interface and the gateway of a prefix in a table."""
    if prefix not in table:
        return "none"
    gateway, device = table[prefix]
    return f"by {device or 'no device'}" + (f" via {gateway}" if gateway else "")


def _delays(planned: PlannedNamespace, queues: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each interface that should delay packets and has no netem queue."""
    delayed = {queue["dev"] for queue in queues if queue["kind"] == "netem"}
    for shaper in planned.host.shapers:
        if shaper.delay_us is not None and shaper.interface not in delayed:
            yield f"{planned.name} {shaper.interface} adds no latency, planned {shaper.delay_us:.0f}us"


def _settings(planned: PlannedNamespace) -> Iterator[str]:
    """Yield a line for each kernel setting with another value than planned."""
    for key, value in planned.host.sysctls:
        path = Path("/proc/sys", key)
        if path.exists() and (current := path.read_text(encoding="ascii")).split() != value.split():
            yield f"{planned.name}: {key} is {current.strip()}, planned {value}"
