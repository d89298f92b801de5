"""Every rank order and binding under every launcher and MPI: proved from inside, refused in one line, or absent.

    matrix        8 ranks on 4 pretended hosts of this machine (tools/as-host), without a torus
    matrix-torus  16 ranks on 8 nodes of a virtual torus, and of a virtual dragonfly for orders by group

A cell is proved when every rank reports the node and the processors of its placement. Launches whose command, files
and binding are equal are made once. Leaves out NICs (`support.mpis.stacks`), and launchers whose software no machine
of ours has: they are read back from their text in tests/placements/test_launchers.py.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table
from support.mpis import mpis
from support.mpis.installed import INSTALLED, Mpi

from railyard.base.errors import InputError
from railyard.jobs.nodes import node as node_description
from railyard.placements import launchers
from railyard.placements.hosts import node as node_layout
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import Rendered
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import Placement, place
from railyard.placements.orders.rank_orders import orders
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.torus.plan.plan import Shape

RANKS_PER_NODE = 2
#: Fast links: placements are proved here, and nothing is timed.
RATE_SCALE = 0.01
SHORT = {"proved": "yes", "refused": "no", "absent": "-", "WRONG": "WRONG"}
OUTPUT = "halo.json"
HALO = ("--cells", "2", "--repeats", "3", "--warmups", "0")
#: Orders with the argument of their example. `file` names the nodes of an order that returns to them.
ORDERS = tuple(f"{order}:{order.example}" if order.example else str(order) for order in orders().values())


#: Bindings that a rank can prove; what a launcher does by itself differs from machine to machine.
BINDINGS = tuple(binding for binding in Binding if binding != Binding.LAUNCHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where the matrix runs: the grid of the ranks, a torus of one node per router, and a network with groups.

    `block` is the part of the torus that is granted (None: all of it), because `custom` takes a whole block. `grouped`
    is the text of a topology, because a torus has no groups, and a dragonfly no block. `tori` name the two virtual
    networks that are up; they are empty for pretended hosts.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int] | None
    torus: str
    grouped: str
    tori: tuple[str, str] = ("", "")


PRETENDED = Machine(grid=(2, 2, 2), block=(1, 2, 2), torus="gemini-2x2x2", grouped="dragonfly-72")
#: Twelve nodes in three groups: the smallest dragonfly that holds sixteen ranks and leaves nodes free.
DRAGONFLY = """\
name: dragonfly-12
nodes_per_router: 2
lanes_per_tile: 4
tile_rates_gbyte_s: {local: 25.0, global: 25.0, host: 25.0}
dragonfly: {groups: 3, routers: 2, cables: 1}
host: {tiles: 1}
"""
ON_TORUS = Machine(
    grid=(4, 2, 2), block=None, torus="gemini-2x2x2", grouped=DRAGONFLY, tori=("bench-matrix", "bench-matrix-groups")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came of one placement under one launcher: a verdict and the reason."""

    placement: str
    launcher: str
    mpi: str
    verdict: str
    why: str = ""


def measure(console: Console, on: Machine = PRETENDED) -> None:
    """Print the matrix, one line per order and binding, and each reason once."""
    with ExitStack() as stack:
        for name, topology in zip(on.tori, (on.torus, on.grouped), strict=True):
            if name:
                stack.enter_context(mpis.torus(network(topology), name, Shape(rate_scale=RATE_SCALE)))
        found = list(cells(placements(on), console, on))
    columns = [mpi.name for mpi in INSTALLED] + sorted({c.launcher for c in found if not c.mpi})
    count = math.prod(on.grid)
    where = "of a virtual torus" if on.tori[0] else "that are pretended"
    title = f"{count} ranks on {count // RANKS_PER_NODE} nodes {where}: yes is proved, no is refused, - is absent"
    table = Table(title=title)
    table.add_column("order/binding", no_wrap=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    by_place = {(cell.placement, cell.mpi or cell.launcher): SHORT[cell.verdict] for cell in found}
    for name in dict.fromkeys(cell.placement for cell in found):
        table.add_row(name, *(by_place.get((name, column), "-") for column in columns))
    console.print(table)
    mpis.summarise(console, [(cell.verdict, cell.why) for cell in found])


def placements(on: Machine = PRETENDED) -> dict[str, Placement]:
    """Return every order with every binding."""
    return {f"{name}/{binding}": one(f"{name}/{binding}", on) for name in ORDERS for binding in BINDINGS}


def _is_grouped(name: str) -> bool:
    return name.rpartition("/")[0] in {"by-group", "by-switch"}


@cache
def network(topology: str) -> Topology:
    """Return a topology by its name, or by its text."""
    return catalog.parse(yaml.safe_load(topology), source="text") if "\n" in topology else catalog.load(topology)


def one(name: str, on: Machine = PRETENDED) -> Placement:
    """Return a placement on the network that its order needs."""
    order, _, binding = name.rpartition("/")
    grouped = _is_grouped(name)
    topology = network(on.grouped if grouped else on.torus)
    granted = allocate(topology, "contiguous", block=None if grouped else on.block)
    if order != "file":
        return place(name, granted, on.grid, ranks_per_node=RANKS_PER_NODE, seed=1)
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
        names = [node.name for node in granted.nodes[: math.prod(on.grid) // RANKS_PER_NODE]]
        file.write("".join(f"{node}\n" for node in (*names, *reversed(names))))
        file.flush()
        return place(f"file:{file.name}/{binding}", granted, on.grid, ranks_per_node=RANKS_PER_NODE)


def cells(placed: Mapping[str, Placement], console: Console | None = None, on: Machine = PRETENDED) -> Iterator[Cell]:
    """Yield the cells: every placement under every MPI, then what the launchers without an MPI here refuse."""
    for mpi in INSTALLED:
        began = time.monotonic()
        found = list(cells_of(mpi, placed, on))
        if console:
            proved_cells = sum(cell.verdict == "proved" for cell in found)
            console.print(f"{mpi.name}: {proved_cells} proved in {time.monotonic() - began:.0f} s")
        yield from found
    for launcher in launchers.LAUNCHERS.values():
        if launcher.name not in {mpi.launcher for mpi in INSTALLED} and not launcher.nic_by_host:
            for name, placement in placed.items():
                rendered, why = _rendered(launcher.name, placement)
                absent = f"{launcher.name}: not started here; docs/placements.md says how it is tested"
                verdict = "absent" if rendered else "refused"
                yield Cell(placement=name, launcher=launcher.name, mpi="", verdict=verdict, why=why or absent)


def cells_of(mpi: Mpi, placed: Mapping[str, Placement], on: Machine = PRETENDED) -> Iterator[Cell]:
    """Yield the cell of each placement under one MPI; launches that are equal are made once."""
    known: dict[object, str] = {}
    possible = {name: _rendered(mpi.launcher, placement) for name, placement in placed.items()}
    absent = mpi.absent()
    if not absent:
        first = {_key(rendered): name for name, (rendered, _) in reversed(possible.items()) if rendered}
        chosen = [(name, possible[name][0], placed[name]) for name in first.values()]
        tried = [Try(name=name, rendered=one, placement=p) for name, one, p in chosen if one]
        known = dict(zip(first, judged(mpi, tried, on), strict=True))
    for name, (rendered, refused) in possible.items():
        about = {"placement": name, "launcher": mpi.launcher, "mpi": mpi.name}
        if rendered is None or absent:
            yield Cell(**about, verdict="absent" if rendered else "refused", why=refused or absent)
            continue
        wrong = known[_key(rendered)]
        why = f"{mpi.name}, {name}: {wrong}" if wrong else ""
        yield Cell(**about, verdict="WRONG" if wrong else "proved", why=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A launch to be made, the placement to judge it by, and its name, which names the network that it needs."""

    name: str
    rendered: Rendered
    placement: Placement


def judged(mpi: Mpi, tried: Sequence[Try], on: Machine = PRETENDED) -> list[str]:
    """Make launches; return for each what differs from its placement, empty if nothing does."""
    with tempfile.TemporaryDirectory(prefix="railyard-matrix-") as folder:
        program = [str(mpi.halo), *HALO, "--json", OUTPUT]
        launches = [
            mpis.Launch(rendered=one.rendered, program=program, folder=Path(folder, str(number)))
            for number, one in enumerate(tried)
        ]
        for network in dict.fromkeys(_network(one.name, on) for one in tried):
            there = [a for a, one in zip(launches, tried, strict=True) if _network(one.name, on) == network]
            mpis.start(mpi, there, network)
        documents = [launch.document(mpi, OUTPUT) for launch in launches]
    return [
        document if isinstance(document, str) else proved(one.placement, document["ranks"])
        for one, document in zip(tried, documents, strict=True)
    ]


def _key(rendered: Rendered) -> object:
    return (rendered.command, *rendered.environment.items(), *rendered.files.items())


def _network(name: str, on: Machine) -> str:
    return on.tori[_is_grouped(name)]


def _rendered(launcher: str, placement: Placement) -> tuple[Rendered | None, str]:
    """Return the launch, or why the launcher refuses it."""
    try:
        return launchers.render(launcher, placement, stem="p"), ""
    except InputError as error:
        return None, str(error)


def proved(placement: Placement, ranks: Sequence[Mapping[str, Any]]) -> str:
    """Return what differs between a placement and what its ranks report; empty if nothing does."""
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
