"""Plan the tests of `topobw` on networks that are not tori: which pairs of nodes load which link, in phases.

Each directed link is tested once, by as many flows as saturate it, no two of which share a node. Flows use the shortest
usual routes over the link. On a dragonfly such a flow crosses no other link between routers; in a fat tree it also
crosses the links on its way down. Every node sends and receives in at least two tests, so that a slow node differs
from a slow link. Tests of one phase share no node and no link, including the links of the return routes, which the
acknowledgements use. Each test is in the first phase that has room for it.

A test saturates a link if its flows can send at the link's rate. It also saturates the nodes' own links if they are no
faster than their share of that rate. The links that it saturates are its `parts`, other links on its routes are
`crossed`. If the test is good, `topobw` considers its parts sound.

Leaves out: links that no usual route uses (`unused`), and routes that are not fixed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, Ints32, np
from railyard.placements.topology.base import Topology
from railyard.placements.topology.parts import Link

#: The most phases that topobw has room for, and the most routes that are looked through.
MOST_PHASES = 64
MOST_ROUTES = 1 << 22
#: Routes of a link that are weighed against each other.
MOST_CANDIDATES = 512
LEAST_TESTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTest:
    """One test: `pairs` of nodes (indices into `nodes`) send at once over `links`; the first names the test."""

    name: str
    links: tuple[Link, ...]
    pairs: tuple[tuple[int, int], ...]
    rate_gbyte_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """Tests by phase, and the names of the links that no usual route takes."""

    phases: tuple[tuple[LinkTest, ...], ...]
    unused: tuple[str, ...]


#: (sending switch, or node in a flow; receiving node; indices of the links on the route).
Route = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Uses:
    """How often each node has sent, received and sent over each link, and two links were crossed by one flow."""

    sent: Counter[int]
    received: Counter[int]
    together: Counter[tuple[int, int]]
    sent_over: Counter[tuple[int, int]]

    def add(self, flow: Route) -> None:
        self.sent[flow[0]] += 1
        self.received[flow[1]] += 1
        self.together.update(itertools.permutations(flow[2], 2))
        self.sent_over.update((flow[0], position) for position in flow[2])

    def over(self, node: int, links: tuple[int, ...]) -> int:
        """Return how often a node has sent over links; a node that always sends over one link looks like the link."""
        return sum(self.sent_over[node, link] for link in links)


def tests(topology: Topology, rail: int = 0) -> Tests:
    """Return the tests of every link of a rail; InputError where routes are not fixed or do not fit.

    Another rail than the first is of use where all rails are one network; elsewhere they are alike.
    """
    topology.check_static("topobw")
    rail = rail if topology.is_fabric else 0
    by_link = _candidates(topology, rail)
    uses = _Uses(sent=Counter(), received=Counter(), together=Counter(), sent_over=Counter())
    link_tests, unused = list[LinkTest](), list[str]()
    for position, link in enumerate(topology.first_rail):
        if topology.is_fabric and link.rail != rail:
            continue
        if flows := _flows(topology, position, by_link.get(position, []), uses):
            link_tests.append(_test(topology, link, flows, _part(link)))
        else:
            unused.append(link.name)
    link_tests += _more(topology, by_link, uses)
    phases = _phases(topology, link_tests, rail)
    if len(phases) > MOST_PHASES:
        raise InputError("topobw", "phases", len(phases), f"at most {MOST_PHASES}")
    return Tests(phases=phases, unused=tuple(unused))


def lines(topology: Topology, rail: int = 0) -> Iterator[str]:
    """Yield the `test` lines of the links file (docs/formats.md), and a comment for each link without a test."""
    link_tests = tests(topology, rail)
    for name in link_tests.unused:
        yield f"# not tested, because no usual route takes it: {name}\n"
    names = [node.name for node in topology.nodes]
    for number, phase in enumerate(link_tests.phases):
        for test in phase:
            (source, target), *_ = test.pairs
            places = _places(topology, topology.router_of_node[[source]], np.array([target], dtype=np.int64), rail)
            ends = [f"node:{names[a]}:sending" for a, _ in test.pairs]
            ends += [f"node:{names[b]}:receiving" for _, b in test.pairs]
            flows = len(test.pairs) * topology.host_rate_gbyte_s
            full, crossed = list[str](), list[str]()
            for link in test.links:
                shared = flows if link is test.links[0] else topology.host_rate_gbyte_s
                (full if shared >= link.rate_gbyte_s else crossed).append(_part(link))
            (full if flows <= test.rate_gbyte_s else crossed).extend(ends)
            words = ("test", number, test.links[0].link_class, f"{test.rate_gbyte_s:.10g}", 1 + (places >= 0).sum())
            pairs = ",".join(f"{names[a]}>{names[b]}" for a, b in test.pairs)
            lists = ("," + "".join(f"{part}," for part in dict.fromkeys(parts)) for parts in (full, crossed))
            yield " ".join(map(str, (*words, test.name, pairs, *lists))) + "\n"


def _places(topology: Topology, source: Ints, target: Ints, rail: int) -> Ints32:
    """Return the links of the usual routes from routers to nodes, by NICs of a rail; as `Topology.route_places`."""
    return topology.route_places(source + rail * len(topology.coordinates), target + rail * len(topology.nodes))


def _part(link: Link) -> str:
    """Return a link's name as one word."""
    return link.name.replace(" ", ":", 1)


def _candidates(topology: Topology, rail: int) -> dict[int, list[Route]]:
    """Return for each link routes over it, shortest first: source switch, destination node, links."""
    switches, nodes = np.unique(topology.router_of_node), np.arange(len(topology.nodes), dtype=np.int64)
    if len(switches) * len(nodes) > MOST_ROUTES:
        raise InputError("topobw", "nodes", len(nodes), f"at most {MOST_ROUTES // len(switches)}")
    source, target = np.repeat(switches, len(nodes)), np.tile(nodes, len(switches))
    places = _places(topology, source, target, rail)
    lengths = (places >= 0).sum(axis=1)
    routes_of_link = dict[int, list[Route]]()
    for row in np.argsort(lengths, kind="stable").tolist():
        links = tuple(position for position in places[row].tolist() if position >= 0)
        for position in links:
            routes = routes_of_link.setdefault(position, [])
            if len(routes) < MOST_CANDIDATES and (not routes or len(routes[0][2]) == len(links)):
                routes.append((int(source[row]), int(target[row]), links))
    return routes_of_link


def _flows(topology: Topology, position: int, routes: list[Route], uses: _Uses) -> list[Route]:
    """Return enough flows to saturate a link, no two with a common sender or receiver; prefers links used least."""

    def cost(route: Route) -> tuple[int, int]:
        """Return how often the link was crossed together with this route's others, and the tests of its receiver."""
        return sum(uses.together[position, other] for other in route[2]), uses.received[route[1]]

    wanted = math.ceil(topology.link_at(position).rate_gbyte_s / topology.host_rate_gbyte_s - 1e-9)
    flows = list[Route]()
    for source, target, links in sorted(routes, key=cost):
        sender = _sender(topology, (source, target, links), [flow[0] for flow in flows], uses)
        if sender is None or target in [flow[1] for flow in flows]:
            continue
        flows.append((sender, target, links))
        uses.add(flows[-1])
        if len(flows) >= wanted:
            break
    return flows


def _sender(topology: Topology, route: Route, taken: list[int], uses: _Uses) -> int | None:
    """Return a node, none of `taken`, that has sent least over the links of a route and at all; None without one."""
    switch, _, links = route
    first = int(topology.first_node[switch])
    count = topology.nodes_at(topology.coordinates[switch])
    free = [node for node in range(first, first + count) if node not in taken]
    return min(free, key=lambda node: (uses.over(node, links), uses.sent[node]), default=None)


def _test(topology: Topology, link: Link, flows: list[Route], name: str) -> LinkTest:
    others = [position for *_, links in flows for position in links]
    every = [topology.link_at(position) for position in dict.fromkeys(others)]
    return LinkTest(
        name=name,
        links=(link, *(other for other in every if other.name != link.name)),
        pairs=tuple((sender, target) for sender, target, _ in flows),
        rate_gbyte_s=link.rate_gbyte_s,
    )


def _more(topology: Topology, by_link: dict[int, list[Route]], uses: _Uses) -> Iterator[LinkTest]:
    """Yield tests of single pairs for the nodes that send or receive in fewer than two tests so far."""

    def pair(flow: Route) -> LinkTest:
        uses.add(flow)
        slowest = min((topology.link_at(position) for position in flow[2]), key=lambda link: link.rate_gbyte_s)
        return _test(topology, slowest, [flow], f"pair:{topology.nodes[flow[0]].name}>{topology.nodes[flow[1]].name}")

    to, from_switch = dict[int, list[Route]](), dict[int, list[Route]]()
    for route in itertools.chain.from_iterable(by_link.values()):
        to.setdefault(route[1], []).append(route)
        from_switch.setdefault(route[0], []).append(route)
    for node, switch in enumerate(topology.router_of_node.tolist()):
        outwards = sorted(
            from_switch.get(switch, []), key=lambda route: (uses.over(node, route[2]), uses.received[route[1]])
        )
        for _, target, links in outwards[:LEAST_TESTS]:
            if uses.sent[node] < LEAST_TESTS:
                yield pair((node, target, links))
        for source, _, links in to.get(node, [])[:LEAST_TESTS]:
            sender = _sender(topology, (source, node, links), [], uses)
            if uses.received[node] < LEAST_TESTS and sender is not None:
                yield pair((sender, node, links))


def _phases(topology: Topology, link_tests: list[LinkTest], rail: int) -> tuple[tuple[LinkTest, ...], ...]:
    """Return tests in phases, each in the first that has none of its links, there and back, and of its nodes."""
    phases, busy = list[list[LinkTest]](), list[set[object]]()
    for test in link_tests:
        senders, targets = np.array(test.pairs, dtype=np.int64).T
        back = _places(topology, topology.router_of_node[targets], senders, rail)
        needs: set[object] = {link.name for link in test.links}
        needs |= {topology.link_at(position).name for position in np.unique(back[back >= 0]).tolist()}
        needs |= {node for pair in test.pairs for node in pair}
        for phase, used in zip(phases, busy, strict=True):
            if not used & needs:
                phase.append(test)
                used |= needs
                break
        else:
            phases.append([test])
            busy.append(needs)
    return tuple(tuple(phase) for phase in phases)
