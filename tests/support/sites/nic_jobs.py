"""A wrong NIC policy in a ReFrame job on a cluster of origin `measured`, which the record must show.

A Slurm cluster on a virtual torus of four nodes with two NICs each stands for the machine. The torus's own evidence is
not used: ranks are started by plain srun, and the NICs are network devices in each node. `nic-0` is asked for. Behind
its back a wrapper of srun unsets the stack's variable, so that MPI uses both NICs. Each program is one job of ReFrame
with RUNS launches; every launch is judged in the record.

Leaves out fabrics other than TCP over Ethernet devices.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from support.sites import site_jobs
from support.sites.site_jobs import Site

from railyard.records.record import Record

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of a check, as ReFrame's options."""

    name: str
    options: tuple[str, ...]


HALO = Program(name="halo", options=("-n", "halo_smoke", "-S", "scale=small"))


def launch(program: Program, folder: Path, *, runs: int, obey: bool, torus: str) -> Record:
    """Run one job of ReFrame on the cluster's head, and return its record."""
    site = Site(torus=torus, folder=folder, nodes=NODES, unset="" if obey else VARIABLE)
    settings = {"launches": runs, "placements": "plain", "nics": "nic-0"}
    words = [word for name, value in settings.items() for word in ("-S", f"{name}={value}")]
    done = site_jobs.run(site, *program.options, *words)
    if len(done.records) != 1:
        raise SystemExit(f"{program.name}: no record: {done.output[-2000:]}")
    return done.records[0]


def verdicts(record: Record) -> Counter[str]:
    """Return how often each verdict on the NICs stands in a record."""
    return Counter(str(launch.nic_verdict) for launch in record.launches)


def up(folder: Path, name: str) -> None:
    """Bring up the cluster."""
    path = folder / "dual-rail-tiny.yml"
    path.write_text(TOPOLOGY)
    site_jobs.up(str(path), name)
