"""Every NIC policy under every communication stack that runs here, over two rails: the shares of the NICs' bytes.

Two nodes of a virtual torus have two NICs, two sockets and four ranks each. Local rank k sends 1, 1, 2 or 4 messages
(nic_shares.c), so each policy leads to a share of its own: 3/8 by nic0 under round-robin, 2/8 under
local-nic, 1/2 under stripe. A policy is proved when both nodes are within `TOLERANCE` of that share. What a stack
cannot express is refused before anything is started.

Leaves out fabrics other than TCP: their stacks have no hardware here (`railyard.placements.nics.stacks` names their
sources).
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from support.commands import executable
from support.mpis import matrix, mpis
from support.mpis.installed import INSTALLED, Mpi

from railyard.base.errors import InputError
from railyard.jobs import launching
from railyard.placements import launchers
from railyard.placements.launchers import Rendered
from railyard.placements.nics import policies
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import Placement, place
from railyard.torus.plan.plan import Shape

TOPOLOGY = """\
name: dual-rail-pair
nodes_per_router: 1
rails: 2
sockets_per_node: 2
lanes_per_tile: 4
tile_rates_gbyte_s: {cable: 4.0, host: 4.0}
tree: {leaves: 2, oversubscription: 1}
host: {tiles: 1}
"""
NAME = "bench-stacks"
PROGRAM = Path(__file__).with_name("nic_shares.c")
NICS = ("nic0", "nic1")
RANKS_PER_NODE = 4
MESSAGES = (1, 1, 2, 4)
BYTES = 1 << 21
TOLERANCE = 0.05
POLICIES = ("round-robin", "nic-0", "nic-1", "local-nic", "stripe")
#: The stacks that run here, by MPI.
ROWS: tuple[tuple[str, str], ...] = (
    ("openmpi 4", "openmpi-tcp"),
    ("openmpi 5", "openmpi-tcp"),
    ("openmpi 4", "ucx-tcp-unbound"),
    ("openmpi 5", "ucx-tcp"),
    ("mpich 4", "ucx-tcp-unbound"),
    ("mpich 5", "ucx-tcp"),
    ("openmpi 5", "ofi-tcp"),
    ("mpich 5", "ofi-tcp"),
    ("intel 2021", "ofi-tcp"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One policy under one stack of one MPI: a verdict, nic0's share of each node's bytes, and the share wanted."""

    mpi: str
    stack: str
    policy: str
    verdict: str
    why: str = ""
    shares: tuple[float, ...] = ()
    wanted: float = math.nan

    def text(self) -> str:
        """Return the cell of the table."""
        return " ".join(f"{100 * share:.1f}" for share in self.shares) or self.verdict


def wanted_share(policy: str, placed: Placement) -> float:
    """Return nic0's share of a node's bytes under a policy."""
    on = policies.host(placed.allocation.topology, placed.ranks_per_node)
    assigned = policies.assign(policies.parse(policy, len(on.nics)), on)
    parts = [messages * nics.count(0) / len(nics) for messages, nics in zip(MESSAGES, assigned, strict=True) if nics]
    return sum(parts) / sum(MESSAGES)


@contextmanager
def torus(name: str = NAME) -> Iterator[tuple[str, Placement]]:
    """Have the torus up; yield its name and the placement of the ranks."""
    topology = matrix.network(TOPOLOGY)
    placed = place("cart-create", allocate(topology, "contiguous"), (8,), ranks_per_node=RANKS_PER_NODE)
    with mpis.torus(topology, name, Shape(rate_scale=0.01)):
        yield name, placed


def cells(mpi: Mpi, stack: str, wanted: Sequence[str], *, placed: Placement, torus: str) -> list[Cell]:
    """Return what came of some policies under one stack."""
    found: dict[str, Cell] = {}
    launches: dict[str, mpis.Launch] = {}
    with tempfile.TemporaryDirectory(prefix="railyard-stacks-") as temporary:
        for policy in wanted:
            about: dict[str, Any] = {"mpi": mpi.name, "stack": stack, "policy": policy}
            try:
                launches[policy] = _launch(mpi, stack, policy, placed=placed, folder=Path(temporary, policy))
            except InputError as error:
                found[policy] = Cell(**about, verdict="refused", why=str(error))
            if why := mpi.absent():
                found.setdefault(policy, Cell(**about, verdict="absent", why=why))
        if not mpi.absent():
            subprocess.run([mpi.compiler, "-O1", "-o", f"{temporary}/nic_shares", str(PROGRAM)], check=True)
            mpis.start(mpi, list(launches.values()), torus)
        for policy, launch in launches.items():
            found.setdefault(policy, _judged(mpi, stack, policy, launch=launch, placed=placed))
    return [found[policy] for policy in wanted]


def _launch(mpi: Mpi, stack: str, policy: str, *, placed: Placement, folder: Path) -> mpis.Launch:
    """Return a launch under a policy; raises InputError for one that the stack cannot express."""
    prepared = launching.render(placed, policy, launchers.named(mpi.launcher), [stack], stem="placed")
    folder.mkdir()
    for name, text in prepared.scripts.items():
        executable(folder / name, text)
    words = (*prepared.line.words, *prepared.line.scripts)
    rendered = Rendered(command=words, environment=prepared.line.environment, files=prepared.files)
    nodes = dict.fromkeys(node.name for node in placed.nodes)
    counters = " ".join(f"/sys/class/net/{nic}/statistics/tx_bytes" for nic in NICS)
    probe = "; ".join(f"echo {node} $(railyard-enter {node} cat {counters})" for node in nodes)
    program = ["../nic_shares", str(RANKS_PER_NODE), str(BYTES)]
    return mpis.Launch(rendered=rendered, program=program, folder=folder, probe=probe)


def _judged(mpi: Mpi, stack: str, policy: str, *, launch: mpis.Launch, placed: Placement) -> Cell:
    about: dict[str, Any] = {"mpi": mpi.name, "stack": stack, "policy": policy}
    ended = launch.ended()
    if ended.status and not mpi.hangs:
        why = f"{mpi.name}, {stack}, {policy}: ended with {ended.status}: {ended.words}"
        return Cell(**about, verdict="WRONG", why=why)
    shares, wanted = _shares(launch.folder), wanted_share(policy, placed)
    right = all(abs(share - wanted) <= TOLERANCE for share in shares) and mpis.is_named_in(mpi, ended.out)
    seen = ", ".join(f"{share:.3f}" for share in shares)
    why = "" if right else f"{mpi.name}, {stack}, {policy}: {seen} by nic0, wanted {wanted:.3f}; {ended.words}"
    verdict = "proved" if right else "WRONG"
    return Cell(**about, verdict=verdict, why=why, shares=shares, wanted=wanted)


def _shares(folder: Path) -> tuple[float, ...]:
    """Return nic0's share of the bytes that each node sent during a launch."""
    before, after = (
        {node: [int(count) for count in counts] for node, *counts in map(str.split, text.splitlines())}
        for text in ((folder / name).read_text() for name in ("probe.0", "probe.1"))
    )
    sent = {node: [now - then for now, then in zip(after[node], before[node], strict=True)] for node in after}
    return tuple(first / max(1, first + second) for first, second in sent.values())


def measure(console: Console) -> None:
    """Print the table of stacks and policies."""
    known = {mpi.name: mpi for mpi in INSTALLED}
    found = []
    with torus() as (name, placed):
        for mpi, stack in ROWS:
            found += cells(known[mpi], stack, POLICIES, placed=placed, torus=name)
            console.print(f"{mpi:12}{stack:17}" + "  ".join(each.text() for each in found[-len(POLICIES) :]))
        heads = [f"{policy} ({100 * wanted_share(policy, placed):g})" for policy in POLICIES]
    title = "nic0's share of the bytes of each of two nodes, in percent, and the policy's share"
    table = Table("MPI", "stack", *heads, title=title)
    for mpi, stack in ROWS:
        texts = {each.policy: each.text() for each in found if (each.mpi, each.stack) == (mpi, stack)}
        table.add_row(mpi, stack, *(texts[policy] for policy in POLICIES))
    console.print(table)
    mpis.summarise(console, [(cell.verdict, cell.why) for cell in found])
