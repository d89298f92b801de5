"""Messages in the router's network alone: no TCP, no MPI, no machine.

`railyard-router --simulate` moves the messages in virtual time, cell by cell. Its times beside those of the virtual
torus show what the network itself does. The difference between the two is what TCP, MPI and this machine add.

Leaves out: messages that several NICs share.
"""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RunError
from railyard.placements.arrays import Ints, np
from railyard.placements.linkload import rails
from railyard.placements.linkload.rails import RankNics
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native.programs import ROUTER, built
from railyard.torus.plan import addresses, router_description
from railyard.torus.plan.plan import HEALTHY, Shape

SHAPE = Shape(network="router", latency_scaled=True)
#: A larger exchange is simulated in proportion, as more bytes take longer and show the same: bytes in all, or of each
#: message in the mean.
EXCHANGE_BYTES, MESSAGE_BYTES = 4e6, 1e4
#: Seconds of a processor: to write a route, on a torus and elsewhere, to read it for a node, and for each cell.
WRITE_PREFIX_S, WRITE_S, READ_S, CELL_S = 2.5e-5, 5e-6, 1e-6, 4e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message from node to node (indices into `topology.nodes`), sent at 0; `rails` are those of its NICs."""

    source: int
    target: int
    size_bytes: int
    rails: tuple[int, int] = (0, 0)


def outputs(
    topology: Topology, draws: Sequence[Sequence[Message]], *, faults: Faults = HEALTHY, shape: Shape = SHAPE
) -> list[str]:
    """Run every draw of messages alone, all sent at 0, and return what the router prints of it.

    As many run at once as this machine has processors. Raises RunError if the router is not built or fails.
    """
    built(ROUTER)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        path = Path(folder) / "description"
        with path.open("w", encoding="ascii") as file:  # line by line: a large machine's has 600 MB
            file.writelines(f"{line}\n" for line in router_description.lines(topology, shape, faults, path="/"))
        return list(pool.map(lambda messages: _run(topology, path, messages), draws))


def _run(topology: Topology, path: Path, messages: Sequence[Message]) -> str:
    """Run messages, which the router reads as lines; NIC k of a node is link 2 (node x rails + k)."""
    lines = (
        f"0 {2 * (message.source * topology.rails + message.rails[0])} "
        f"{addresses.node_address(topology, topology.nodes[message.target], message.rails[1])} {message.size_bytes}\n"
        for message in messages
    )
    done = subprocess.run(
        [str(ROUTER), "--simulate", str(path)], input="".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RunError(f"{ROUTER.name} --simulate: {done.stderr.strip()}")
    return done.stdout


def arrivals_s(output: str) -> list[float]:
    """Return when the last byte of each message arrived, in seconds of the virtual torus, from one of `outputs`."""
    lines = [line.split() for line in output.splitlines() if line.startswith("message ")]
    due_s = {int(number): int(due_ns) / 1e9 for _, number, _, due_ns, *_ in lines}
    return [due_s[number] for number in range(len(due_s))]


def exchanges_s(
    topology: Topology, placements: Sequence[Ints], sent: Traffic, nics: RankNics | None = None
) -> list[float]:
    """Return when the last message arrives for each placement of the ranks, in seconds of the real machine.

    All ranks send all that they send at 0, by default by the first NIC. `placements[k]` has the node of each rank
    (index into `topology.nodes`).
    """
    share = _share(sent)
    runs = outputs(topology, [of_ranks(nodes, sent, share, nics) for nodes in placements])
    return [max(arrivals_s(output), default=0.0) * SHAPE.rate_scale / share for output in runs]


def of_ranks(nodes: Ints, sent: Traffic, share: float = 1.0, nics: RankNics | None = None) -> list[Message]:
    """Return what ranks send to other nodes, rank k from node `nodes[k]`; each message has a share of its bytes."""
    first = RankNics(policy="nic-0", assigned=((0,),) * int(np.bincount(nodes).max(initial=1)))
    parts = rails.messages(nodes, sent, nics or first)
    sizes = np.ceil(share * parts.size_bytes).astype(np.int64)
    columns = (parts.source, parts.target, sizes, parts.out_rail, parts.in_rail)
    return [
        Message(source=source, target=target, size_bytes=size, rails=(out, into))
        for source, target, size, out, into in zip(*(column.tolist() for column in columns), strict=True)
        if size
    ]


def estimated_s(topology: Topology, draws: int, sent: Traffic) -> float:
    """Return about how many seconds `exchanges_s` takes on an idle machine."""
    routers, routes = len(topology.routers), len(topology.routers) * len(topology.nodes)
    write_s = WRITE_PREFIX_S * routers * sum(topology.rings) if topology.rings else WRITE_S * routes
    cells = _share(sent) * sent.total_bytes / SHAPE.mtu_bytes + len(sent.source)
    rounds = math.ceil(draws / (os.cpu_count() or 1))
    return write_s + rounds * (READ_S * routes + CELL_S * cells)


def _share(sent: Traffic) -> float:
    return min(1.0, max(EXCHANGE_BYTES, MESSAGE_BYTES * len(sent.source)) / max(sent.total_bytes, 1.0))
