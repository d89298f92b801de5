"""A pretended site: Slurm on a virtual torus of four nodes with two NICs each, and its configuration as `measured`.

The torus's own evidence is not used: ranks are started by plain srun, and the NICs are network devices in each node.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.commands import BIN, CHECKOUT, executable

from railyard.placements.topology import catalog
from railyard.records.record import Record
from railyard.records.store import archive
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

RATE_SCALE = 0.00025
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
CONFIGURATION = """\
systems:
  - name: site
    hostnames: ['^nowhere$']
    partitions:
      - name: compute
        scheduler: squeue
        launcher: srun
        environs: [openmpi-site]
        max_jobs: 1
        time_limit: 30m
        features: [torus]
        extras: {{origin: measured, nodes: {nodes}{extras}}}
        prepare_cmds: ['export PATH="{path}:$PATH"']
environments:
  - name: openmpi-site
    target_systems: [site]
    cc: mpicc.openmpi
    features: [mpi, openmpi, openmpi-tcp]
    env_vars: [[SLURM_MPI_TYPE, pmix]]
"""
#: The site's srun; Slurm 22.05 needs the fence (docs/torus.md).
SRUN = f"""\
#!/bin/sh
export LD_PRELOAD="{CHECKOUT}/build/lib/railyard-fence.so"
exec /usr/bin/srun "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A cluster as a user's configuration has it."""

    torus: str
    folder: Path
    nodes: int
    extras: str = ", nics: [nic0, nic1]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What ReFrame did: its exit status, what it printed, and the records that it added, oldest first."""

    status: int
    output: str
    records: tuple[Record, ...]


def up(folder: Path, name: str) -> None:
    """Bring up the cluster."""
    path = folder / "dual-rail-tiny.yml"
    path.write_text(TOPOLOGY)
    lifecycle.up(catalog.load(str(path)), name=name, shape=Shape(rate_scale=RATE_SCALE), with_slurm=True)


def run(site: Site, *options: str) -> Done:
    """Run checks by ReFrame on the cluster's head; `options` choose and set them."""
    config, wrapper = site.folder / "site.yml", site.folder / "srun"
    path = f"{site.folder}:{BIN}:{CHECKOUT}/build/benchmarks-openmpi/bin"
    config.write_text(CONFIGURATION.format(nodes=site.nodes, extras=site.extras, path=path))
    executable(wrapper, SRUN)
    words = ["-C", str(CHECKOUT / "reframe.yml"), "-C", str(config), "--system", "site:compute", "--nocolor"]
    words += ["--prefix", str(site.folder), "-c", str(CHECKOUT / "checks"), "-r", *options]
    words += ["-S", f"archive={site.folder}/archive"]
    before = {record.id for record in _archived(site)}
    on_head = [str(BIN / "railyard"), "torus", "exec", site.torus, "head", "--", str(BIN / "reframe"), *words]
    done = subprocess.run(on_head, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    made = tuple(record for record in _archived(site) if record.id not in before)
    return Done(status=done.returncode, output=f"{done.stdout}{done.stderr}", records=made)


def _archived(site: Site) -> Sequence[Record]:
    return archive.load_all(site.folder / "archive")
