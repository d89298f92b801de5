"""A wrong NIC policy in a ReFrame job on a cluster of origin `measured`: how often the record shows it.

A Slurm cluster on a virtual torus of four nodes with two NICs each stands for the machine. The torus's own evidence is
not used: ranks are started by plain srun, and the NICs are network devices in each node. `nic-0` is asked for. Behind
its back a wrapper of srun unsets the stack's variable, so that MPI uses both NICs. Each program is one job of ReFrame
with RUNS launches; every launch is judged in the record.

    python -m perf.jobs.nic_jobs [--runs 20] [--osu FOLDER] [--programs FOLDER]

Leaves out fabrics other than TCP over Ethernet devices.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from perf.jobs import site_jobs
from perf.jobs.site_jobs import Site
from railyard.base.checkout import CHECKOUT
from railyard.records.record import Record
from railyard.torus.virtual import lifecycle

NAME = "bench-nic-jobs"
RUNS = 20
#: The most launches that show that the same job with its variable is obeyed.
CONTROLS = 5
NODES = 4
VARIABLE = "OMPI_MCA_btl_tcp_if_include"
TOPOLOGY = """\
name: dual-rail-tiny
nodes_per_router: 2
rails: 2
sockets_per_node: 2
lanes_per_tile: 4
tile_rates_gbyte_s: {cable: 4.0, host: 4.0}
tree: {leaves: 2, oversubscription: 1}
host: {tiles: 1}
"""
console = Console(width=110)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of a check, as ReFrame's options."""

    name: str
    options: tuple[str, ...]


EIGHT_RANKS = ("-S", "grid=2,2,2", "-S", "ranks_per_node=2", "-S", "iterations=20")
HALO = Program(name="halo", options=("-n", "halo_smoke", "-S", "scale=small"))


def _programs(folder: str) -> tuple[str, ...]:
    return ("-S", "build=none", "-S", f"programs={folder}")


def osu(folder: str) -> Program:
    """Return OSU's bandwidth between two nodes; `folder` has its programs."""
    sizes = ("-S", "iterations=10", "-S", "warmups=2", "-S", "window=8", "-S", "largest=8192")
    return Program(name="osu_bw", options=("-n", "osu_pairs.*osu_bw", *_programs(folder), *sizes))


def lulesh(folder: str) -> Program:
    """Return LULESH on eight ranks, two per node."""
    return Program(name="lulesh", options=("-n", "lulesh_weak", *_programs(folder), *EIGHT_RANKS))


def launch(program: Program, folder: Path, *, runs: int, obey: bool, torus: str = NAME) -> Record:
    """Run one job of ReFrame on the cluster's head, and return its record."""
    site = Site(torus=torus, folder=folder, nodes=NODES, unset="" if obey else VARIABLE)
    settings = {"launches": runs, "placements": "plain", "nics": "nic-0"}
    words = [word for name, value in settings.items() for word in ("-S", f"{name}={value}")]
    done = site_jobs.run(site, *program.options, *words)
    if len(done.records) != 1:
        raise SystemExit(f"perf: {program.name}: no record: {done.output[-2000:]}")
    return done.records[0]


def verdicts(record: Record) -> Counter[str]:
    """Return how often each verdict on the NICs stands in a record."""
    return Counter(str(launch.nic_verdict) for launch in record.launches)


def up(folder: Path, name: str = NAME) -> None:
    """Bring up the cluster."""
    path = folder / "dual-rail-tiny.yml"
    path.write_text(TOPOLOGY)
    site_jobs.up(str(path), name)


def measure(programs: Sequence[Program], runs: int = RUNS) -> dict[str, Any]:
    """Run every program with the variable unset behind its back, and as asked."""
    figures: dict[str, Any] = {}
    with TemporaryDirectory(dir=CHECKOUT / "build") as temporary:
        folder = Path(temporary)
        up(folder)
        try:
            for program in programs:
                for obey, wanted, count in (
                    (False, "not-obeyed", runs),
                    (True, "obeyed", min(runs, CONTROLS)),
                ):
                    record = launch(program, folder, runs=count, obey=obey)
                    case = f"{program.name}, variable {'set' if obey else 'unset'}"
                    figures[case] = {"runs": count, "status": str(record.status), **verdicts(record)}
                    right = verdicts(record)[wanted]
                    console.print(f"{case}: {wanted} in {right} of {count} launches; {record.reason or 'ok'}")
        finally:
            lifecycle.down(NAME)
    return figures


def main() -> None:
    """Measure the programs that are named."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.jobs.nic_jobs", description="wrong NIC policies in jobs"
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="launches of each job (default: %(default)s)")
    parser.add_argument("--osu", help="folder of OSU's programs")
    parser.add_argument("--programs", help="folder of the mini-applications")
    asked = parser.parse_args()
    programs = [
        HALO,
        *([osu(asked.osu)] if asked.osu else []),
        *([lulesh(asked.programs)] if asked.programs else []),
    ]
    console.print_json(json.dumps(measure(programs, asked.runs)))


if __name__ == "__main__":
    main()
