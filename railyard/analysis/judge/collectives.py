"""Answer which algorithm of a collective to use, and check performance guidelines, by the one rule of this project.

Models: launches of one system, placement and NIC policy, of `rowcol` or of OSU's collectives. Each algorithm is
compared with the library's default at every size. One is used from the smallest size on from which it is better at
every larger one. A guideline states that a collective is no slower than others that do the same (Hunold and Träff,
TPDS 2019): it is violated where it is found slower. Leaves out sizes between those measured.
"""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from railyard.analysis.cases import cases, judgement
from railyard.analysis.cases.judgement import Comparison, Evidence, Series
from railyard.analysis.stats.verdicts import Finding
from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.collectives import algorithms, libraries
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import Shape
from railyard.placements.linkload import model
from railyard.placements.topology import catalog
from railyard.records import units
from railyard.records.record import COMPUTED, Launch, Record
from railyard.records.store import entries

FOMS = {"slowest_us": units.fom("slowest_us", "us", "lower"), "latency_us": units.fom("latency_us", "us", "lower")}
OSU = "osu_"


class Where(NamedTuple):
    """What must be equal for times to be compared; `split` are the groups of `rowcol`, empty for OSU."""

    system: str
    origin: str
    topology: str
    placement: str
    policy: str
    software: str
    ranks: int
    split: str

    @property
    def text(self) -> str:
        """Return the system, the placement and the NIC policy in words."""
        split = f", split {self.split}" if self.split not in ("", "all") else ""
        machine = f"{self.system} ({self.origin}), {self.topology}"
        return f"{machine}, {self.placement}, {self.policy}, {self.ranks} ranks{split}"


Unit = tuple[str, int]
"""A launch: its job and its number there."""


@dataclass(slots=True)
class Measured:
    """Times in us by collective, size and algorithm, each of a launch; `hosts` are those of the ranks in one."""

    times: defaultdict[tuple[str, int, str], dict[Unit, float]]
    noise_percent: float = 0.0
    hosts: Sequence[str] = ()
    per_node: int = 1


def measured(records: Iterable[Record]) -> dict[Where, Measured]:
    """Return the times of collectives in records; InputError if there are none."""
    by_place: dict[Where, Measured] = {}
    for case in cases.group(records):
        floor = cases.noise_percent(case)
        for record, launch in cases.launches(case):
            if launch.is_result:
                _add(by_place, record, launch, floor)
    if not by_place:
        raise InputError("ARCHIVE", "series", problem="no times of collectives", valid="of rowcol or osu_allreduce")
    return by_place


def _add(by_place: dict[Where, Measured], record: Record, launch: Launch, noise_percent: float) -> None:
    policy, _, choice = launch.nic_policy.partition("+")
    of, is_osu = dict(libraries.parse(choice)), record.case.benchmark.startswith(OSU)
    for (fom, labels), samples in entries.samples_of(launch.series).items():
        named = dict(labels)
        collective = str(named.get("collective", record.case.benchmark.removeprefix(OSU).replace("_", "-")))
        if fom != FOMS["latency_us" if is_osu else "slowest_us"] or not (is_osu or "collective" in named):
            continue
        where = Where(
            system=record.system.name,
            origin=str(record.origin),
            topology=record.case.topology.name if record.case.topology else "no topology",
            placement=launch.placement,
            policy=policy,
            software=str(launch.software),
            ranks=int(named.get("ranks", len(launch.ranks.hosts))),
            split=str(named.get("split", "")),
        )
        one = by_place.setdefault(where, Measured(defaultdict(dict)))
        key = collective, int(named.get("size_bytes", 0)), of.get(collective, libraries.DEFAULT)
        one.times[key][record.job, launch.index] = entries.value_of(samples)
        one.noise_percent = max(one.noise_percent, noise_percent)
        one.hosts, one.per_node = launch.ranks.hosts, record.case.ranks_per_node or 1


# ---- which algorithm ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The comparisons of a collective's algorithms with the default, by size, and from which size on each is used.

    `crossings` has, for each algorithm, the sizes between which it changes from slower to faster or back.
    """

    where: Where
    collective: str
    sizes: Mapping[int, Comparison]
    use: Mapping[str, int]
    crossings: Mapping[str, tuple[int, int]]
    slowest: Mapping[str, str]

    @property
    def choice(self) -> str:
        """Return the answer as a choice that `-S algorithms` takes; `default` if no algorithm is better."""
        plain = {name.partition(libraries.FROM)[0]: least for name, least in self.use.items()}
        rules = (f"{self.collective}:{name}{libraries.FROM}{least}" for name, least in plain.items())
        return "+".join(rules) or libraries.DEFAULT


def answers(records: Iterable[Record]) -> list[Answer]:
    """Return an answer for each collective that ran with several algorithms, in all places of the records."""
    answered = []
    for where, one in measured(records).items():
        for collective in dict.fromkeys(name for name, _, _ in one.times):
            of = {
                (size, algorithm): units for (name, size, algorithm), units in one.times.items() if name == collective
            }
            names = dict.fromkeys([libraries.DEFAULT, *(algorithm for _, algorithm in of)])
            sizes = sorted({size for size, _ in of if (size, libraries.DEFAULT) in of})
            if len(names) < 2 or not sizes:
                continue
            family = [_series(where, size, {n: of.get((size, n), {}) for n in names}, one) for size in sizes]
            compared = dict(zip(sizes, judgement.compare(family, libraries.DEFAULT), strict=True))
            answered.append(
                Answer(
                    where=where,
                    collective=collective,
                    sizes=compared,
                    use=_use(compared),
                    crossings={name: at for name in names if (at := _crossing(compared, name))},
                    slowest={name: _slowest(where, one, collective, (name, max(sizes))) for name in names},
                )
            )
    return answered


def _series(where: Where, size: int, of: Mapping[str, Mapping[Unit, float]], one: Measured) -> Series:
    evidence = {
        name: Evidence(values=list(units.values()), jobs=[job for job, _ in units], noise_percent=one.noise_percent)
        for name, units in of.items()
    }
    fom = FOMS["slowest_us" if where.split else "latency_us"]
    return Series(fom=fom, labels=(("size_bytes", size),), evidence=evidence, deterministic=where.origin in COMPUTED)


def _use(compared: Mapping[int, Comparison]) -> dict[str, int]:
    """Return the algorithms to use, each with its least size: where one is better, that with the best median."""
    use: dict[str, int] = {}
    for size, comparison in compared.items():
        better = [group for group in comparison.groups if group.finding is Finding.BETTER and group.summary]
        best = min(better, key=lambda group: group.median, default=None)
        name = best.name if best else libraries.DEFAULT
        if name != next(reversed(use), libraries.DEFAULT):
            use.pop(name, None)
            use[name] = size
    return {} if libraries.DEFAULT in use else use


def _crossing(compared: Mapping[int, Comparison], name: str) -> tuple[int, int] | None:
    """Return the sizes between which an algorithm passes the default: the last one on either side that is certain."""
    certain = [
        (size, finding)
        for size, comparison in compared.items()
        if (finding := comparison.group(name).finding) in (Finding.BETTER, Finding.WORSE)
    ]
    pairs = itertools.pairwise(certain)
    return next(((one[0], other[0]) for one, other in pairs if one[1] != other[1]), None)


def _slowest(where: Where, one: Measured, collective: str, at: tuple[str, int]) -> str:
    """Return the busiest link between routers by the model, and its bytes in a call; empty where none is known."""
    name, size = at
    plain = name.partition(libraries.FROM)[0].removeprefix(libraries.OWN)
    try:
        plan = algorithms.schedule(collective, plain, Shape(ranks=len(one.hosts), per_node=one.per_node))
        topology = catalog.load(where.topology)
        index = {node.name: number for number, node in enumerate(topology.nodes)}
        nodes = np.array([index[host] for host in one.hosts], dtype=np.int64)
    except (InputError, KeyError):
        return ""
    sent = schedules.matrix_of(plan, size).traffic()
    ((link, _, size_bytes),) = model.load(topology, nodes, sent, model.PROTOCOLS["payload"]).slowest(1)
    return f"{link.name}, {size_bytes:,.0f} bytes"


# ---- guidelines ----

#: What is no slower than what: a collective, and the sum of others that do the same. A size is that of a vector, or of
#: a rank's block; 1 is the collective's own, "p" is as many times larger as there are ranks, "1/p" smaller.
GUIDELINES: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (
    ("allreduce", (("reduce", "1"), ("bcast", "1"))),
    ("allreduce", (("reduce-scatter", "1/p"), ("allgather", "1/p"))),
    ("reduce", (("allreduce", "1"),)),
    ("reduce-scatter", (("allreduce", "p"),)),
    ("bcast", (("scatter", "1/p"), ("allgather", "1/p"))),
    ("scatter", (("bcast", "p"),)),
    ("gather", (("allgather", "1"),)),
    ("allgather", (("gather", "1"), ("bcast", "p"))),
    ("allgather", (("alltoall", "1"),)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guideline:
    """A guideline at one size: both sides in words, and the left one's comparison with the right one."""

    where: Where
    left: str
    right: str
    size_bytes: int
    comparison: Comparison

    @property
    def verdict(self) -> str:
        """Return whether it is violated, holds, or nothing is shown."""
        finding = self.comparison.group("left").finding
        words = {Finding.WORSE: "violated", Finding.BETTER: "holds", Finding.EQUAL: "holds"}
        return words.get(finding, str(finding))


def guidelines(records: Iterable[Record]) -> list[Guideline]:
    """Return every guideline that measurements of the library's defaults can answer; one family of tests in each place.

    That a larger message is no faster is a guideline, too.
    """
    checked = []
    for where, one in measured(records).items():
        of = {key[:2]: times for key, times in one.times.items() if key[2] == libraries.DEFAULT}
        rows = []
        for (name, size), times in of.items():
            for left, right in GUIDELINES:
                parts = [of.get((other, _scaled(size, by, where.ranks)), {}) for other, by in right]
                if left == name and all(parts):
                    rows.append((name, " + ".join(other for other, _ in right), size, times, _sum(parts)))
            larger = [other for collective, other in of if collective == name and other > size]
            if larger:
                rows.append((name, f"{name} of {min(larger)} bytes", size, times, of[name, min(larger)]))
        family = [_series(where, size, {"left": left, "right": right}, one) for _, _, size, left, right in rows]
        compared = judgement.compare(family, "right")
        checked += [
            Guideline(where=where, left=left, right=right, size_bytes=size, comparison=comparison)
            for (left, right, size, _, _), comparison in zip(rows, compared, strict=True)
        ]
    return checked


def _scaled(size: int, by: str, ranks: int) -> int:
    """Return the size of another collective that moves the same; -1 for one that is not a whole number."""
    if by == "1/p":
        return size // ranks if size % ranks == 0 else -1
    return size * (ranks if by == "p" else 1)


def _sum(parts: Sequence[Mapping[Unit, float]]) -> dict[Unit, float]:
    """Return the sums in launches that measured all parts; of parts that several jobs measured, of their medians."""
    if shared := set.intersection(*map(set, parts)):
        return {unit: sum(part[unit] for part in parts) for unit in sorted(shared)}
    medians = []
    for part in parts:
        by_job: defaultdict[str, list[float]] = defaultdict(list)
        for (job, _), value in part.items():
            by_job[job].append(value)
        medians.append(map(statistics.median, by_job.values()))
    return {(f"sum {k}", 0): sum(values) for k, values in enumerate(zip(*medians, strict=False))}
