"""Tabulate a case on a network with groups: results over the groups spanned, pairs of hosts by their proximity.

Models: launches that are results and whose records name the groups of their nodes (`spans`). A
launch is one value, the median of its samples; rows are medians over launches. Launches in more groups have other
placements, too, so the first table shows a dependence and no cause. Leaves out: tests, curves, networks without groups.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from railyard.analysis.cases import cases, comparison
from railyard.analysis.cases.cases import Case, Observation
from railyard.analysis.cases.curves import LATENCY_SIZE_BYTES
from railyard.analysis.cases.tables import interval_text, span_text
from railyard.analysis.text import DataTable, Format, size_text
from railyard.records import spans
from railyard.records.benchmark import Labels, Series
from railyard.records.record import Launch, Record
from railyard.records.spans import Proximity
from railyard.records.store import entries
from railyard.records.units import Better, Fom

_NUMBERS = frozenset({"groups", "median", "95 % interval", "n", "min to max", "pairs"})
_FEWEST = 2
PROXIMITIES = tuple(Proximity)

#: (figure of merit, labels, combination of the launch).
What = tuple[Fom, Labels, str]
#: The same, with a number of groups or an index into `PROXIMITIES`.
Key = tuple[What, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Captioned:
    """A table and its caption."""

    caption: str
    data: DataTable


def tables(case: Case) -> list[Captioned]:
    """Return the tables that the case's records allow, each with at least two groups or proximities to compare."""
    placed = [(record, launch) for record, launch in cases.launches(case) if _has_groups(launch)]
    parts = (
        ("Over the groups that a launch's nodes are in; medians over launches", _over_groups(case, placed)),
        ("By the proximity of two hosts; medians over launches", _by_proximity(case, placed)),
    )
    return [Captioned(caption=caption, data=data) for caption, data in parts if data.rows]


def _has_groups(launch: Launch) -> bool:
    return launch.is_result and launch.spans is not None and launch.spans.groups is not None


def _over_groups(case: Case, placed: Sequence[tuple[Record, Launch]]) -> DataTable:
    curves = comparison.curve_foms(cases.observations(case))
    values: dict[Key, list[Observation]] = {}
    for record, launch in placed:
        assert launch.spans is not None and launch.spans.groups is not None
        for (fom, labels), taken in entries.launch_samples(launch).items():
            if fom not in curves:
                key = (fom, labels, _with(case, launch)), launch.spans.groups
                values.setdefault(key, []).append(Observation(value=entries.value_of(taken), job=record.job))
    columns = ("figure of merit", "with", "groups", "median", "95 % interval", "n", "min to max")
    rows = [
        (_title(of[0], of[1]), of[2], str(groups), *_statistics(values[of, groups])) for of, groups in _compared(values)
    ]
    return DataTable(columns=columns, rows=rows, numbers=_NUMBERS)


def _by_proximity(case: Case, placed: Sequence[tuple[Record, Launch]]) -> DataTable:
    by_launch: dict[Key, dict[int, list[float]]] = {}
    pairs: dict[Key, set[tuple[str, str]]] = {}
    for number, (record, launch) in enumerate(placed):
        between = [(series, _ends(series)) for series in _between_hosts(launch)]
        nodes = spans.coordinates(record.case.allocation["nodes"])
        at = spans.places({host for _, ends in between for host in ends}, nodes)
        for series, ends in between:
            related = spans.proximity(*ends, at, has_groups=True)
            if related is not None:
                key = (series.fom, _kept(series), _with(case, launch)), PROXIMITIES.index(related)
                by_launch.setdefault(key, {}).setdefault(number, []).append(statistics.median(series.samples))
                pairs.setdefault(key, set()).add(ends)
    columns = ("figure of merit", "with", "proximity", "median", "95 % interval", "n", "min to max", "pairs")
    rows = [
        (
            _title(of[0], of[1]),
            of[2],
            str(PROXIMITIES[index]),
            *_statistics(
                [
                    Observation(value=statistics.median(pair_medians), job=placed[number][0].job)
                    for number, pair_medians in by_launch[of, index].items()
                ]
            ),
            str(len(pairs[of, index])),
        )
        for of, index in _compared(by_launch)
        if _is_shown(of, by_launch)
    ]
    return DataTable(columns=columns, rows=rows, numbers=_NUMBERS)


def _between_hosts(launch: Launch) -> Iterator[Series]:
    return (series for series in launch.series if {"from", "to"} <= series.labels.keys())


def _ends(series: Series) -> tuple[str, str]:
    return str(series.labels["from"]), str(series.labels["to"])


def _kept(series: Series) -> Labels:
    """Return the labels that pairs of one row share."""
    return cases.frozen_labels({k: v for k, v in series.labels.items() if k in {"test", "size_bytes"}})


def _is_shown(of: What, keys: Iterable[Key]) -> bool:
    """Return whether a row is of the one size that is shown: the largest of a rate, 8 bytes or the next of a time."""
    fom, labels, _ = of
    test, size = dict(labels).get("test"), _size(labels)
    sizes = {_size(other) for (name, other, _), _ in keys if name == fom and dict(other).get("test") == test}
    if fom.better is Better.HIGHER:
        return size == max(sizes)
    return size == min((larger for larger in sizes if larger >= LATENCY_SIZE_BYTES), default=max(sizes))


def _size(labels: Labels) -> int:
    size = dict(labels).get("size_bytes", 0)
    return size if isinstance(size, int) else 0


def _compared(keys: Iterable[Key]) -> list[Key]:
    """Return, in order, the keys of what has at least two numbers of groups, or two proximities."""
    counts = Counter(of for of, _ in keys)
    return sorted((key for key in keys if counts[key[0]] >= _FEWEST), key=lambda key: (str(key[0]), key[1]))


def _with(case: Case, launch: Launch) -> str:
    """Return a launch's NIC policy and software; `all` if the case has only one such pair."""
    several = len({(combination.nic_policy, combination.software) for combination in case.combinations}) > 1
    return " + ".join([launch.nic_policy, str(launch.software)]) if several else "all"


def _title(fom: Fom, labels: Labels) -> str:
    named = dict(labels)
    size = named.pop("size_bytes", None)
    named.pop("test", None)
    labelled = comparison.label_text(cases.frozen_labels(named))
    sized = size_text(int(size)) if size is not None else ""
    return ", ".join(filter(None, [fom.stem, labelled, sized, fom.unit.text]))


def _statistics(launches: Sequence[Observation]) -> tuple[str, str, str, str]:
    summary = cases.summary(launches)
    form = Format.for_values([launch.value for launch in launches])
    return (form.text(summary.median), interval_text(summary.interval, form), str(summary.n), span_text(summary, form))
