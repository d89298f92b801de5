"""Tabulate how a case's results spread: over the groups spanned, by the proximity of two hosts, by NIC policy.

Models: launches that are results. A launch is one value, the median of its samples; rows are medians over launches. On
a network with groups, records name the groups of their nodes (`spans`). Launches in more groups have other placements,
too, so that table shows a dependence and no cause. LLNL's poster finds fewer outliers on two rails: an outlier lies
more than 1.5 times the distance of the quartiles beyond one of them (Tukey's fence). Whether two policies differ in
spread is tested on the distances of launches from their own policy's median, by Mann and Whitney's rank test, without
correction for the number of policies. Leaves out: curves, networks without groups, cases with one policy, and policies
with too few launches for a 95 % interval.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from railyard.analysis.cases import cases, comparison
from railyard.analysis.cases.cases import Case, Observation
from railyard.analysis.cases.curves import LATENCY_SIZE_BYTES
from railyard.analysis.cases.tables import interval_text, span_text
from railyard.analysis.stats import medians
from railyard.analysis.text import NOTHING, DataTable, Format, percent, size_text
from railyard.records import spans
from railyard.records.benchmark import Labels
from railyard.records.folded.slow import FENCE
from railyard.records.record import Launch, Record
from railyard.records.spans import Proximity
from railyard.records.store import entries
from railyard.records.units import Better, Fom

#: The columns of `_statistics`.
_STATISTICS = ("median", "95 % interval", "n", "min to max")
PROXIMITIES = tuple(Proximity)

#: (figure of merit, labels, combination of the launch).
What = tuple[Fom, Labels, str]
#: The same, with a number of groups or an index into `PROXIMITIES`.
Key = tuple[What, int]


def tables(case: Case) -> dict[str, DataTable]:
    """Return by caption the tables that the case's records allow.

    Each has at least two groups or proximities to compare, or several NIC policies.
    """
    placed = [
        (record, launch, groups)
        for record, launch in cases.launches(case)
        if launch.is_result and launch.spans and (groups := launch.spans.groups) is not None
    ]
    by_policy = [row for of, values in _by_policy(case).items() for row in _policy_rows(of, values)]
    outliers = DataTable(columns=_OF_POLICIES, rows=by_policy, numbers=frozenset(_OF_POLICIES[2:]))
    captioned = {
        "Over the groups that a launch's nodes are in; medians over launches": _over_groups(case, placed),
        "By the proximity of two hosts; medians over launches": _by_proximity(case, placed),
        f"Outliers over launches by NIC policy: beyond the quartiles by {FENCE} times their distance": outliers,
    }
    return {caption: data for caption, data in captioned.items() if data.rows}


def _over_groups(case: Case, placed: Sequence[tuple[Record, Launch, int]]) -> DataTable:
    curves = comparison.curve_foms(cases.observations(case))
    values: dict[Key, list[Observation]] = {}
    for record, launch, groups in placed:
        for (fom, labels), taken in entries.samples_of(launch.series).items():
            if fom not in curves:
                key = (fom, labels, _with(case, launch)), groups
                values.setdefault(key, []).append(Observation(value=entries.value_of(taken), job=record.job))
    columns = ("figure of merit", "with", "groups", *_STATISTICS)
    rows = [(*_head(of), str(groups), *_statistics(values[of, groups])) for of, groups in _compared(values)]
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[2:]))


def _by_proximity(case: Case, placed: Sequence[tuple[Record, Launch, int]]) -> DataTable:
    values: dict[Key, list[Observation]] = {}
    pairs: dict[Key, set[tuple[str, str]]] = {}
    for record, launch, _ in placed:
        between = [
            (series, (str(series.labels["from"]), str(series.labels["to"])))
            for series in launch.series
            if {"from", "to"} <= series.labels.keys()
        ]
        nodes = spans.coordinates(record.case.allocation["nodes"])
        at = spans.places({host for _, ends in between for host in ends}, nodes)
        medians_of: dict[Key, list[float]] = {}
        for series, ends in between:
            related = spans.proximity(*ends, at, has_groups=True)
            if related is not None:
                shared = {name: value for name, value in series.labels.items() if name in {"test", "size_bytes"}}
                of = series.fom, cases.frozen_labels(shared), _with(case, launch)
                key = of, PROXIMITIES.index(related)
                medians_of.setdefault(key, []).append(statistics.median(series.samples))
                pairs.setdefault(key, set()).add(ends)
        for key, of_pairs in medians_of.items():
            values.setdefault(key, []).append(Observation(value=statistics.median(of_pairs), job=record.job))
    columns = ("figure of merit", "with", "proximity", *_STATISTICS, "pairs")
    rows = [
        (*_head(of), str(PROXIMITIES[index]), *_statistics(values[of, index]), str(len(pairs[of, index])))
        for of, index in _compared(values)
        if _is_shown(of, values)
    ]
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[3:]))


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
    return sorted((key for key in keys if counts[key[0]] > 1), key=lambda key: (str(key[0]), key[1]))


def _with(case: Case, launch: Launch) -> str:
    """Return a launch's NIC policy and software; `all` if the case has only one such pair."""
    several = len({(combination.nic_policy, combination.software) for combination in case.combinations}) > 1
    return " + ".join([launch.nic_policy, str(launch.software)]) if several else "all"


def _head(of: What) -> tuple[str, str]:
    """Return a figure without its test, with its labels and its unit, and what it was measured with."""
    fom, labels, measured_with = of
    named = dict(labels)
    size = named.pop("size_bytes", None)
    named.pop("test", None)
    sized = size_text(int(size)) if size is not None else ""
    figure = [fom.stem, comparison.label_text(cases.frozen_labels(named)), sized, fom.unit.text]
    return ", ".join(filter(None, figure)), measured_with


def _statistics(launches: Sequence[Observation]) -> tuple[str, str, str, str]:
    summary = cases.summary(launches)
    form = Format.for_values([launch.value for launch in launches])
    return (form.text(summary.median), interval_text(summary.interval, form), str(summary.n), span_text(summary, form))


# ---- NIC policies ----

#: The policy that uses one rail alone, which others are compared with.
ONE_RAIL = "nic-0"
_OF_POLICIES = ("figure of merit", "NIC policy", "n", "outliers", "run-to-run variation", f"p against {ONE_RAIL}")

Values = Sequence[float]


def count_outliers(values: Values) -> int:
    """Return how many values lie beyond Tukey's fences."""
    low, high = np.percentile(np.asarray(values, dtype=float), [25, 75])
    reach = FENCE * (high - low)
    return sum(not low - reach <= value <= high + reach for value in values)


def p_of_spreads(ones: Values, others: Values) -> float:
    """Return the probability of spreads that differ so much by chance, by the distances from the medians."""
    import scipy.stats  # imported here: takes 1 s, and most pages have no such table

    return float(scipy.stats.mannwhitneyu(_distances(ones), _distances(others)).pvalue)


def _distances(values: Values) -> list[float]:
    middle = float(np.median(np.asarray(values, dtype=float)))
    return [abs(value - middle) for value in values]


def _by_policy(case: Case) -> Mapping[tuple[Fom, Labels], Mapping[str, Values]]:
    """Return the values of each series without message sizes by policy, where several policies have enough launches."""
    observed = cases.observations(case)
    curves = comparison.curve_foms(observed)
    by_series: dict[tuple[Fom, Labels], dict[str, list[float]]] = {}
    for (fom, labels), by_combination in observed.items():
        placements = {combination.placement for combination in by_combination}
        if fom in curves or "size_bytes" in dict(labels) or len(placements) > 1:
            continue
        for combination, values in by_combination.items():
            if len(values) >= medians.ENOUGH:
                of_policy = by_series.setdefault((fom, labels), {}).setdefault(combination.nic_policy, [])
                of_policy += [launch.value for launch in values]
    return {of: by_policy for of, by_policy in by_series.items() if len(by_policy) > 1}


def _policy_rows(of: tuple[Fom, Labels], by_policy: Mapping[str, Values]) -> list[tuple[str, ...]]:
    fom, labels = of
    title = ", ".join(filter(None, [fom.stem, comparison.label_text(labels), fom.unit.text]))
    base, rows = by_policy.get(ONE_RAIL), list[tuple[str, ...]]()
    for policy, values in by_policy.items():
        shown = percent(medians.spread_percent(values), signed=False)
        p = f"{p_of_spreads(values, base):.2g}" if base is not None and policy != ONE_RAIL else NOTHING
        rows.append((title, policy, str(len(values)), str(count_outliers(values)), shown, p))
    return rows
