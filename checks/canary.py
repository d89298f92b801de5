"""Check a machine's network in one minute, for example every hour: each node sends to near and distant ones.

Models: every pair of hosts of a record's launches with its median latency or bandwidth at each size, grouped by how the
two hosts are related (same switch, same group, other group, other switch). A pair stands out if it is `FACTOR` times
worse than the median of its proximity. Where ranks share processors, on a virtual torus, only the bandwidth of the
largest messages fails a check. Leaves out: a proximity that is bad as a whole, which only a reference shows.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function, variable
from reframe.core.logging import getlogger

from checks.base import RepeatedCheck
from railyard.records import spans
from railyard.records.record import Origin, Record
from railyard.records.units import Better, Fom

#: Times worse than the median pair of the same proximity.
FACTOR = 2.0
UNKNOWN = "proximity not known"
#: Figure of merit, bytes of a message, proximity.
Key = tuple[Fom, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairGroup:
    """The pairs of one proximity and figure of merit; `bad` are the pairs that stand out, the worst first."""

    name: str
    fom: Fom
    size_bytes: int
    pairs: int
    median: float
    bad: Sequence[tuple[str, str, float]]

    @property
    def text(self) -> str:
        """Return the line that the check prints."""
        unit = self.fom.unit.text
        stem = self.fom.stem.removeprefix("pair_").replace("_", " ")
        line = f"{stem} of {self.size_bytes:,} B, {self.name}: median {self.median:.4g} {unit} over {self.pairs} pairs"
        if not self.bad:
            return line
        one, other, value = self.bad[0]
        more = f" and {len(self.bad) - 1} more" if len(self.bad) > 1 else ""
        return f"{line}; {one} to {other} {value:.4g} {unit}{more}"


def judge(record: Record, factor: float = FACTOR) -> list[PairGroup]:
    """Return every proximity of every figure of merit of pairs, the nearest first."""
    nodes = spans.coordinates(record.case.allocation["nodes"])
    samples: dict[Key, dict[tuple[str, str], list[float]]] = {}
    for launch in record.launches:
        if not launch.is_result:
            continue
        has_groups = launch.spans is not None and launch.spans.groups is not None
        for series in launch.series:
            if not series.fom.startswith("pair_") or not {"from", "to"} <= series.labels.keys():
                continue
            ends = (str(series.labels["from"]), str(series.labels["to"]))
            related = spans.proximity(*ends, spans.places(ends, nodes), has_groups=has_groups)
            key = series.fom, int(series.labels.get("size_bytes", 0)), str(related or UNKNOWN)
            samples.setdefault(key, {}).setdefault(ends, []).append(statistics.median(series.samples))
    order = [*map(str, spans.Proximity), UNKNOWN]
    groups = []
    for fom, size_bytes, name in sorted(samples, key=lambda key: (*key[:2], order.index(key[2]))):
        pairs = {ends: statistics.median(values) for ends, values in samples[fom, size_bytes, name].items()}
        median = statistics.median(pairs.values())
        power = 1 if fom.better is Better.LOWER else -1
        worse = {ends: (value / median) ** power for ends, value in pairs.items() if min(value, median) > 0}
        bad = sorted((ends for ends in worse if worse[ends] > factor), key=lambda ends: -worse[ends])
        rows = [(*ends, pairs[ends]) for ends in bad]
        groups.append(PairGroup(name=name, fom=fom, size_bytes=size_bytes, pairs=len(pairs), median=median, bad=rows))
    return groups


def fault(record: Record, factor: float = FACTOR) -> str:
    """Return the pairs that stand out, in one line; empty if there is none."""
    groups = judge(record, factor)
    largest = max((group.size_bytes for group in groups), default=0)
    bulk = [group for group in groups if group.size_bytes == largest and group.fom.unit.measures == "data rate"]
    wrong = [group for group in (groups if record.origin is Origin.MEASURED else bulk) if group.bad]
    return "; ".join(f"{group.text}: more than {factor:g} times worse" for group in wrong)


@rfm.simple_test
class canary(RepeatedCheck):
    """All nodes of the allocation in a ring, all pairs at once: latency and bandwidth by the proximity of two nodes."""

    descr = "Every node with the next in a minute: pairs that stand out among those of their proximity"
    tags = {"canary", "production"}
    benchmark = "pt2pt"
    torus = "dual-rail-small"
    placements = ["plain"]
    launches = 1

    #: How many times worse than the median pair of the same proximity a pair must be to fail the check.
    #: :default: ``2``
    factor = variable(float, value=FACTOR)

    #: Bytes of the messages that measure bandwidth.
    #: :default: by `scale`
    size = variable(int, value=0)

    small = {"size": 1 << 14, "repeats": 5}
    standard = {"size": 1 << 20, "repeats": 100}

    def case(self) -> dict[str, Any]:
        return {"pattern": "ring", "sizes_bytes": [8, self.size], "repeats": self.repeats}

    @sanity_function
    def no_pair_stands_out(self) -> Any:
        """Fail for the first thing that is wrong with the launches, then for pairs that stand out."""
        if self.is_dry_run():
            return True
        sn.evaluate(self.every_launch_is_good())
        for group in judge(self.record, self.factor):
            getlogger().info(f"canary: {group.text}")
        wrong = fault(self.record, self.factor)
        return sn.assert_eq(wrong, "", msg=f"{wrong} (record: {self.record_path})")
