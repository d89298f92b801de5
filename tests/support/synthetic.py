"""Records like those a day on the machines would give, by a seeded generator: no clock, no network.

Every record goes the way of a real one: benchmark documents are written to files and `railyard.records.assemble` reads
them. Effects (a placement's speed, a dimension's rate) are parameters, so a test knows what the analysis must
find.
"""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from railyard.records import record
from railyard.records.assemble import LaunchRun, assemble
from railyard.records.record import Record, Software
from support.records import figures, rows

CREATED = datetime(2026, 11, 21, 3, 0, 0, tzinfo=UTC)
HALO_SPEED = {"plain": 1.0, "cart-create": 0.96, "custom": 0.915}
LLNL_SECONDS = {"library-default": 0.0441, "nic-1": 0.0775, "nic-0": 0.0867, "nearest": 0.0602}
MPI = {"library": "Open MPI v4.1.4, package: Debian OpenMPI", "standard": "3.1"}
TORUS = {
    "name": "gemini-4x4x4",
    "engine": "netns",
    "rate_scale": 0.001,
    "mtu_bytes": 9000,
    "burst_bytes": 18000,
    "latency_scaled": False,
}

Series = list[dict[str, Any]]
SeriesOf = Callable[[random.Random, str, str], Series]
#: May spoil a launch, or its document before it is written.
Change = Callable[[LaunchRun, dict[str, Any]], LaunchRun]
#: An image as provenance has it.
IMAGE = {
    "file": "railyard.sif",
    "sha256": "5a" * 32,
    "size_bytes": 62_914_560,
    "mpi_model": "hybrid",
    "apptainer": "1.4.5",
    "labels": {"railyard.mpi": "Open MPI 4.1.4"},
}


def hosts(extents: Sequence[int]) -> list[str]:
    """One name a node, X fastest."""
    ranges = [range(extent) for extent in reversed(extents)]
    return ["n-" + "-".join(map(str, reversed(each))) for each in itertools.product(*ranges)]


def provenance(**changes: Any) -> dict[str, Any]:
    return {
        "railyard": {"version": "0.1.0", "git_commit": "1f" * 20, "git_dirty": False},
        "reframe": {"version": "4.10.4", "session": "b7f4", "check": "halo_3d"},
        "machine": {
            "kernel": "Linux 6.1.0-18-amd64",
            "os": "Debian GNU/Linux 12 (bookworm)",
            "cpu": "Example CPU at 2.40GHz",
            "cpus": 2,
            "memory_bytes": 16_000_000_000,
            "hostname": "bench",
        },
        "mpi": dict(MPI),
        "torus": dict(TORUS),
        **changes,
    }


def case(**changes: Any) -> dict[str, Any]:
    extents = changes.pop("extents", [4, 4, 4])
    return {
        "check": "halo_3d",
        "benchmark": "halo",
        "studies": ["pena2013"],
        "parameters": {"grid": extents, "cells": [64, 64, 64]},
        "topology": {
            "name": "gemini-" + "x".join(map(str, extents)),
            "sha256": "ab" * 32,
            "extents": extents,
            "nodes_per_router": 1,
            "rails": 1,
        },
        "allocation": {
            "order": "snake",
            "seed": None,
            "nodes": [{"name": name, "coordinate": [*map(int, name.split("-")[1:])]} for name in hosts(extents)],
        },
        "placements": list(HALO_SPEED),
        "nic_policies": ["library-default"],
        "seed": 1,
        "launches_per_combination": 6,
        **changes,
    }


def benchmark_document(of_case: Mapping[str, Any], series: Series, **changes: Any) -> dict[str, Any]:
    names = [node["name"] for node in of_case["allocation"]["nodes"]]
    return {
        "format": "railyard-benchmark/3",
        "benchmark": of_case["benchmark"],
        "version": "0.1.0",
        "parameters": {**of_case["parameters"], "repeats": 20, "warmups": 2, "seed": 1},
        "mpi": {**MPI, "ranks": len(names)},
        "verified": True,
        "ranks": [
            {"rank": rank, "host": name, "cpu": rank % 2, "allowed_cpus": [0, 1], "numa_node": 0}
            for rank, name in enumerate(names)
        ],
        "figures": figures.of_series(series),
        "series": series,
        **changes,
    }


def written(run: LaunchRun, document: dict[str, Any], change: Change) -> LaunchRun:
    """A launch, changed, and its output in its file."""
    run = change(run, document)
    document["figures"] = figures.of_series(document["series"], document.get("not_measured", ()))
    if run.output is not None:
        run.output.write_text(json.dumps(rows.output(document)), encoding="utf-8")
    return run


def job(
    of_case: Mapping[str, Any],
    series_of: SeriesOf,
    *,
    seed: int = 1,
    origin: str = "emulated",
    system: Mapping[str, str] | None = None,
    change: Change = lambda run, document: run,
    created: datetime = CREATED,
    **provenance_changes: Any,
) -> Record:
    """One job in a seeded random order; `change` may spoil a launch or its document before it is written."""
    chance = random.Random(seed)
    repeats, software = range(of_case["launches_per_combination"]), of_case.get("software", ["native"])
    order = [*itertools.product(of_case["placements"], of_case["nic_policies"], repeats, software)]
    chance.shuffle(order)
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for index, (placement, policy, repeat, whose) in enumerate(order):
            document = benchmark_document(of_case, series_of(chance, placement, policy))
            run = LaunchRun(
                index=index,
                placement=placement,
                nic_policy=policy,
                repeat=repeat,
                software=Software(whose),
                command=f"mpirun --rankfile {placement}.rankfile {of_case['benchmark']} --json {index}.json",
                exit_status=0,
                started=created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                elapsed_s=4.2,
                output=Path(folder) / f"launch-{index}.json",
                expected_hosts=[rank["host"] for rank in document["ranks"]],
            )
            runs.append(written(run, document, change))
        return assemble(
            case=of_case,
            system=system or {"name": "vtorus", "partition": "netns", "environment": "openmpi"},
            origin=origin,
            provenance=provenance(**provenance_changes),
            launches=runs,
            created=created,
        )


def noisy(chance: random.Random, value: float, launch: float) -> list[float]:
    """Repeats of a launch: the launch's own offset times each repeat's, skewed upwards as times are."""
    return [round(value * launch * (1 + abs(chance.gauss(0, 0.015))), 3) for _ in range(20)]


def halo_series(speed: Mapping[str, float], base_us: float = 9200.0, launch_spread: float = 0.006) -> SeriesOf:
    def series(chance: random.Random, placement: str, policy: str) -> Series:
        launch = 1 + chance.gauss(0, launch_spread)
        times = noisy(chance, base_us * speed[placement], launch)
        rates = [round(2 * 6 * 65536 / time / 1e3, 6) for time in times]
        exchange = [round(time * 0.82, 3) for time in times]
        return [
            {"fom": "iteration_us", "labels": {}, "samples": times},
            {"fom": "exchange_us", "labels": {}, "samples": exchange},
            {"fom": "bandwidth_gbyte_s", "labels": {}, "samples": rates},
        ]

    return series


def halo(speed: Mapping[str, float] | None = None, *, seed: int = 1, launches: int = 6, **changes: Any) -> Record:
    """A 3D halo job: placements side by side on a 4x4x4 torus."""
    speed = HALO_SPEED if speed is None else speed
    made = case(placements=list(speed), launches_per_combination=launches)
    return job(made, halo_series(speed), seed=seed, **changes)


def small(**changes: Any) -> Record:
    """A job of a single launch on two nodes."""
    made = case(extents=[2, 1, 1], launches_per_combination=1, placements=["plain"])
    return job(made, halo_series({"plain": 1.0}), **changes)


def not_measured(reason: str) -> Record:
    """A job that ended before its first launch."""
    document = json.loads(record.text(halo(launches=1, origin="measured", torus=None)))
    document |= {"status": "not-measured", "reason": reason, "launches": [], "figures": {}}
    return record.validate(record.sealed(document), "not-measured")


def hops(*, seed: int = 2, most: int = 6, launches: int = 3, **changes: Any) -> Record:
    """Bandwidth and latency by dimension, hops and size, with the shape of Pena's Figure 3."""
    extents = [12, 4, 12]
    made = case(
        check="hops",
        benchmark="hops",
        extents=extents,
        parameters={"repeats": 20},
        placements=["plain"],
        launches_per_combination=launches,
    )
    made["allocation"]["nodes"] = made["allocation"]["nodes"][:2]
    line = {"X": 0.0058, "Y": 0.0046, "Z": 0.0084}
    fall = {"X": 0.93, "Y": 0.97, "Z": 0.90}

    def series(chance: random.Random, placement: str, policy: str) -> Series:
        out: Series = []
        launch = 1 + chance.gauss(0, 0.004)
        for dimension, hop in itertools.product("XYZ", range(1, most + 1)):
            if dimension == "Y" and hop > 2:
                continue
            there = "-".join(str(hop if each == dimension else 0) for each in "XYZ")
            where = {"dimension": dimension, "hops": hop, "from": "n-0-0-0", "to": f"n-{there}"}
            latency = noisy(chance, 22.0 + 15.0 * hop, launch)
            out.append(
                {"fom": "latency_us", "labels": {"test": "latency", **where, "size_bytes": 8}, "samples": latency}
            )
            for test, size in itertools.product(("bandwidth", "bibandwidth"), (1024, 65536, 1048576)):
                top = line[dimension] * fall[dimension] ** (hop - 1) * (1.7 if test == "bibandwidth" else 1.0)
                rate = top / (1 + 9000 / size)
                samples = [round(rate * launch * (1 - abs(chance.gauss(0, 0.01))), 8) for _ in range(20)]
                labels = {"test": test, **where, "size_bytes": size}
                out.append({"fom": "bandwidth_gbyte_s", "labels": labels, "samples": samples})
        return out

    return job(made, series, seed=seed, **changes)


def allreduce(*, seed: int = 3, launches: int = 8, **changes: Any) -> Record:
    """NIC policies side by side on a real dual-rail cluster, with the numbers of the LLNL poster."""
    made = case(
        check="allreduce",
        benchmark="allreduce",
        extents=[4, 4, 4],
        studies=["llnl-dual-rail"],
        parameters={"size_bytes": 8},
        placements=["plain"],
        nic_policies=list(LLNL_SECONDS),
        launches_per_combination=launches,
    )

    def series(chance: random.Random, placement: str, policy: str) -> Series:
        launch = 1 + chance.gauss(0, 0.02)
        times = [round(each, 6) for each in noisy(chance, LLNL_SECONDS[policy] * 1e3, launch)]
        curve: Series = [
            {
                "fom": "latency_us",
                "labels": {"size_bytes": size},
                "samples": noisy(chance, 30 * LLNL_SECONDS[policy] / 0.0441 + size / 500, launch),
            }
            for size in (8, 512, 32768, 1048576)
        ]
        return [{"fom": "allreduce_s", "labels": {}, "samples": [each / 1e3 for each in times]}, *curve]

    system = {"name": "catalyst", "partition": "batch", "environment": "mvapich"}
    return job(made, series, seed=seed, origin="measured", system=system, torus=None, **changes)
