"""Walk routes of dragonflies and fat trees one by one, from the rules in words: the oracle of the link loads.

It reads the document alone and shares no code with the topology kinds. A way is its share of the traffic and the names
of its links in order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

Way = tuple[Fraction, list[str]]
GOLDEN = 2654435761


def ways(document: dict[str, Any], source: int, target: int) -> list[Way]:
    """Return the ways from one node to another of another switch, by their numbers in the machine."""
    for key, kind in (("fat_tree", _Tree), ("tree", _TwoLevels), ("dimensions", _Torus)):
        if key in document:
            return [(Fraction(1), kind(document).route(source, target))]
    return list(_Groups(document).ways(source, target))


class _Tree:
    def __init__(self, document: dict[str, Any]) -> None:
        part, self.full = document["fat_tree"], document["nodes_per_router"]
        self.children = [level["children"] for level in part["levels"]]
        self.parents = [level["parents"] for level in part["levels"]]
        self.places = [(leaf, slot) for leaf, n in enumerate(part["leaf_nodes"]) for slot in range(n)]

    def name(self, level: int, block: int, digits: list[int]) -> str:
        """Return a switch's name: its block, and its number from the parents chosen below it, first chosen fastest."""
        if level == 0:
            return f"leaf{block // self.children[0]}-{block % self.children[0]}"
        number, weight = 0, 1
        for digit, parents in zip(digits[:level], self.parents, strict=False):
            number += digit * weight
            weight *= parents
        return f"spine{'' if level == 1 else f'{level}-'}{block}-{number}"

    def route(self, source: int, target: int) -> list[str]:
        (here, _), (there, slot) = self.places[source], self.places[target]
        number, digits = there * self.full + slot, []
        for parents in self.parents:
            digits.append(number % parents)
            number //= parents
        links, level, up, down = [], 0, here, there
        falls = []
        while up != down:
            above = up // self.children[level], down // self.children[level]
            links.append(f"up {self.name(level, up, digits)}>{self.name(level + 1, above[0], digits)}")
            falls.append(f"down {self.name(level + 1, above[1], digits)}>{self.name(level, down, digits)}")
            up, down = above
            level += 1
        return links + falls[::-1]


class _TwoLevels:
    def __init__(self, document: dict[str, Any]) -> None:
        self.full = document["nodes_per_router"]
        self.spines = self.full // document["tree"]["oversubscription"]

    def route(self, source: int, target: int) -> list[str]:
        spine = target % self.full % self.spines
        return [f"up leaf{source // self.full}>spine{spine}", f"down spine{spine}>leaf{target // self.full}"]


class _Torus:
    def __init__(self, document: dict[str, Any]) -> None:
        self.full = document["nodes_per_router"]
        self.extents = [document["dimensions"][name]["extent"] for name in "XYZ"]

    def place(self, node: int) -> list[int]:
        router, place = node // self.full, list[int]()
        for extent in reversed(self.extents):
            place.insert(0, router % extent)
            router //= extent
        return place

    def route(self, source: int, target: int) -> list[str]:
        here, there, links = self.place(source), self.place(target), list[str]()
        for name, d in zip("XYZ", range(3), strict=True):
            extent = self.extents[d]
            ahead = (there[d] - here[d]) % extent
            backwards = 2 * ahead > extent or (2 * ahead == extent and here[d] % 2 == 1)
            for _ in range(extent - ahead if backwards else ahead):
                before = ",".join(map(str, here))
                here[d] = (here[d] + (-1 if backwards else 1)) % extent
                links.append(f"{name}{'-' if backwards else '+'} {before}>{','.join(map(str, here))}")
        return links


class _Groups:
    def __init__(self, document: dict[str, Any]) -> None:
        self.is_plus = "dragonfly_plus" in document
        self.part = document["dragonfly_plus" if self.is_plus else "dragonfly"]
        self.count: int = self.part["groups"]
        self.slots: int = document["nodes_per_router"]
        self.leaves = self.part["leaves" if self.is_plus else "routers"]
        self.gates = self.part["spines"] if self.is_plus else self.leaves
        routes = self.part.get("routes", {})
        self.share = Fraction(routes.get("valiant_share", 0))
        self.by_packets = routes.get("spread") == "packets"
        self.port_gate = [self._deal(group) for group in range(self.count)]

    def _deal(self, group: int) -> dict[tuple[int, int], int]:
        """Return (other group, cable) -> gate: the ports in order, shared out in consecutive runs."""
        others = [t for t in range(self.count) if t != group]
        if self.part["arrangement"] == "palmtree":
            others = [(group + distance) % self.count for distance in range(1, self.count)]
        ports = list(itertools.product(range(self.part["cables"]), others))
        gates: dict[tuple[int, int], int] = {}
        for gate in range(self.gates):
            first, last = (math.ceil(Fraction((gate + k) * len(ports), self.gates)) for k in (0, 1))
            gates |= {(other, cable): gate for cable, other in ports[first:last]}
        return gates

    def leaf(self, group: int, number: int) -> str:
        return f"{'leaf' if self.is_plus else 'r'}{group}-{number}"

    def gate(self, group: int, other: int, cable: int) -> str:
        number = self.port_gate[group][other, cable]
        return f"spine{group}-{number}" if self.is_plus else f"r{group}-{number}"

    def cross(self, group: int, other: int, cable: int) -> str:
        ends = f"{self.gate(group, other, cable)}>{self.gate(other, group, cable)}"
        return f"global {ends}" + (f"#{cable}" if cable else "")

    def inside(self, here: str, there: str, number: int) -> list[str]:
        """Return the links from switch to switch of one group; `number` picks the stop at the other level."""
        if here == there:
            return []
        if not self.is_plus:
            return [f"local {here}>{there}"]
        rises, falls = here.startswith("leaf"), there.startswith("leaf")
        if rises != falls:
            return [f"{'up' if rises else 'down'} {here}>{there}"]
        group = here.removeprefix("leaf").removeprefix("spine").split("-")[0]
        stop = f"spine{group}-{number % self.gates}" if rises else f"leaf{group}-{number % self.leaves}"
        return [f"{'up' if rises else 'down'} {here}>{stop}", f"{'down' if rises else 'up'} {stop}>{there}"]

    def along(self, path: list[tuple[int, int]], ends: tuple[str, str], number: int) -> list[str]:
        """Return the links through groups; `path` has (group, cable to the next) and ends with (group, -1)."""
        here, links = ends[0], list[str]()
        for (group, cable), (other, _) in itertools.pairwise(path):
            links += [*self.inside(here, self.gate(group, other, cable), number), self.cross(group, other, cable)]
            here = self.gate(other, group, cable)
        return links + self.inside(here, ends[1], number)

    def ways(self, source: int, target: int) -> Iterator[Way]:
        size = self.leaves * self.slots
        (s, at), (t, number) = divmod(source, size), divmod(target, size)
        ends = self.leaf(s, at // self.slots), self.leaf(t, number // self.slots)
        cables = self.part["cables"]
        minimal = [(t, -1)] if s == t else [(s, number % cables), (t, -1)]
        thirds = [v for v in range(self.count) if v not in (s, t)]
        if self.by_packets and s != t and self.share:
            yield 1 - self.share, self.along(minimal, ends, number)
            one = self.share / (len(thirds) * cables**2)
            for v, k, m in itertools.product(thirds, range(cables), range(cables)):
                # A packet between two spines of a third group may take any leaf.
                stops = range(self.leaves) if self.is_plus else range(1)
                for stop in stops:
                    path = [(s, k), (v, m), (t, -1)]
                    yield one / len(stops), self.along(path, ends, stop)
            return
        third = self.third(target, t)
        if s == t or third in (None, s):
            yield Fraction(1), self.along(minimal, ends, number)
        else:
            assert third is not None
            path = [(s, number % cables), (third, number % cables), (t, -1)]
            yield Fraction(1), self.along(path, ends, number)

    def third(self, target: int, group: int) -> int | None:
        """Return the third group of a node; None if its way is minimal: the chosen nodes get the others in turn."""
        if self.by_packets or not self._is_chosen(target):
            return None
        before = sum(self._is_chosen(node) for node in range(target))
        return (group + 1 + before % (self.count - 1)) % self.count

    def _is_chosen(self, node: int) -> bool:
        return Fraction((node + 1) * GOLDEN % 2**32, 2**32) < self.share
