"""Compare a torus, as the kernel and its daemons report it, with its plan.

Each namespace is compared in a worker process, which enters it and calls `ip` and `tc` once each. Leaves out addresses
and neighbours, because without them no packet would arrive.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import RunError
from railyard.torus.engines import engines, netns, router
from railyard.torus.plan import router_description
from railyard.torus.plan.plan import Namespace, TorusPlan
from railyard.torus.slurm import cluster
from railyard.torus.virtual import counters, machines
from railyard.torus.virtual.lifecycle import VirtualTorus

COUNTS = ("namespaces", "namespaces_planned", "shapers", "shapers_planned", "processes", "differences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts of what exists and what was planned, and all differences, one line each.

    `scheduler` is node -> state as Slurm reports it, None without Slurm. `absent` are planned kernel settings that this
    kernel lacks.
    """

    torus: VirtualTorus
    namespaces: int
    namespaces_planned: int
    shapers: int
    shapers_planned: int
    processes: int
    differences: tuple[str, ...]
    scheduler: Mapping[str, str] | None = None
    router: router.RouterState | None = None
    absent: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Return whether the torus equals its plan."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `railyard torus status --json`."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return {
            **self.torus.provenance(),
            "topology": self.torus.topology.name,
            **counts,
            "absent_settings": list(self.absent),
            "slurm": self._slurm_counts(),
            "sound": self.sound,
        }

    def _slurm_counts(self) -> dict[str, int] | None:
        """Return state -> number of Slurm's nodes in it; None without Slurm."""
        return None if self.scheduler is None else dict(Counter(self.scheduler.values()))

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield (name, value) of each row of the table that `railyard torus status` prints."""
        shape = self.torus.shape
        yield "topology", self.torus.topology.name
        yield "engine", self.torus.engine
        carrier = self.router
        if shape.network == "kernel":
            yield "network", "kernel"
        elif carrier is None:
            yield "network", "router (has ended)"
        else:
            priority = "real-time" if carrier.realtime else "usual"
            yield "network", f"router (process {carrier.process}, {priority} priority)"
        if made_of := self.torus.containers:
            yield "image", f"{made_of.image} ({made_of.image_sha256[:12]})"
            yield "folders seen", ", ".join(made_of.volumes) or "none"
        yield "rate scale", f"{shape.rate_scale:g} (1 GB/s is {shape.rate_scale * 8e3:g} Mbit/s)"
        if parts := self.torus.parts:
            yield "machines", ", ".join(machine.name for machine in parts.machines)
        yield "MTU", f"{shape.mtu_bytes} bytes"
        yield "namespaces", f"{self.namespaces} of {self.namespaces_planned}"
        yield "shaped link ends", f"{self.shapers} of {self.shapers_planned} at the planned rate"
        if self.absent:
            yield "settings", f"this kernel lacks {', '.join(self.absent)}"
        yield "latency", "scaled" if shape.latency_scaled else "not scaled"
        yield "faults", "; ".join(self.torus.faults.summary) or "none"
        if (states := self._slurm_counts()) is not None:
            yield "Slurm", ", ".join(f"{count} {state}" for state, count in states.items()) or "no node"
        yield "processes in it", str(self.processes)
        yield "state", "sound" if self.sound else "; ".join(self.differences[:3])


def inspect(torus: VirtualTorus) -> Report:
    """Return the report on a torus, from every namespace and every shaper, the engine and Slurm."""
    routed = torus.shape.network == "router"
    torus_plan = torus.plan()
    hosts = {netns.full_name(torus.name, namespace.name): namespace for namespace in torus_plan.namespaces}
    existing = netns.namespaces(torus.name)
    carrier = router.state(torus.name, torus.folder) if routed else None
    ends = (torus.topology.links_by_name[name] for name in torus.faults.down)
    down = {(torus.topology.router_name(link.source), link.port) for link in ends}
    work = [
        (name, hosts[name], frozenset(port for host, port in down if host == hosts[name].name))
        for name in existing
        if name in hosts
    ]
    observed = {host.name: host for host in netns.at_once(look, work)}
    planned, rates = _rates(torus, torus_plan, observed, carrier)
    wrong = [key for key, rate in planned.items() if rates.get(key) != rate]
    engine = engines()[torus.engine]
    scheduler, silent = _scheduler(torus)
    differences = [f"{name} is missing" for name in sorted(set(hosts) - set(existing))]
    differences += _of_the_whole(torus, carrier, silent)
    differences += [f"the container of {host} has ended" for host in engine.ended(torus.name, torus.folder)]
    if carrier or not routed:
        differences += [
            f"{host} {device}: {rates.get((host, device), 'no rate')}, planned {planned[host, device]} bit/s"
            for host, device in wrong
        ]
    differences += [line for name in sorted(observed) for line in observed[name].differences]
    not_the_users = engine.keepers(torus.folder) | ({carrier.process} if carrier else set())
    return Report(
        torus=torus,
        namespaces=len(existing),
        namespaces_planned=len(hosts),
        shapers=len(planned) - len(wrong),
        shapers_planned=len(planned),
        processes=len(netns.processes(netns.identities(existing)) - not_the_users),
        scheduler=scheduler,
        router=carrier,
        absent=tuple(sorted({key for host in observed.values() for key in host.absent})),
        differences=tuple(differences),
    )


def _of_the_whole(torus: VirtualTorus, carrier: router.RouterState | None, silent: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong beside single hosts: with a change of faults, Slurm (`silent`), router, other machines."""
    if torus.pending is not None:
        wanted = "; ".join(torus.pending.summary) or "no faults"
        restore = f"railyard torus fault {torus.name} --restore"
        yield f"a change of its faults was interrupted (to: {wanted}); repeat the command, or run: {restore}"
    yield from silent
    if torus.shape.network == "router" and carrier is None:
        yield "the router has ended: no packet is carried; take the torus down and up again"
    if torus.parts and torus.parts.own == torus.parts.head:
        try:
            machines.on_others(torus.parts, [*machines.RAILYARD, "torus", "status", torus.name])
        except RunError as error:
            yield str(error)


def _scheduler(torus: VirtualTorus) -> tuple[dict[str, str] | None, list[str]]:
    """Return node -> state as Slurm reports it (None without Slurm), and a line for each unusable node."""
    if not torus.slurm:
        return None, []
    try:
        states = cluster.states(torus.name, torus.folder)
    except RunError as error:
        return {}, [str(error)]
    return states, [f"Slurm's node {n} is {state}" for n, state in states.items() if not cluster.is_usable(state)]


def _rates(
    torus: VirtualTorus,
    torus_plan: TorusPlan,
    observed: Mapping[str, ObservedNamespace],
    carrier: router.RouterState | None,
) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """Return (host, interface) -> bit/s of each shaped end of a link: as planned, and as reported.

    The kernel, whose hosts have the full names of their namespaces, reports whole bytes per second, rounded down. A
    user-space router reports 0 for a link that is down.
    """
    if torus.shape.network == "router":
        planned = {
            (port.source, port.port): 0 if port.down else torus.shape.rate_bit_s(port.rate_gbyte_s) // 8 * 8
            for port in router_description.ports(torus.topology, torus.faults)
        }
        interfaces = counters.snapshots(torus.name, torus.parts)[1] if carrier else {}
        return planned, {end: 8 * interface.rate_byte_s for end, interface in interfaces.items()}
    planned = {
        (netns.full_name(torus.name, namespace.name), shaper.interface): shaper.rate_bit_s // 8 * 8
        for namespace in torus_plan.namespaces
        for shaper in namespace.shapers
    }
    return planned, {(name, device): rate for name, host in observed.items() for device, rate in host.rates.items()}


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


def look(work: tuple[str, Namespace, Set[str]]) -> ObservedNamespace:
    """Enter a namespace and compare it with its plan. RunError if `ip` or `tc` fails.

    `work` is its full name, its plan, and those of its ports that faults have taken down.
    """
    name, host, down = work
    netns.enter(name)
    queues = _answer(["tc", "-j", "qdisc"])[0]
    links, table = _answer(["ip", "-j", "-4", "-batch", "-"], "link show\nroute show\n")
    up = {link["ifname"]: "UP" in link["flags"] for link in links}
    differences = []
    for port in host.ports:
        if port not in up:
            differences.append(f"{name} has no port {port}")
        elif up[port] == (port in down):
            differences.append(f"{name} {port} is {'up' if up[port] else 'down'}, planned the opposite")
    differences += _routes(name, host, down, table)
    delayed = {queue["dev"] for queue in queues if queue["kind"] == "netem"}
    differences += [
        f"{name} {shaper.interface} adds no latency, planned {shaper.delay_us:.0f}us"
        for shaper in host.shapers
        if shaper.delay_us is not None and shaper.interface not in delayed
    ]
    settings = {key: Path("/proc/sys", key) for key, _ in host.sysctls}
    current = {key: path.read_text(encoding="ascii").split() for key, path in settings.items() if path.exists()}
    differences += [
        f"{name}: {key} is {' '.join(current[key])}, planned {value}"
        for key, value in host.sysctls
        if key in current and current[key] != value.split()
    ]
    return ObservedNamespace(
        name=name,
        rates={q["dev"]: q["options"]["rate"] * 8 for q in queues if q["kind"] == "tbf"},
        differences=tuple(differences),
        absent=tuple(key for key in settings if key not in current),
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


def _routes(name: str, host: Namespace, down: Set[str], table: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each route of the main table that is missing, differs or is not planned.

    `ip` prints prefixes without /32.
    """
    wanted = {
        route.prefix.removesuffix("/32"): (route.gateway or None, route.interface)
        for route in host.routes
        if not route.table and route.interface not in down  # the kernel drops routes of dead ports
    }
    existing = {
        r["dst"].removesuffix("/32"): (r.get("gateway"), r.get("dev"))
        for r in table
        if r.get("protocol") != "kernel" and not r.get("metric")  # planned routes win over these
    }
    for prefix in sorted({*wanted, *existing}):
        if wanted.get(prefix) != existing.get(prefix):
            yield f"{name}: route to {prefix} {_hop(existing, prefix)}, planned {_hop(wanted, prefix)}"


def _hop(table: Mapping[str, tuple[str | None, str | None]], prefix: str) -> str:
    """Return in words the interface and the gateway of a prefix in a table."""
    if prefix not in table:
        return "none"
    gateway, device = table[prefix]
    return f"by {device or 'no device'}" + (f" via {gateway}" if gateway else "")
