"""Messages in the router's network alone: when each arrived, and what each link between routers did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.placements.topology.base import Topology
from railyard.placements.topology.faults import Faults
from railyard.torus.native.messages import SHAPE, Message, arrivals_s, outputs
from railyard.torus.plan.plan import HEALTHY, Shape


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
    (output,) = outputs(topology, [messages], faults=faults, shape=shape)
    rows = (line.split() for line in output.splitlines() if line.startswith("link "))
    counted = {int(number): list(map(int, words)) for _, number, *words in rows}
    first = 2 * len(topology.nodes) * topology.rails  # the NICs' links come before
    links = {link.name: counted[first + index] for index, link in enumerate(topology.links())}
    return Simulated(
        arrivals_s=arrivals_s(output),
        sent_bytes={name: words[0] for name, words in links.items()},
        output_stall_s={name: words[5] / 1e9 for name, words in links.items()},
    )
