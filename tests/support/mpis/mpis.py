"""How a launch of each of the machine's MPIs is started: on pretended hosts, or on a virtual torus.

Pretended hosts are host names in UTS namespaces of this machine (tools/as-host): they need neither a torus nor ssh.
On a torus `railyard torus launch` starts the launcher on the head. Leaves out what is launched and how it is judged.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from support.mpis.installed import INSTALLED, MPIS, Mpi
from support.records import rows

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import RunError
from railyard.placements.launchers import Rendered
from railyard.placements.topology.base import Topology
from railyard.records.folded import ranks
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle
from railyard.torus.virtual.lifecycle import VirtualTorus

#: A launch is ended after so many seconds.
LAUNCH_LIMIT_S = 60
#: Launches in one turn of the machine's launch lock.
PER_TURN = 12
#: What a virtual torus sets for all launches: UCX must not use memory that pretended nodes share.
THE_TORUS_SETS = frozenset({"UCX_TLS"})
#: A rank is ended after so many seconds where its MPI may hang.
RANK_LIMIT_S = 20
AS_HOST = CHECKOUT / "tools/as-host"
RAILYARD = Path(sys.executable).with_name("railyard")
#: What launchers ask for a remote start: Open MPI 4 and 5, Hydra, Intel's Hydra.
REMOTE = {
    "OMPI_MCA_plm_rsh_agent": str(AS_HOST),
    "PRTE_MCA_plm_ssh_agent": str(AS_HOST),
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": str(AS_HOST),
    "I_MPI_HYDRA_BOOTSTRAP": "ssh",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(AS_HOST),
    **{f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")},
}
FOREIGN = ("OMPI_", "PMI", "PRTE_", "HYDRA_", "I_MPI_", "SLURM_", "MPI", "UCX_", "FI_")


def _bound(mpi: Mpi) -> Mpi:
    """Return an MPI under which programs run that were built with Debian's MPICH, whose ABI it has."""
    folder = "impi" if mpi.launcher == "intel-mpi" else "mpich5"
    libraries = (
        MPIS / "abi" / folder,
        MPIS / folder / "lib",
        MPIS / folder / "lib/mpich",
        MPIS / folder / "lib/libfabric",
    )
    path = ":".join(map(str, libraries))
    environment = {**mpi.environment, "LD_LIBRARY_PATH": path}
    return replace(mpi, build="mpich", compiler="mpicc.mpich", environment=environment)


#: Programs of Debian's MPICH 4 under the libraries of MPICH 5 and Intel MPI: the bind model for the MPICH ABI.
BOUND = tuple(_bound(mpi) for mpi in INSTALLED if mpi.name in {"mpich 5", "intel 2021"})

#: What the text of MPI_Get_library_version contains, apart from the number of blanks, by the name of the MPI.
LIBRARIES: Mapping[str, str] = {
    "openmpi 4": "Open MPI v4",
    "openmpi 5": "Open MPI v5",
    "mpich 4": "MPICH Version: 4",
    "mpich 5": "MPICH Version: 5",
    "intel 2021": "Intel(R) MPI Library",
}


def is_named_in(mpi: Mpi, text: str) -> bool:
    """Return whether the text of MPI_Get_library_version is this MPI's."""
    return LIBRARIES[mpi.name] in " ".join(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A launch that is to be started in a folder of its own; `probe` is a shell command to run before and after it."""

    rendered: Rendered
    program: Sequence[str]
    folder: Path
    probe: str = "true"

    def lines(self, mpi: Mpi) -> list[str]:
        """Return the launch as lines of a shell script."""
        limited = ["timeout", str(RANK_LIMIT_S)] if mpi.hangs else []
        words = [mpi.program, *self.rendered.command[1:], *limited, *self.program]
        settings = {n: value for n, value in self.rendered.environment.items() if n not in THE_TORUS_SETS}
        environment = ["env", *(f"{name}={value}" for name, value in settings.items())]
        return [
            f"cd {shlex.quote(str(self.folder))}",
            f"( {self.probe} ) > probe.0",
            f"{shlex.join([*environment, 'timeout', str(LAUNCH_LIMIT_S), *words])} > out 2> err; echo $? > status",
            f"( {self.probe} ) > probe.1",
        ]

    def ended(self) -> Ended:
        """Return how the launch ended."""
        if not (self.folder / "status").exists():
            return Ended(status=-1, words="it was never started", out="")
        out, err = (self.folder / "out").read_text(), (self.folder / "err").read_text()
        words = (err.strip() or out.strip()).splitlines()
        return Ended(status=int((self.folder / "status").read_text()), words=" / ".join(words[:4]), out=out)

    def document(self, mpi: Mpi, output: str) -> dict[str, Any] | str:
        """Return what a benchmark wrote (a row for each rank), or how its launch ended, or which other MPI it had."""
        ended, path = self.ended(), self.folder / output
        if not path.exists() or (ended.status and not mpi.hangs):
            return f"ended with {ended.status}: {ended.words}"
        document: dict[str, Any] = json.loads(path.read_text())
        document["ranks"] = rows.of_ranks(ranks.of_nodes(document["ranks"], str(path), "ranks"))
        library = document["mpi"]["library"]
        return document if is_named_in(mpi, library) else f"ran under {library} instead of {LIBRARIES[mpi.name]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a launch ended: its exit status, its first words on stderr or stdout, and its whole stdout."""

    status: int
    words: str
    out: str


def start(mpi: Mpi, launches: Sequence[Launch], torus: str = "") -> None:
    """Write each launch's files, and start one after another: on a torus, or on pretended hosts without `torus`.

    On a torus `PER_TURN` of them take one turn of the machine's launch lock, for which others wait. Raises RunError for
    a launcher that refuses to start at all.
    """
    for some in (launches[k : k + PER_TURN] for k in range(0, len(launches), PER_TURN)):
        for one in some:
            one.folder.mkdir(parents=True, exist_ok=True)
            for file, text in one.rendered.files.items():
                (one.folder / file).write_text(text)
        script = some[0].folder / "script.sh"
        script.write_text("\n".join(line for one in some for line in one.lines(mpi)) + "\n")
        words = ["sh", str(script)]
        if torus:
            words = [str(RAILYARD), "torus", "launch", "--script", str(script), torus, mpi.program]
        environment = {**clean(), **({} if torus else REMOTE), **mpi.environment}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if not (script.parent / "status").exists():
            raise RunError(f"{mpi.name}: {done.stderr.strip()[-400:]}")


def clean() -> dict[str, str]:
    """Return the environment without what another launcher or MPI left there."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


@contextmanager
def torus(topology: Topology, name: str, shape: Shape) -> Iterator[VirtualTorus]:
    """Have a virtual torus up."""
    running, _ = lifecycle.up(topology, name=name, shape=shape)
    try:
        yield running
    finally:
        lifecycle.down(name)


def summarise(console: Console, cells: Sequence[tuple[str, str]]) -> None:
    """Print each reason of a table's cells once, then how many cells have each verdict."""
    for why in dict.fromkeys(f"{verdict}: {why}" for verdict, why in cells if why):
        console.print(why, markup=False)
    counts = Counter(verdict for verdict, _ in cells)
    console.print(", ".join(f"{counts[one]} {one}" for one in ("proved", "refused", "absent", "WRONG")))
