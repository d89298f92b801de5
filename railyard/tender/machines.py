"""Read signed bags of several sites, and reduce each machine to the measures that compare networks.

Models: a bag is taken whole or refused with a reason: it is unsigned or forged, a record breaks the strict check, it is
a copy of one that came before, or the same site handed in newer records of the machine. A machine is what one signer
names and describes as one network, by records of one origin. A measure is taken from one work, that of most jobs, and
from one fixed combination of each record, so that no best of several is chosen. Its interval is over jobs, or over
launches where the jobs are too few to speak for the machine.
Leaves out: the page (`railyard.tender.site`), and demands (`railyard.tender.completeness`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from railyard.base.errors import InputError
from railyard.placements.orders.spec import split_load
from railyard.records import json_io, rules
from railyard.records.record import Launch, Origin, Record
from railyard.records.store import bag, entries, levels
from railyard.records.store.levels import Level
from railyard.table.rows import OF_A_PAIR, limit_gbyte_s
from railyard.tender import copies, judged
from railyard.tender.judged import Judged
from railyard.tender.measured import Measured

#: Patterns of `pt2pt` in which several pairs share one node.
_SHARED = ("incast", "fan-out")
#: Placements of which the first that was measured is shown; any other comes after them, by name.
_USUAL = ("default", "plain", "cart-create")
#: Figures of a victim, of which the first that it has is compared under load.
_VICTIMS = ("slowest_latency_p99_us", "slowest_us", "iteration_us")
#: Most nodes of a halo in each of its columns; the last has all above.
HALO_NODES = (128, 512)


class Value(NamedTuple):
    """A measure of a machine with the bounds of 95 %, None if nothing gives them. `of` names check and placement."""

    value: float
    low: float | None
    high: float | None
    jobs: int
    of: str


class _Sample(NamedTuple):
    """The values of the launches of one job, and those of the launches that they are divided by, if any."""

    job: str
    values: Sequence[float]
    divided_by: Sequence[float]
    of: str


#: A measure's samples of one record.
_Reader = Callable[[Record], Iterator[_Sample]]
#: Reduces the values of a launch's pairs to one.
_Reduce = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the page; `unit` is `%` for shares, empty for ratios, and `is_better_high` its better direction."""

    name: str
    meaning: str
    unit: str
    is_better_high: bool
    read: _Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine of a bag: a row of the page.

    `created` are the times of its first and last record, and `bag` is the sha256 of its bag.
    `values` has the measures by name; those that no record gives are absent.
    """

    system: str
    network: str
    nodes: int
    site: str
    signer: str
    level: Level
    origin: Origin
    created: tuple[str, str]
    records: tuple[Record, ...] = field(repr=False)
    bag: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A bag as it was read: its machines, or `refused` with the reason. `reduced` are its records for `copies`."""

    name: str
    site: str = ""
    signer: str = ""
    digest: str = ""
    refused: str = ""
    machines: tuple[Machine, ...] = ()
    reduced: tuple[Judged, ...] = ()


def read(path: Path, allowed: Path | None) -> Given:
    """Return the machines of a bag; one that is not whole, not signed or not true is refused with the first reason."""
    try:
        bid, sums = bag.opened(path)
        records = [(content := bag.content(path, *one), bag.parse(path, one[0], content)) for one in sums]
        signed, digest = bag.signed(path, allowed), bag.digest(path)
        reduced = tuple(judged.of_record(record) for _, record in records)
    except InputError as error:
        return Given(name=path.name, refused=str(error).removeprefix(f"{path}: "))
    refuse = Given(name=path.name, site=bid.bidder, signer=signed.by or signed.key, digest=digest)
    if signed.problem or not signed.key:
        return dataclasses.replace(refuse, refused=signed.text)
    for content, record in records:
        for fault in rules.faults(record, content):
            return dataclasses.replace(refuse, refused=f"record {record.id}: {fault.field}: {fault.text}")
    groups: dict[tuple[str, str, Origin], list[Record]] = {}
    for _, record in records:
        network = record.case.topology.name if record.case.topology else ""
        groups.setdefault((record.system.name, network, record.origin), []).append(record)
    machines = tuple(
        Machine(
            system=system,
            network=network,
            nodes=max(len(record.case.allocation["nodes"]) for record in taken),
            site=bid.bidder,
            signer=refuse.signer,
            level=Level.SIGNED if signed.by else min(levels.of(record.document)[0] for record in taken),
            origin=origin,
            created=(min(one.created for one in taken), max(one.created for one in taken)),
            records=tuple(taken),
            bag=digest,
            values={measure.name: value for measure in MEASURES if (value := _value(measure, taken))},
        )
        for (system, network, origin), taken in sorted(groups.items())
    )
    return dataclasses.replace(refuse, machines=machines, reduced=reduced)


def chosen(bags: Sequence[Given]) -> tuple[list[Machine], list[tuple[str, str, str]]]:
    """Return the machines to show, and (bag, site, reason) of what is refused.

    The bags are in the order in which they arrived. A copy never harms the one that came before it. Of one signer the
    newest records of a machine count, and of equally new ones those that came last.
    """
    taken: list[Given] = []
    refused: list[tuple[str, str, str]] = []
    for given in bags:
        if why := given.refused or _copied(given, taken):
            refused.append((given.name, given.site, why))
        else:
            taken.append(given)
    machines: dict[tuple[str, ...], tuple[str, Machine]] = {}
    for given in taken:
        for machine in given.machines:
            key = (machine.signer, machine.system, machine.network, machine.origin)
            name, other = machines.get(key, ("", machine))
            older, newer = (given.name, name) if machine.created[1] < other.created[1] else (name, given.name)
            if name:
                refused.append((older, given.site, f"{machine.system}: {newer} has newer records of this machine"))
            if newer == given.name:
                machines[key] = given.name, machine
    return sorted((one for _, one in machines.values()), key=lambda one: (one.system, one.network, one.bag)), refused


def _copied(given: Given, before: Sequence[Given]) -> str:
    """Return of which bag of another signer, or of which bag at all, this one is a copy; empty if it is none."""
    ids = {one.sha256: one.id for one in given.reduced}
    for other in before:
        if other.digest == given.digest:
            return f"the same bag as {other.name}"
        if other.signer == given.signer:
            continue
        if shared := ids.keys() & {one.sha256 for one in other.reduced}:
            return f"record {ids[min(shared)]} is in {other.name} of {other.site}, which came before"
        for copy in copies.between(given.reduced, other.reduced):
            which = f"record {copy.read.id} is a copy of {copy.original.id}"
            return f"{which} in {other.name} of {other.site}, which came before"
    return ""


def _value(measure: Measure, records: Sequence[Record]) -> Value | None:
    """Return a measure of a machine over the records of one work, that of most jobs; None if no record has it."""
    by_work: dict[str, list[_Sample]] = {}
    for record in sorted(records, key=lambda one: one.created):
        for sample in measure.read(record):
            case = record.case
            work = json_io.canonical([case.check, case.parameters, len(case.allocation["nodes"]), sample.of])
            by_work.setdefault(work, []).append(sample)
    if not by_work:
        return None
    chosen = max(sorted(by_work), key=lambda work: len({sample.job for sample in by_work[work]}))  # never by its values
    above, below = dict[str, list[float]](), dict[str, list[float]]()
    for sample in by_work[chosen]:
        above.setdefault(sample.job, []).extend(sample.values)
        if sample.divided_by:
            below.setdefault(sample.job, []).extend(sample.divided_by)
    result = Measured(by_job=above, divided_by=below)
    low, high = (None if result.is_exact else result.bounds()) or (None, None)
    return Value(result.value, low, high, len(above), by_work[chosen][-1].of)


def _launches(record: Record) -> dict[str, list[Launch]]:
    """Return placement -> results of the record's usual NIC policy on the machine itself, the usual placement first."""
    policies = sorted(record.case.nic_policies)
    policy = "default" if "default" in policies else policies[0]
    by_placement: dict[str, list[Launch]] = {}
    for launch in record.launches:
        if launch.is_result and launch.nic_policy == policy and launch.software == record.case.software[0]:
            by_placement.setdefault(launch.placement, []).append(launch)
    usual = {name: at for at, name in enumerate(_USUAL)}
    return dict(sorted(by_placement.items(), key=lambda item: (usual.get(item[0], len(usual)), item[0])))


def _alone(record: Record) -> tuple[str, list[Launch]]:
    """Return the usual placement without load, and its launches; empty without any."""
    return next(((name, of) for name, of in _launches(record).items() if not split_load(name)[1]), ("", []))


def _largest(launch: Launch, fom: str) -> Sequence[float]:
    """Return the median of each pair at the largest message of the last point of a figure; empty without it."""
    by_labels = {labels: taken for (name, labels), taken in entries.samples_of(launch.series).items() if name == fom}
    if not by_labels:
        return ()
    labels = max(by_labels, key=lambda one: tuple(sorted((name, at) for name, at in one if not isinstance(at, str))))
    return [value for samples in by_labels[labels] if (value := statistics.median(samples)) > 0]


def _share(record: Record, fom: str, reduce: _Reduce) -> Iterator[_Sample]:
    """Yield the usual launches' values of a figure, reduced over pairs, in percent of the rate of a node's NICs."""
    stated, (placement, launches) = record.case.topology, _alone(record)
    # None if the topology does not ship with railyard
    limit = limit_gbyte_s(stated.name, stated.sha256, record.provenance["torus"]) if stated else None
    values = [100 * reduce(pairs) / limit for one in launches if limit and (pairs := _largest(one, fom))]
    if values:
        yield _Sample(record.job, values, (), f"{record.case.check}, {placement}")


def _pairs(reduce: _Reduce, record: Record) -> Iterator[_Sample]:
    """Yield the rates of pairs of nodes of their own, reduced over pairs."""
    if record.case.parameters.get("pattern") not in _SHARED:
        for fom in OF_A_PAIR.get(record.case.benchmark, ()):
            yield from _share(record, fom, reduce)


def _bisection(record: Record) -> Iterator[_Sample]:
    """Yield what both halves of the nodes exchange, as a share of the NICs of one half."""
    if record.case.benchmark == "contention":
        half = len(record.case.allocation["nodes"]) / 2
        yield from _share(record, "aggregate_bandwidth_gbyte_s", lambda values: statistics.median(values) / half)


def _halo(low: float, high: float, record: Record) -> Iterator[_Sample]:
    """Yield the rates of halos on more than `low` and up to `high` nodes; each byte is sent and received."""
    per_node = (record.case.ranks_per_node or 1) / 2
    if record.case.benchmark == "halo" and low < len(record.case.allocation["nodes"]) <= high:
        yield from _share(record, "bandwidth_gbyte_s", lambda values: statistics.median(values) * per_node)


def _ratio(record: Record, fom: str, placement: str, usual: str) -> Iterator[_Sample]:
    """Yield the values of a figure in one placement, to be divided by those in the usual one."""
    launches = _launches(record)
    above, below = (
        [statistics.median(values) for one in launches[name] if (values := _largest(one, fom))]
        for name in (placement, usual)
    )
    if above and below:
        yield _Sample(record.job, above, below, f"{record.case.check}, {placement} against {usual}")


def _scattered(record: Record) -> Iterator[_Sample]:
    """Yield the halo's times with ranks in random order over those in the usual order."""
    usual, _ = _alone(record)
    random = next((name for name in _launches(record) if name.startswith("random") and not split_load(name)[1]), "")
    if record.case.benchmark == "halo" and random and usual != random:
        yield from _ratio(record, "iteration_us", random, usual)


def _loaded(record: Record) -> Iterator[_Sample]:
    """Yield a victim's times while other nodes send to one node, over its times alone."""
    usual, launches = _alone(record)
    loaded = next((one for one in _launches(record) if one.startswith(f"{usual}+") and "incast" in one), "")
    has = {series.fom for one in launches for series in one.series}
    if loaded and (fom := next((name for name in _VICTIMS if name in has), "")):
        yield from _ratio(record, fom, loaded, usual)


_HALO = "rate of the halo exchange of a node, in percent of its NICs' rate"
_SCATTERED = "time of the halo exchange with ranks in random order, over the usual order"
_LOADED = "time of a victim while others send to one node, over the same alone"
_BISECTION = "rate between two halves of the nodes, in percent of the NICs of one half"
_PAIRS = "median rate of a pair of nodes, in percent of its NICs' rate"
MEASURES = (
    Measure("pairs", _PAIRS, "%", True, partial(_pairs, statistics.median)),
    Measure("worst pair", "the slowest pair of nodes, in the same percent", "%", True, partial(_pairs, min)),
    Measure("bisection", _BISECTION, "%", True, _bisection),
    *(
        Measure(
            f"halo, {f'{low + 1:,} to {high:,}' if high < math.inf else f'over {low:,}'} nodes",
            _HALO,
            "%",
            True,
            partial(_halo, low, high),
        )
        for low, high in zip((0, *HALO_NODES), (*HALO_NODES, math.inf), strict=True)
    ),
    Measure("random order", _SCATTERED, "", False, _scattered),
    Measure("under load", _LOADED, "", False, _loaded),
)
