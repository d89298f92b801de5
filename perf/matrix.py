"""Every rank order and binding under every launcher and MPI: proved from inside, refused in one line, or absent.

Each launch starts eight ranks on four nodes. The nodes are host names in UTS namespaces of this machine (tools/as-
host), so neither a torus nor ssh is needed. A cell is proved when every rank reports the node and the processors of
its placement. Launches whose command, files and binding are equal are made once. Leaves out NICs (`perf.nic_jobs`),
and launchers whose software no machine of ours has: they are read back from their text in
tests/placements/test_launchers.py.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from placements import launchers
from placements.hosts import node as node_layout
from placements.hosts.binding import Binding
from placements.launchers import Rendered
from placements.orders.allocation import allocate
from placements.orders.placement import Placement, place
from placements.orders.spec import Kind
from placements.topology import catalog
from railyard.checkout import BUILD, CHECKOUT
from railyard.errors import InputError
from railyard.jobs import node as node_description

GRID = (2, 2, 2)
RANKS_PER_NODE = 2
#: Routers of the torus, with one node each: `custom` takes a whole block.
BLOCK = (1, 2, 2)
LIMIT_S = 120
SHORT = {"proved": "yes", "refused": "no", "absent": "-", "WRONG": "WRONG"}
MPIS = BUILD / "mpis"
AS_HOST = CHECKOUT / "tools/as-host"
HALO = ("--cells", "2", "--repeats", "3", "--warmups", "0")
#: Orders with an argument where they need one. `file` names the nodes of an order that returns to them.
ORDERS = tuple(
    {Kind.BLOCKS: "blocks:1x1x2", Kind.RANDOM: "random:1", Kind.OPTIMISED: "optimised:1"}.get(kind, str(kind))
    for kind in Kind
)
#: A torus has no groups, and a dragonfly no block for `custom`.
TORUS, GROUPED = "gemini-2x2x2", "dragonfly-72"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mpi:
    """An MPI of this machine: what its launcher is called, and a halo that was built with it or has its ABI."""

    name: str
    launcher: str
    program: str
    halo: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    remedy: str = "make mpis"

    def absent(self) -> str:
        """Return why the MPI cannot be started here; empty if it can."""
        missing = [
            str(path)
            for path in (shutil.which(self.program), self.halo)
            if not path or not Path(path).exists()
        ]
        if not shutil.which(self.program):
            return f"no {Path(self.program).name} of {self.name}; run: {self.remedy}"
        return f"no benchmarks built for {self.name}; run: {self.remedy}" if missing else ""


def _halo(mpi: str) -> Path:
    return BUILD / f"benchmarks-{mpi}" / "bin/halo"


def _intel() -> Mapping[str, str]:
    library = MPIS / "impi/lib"
    return {
        "I_MPI_ROOT": str(MPIS / "impi"),
        "LD_LIBRARY_PATH": f"{library}:{library}/libfabric",
        "FI_PROVIDER_PATH": f"{library}/libfabric/prov",
    }


INSTALLED = (
    Mpi(
        name="openmpi 4",
        launcher="openmpi4",
        program="mpirun.openmpi",
        halo=_halo("openmpi"),
        remedy="make setup",
    ),
    Mpi(
        name="openmpi 5",
        launcher="openmpi5",
        program=f"{MPIS}/openmpi5/bin/mpirun",
        halo=_halo("openmpi5"),
    ),
    Mpi(name="mpich 4", launcher="mpich", program="mpiexec.mpich", halo=_halo("mpich"), remedy="make mpich"),
    Mpi(name="mpich 5", launcher="mpich", program=f"{MPIS}/mpich5/bin/mpiexec", halo=_halo("mpich5")),
    Mpi(
        name="intel 2021",
        launcher="intel-mpi",
        program=f"{MPIS}/impi/bin/mpiexec.hydra",
        halo=_halo("mpich5"),
        environment=_intel(),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came of one placement under one launcher: a verdict, the reason, and the seconds of the launch."""

    placement: str
    launcher: str
    mpi: str
    verdict: str
    why: str = ""
    seconds: float = 0.0


def measure(console: Console) -> list[dict[str, Any]]:
    """Print the matrix, one line per order and binding, and each reason once; return its cells."""
    found = list(cells(placements(), console))
    columns = [mpi.name for mpi in INSTALLED] + sorted({c.launcher for c in found if not c.mpi})
    title = f"{math.prod(GRID)} ranks on 4 nodes, {RANKS_PER_NODE} a node: yes is proved, no is refused, - is absent"
    table = Table(title=title)
    table.add_column("order/binding", no_wrap=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    by_place = {(cell.placement, cell.mpi or cell.launcher): SHORT[cell.verdict] for cell in found}
    for name in dict.fromkeys(cell.placement for cell in found):
        table.add_row(name, *(by_place.get((name, column), "-") for column in columns))
    console.print(table)
    for why in dict.fromkeys(f"{c.verdict}: {c.why}" for c in found if c.why):
        console.print(why, markup=False)
    counts = {
        verdict: sum(c.verdict == verdict for c in found)
        for verdict in ("proved", "refused", "absent", "WRONG")
    }
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return [
        {"placement": c.placement, "launcher": c.launcher, "mpi": c.mpi, "verdict": c.verdict, "why": c.why}
        for c in found
    ]


def placements() -> dict[str, Placement]:
    """Return every order with every binding, on four nodes."""
    return {f"{name}/{binding}": one(f"{name}/{binding}") for name in ORDERS for binding in Binding}


def one(name: str) -> Placement:
    """Return a placement on the network that its order needs."""
    order, _, binding = name.rpartition("/")
    grouped = order in {Kind.BY_GROUP, Kind.BY_SWITCH}
    topology = catalog.load(GROUPED if grouped else TORUS)
    granted = allocate(topology, "contiguous", block=None if grouped else BLOCK)
    if order != Kind.FILE:
        return place(name, granted, GRID, ranks_per_node=RANKS_PER_NODE, seed=1)
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
        names = [node.name for node in granted.nodes[:4]]
        file.write("".join(f"{node}\n" for node in (*names, *reversed(names))))
        file.flush()
        return place(f"file:{file.name}/{binding}", granted, GRID, ranks_per_node=RANKS_PER_NODE)


def cells(placed: Mapping[str, Placement], console: Console | None = None) -> Iterator[Cell]:
    """Yield the cells: every placement under every MPI, then what the launchers without an MPI here refuse."""
    known: dict[object, Cell] = {}
    for mpi in INSTALLED:
        for name, placement in placed.items():
            cell = launched(mpi, name, placement, known)
            if console and cell.seconds:
                console.print(
                    f"{mpi.name:12}{name:20}{cell.verdict:10}{cell.seconds:6.1f} s {cell.why}", markup=False
                )
            yield cell
    for launcher in launchers.LAUNCHERS.values():
        if launcher.name not in {mpi.launcher for mpi in INSTALLED} and not launcher.nic_by_host:
            for name, placement in placed.items():
                rendered, why = _rendered(launcher.name, placement)
                absent = f"{launcher.name}: not started here; docs/placements.md says how it is tested"
                verdict = "absent" if rendered else "refused"
                yield Cell(placement=name, launcher=launcher.name, mpi="", verdict=verdict, why=why or absent)


def launched(mpi: Mpi, name: str, placement: Placement, known: dict[object, Cell] | None = None) -> Cell:
    """Return the cell of one placement under one MPI; launches it unless its equal is in `known`."""
    rendered, why = _rendered(mpi.launcher, placement)
    if rendered is None or (why := mpi.absent()):
        verdict = "absent" if rendered else "refused"
        return Cell(placement=name, launcher=mpi.launcher, mpi=mpi.name, verdict=verdict, why=why)
    key = (mpi.name, rendered.command, *rendered.environment.items(), *rendered.files.items())
    memory = {} if known is None else known
    if key not in memory:
        began = time.monotonic()
        why = proved(placement, ranks(mpi, rendered))
        memory[key] = Cell(
            placement=name,
            launcher=mpi.launcher,
            mpi=mpi.name,
            verdict="WRONG" if why else "proved",
            why=f"{mpi.name}, {name}: {why}" if why else "",
            seconds=time.monotonic() - began,
        )
        return memory[key]
    same = memory[key]
    return Cell(placement=name, launcher=mpi.launcher, mpi=mpi.name, verdict=same.verdict, why=same.why)


def _rendered(launcher: str, placement: Placement) -> tuple[Rendered | None, str]:
    """Return the launch, or why the launcher refuses it."""
    try:
        return launchers.render(launcher, placement, stem="p"), ""
    except InputError as error:
        return None, str(error)


def ranks(mpi: Mpi, rendered: Rendered) -> Sequence[Mapping[str, Any]] | str:
    """Start the ranks; return what each reports of itself, or how the launch ended."""
    with tempfile.TemporaryDirectory(prefix="railyard-matrix-") as folder:
        for file, text in rendered.files.items():
            Path(folder, file).write_text(text)
        command = [mpi.program, *rendered.command[1:], str(mpi.halo), *HALO, "--json", "halo.json"]
        environment = {**_clean(), **REMOTE, **mpi.environment, **rendered.environment}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no end after {LIMIT_S} s"
        output = Path(folder, "halo.json")
        if done.returncode or not output.exists():
            words = (done.stderr.strip() or done.stdout.strip()).splitlines()
            return f"ended with {done.returncode}: {' / '.join(words[:4])}"
        ranks: list[Mapping[str, Any]] = json.loads(output.read_text())["ranks"]
        return ranks


def _clean() -> dict[str, str]:
    """Return the environment without what another launcher or MPI left there."""
    foreign = ("OMPI_", "PMI", "PRTE_", "HYDRA_", "I_MPI_", "SLURM_", "MPI")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def proved(placement: Placement, ranks: Sequence[Mapping[str, Any]] | str) -> str:
    """Return what differs between a placement and what its ranks report; empty if nothing does."""
    if isinstance(ranks, str):
        return ranks
    if len(ranks) != len(placement.nodes):
        return f"{len(ranks)} ranks instead of {len(placement.nodes)}"
    for rank, (node, local) in enumerate(zip(placement.nodes, placement.local_ranks.tolist(), strict=True)):
        reported = (ranks[rank]["host"], tuple(ranks[rank]["allowed_cpus"]))
        wanted = (node.name, _cpus(local, placement.binding))
        if reported != wanted:
            return f"rank {rank} was on {reported[0]} {reported[1]} instead of {wanted[0]} {wanted[1]}"
    return ""


@cache
def _cpus(local: int, binding: Binding) -> tuple[int, ...]:
    """Return the processors of a local rank, from this machine's description."""
    layout = node_layout.parse(node_description.describe())
    if binding == Binding.NONE or layout is None:
        return tuple(sorted(node_description.allowed_cpus()))
    return tuple(sorted(layout.cpus(local, RANKS_PER_NODE, binding)))
