"""A wrong NIC policy on a machine that counts nothing itself, which the ranks' own counters show.

A virtual torus stands for the machine. Its own evidence is switched off, and its NICs are network devices in each
node's namespace. `nic-0` is asked for while its variable is unset, so that MPI uses both NICs. Each launch is judged as
a job's record is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from railyard.base.checkout import CHECKOUT
from railyard.jobs.nodes.counted import Counted
from railyard.placements.nics.evidence import SETUP_BYTES, Found, judge, senders
from railyard.placements.topology.base import Topology
from railyard.records.benchmark import Series

BIN = CHECKOUT / "build/benchmarks-openmpi/bin"
TOPOLOGY = "dual-rail-small"
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


def launch(
    topology: Topology, folder: Path, command: Sequence[str], *, obey: bool, torus: str
) -> tuple[Found, list[Series]]:
    """One launch on all nodes under `nic-0`; the verdict on what its ranks counted, and the NICs of each."""
    path, nodes = folder / "launch.nics", [node.name for node in topology.nodes]
    told = ["--mca", "btl_tcp_if_include", "nic0"] if obey else []
    words = ["torus", "mpirun", torus, "-q", "-np", str(len(nodes)), *told, "env", f"RAILYARD_NICS={path}", *command]
    environment = {name: value for name, value in os.environ.items() if name != "RAILYARD_EVIDENCE"}
    railyard = str(Path(sys.executable).with_name("railyard"))
    done = subprocess.run([railyard, *words], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr or done.stdout}")
    counted = Counted.read(path)
    assert counted is not None
    path.unlink()
    nics, _ = counted.nics(None, nodes, {})
    of_ranks = senders(nodes, [0] * len(nodes), [("nic0",)])
    verdict = judge(of_ranks, None if nics is None else nics.sent, setup_bytes=SETUP_BYTES)
    return verdict, counted.rank_nics()


def foreign(folder: Path) -> tuple[str, ...]:
    """The command of a program that is not railyard's, built here, under the witness."""
    source, program = folder / "foreign.c", folder / "foreign"
    source.write_text(FOREIGN)
    subprocess.run(["mpicc.openmpi", "-O2", "-o", program, source], check=True)
    return str(BIN / "railyard-witness"), str(folder / "foreign.witness"), str(program)
