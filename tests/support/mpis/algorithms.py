"""Eight algorithms of collectives under three MPIs on two virtual networks: every link's bytes, and the proof.

Sixteen nodes of a torus and of a dragonfly run one rank each. `rowcol` makes one collective, with the variables that
`-S algorithms=...` sets. A cell is proved when the bytes of all links and nodes are those of the algorithm's matrix
within `proof.TOLERANCE`, after headers, and the proof says so. The wrong setting of a cell is another algorithm's, set
behind the proof's back: the proof must refuse it and name that one. Leaves out what a job does with the verdict.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from support.mpis import mpis
from support.mpis.installed import INSTALLED, MPIS, Mpi
from support.mpis.matrix import network

from railyard.jobs import launching
from railyard.placements import launchers
from railyard.placements.collectives import libraries, mpich_json, proof
from railyard.placements.collectives.algorithms import Shape
from railyard.placements.collectives.proof import Fit
from railyard.placements.launchers import Rendered
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import Placement, place
from railyard.placements.topology.base import Topology
from railyard.torus.plan.plan import Shape as TorusShape
from railyard.torus.virtual import counters
from railyard.torus.virtual.counters import CounterReading

RANKS = 16
#: Bytes of a vector, or of a block. What MPICH and Intel MPI send to set up is several MB.
SIZES = {"allreduce": 1 << 20, "alltoall": 1 << 16, "bcast": 1 << 20, "allgather": 1 << 16}
#: Fast links: bytes are counted here, and nothing is timed.
RATE_SCALE = 0.01
TORUS = """\
name: torus-16
nodes_per_router: 1
tile_rates_gbyte_s: {cable: 1.17, host: 1.33}
dimensions:
  X: {extent: 4, tiles: 8, pattern: [cable]}
  Y: {extent: 2, tiles: 8, pattern: [cable]}
  Z: {extent: 2, tiles: 8, pattern: [cable]}
host: {tiles: 8}
"""
DRAGONFLY = """\
name: dragonfly-16
nodes_per_router: 2
lanes_per_tile: 4
tile_rates_gbyte_s: {local: 25.0, global: 25.0, host: 25.0}
dragonfly: {groups: 4, routers: 2, cables: 1}
host: {tiles: 1}
"""
NETWORKS = {"torus": TORUS, "dragonfly": DRAGONFLY}
#: Algorithms that every library here has, each with the one that its wrong setting uses.
ASKED = {
    "allreduce:recursive-doubling": "allreduce:ring",
    "allreduce:ring": "allreduce:rabenseifner",
    "allreduce:rabenseifner": "allreduce:recursive-doubling",
    "alltoall:bruck": "alltoall:linear",
    "bcast:scatter-ring": "bcast:scatter-doubling",
    "bcast:scatter-doubling": "bcast:scatter-ring",
    "allgather:ring": "allgather:bruck",
    "allgather:bruck": "allgather:ring",
}
#: The same by MPICH's tuning file in place of variables; its own decisions are other ones at these sizes.
BY_FILE = {
    "allreduce:ring@65536": "allreduce:recursive-doubling@65536",
    "bcast:scatter-doubling@65536": "bcast:binomial@65536",
}
#: Debian's MPICH 4 has no ring for allreduce.
NAMES = ("openmpi 4", "mpich 5", "intel 2021")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One algorithm under one MPI: what the proof says of it, and of the wrong setting; empty texts are right.

    `difference` is the share of the bytes of links and nodes that are not the matrix's, `factor` that of headers.
    """

    network: str
    mpi: str
    asked: str
    right: str
    wrong: str
    difference: float = 1.0
    factor: float = 1.0

    @property
    def verdict(self) -> str:
        """Return `proved`, or `WRONG`."""
        return "WRONG" if self.right or self.wrong else "proved"


def placed_on(topology: Topology) -> Placement:
    """Return the placement of one rank on each of 16 nodes."""
    return place("plain", allocate(topology, "contiguous"), (RANKS,), ranks_per_node=1, seed=1)


def launched(
    mpi: Mpi, choices: Iterable[str], placed: Placement, torus: str
) -> dict[str, tuple[dict[str, Any], CounterReading]]:
    """Launch one collective by each choice; return what `rowcol` wrote, and what the torus's links sent meanwhile.

    Raises AssertionError for a launch that failed.
    """
    topology, found = placed.allocation.topology, {}
    with tempfile.TemporaryDirectory(prefix="railyard-algorithms-") as folder:
        launches = {
            choice: _launch(mpi, choice, placed, torus, folder=Path(folder, str(number)))
            for number, choice in enumerate(choices)
        }
        mpis.start(mpi, list(launches.values()), torus)
        for choice, launch in launches.items():
            probes = ((launch.folder / f"probe.{when}").read_text().splitlines() for when in (0, 1))
            before, after = (counters.reading(torus, topology, *counters.parse(lines)) for lines in probes)
            document = launch.document(mpi, "out.json")
            assert not isinstance(document, str), f"{mpi.name}, {choice}: {document}"
            found[choice] = document, counters.difference(after, before)
    return found


def _launch(mpi: Mpi, choice: str, placed: Placement, torus: str, *, folder: Path) -> mpis.Launch:
    is_by_file = mpi.feature == "mpich" and libraries.FROM in choice
    policy = "library-default" if is_by_file else f"library-default+{choice}"
    rendered = launching.render(placed, policy, launchers.named(mpi.launcher), [mpi.feature], stem="placed")
    environment, files = rendered.line.environment, rendered.files
    if is_by_file:
        library = libraries.of_features([mpi.feature])
        environment = {**environment, **library.always, mpich_json.VARIABLE: str(folder / "rules.json")}
        files = {**files, "rules.json": mpich_json.text(library, choice, RANKS, MPIS / "mpich5/lib/libmpi.so.12")}
    ((collective, _),) = libraries.parse(choice)
    words = ["--collectives", collective, "--sizes", str(SIZES[collective]), "--splits", "all", "--json", "out.json"]
    timing = ["--repeats", "3", "--warmups", "0", "--warmup-time", "0", "--min-time-per-point", "0"]
    scripts = [str(mpi.benchmark(one)) if one in libraries.PRELOADED[:1] else one for one in rendered.line.scripts]
    return mpis.Launch(
        rendered=Rendered(command=rendered.line.words, environment=environment, files=files),
        program=[*scripts, str(mpi.benchmark("rowcol")), *words, *timing, "--start", "barrier"],
        folder=folder,
        probe=f"{counters.PROGRAM} {torus}",
    )


def fits(document: Mapping[str, Any], counted: CounterReading, placed: Placement) -> list[Fit]:
    """Return the algorithms of a launch's one collective, by how far their bytes are from those counted."""
    topology = placed.allocation.topology
    evidence = {
        "nics": list(counted.nics(topology)),
        "links": [{"name": link.name, "bytes": link.bytes} for link in counted.links],
    }
    calls = proof.calls_of((one["fom"], one["labels"], one["samples"]) for one in document["series"])
    hosts = [node.name for node in placed.nodes]
    shape = Shape(ranks=RANKS, grid=tuple(placed.grid))
    return proof.fits(proof.counted(topology, hosts, evidence), calls, shape)


def cells(mpi: Mpi, asked: Mapping[str, str], placed: Placement, torus: str) -> Iterator[Cell]:
    """Yield a cell for each algorithm, which has its wrong setting beside it; each setting is launched once."""
    settings = dict.fromkeys([*asked, *asked.values()])
    found = {choice: fits(*of, placed) for choice, of in launched(mpi, settings, placed, torus).items()}
    library = libraries.of_features([mpi.feature])
    for choice in asked:
        (wanted,) = libraries.matrices(choice, library).values()
        (other,) = libraries.matrices(asked[choice], library).values()
        is_obeyed, reason = proof.judge(wanted, found[choice])
        is_refused, named = proof.judge(wanted, found[asked[choice]])
        own = next(row for row in found[choice] if row.algorithm == wanted)
        yield Cell(
            network=placed.allocation.topology.name,
            mpi=mpi.name,
            asked=choice,
            right="" if is_obeyed else f"{is_obeyed}: {reason}",
            wrong="" if is_refused is False and f"{other}'s" in named else f"{is_refused}: {named}",
            difference=own.difference,
            factor=own.factor,
        )


def measure(console: Console) -> None:
    """Print the table of all cells."""
    found: list[Cell] = []
    for name, text in NETWORKS.items():
        topology, torus = network(text), f"bench-{name}"
        placed = placed_on(topology)
        with mpis.torus(topology, torus, TorusShape(rate_scale=RATE_SCALE)):
            for mpi in INSTALLED:
                if mpi.name in NAMES and not mpi.absent():
                    asked = {**ASKED, **(BY_FILE if mpi.name == "mpich 5" else {})}
                    found += cells(mpi, asked, placed, torus)
                    console.print(f"{name}, {mpi.name}: {sum(c.verdict == 'proved' for c in found)} of {len(found)}")
    title = f"Bytes of links that are not the algorithm's matrix, in percent; {RANKS} ranks"
    columns = list(dict.fromkeys((cell.network, cell.mpi) for cell in found))
    table = Table(title=title)
    table.add_column("algorithm", no_wrap=True)
    for column in columns:
        table.add_column(", ".join(column), overflow="fold")
    of = {(cell.asked, cell.network, cell.mpi): f"{100 * cell.difference:.2f}" for cell in found}
    for choice in {**ASKED, **BY_FILE}:
        table.add_row(choice, *(of.get((choice, *column), "") for column in columns))
    console.print(table)
    right, wrong = (sum(not getattr(cell, kind) for cell in found) for kind in ("right", "wrong"))
    console.print(f"proof right {right} of {len(found)}, wrong setting named {wrong} of {len(found)}")
    whys = [f"{c.network}, {c.mpi}, {c.asked}: {c.right}{c.wrong}" if c.right or c.wrong else "" for c in found]
    mpis.summarise(console, [(cell.verdict, why) for cell, why in zip(found, whys, strict=True)])
