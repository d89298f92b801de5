"""Messages in the router's network alone: no TCP, no MPI, no machine.

`railyard-router --simulate` moves the messages in virtual time, cell by cell. Its times beside those of the virtual
torus show what the network itself does. The difference between the two is what TCP, MPI and this machine add.

Leaves out: messages that several NICs share.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RunError
from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native.programs import ROUTER
from railyard.torus.plan import addresses, router_description
from railyard.torus.plan.plan import Shape

SHAPE = Shape(network="router", latency_scaled=True)
HEALTHY = Faults()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message from node to node (indices into `topology.nodes`), sent at 0; `rails` are those of its NICs."""

    source: int
    target: int
    size_bytes: int
    rails: tuple[int, int] = (0, 0)


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """When each message arrived, and what each link between routers did, by name: bytes and seconds of output stall."""

    arrivals_s: list[float]
    sent_bytes: Mapping[str, int]
    output_stall_s: Mapping[str, float]


def simulated(
    topology: Topology, messages: Sequence[Message], *, faults: Faults = HEALTHY, shape: Shape = SHAPE
) -> Simulated:
    """Run the messages, all sent at 0, in seconds of the virtual torus."""
    if not ROUTER.is_file():
        raise RunError(f"{ROUTER} is not built; run `make setup`")
    described = router_description.description(topology, shape, faults, namespace_prefix="/")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "description"
        path.write_text(described)
        done = subprocess.run(
            [str(ROUTER), "--simulate", str(path)],
            input="".join(_lines(topology, messages)),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RunError(f"{ROUTER.name} --simulate: {done.stderr.strip()}")
    due_s: dict[int, float] = {}
    counted: dict[int, list[int]] = {}
    for kind, number, *words in map(str.split, done.stdout.splitlines()):
        if kind == "message":
            due_s[int(number)] = int(words[1]) / 1e9
        elif kind == "link":
            counted[int(number)] = [int(word) for word in words]
    first = 2 * len(topology.nodes) * topology.rails  # the NICs' links come before
    links = {link.name: counted[first + index] for index, link in enumerate(topology.links())}
    return Simulated(
        arrivals_s=[due_s[number] for number in range(len(messages))],
        sent_bytes={name: words[0] for name, words in links.items()},
        output_stall_s={name: words[5] / 1e9 for name, words in links.items()},
    )


def arrivals_s(
    topology: Topology, messages: Sequence[Message], *, faults: Faults = HEALTHY, shape: Shape = SHAPE
) -> list[float]:
    """Return when the last byte of each message arrives, in seconds of the virtual torus; all are sent at 0."""
    return simulated(topology, messages, faults=faults, shape=shape).arrivals_s


def _lines(topology: Topology, messages: Sequence[Message]) -> Iterator[str]:
    """Yield the messages as the router reads them; NIC k of a node is link 2 (node x rails + k)."""
    for message in messages:
        nic = 2 * (message.source * topology.rails + message.rails[0])
        address = addresses.node_address(topology, topology.nodes[message.target], message.rails[1])
        yield f"0 {nic} {address} {message.size_bytes}\n"
