"""What the kernel shows in one namespace of a torus, against its plan: ports, routes, delays, settings, rates.

Runs in a worker process, which enters the namespace: two programs of iproute2 answer for all of it. Leaves out
addresses and neighbours, without which no packet would pass.
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
    """A namespace by its full name, what was planned for it, and those of its ports that are down."""

    name: str
    host: Namespace
    down: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNamespace:
    """Interface -> bit/s of the shapers in a namespace, what else differs from the plan, settings the kernel lacks."""

    name: str
    rates: Mapping[str, int]
    differences: tuple[str, ...]
    absent: tuple[str, ...]


def look(planned: PlannedNamespace) -> ObservedNamespace:
    """Enter a namespace and compare it with its plan. RunError where the kernel does not answer."""
    netns.enter(planned.name)
    queues = _answer(["tc", "-j", "qdisc"])[0]
    links, table = _answer(["ip", "-j", "-4", "-batch", "-"], "link show\nroute show\n")
    return ObservedNamespace(
        name=planned.name,
        rates={q["dev"]: q["options"]["rate"] * 8 for q in queues if q["kind"] == "tbf"},
        differences=(
            *_ports(planned, links),
            *_routes(planned, table),
            *_delays(planned, queues),
            *_settings(planned),
        ),
        absent=tuple(key for key, _ in planned.host.sysctls if not Path("/proc/sys", key).exists()),
    )


def _answer(command: list[str], text: str = "") -> list[list[dict[str, Any]]]:
    """The lists that a program prints, one a line."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{command[0]} failed: {done.stderr.strip()}")
    decoder, rest, lists = json.JSONDecoder(), done.stdout.strip(), []
    while rest:
        found, end = decoder.raw_decode(rest)
        lists.append(found)
        rest = rest[end:].lstrip()
    return lists


def _ports(planned: PlannedNamespace, links: list[dict[str, Any]]) -> Iterator[str]:
    up = {link["ifname"]: "UP" in link["flags"] for link in links}
    for port in planned.host.ports:
        if port not in up:
            yield f"{planned.name} has no port {port}"
        elif up[port] == (port in planned.down):
            yield f"{planned.name} {port} is {'up' if up[port] else 'down'}, planned the opposite"


def _routes(planned: PlannedNamespace, table: list[dict[str, Any]]) -> Iterator[str]:
    wanted = {
        _short(route.prefix): (route.gateway or None, route.interface)
        for route in planned.host.routes
        if not route.table and route.interface not in planned.down  # the kernel drops routes of dead ports
    }
    found = {
        _short(r["dst"]): (r.get("gateway"), r.get("dev"))
        for r in table
        if r.get("protocol") != "kernel" and not r.get("metric")  # a second choice, which no packet takes
    }
    for prefix in sorted({*wanted, *found}):
        if wanted.get(prefix) != found.get(prefix):
            yield f"{planned.name}: route to {prefix} {_said(found, prefix)}, planned {_said(wanted, prefix)}"


def _short(prefix: str) -> str:
    return prefix.removesuffix("/32")


def _said(table: Mapping[str, tuple[str | None, str | None]], prefix: str) -> str:
    if prefix not in table:
        return "none"
    gateway, device = table[prefix]
    return f"by {device or 'no device'}" + (f" via {gateway}" if gateway else "")


def _delays(planned: PlannedNamespace, queues: list[dict[str, Any]]) -> Iterator[str]:
    delayed = {queue["dev"] for queue in queues if queue["kind"] == "netem"}
    for shaper in planned.host.shapers:
        if shaper.delay_us is not None and shaper.interface not in delayed:
            yield f"{planned.name} {shaper.interface} adds no latency, planned {shaper.delay_us:.0f}us"


def _settings(planned: PlannedNamespace) -> Iterator[str]:
    for key, value in planned.host.sysctls:
        path = Path("/proc/sys", key)
        if path.exists() and (found := path.read_text(encoding="ascii")).split() != value.split():
            yield f"{planned.name}: {key} is {found.strip()}, planned {value}"
