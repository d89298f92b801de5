"""Records that pass the strict check, of every origin: what an honest bidder hands over.

Placements, orders, NICs and times are those that a job would have made; only the figures are drawn.
"""

from __future__ import annotations

import dataclasses
import math
import random
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from railyard.base.checkout import CHECKOUT
from railyard.jobs import launching
from railyard.placements import launchers
from railyard.placements.arrays import np
from railyard.placements.launchers import files
from railyard.placements.nics import policies
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import Placement, place
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Node, Topology
from railyard.records import launch_order, programs
from railyard.records.assemble import LaunchRun, assemble
from railyard.records.folded import nic_bytes
from railyard.records.record import Record, Software, Verdict
from railyard.torus.modelled import programs as model
from support import synthetic

PLACEMENTS = ["plain", "random"]
POLICIES = ["library-default", "local-nic"]
TOPOLOGY = "dual-rail-small"
GRID = [4, 4]
CELLS = [2048, 2048]
FACES_BYTES = 131072
REPEATS = 20
HALO_SHA256 = "c0" * 32
LAUNCH_S = 4.2


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(CHECKOUT), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _last_commit(before: datetime) -> tuple[str, datetime]:
    """Return the last commit before a time, and the time; a shallow clone has only its own commit, and a later time."""
    until = f"--before={before - timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"
    if old := _git("rev-list", "--max-count=1", until, "HEAD"):
        return old, before
    if own := _git("log", "-1", "--format=%H %cI"):
        commit, date = own.split()
        return commit, datetime.fromisoformat(date).astimezone(UTC) + timedelta(minutes=5)
    return "1f" * 20, before


#: A commit of this checkout that writes the current format, and when the first job ended, which is later.
HEAD, CREATED = _last_commit(datetime(2026, 11, 27, 1, tzinfo=UTC))
#: Uptime of the machine when its first job began.
UP_S = 5e6

Change = synthetic.Change
TORI: Mapping[str, Mapping[str, Any] | None] = {
    "emulated": {**synthetic.TORUS, "network": "router", "buffer_cells": 8, "faults": []},
    "simulated": {**synthetic.TORUS, "engine": "SimGrid 3.32", "name": "simulated", "latency_scaled": True},
    "modelled": None,
    "measured": None,
}


def good(
    *,
    seed: int = 1,
    launches: int = 6,
    origin: str = "emulated",
    placements: Sequence[str] = PLACEMENTS,
    nic_policies: Sequence[str] | None = None,
    topology: str = TOPOLOGY,
    grid: Sequence[int] = GRID,
    order: str = "snake",
    block: Sequence[int] = (),
    speed: float = 1.0,
    slow: Mapping[str, float] | None = None,
    challenge: str = "",
    check: str = "halo_3d",
    system: str = "",
    created: datetime = CREATED,
    number: int = 0,
    previous: str | None = None,
    session: str = "b7f4",
    change: Change = lambda run, document: run,
    case_changes: Mapping[str, Any] | None = None,
) -> Record:
    """A job of halo; `seed` is that of the figures, and of the order where there is no challenge.

    `slow` is how many times as long an iteration takes under a placement, as where ranks share a slow link. `block` is
    the box of the allocation; the torus's other nodes are idle.
    """
    network = catalog.load(topology)
    computed = origin in {"simulated", "modelled"}
    asked = nic_policies or (["library-default"] if computed or origin == "measured" else POLICIES)
    seeded = launch_order.seed_of(challenge, check, seed)
    granted = allocate(network, order, block=tuple(block) or None, seed=seeded)
    case = {
        "check": check,
        "benchmark": "halo",
        "studies": ["pena2013"] if check == "halo_3d" else [],
        "parameters": {"grid": list(grid), "cells": CELLS, "repeats": REPEATS},
        "topology": files.described(network),
        "allocation": {
            "order": order,
            "seed": seeded,
            "nodes": [{"name": node.name, "coordinate": list(node.coordinate)} for node in granted.nodes],
        },
        "placements": list(placements),
        "nic_policies": list(asked),
        "software": ["native"],
        "seed": seeded,
        "launches_per_combination": 1 if computed else launches,
        "ranks_per_node": 1,
        "grid": list(grid),
        "block": list(block),
        "cube": [],
        "devices": None,
        "challenge": challenge,
        **(case_changes or {}),
    }
    rounds = case["launches_per_combination"]
    drawn = list(launch_order.in_rounds(placements, asked, [Software.NATIVE], rounds=rounds, seed=seeded))
    up_s = UP_S + (created - CREATED).total_seconds()
    begun = created - timedelta(seconds=(LAUNCH_S + 1) * len(drawn) + 1)
    chance = random.Random(f"{seed} {speed} {system} {check}")
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for index, (repeat, placement, policy, _) in enumerate(drawn):
            placed = place(placement, granted, tuple(grid), seed=seeded)
            document = _document(
                case,
                placed,
                _modelled(network, placed)
                if origin == "modelled"
                else _series(chance, speed / (slow or {}).get(placement, 1.0), computed=computed),
            )
            since = up_s + index * (LAUNCH_S + 1)
            run = LaunchRun(
                index=index,
                placement=placement,
                nic_policy=policy,
                repeat=repeat,
                command=_command(case, (placement, policy, origin), placed, index),
                exit_status=0,
                started=(begun + timedelta(seconds=since - up_s)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                elapsed_s=LAUNCH_S,
                begun_monotonic_s=since,
                ended_monotonic_s=since + LAUNCH_S,
                output=Path(folder) / f"launch-{index}.json",
                expected_hosts=[node.name for node in placed.nodes],
                has_groups=network.has_groups,
                guard=_guard(chance) if origin == "emulated" else None,
                **_nics(
                    chance,
                    network,
                    placed,
                    policy,
                    # on a real machine only for a policy that must be proved
                    is_counted=origin in {"emulated", "simulated"} or (origin == "measured" and len(asked) > 1),
                    granted=granted.nodes if origin == "emulated" else None,
                ),
            )
            runs.append(synthetic.written(run, document, change))
        code = {"git_commit": HEAD, "git_dirty": False}
        digests = {str(case["benchmark"]): HALO_SHA256, "libmpi.so.40": "a1" * 32}
        name = system or {"emulated": "vtorus", "measured": "cluster"}.get(origin, "simtorus")
        made = synthetic.provenance(torus=TORI[origin])
        described = {"described": len(granted.nodes), "kinds": 1, "boots": len(granted.nodes)}
        return assemble(
            case=case,
            system={"name": name, "partition": "netns", "environment": "openmpi"},
            origin=origin,
            provenance={
                **made,
                "railyard": {**made["railyard"], **code},
                "reframe": {"version": "4.10.4", "session": session, "check": check},
                **({"nodes": described} if origin == "measured" else {}),
            },
            launches=runs,
            created=created,
            run={
                "job": f"{chance.getrandbits(128):032x}",
                "boot": "b0" * 16,
                "written": {"time": _time(begun), **code, "files": digests},
                "ended": {"time": _time(created), **code, "files": digests},
                "session": session,
                "number": number,
                "previous": previous,
            },
        )


def jobs(count: int, *, speed: float = 1.0, spread: float = 0.005, first: int = 0, **changes: Any) -> list[Record]:
    """Jobs of one ReFrame session, ten minutes apart, with `spread` from job to job; `first` is the first seed."""
    chance, made = random.Random(f"{first} {changes.get('system')}"), list[Record]()
    since = changes.pop("created", CREATED)
    for job in range(count):
        made.append(
            good(
                seed=first + job,
                speed=speed * (1 + chance.gauss(0, spread)),
                created=since + timedelta(minutes=10 * job),
                number=job,
                previous=made[-1].sha256 if made else None,
                **changes,
            )
        )
    return made


def on_a_torus() -> Record:
    """A job of halo on a torus of eight nodes, under every order of ranks that is worked out again."""
    return good(
        topology="gemini-2x2x2",
        grid=[2, 2, 2],
        placements=["plain", "cart-create", "custom", "random:7", "hilbert"],
        order="snake",
        nic_policies=["library-default"],
    )


def _time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _command(case: Mapping[str, Any], combination: tuple[str, str, str], placed: Placement, index: int) -> str:
    """The line as a job renders it, under Open MPI over TCP."""
    placement, policy, origin = combination
    rendered = launching.render(
        placed, policy, launchers.named("openmpi4"), ["openmpi-tcp"], stem=placement, by_script=origin == "measured"
    )
    benchmark = case["benchmark"]
    if benchmark not in programs.PROGRAMS:
        return rendered.command(["railyard-witness", f"launch-{index:03d}.witness", benchmark])
    given = programs.Given(
        parameters=case["parameters"],
        is_emulated=origin == "emulated",
        unrecorded={} if benchmark == "halo" else {"count": 5},
    )
    options = programs.options(benchmark, given)
    return rendered.command([benchmark, *options, "--json", f"launch-{index:03d}.json"])


def _document(case: Mapping[str, Any], placed: Placement, series: list[dict[str, Any]]) -> dict[str, Any]:
    document = synthetic.benchmark_document(case, series)
    document["mpi"]["ranks"] = math.prod(case["grid"])
    document["ranks"] = document["ranks"][: document["mpi"]["ranks"]]
    for rank, node in zip(document["ranks"], placed.nodes, strict=True):
        rank["host"] = node.name
    return document


def _series(chance: random.Random, speed: float, *, computed: bool) -> list[dict[str, Any]]:
    if computed:
        times = [9200.0 / speed] * REPEATS
    else:
        launch = 1 + chance.gauss(0, 0.006)
        times = [9200.0 / speed * launch * (1 + abs(chance.gauss(0, 0.015))) for _ in range(REPEATS)]
    samples = {"iteration_us": times, "exchange_us": [0.82 * each for each in times]}
    samples["bandwidth_gbyte_s"] = [FACES_BYTES / each / 1e3 for each in times]
    for fom, share in (("pack_us", 0.11), ("unpack_us", 0.09), ("wait_us", 0.7)):
        samples[fom] = [share * each for each in times]
    return [{"fom": fom, "labels": {}, "samples": own} for fom, own in samples.items()]


def _modelled(network: Topology, placed: Placement) -> list[dict[str, Any]]:
    """What `railyard model` gives for the case of `good`."""
    index = {node.name: number for number, node in enumerate(network.nodes)}
    words = ["halo", "--grid", "x".join(map(str, placed.grid)), "--cells", "x".join(map(str, CELLS))]
    nodes = np.array([index[node.name] for node in placed.nodes], dtype=np.int64)
    series: list[dict[str, Any]] = model.document(words, network, nodes)["series"]
    return series


def _guard(chance: random.Random) -> dict[str, Any]:
    return {
        "verdict": "ok",
        "reasons": [],
        "watched_s": 3.9,
        "traffic_s": 2.5 + chance.random(),
        "host_limited_s": 0.1,
        "idle_share": chance.random() / 2,
        "softirq_share": 0.2,
        "steal_share": 0.0,
        "busiest_link": "H- leaf0.1>n0-0@1",
        "busiest_link_share": 0.8,
        "packets_per_s": 5463.1,
        "drops": 0,
        "conserved": True,
        "error_bound_percent": 1.5,
        "error_bound": {
            "percent": 1.5,
            "lateness_percent": 0.25,
            "waiting_percent": 1.25,
            "steal_percent": 0.0,
            "throttled_percent": 0.0,
            "idle_percent": 20.0,
        },
        "lateness": {
            "chunks": 4000,
            "median_us": 20.5,
            "p99_us": 131.0,
            "max_us": 524.0,
            "median_percent": 0.2,
            "p99_percent": 1.6,
            "mean_percent": 0.25,
        },
    }


def _nics(
    chance: random.Random,
    network: Topology,
    placed: Placement,
    policy: str,
    *,
    is_counted: bool,
    granted: Sequence[Node] | None,
) -> dict[str, Any]:
    """What each NIC sent and received: all of a rank's bytes by the NICs that the policy gives it.

    A virtual torus counts the nodes beside those that were granted, too.
    """
    if not is_counted:
        return {"nics": None, "nic_verdict": Verdict.CANNOT_TELL}
    assigned = policies.assign(policies.parse(policy, network.rails), policies.host(network, 1))
    nics = []
    received = []
    for node in placed.nodes:
        size = REPEATS * FACES_BYTES // 2 + chance.randrange(90_000)
        used = assigned[0] or tuple(range(network.rails))
        for rail in range(network.rails):
            sent = size // len(used) if rail in used else 0
            nics.append({"node": node.name, "nic": f"nic{rail}", "tx_bytes": sent, "rx_bytes": 0})
            received.append(sent)
    for nic, size in zip(nics, [*received[network.rails :], *received[: network.rails]], strict=True):
        nic["rx_bytes"] = size
    if granted is not None:
        idle = {node.name for node in network.nodes} - {node.name for node in granted}
        rails = [f"nic{rail}" for rail in range(network.rails)]
        nics += [{"node": node, "nic": nic, "tx_bytes": 0, "rx_bytes": 0} for node in sorted(idle) for nic in rails]
    is_assigned = bool(assigned[0])
    return {"nics": nic_bytes.of_rows(nics), "nic_verdict": Verdict.OBEYED if is_assigned else Verdict.CANNOT_TELL}


def failing(index: int) -> Change:
    """A change that has one launch end with status 1."""

    def change(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
        return dataclasses.replace(run, exit_status=1) if run.index == index else run

    return change
