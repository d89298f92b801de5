"""Count outliers and compare the spread of launches by NIC policy.

LLNL's poster finds fewer outliers on two rails. Models: an outlier lies more than 1.5 times the distance of the
quartiles beyond one of them (Tukey's fence). Whether two policies differ in spread is tested on the distances of
launches from their own policy's median, by Mann and Whitney's rank test, without correction for the number of policies.
Leaves out: cases with one policy, curves, and policies with too few launches for a 95 % interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from railyard.analysis.cases import cases, comparison
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.spread import Captioned
from railyard.analysis.stats import medians
from railyard.analysis.text import NOTHING, DataTable, percent
from railyard.records.benchmark import Labels
from railyard.records.folded.slow import FENCE
from railyard.records.units import Fom

#: The policy that uses one rail alone, which others are compared with.
ONE_RAIL = "nic-0"
_COLUMNS = ("figure of merit", "NIC policy", "n", "outliers", "run-to-run variation", f"p against {ONE_RAIL}")
_NUMBERS = frozenset(_COLUMNS[2:])

Values = Sequence[float]


def tables(case: Case) -> list[Captioned]:
    """Return a row for each figure of merit and policy; nothing for a case that does not compare policies."""
    rows = [row for of, by_policy in _by_policy(case).items() for row in _rows(of, by_policy)]
    if not rows:
        return []
    caption = f"Outliers over launches by NIC policy: beyond the quartiles by {FENCE} times their distance"
    return [Captioned(caption=caption, data=DataTable(columns=_COLUMNS, rows=rows, numbers=_NUMBERS))]


def count(values: Values) -> int:
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
        if (
            fom in curves
            or "size_bytes" in dict(labels)
            or len({combination.placement for combination in by_combination}) > 1
        ):
            continue
        for combination, values in by_combination.items():
            if len(values) >= medians.ENOUGH:
                of_policy = by_series.setdefault((fom, labels), {}).setdefault(combination.nic_policy, [])
                of_policy += [launch.value for launch in values]
    return {of: by_policy for of, by_policy in by_series.items() if len(by_policy) > 1}


def _rows(of: tuple[Fom, Labels], by_policy: Mapping[str, Values]) -> list[tuple[str, ...]]:
    fom, labels = of
    title = ", ".join(filter(None, [fom.stem, comparison.label_text(labels), fom.unit.text]))
    base = by_policy.get(ONE_RAIL)
    rows: list[tuple[str, ...]] = []
    for policy, values in by_policy.items():
        variation = medians.spread_percent(values)
        shown = NOTHING if variation is None else percent(variation, signed=False)
        p = f"{p_of_spreads(values, base):.2g}" if base is not None and policy != ONE_RAIL else NOTHING
        rows.append((title, policy, str(len(values)), str(count(values)), shown, p))
    return rows
