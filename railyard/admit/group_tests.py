"""Find the slow nodes and cables among many, from launches in which disjoint pairs of nodes transfer at once. Pure.

Models: a transfer is slow if either node or the path between them is. A reading is slow below a share of the median of
its peers in the same launch. Every node and path has a sequential probability ratio test (Wald, Ann. Math. Stat. 16,
1945): it ends as soon as the readings decide. A slow reading counts against a node only if the other node of the pair
has had a fast one, and at most twice per pair. It counts against a path only if both of its nodes have had a fast one.
Leaves out: a machine that is slow as a whole, and faults that come and go (`topobw --soak`).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from railyard.placements.topology.torus import Torus

#: A path without a topology joins nodes that are at most so many places apart in the list of nodes.
MOST_APART = 8
#: Fewer peers in a launch give no median: then the peers of all launches do. With fewer in all, a reading decides
#: nothing, because a slow pair would be its own peer.
FEWEST_PEERS = 4
#: The number of sound pairs that join a launch as peers of the tested ones.
MOST_PEERS = 64
#: More slow readings of one pair do not count against its nodes.
MOST_PER_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two nodes that transfer, the path between them, and the kind of path: pairs of one kind are peers."""

    one: str
    other: str
    path: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is slow, what is assumed, and which errors are accepted.

    A reading is slow below the share `slow` of the peers' median. A sound part reads as slow in at most the share
    `disturbed` of launches, and a slow part reads as fast in at most the share `missed`. `false_alarm` bounds the
    probability that any sound part is named, and `overlooked` the probability that any slow part is admitted. After
    `launches` launches the search ends undecided.
    """

    slow: float = 0.8
    disturbed: float = 0.05
    missed: float = 1e-4
    false_alarm: float = 0.01
    overlooked: float = 0.05
    launches: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The result: slow nodes, slow paths between sound nodes, parts that no reading decided, and the nodes to use.

    `good` has no slow or undecided node, and at most one end of a slow or undecided path. `not_judged` are the paths
    that no reading can decide, because an end is slow or undecided. `disturbed` is the share of slow readings among
    pairs that were found sound; `is_sure` is false above what the rule assumes, and while anything is undecided.
    """

    bad: tuple[str, ...]
    slow_paths: tuple[Pair, ...]
    undecided: tuple[str, ...]
    not_judged: tuple[str, ...]
    good: tuple[str, ...]
    launches: int
    readings: int
    disturbed: float
    is_sure: bool


#: The rate of each pair of a launch, None for a pair that did not answer.
Rates = Mapping[Pair, float | None]
#: Launches disjoint pairs at once; returns their rates.
Launch = Callable[[Sequence[Pair]], Rates]
#: Receives a launch that has ended: its rates, the pairs that were slow, and the result if the search ended here.
After = Callable[[Rates, Sequence[Pair], Admission], None]


def pairs_of_list(nodes: Sequence[str]) -> list[Pair]:
    """Return pairs of nodes that are near in a list, the nearest first, in phases of disjoint pairs."""
    pairs = []
    for distance in range(1, min(MOST_APART, len(nodes) - 1) + 1):
        count = len(nodes) if len(nodes) > 2 * distance else len(nodes) - distance
        by_phase = sorted(range(count), key=lambda first: first // distance % 2)
        for first in by_phase:
            one, other = nodes[first], nodes[(first + distance) % len(nodes)]
            pairs.append(Pair(one=one, other=other, path=f"{one} to {other}"))
    return pairs


def pairs_of_torus(torus: Torus, names: Sequence[str]) -> list[Pair]:
    """Return the pairs of neighbours among these nodes of a torus, one or more for every cable, in disjoint phases."""
    allocated = set(names)
    by_router: dict[tuple[int, ...], list[str]] = {}
    for node in torus.nodes:
        by_router.setdefault(tuple(node.coordinate), []).append(node.name)
    phases: dict[tuple[int, int], list[Pair]] = {}
    for link in torus.links():
        if link.step < 0 or link.source.rail:
            continue
        position, extent = link.source.coordinate[link.dimension], torus.extents[link.dimension]
        phase = 2 if extent % 2 and position == extent - 1 else position % 2
        for one, other in zip(
            by_router[tuple(link.source.coordinate)], by_router[tuple(link.target.coordinate)], strict=True
        ):
            if {one, other} <= allocated:
                pair = Pair(one=one, other=other, path=link.name, kind=f"{link.dimension} {link.link_class}")
                phases.setdefault((link.dimension, phase), []).append(pair)
    return [pair for phase in sorted(phases) for pair in phases[phase]]


@dataclass(slots=True)
class _Search:
    """All readings so far, and what they decide."""

    nodes: Sequence[str]
    pairs: Sequence[Pair]
    rule: Rule
    every_path: bool
    tested: Counter[Pair] = field(default_factory=Counter)
    fast: Counter[str] = field(default_factory=Counter)
    slow: Counter[Pair] = field(default_factory=Counter)
    slow_pairs: dict[str, list[Pair]] = field(default_factory=dict)
    rates: dict[str, list[float]] = field(default_factory=dict)
    bad: set[str] = field(default_factory=set)
    cleared: set[str] = field(default_factory=set)

    def add(self, rates: Rates) -> list[Pair]:
        """Judge the rates of a launch by their peers, then every part that is not decided; return the slow pairs."""
        slow = list[Pair]()
        peers: dict[str, list[float]] = {}
        for pair, rate in rates.items():
            peers.setdefault(pair.kind, []).append(rate or 0.0)
        for kind, values in peers.items():
            self.rates.setdefault(kind, []).extend(values)
        medians = {
            kind: statistics.median(values if len(values) >= FEWEST_PEERS else self.rates[kind])
            for kind, values in peers.items()
        }
        for pair, rate in rates.items():
            self.tested[pair] += 1
            parts = (pair.one, pair.other, pair.path)
            if len(self.rates[pair.kind]) < FEWEST_PEERS:
                continue
            if rate and rate >= self.rule.slow * medians[pair.kind]:
                self.fast.update(parts)
                continue
            slow.append(pair)
            if not self.slow[pair]:
                for part in parts:
                    self.slow_pairs.setdefault(part, []).append(pair)
            self.slow[pair] += 1
        self._decide()
        return slow

    def _decide(self) -> None:
        rule = self.rule
        # All paths are tested, or about two for each node.
        paths = len({pair.path for pair in self.pairs}) if self.every_path else 2 * len(self.nodes)
        count = len(self.nodes) + paths
        by_slow = math.log((1 - rule.missed) / rule.disturbed)
        by_fast = math.log(rule.missed / (1 - rule.disturbed))
        named, admitted = math.log(count / rule.false_alarm), math.log(rule.overlooked / count)
        for part in {*self.nodes, *self.fast, *self.slow_pairs} - self.bad - self.cleared:
            evidence = by_fast * self.fast[part] + by_slow * self._against(part)
            if evidence >= named:
                self.bad.add(part)
            elif evidence <= admitted:
                self.cleared.add(part)

    def _against(self, part: str) -> int:
        """Return the slow readings that count against a node or a path."""
        count = 0
        for pair in self.slow_pairs.get(part, ()):
            others = {pair.one, pair.other} - {part}
            if all(self.fast[node] and node not in self.bad for node in others):
                count += self.slow[pair] if part == pair.path else min(self.slow[pair], MOST_PER_PAIR)
        return count

    def open_parts(self) -> list[str]:
        """Return what must still be decided: nodes, the cables in question, and paths that were slow in between."""
        decided = self.bad | self.cleared
        nodes = [node for node in self.nodes if node not in decided]
        paths = {
            pair.path: None
            for pair in (self.pairs if self.every_path else self.slow)
            if pair.path not in decided and not {pair.one, pair.other} & self.bad
        }
        return nodes + [path for path in paths if self.every_path or self._against(path)]

    def chosen(self) -> list[Pair]:
        """Return disjoint pairs for the next launch: those that decide most first, then sound ones as peers."""
        undecided = set(self.open_parts())
        worths = {pair: self._worth(pair, undecided) for pair in self.pairs}
        free, chosen, peers = set(self.nodes) - self.bad, [], 0
        for pair in sorted(self.pairs, key=lambda pair: (-worths[pair], self.tested[pair])):
            if pair.one not in free or pair.other not in free:
                continue
            if not worths[pair]:
                if peers == MOST_PEERS or not {pair.one, pair.other, pair.path} <= self.cleared:
                    continue
                peers += 1
            chosen.append(pair)
            free -= {pair.one, pair.other}
        return chosen

    def _worth(self, pair: Pair, undecided: set[str]) -> int:
        """Return how much a reading of the pair decides, from 4 to 0."""
        nodes = [node for node in (pair.one, pair.other) if node in undecided]
        suspects = [node for node in nodes if self.slow_pairs.get(node) and not self.fast[node]]
        if not nodes:
            return 0 if pair.path not in undecided else 4 if self.slow[pair] else 2
        if not suspects:
            return 2
        others = {pair.one, pair.other} - set(suspects)
        return 3 if len(suspects) == 1 and all(self.fast[node] for node in others) else 1


def admit(
    nodes: Sequence[str],
    pairs: Sequence[Pair],
    launch: Launch,
    rule: Rule | None = None,
    *,
    every_path: bool,
    earlier: Sequence[Rates] = (),
    after: After = lambda *step: None,
) -> Admission:
    """Launch pairs of nodes until every node is found slow or sound; return what was found.

    `every_path` requires that every path of `pairs` is decided as well, such as every cable of a torus. The search goes
    on after the launches whose rates are `earlier`. `after` is called with each launch that ends.
    """
    search = _Search(nodes=nodes, pairs=pairs, rule=rule or Rule(), every_path=every_path)
    for rates in earlier:
        search.add(rates)
    launches = len(earlier)
    while search.open_parts() and launches < search.rule.launches and (chosen := search.chosen()):
        rates = launch(chosen)
        slow = search.add(rates)
        launches += 1
        after(rates, slow, _admission(search, launches))
    return _admission(search, launches)


def _admission(search: _Search, launches: int) -> Admission:
    undecided = search.open_parts()
    doubtful = search.bad | set(undecided)
    ends = {pair.path: {pair.one, pair.other} for pair in search.pairs if search.every_path}
    paths = [
        pair
        for pair in {pair.path: pair for pair in search.pairs}.values()
        if pair.path in doubtful and not {pair.one, pair.other} & doubtful
    ]
    dropped: set[str] = set()
    while crossing := [pair for pair in paths if not {pair.one, pair.other} & dropped]:
        crossed = Counter(node for pair in crossing for node in (pair.one, pair.other))
        dropped.add(crossed.most_common(1)[0][0])
    sound = [pair for pair in search.tested if not {pair.one, pair.other, pair.path} & doubtful]
    readings = sum(search.tested[pair] for pair in sound)
    slow = sum(search.slow[pair] for pair in sound)
    expected = search.rule.disturbed * readings
    return Admission(
        bad=tuple(node for node in search.nodes if node in search.bad),
        slow_paths=tuple(pair for pair in paths if pair.path in search.bad),
        undecided=tuple(undecided),
        not_judged=tuple(path for path in ends if ends[path] & doubtful and path not in doubtful | search.cleared),
        good=tuple(node for node in search.nodes if node not in doubtful | dropped),
        launches=launches,
        readings=sum(search.tested.values()),
        disturbed=slow / readings if readings else 0.0,
        is_sure=not undecided and slow <= expected + 3 * math.sqrt(expected),
    )
