"""A wrong NIC policy on a machine that counts nothing itself: how often the ranks' own counters show it.

A virtual torus stands for the machine. Its own evidence is switched off, and its NICs are network devices in each
node's namespace. `nic-0` is asked for while its variable is unset, so that MPI uses both NICs. Each launch is judged as
a job's record is. `python -m perf.mpis.nic_evidence [RUNS]`; 20 runs of two programs take 5 minutes on an idle machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from placements.nics.evidence import SETUP_BYTES, Found
from placements.topology import catalog
from placements.topology.base import Topology
from railyard.base.checkout import CHECKOUT
from railyard.jobs import launching
from railyard.jobs.nodes import nic_counters
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle

BIN = CHECKOUT / "build/benchmarks-openmpi/bin"
NAME = "bench-nics"
TOPOLOGY = "dual-rail-small"
RUNS = 20
HALO = (str(BIN / "halo"), "--cells", "32x32x32", "--repeats", "5")
#: A program that is not railyard's: it knows nothing of counters.
FOREIGN = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    enum { BYTES = 1 << 18, ROUNDS = 4 };
    int rank = 0, ranks = 0;
    char *out = calloc(BYTES, 1), *in = calloc(BYTES, 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i <= ROUNDS; i++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, (rank + i) % ranks, 0, in, BYTES, MPI_BYTE, (rank - i + ranks) % ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    free(in);
    free(out);
    return 0;
}
"""
console = Console(width=110)


def measure(runs: int = RUNS) -> dict[str, Any]:
    """Both programs, with the policy obeyed and with its variable unset behind its back."""
    topology = catalog.load(TOPOLOGY)
    lifecycle.up(topology, name=NAME, shape=Shape())
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _figures(topology, Path(folder), runs)
    finally:
        lifecycle.down(NAME)


def _figures(topology: Topology, folder: Path, runs: int) -> dict[str, Any]:
    own = foreign(folder)
    figures: dict[str, Any] = {}
    for program, command in (("halo", HALO), ("foreign program", own)):
        for case, wanted in (("variable unset", "not-obeyed"), ("variable set", "obeyed")):
            found = [
                launch(topology, folder, command, obey=case == "variable set")
                for _ in track(range(runs), description=f"{program}, {case}", transient=True)
            ]
            right = sum(each.verdict == wanted for each in found)
            figures[f"{program}, {case}"] = {"runs": runs, wanted: right}
            console.print(f"{program}, {case}: {wanted} in {right} of {runs} runs; {found[0].reason}")
    return figures


def launch(
    topology: Topology, folder: Path, command: Sequence[str], *, obey: bool, torus: str = NAME
) -> Found:
    """One launch on all nodes under `nic-0`; the verdict on what its ranks counted."""
    path, nodes = folder / "launch.nics", [node.name for node in topology.nodes]
    told = ["--mca", "btl_tcp_if_include", "nic0"] if obey else []
    words = [
        "torus",
        "mpirun",
        torus,
        "-q",
        "-np",
        str(len(nodes)),
        *told,
        "env",
        f"RAILYARD_NICS={path}",
        *command,
    ]
    environment = {name: value for name, value in os.environ.items() if name != "RAILYARD_EVIDENCE"}
    railyard = str(Path(sys.executable).with_name("railyard"))
    done = subprocess.run([railyard, *words], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(f"perf: {' '.join(words)}: {done.stderr or done.stdout}")
    counted = nic_counters.read(path, None, nodes, {})
    path.unlink()
    return launching.judge_nics(nodes, [0] * len(nodes), [["nic0"]], counted.nics, setup_bytes=SETUP_BYTES)


def foreign(folder: Path) -> tuple[str, ...]:
    """The command of a program that is not railyard's, built here, under the witness."""
    source, program = folder / "foreign.c", folder / "foreign"
    source.write_text(FOREIGN)
    subprocess.run(["mpicc.openmpi", "-O2", "-o", program, source], check=True)
    return str(BIN / "railyard-witness"), str(folder / "foreign.witness"), str(program)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS), indent=1))
