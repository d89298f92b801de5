"""Rows and planes as bars: the slowest split's time of each collective, by the way of splitting (Pena 2013, Figure 5).

Models: a figure for each collective at its largest size, a group of bars for each placement and NIC policy; the bar is
the median over launches, its line their range. Leaves out: single splits; the records keep them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from matplotlib.figure import Figure

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination, Observation
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.stats import contrast, samples, verdicts
from railyard.analysis.stats.medians import Summary
from railyard.analysis.stats.samples import Values
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import DataTable, percent, size_text
from railyard.records import units
from railyard.records.record import COMPUTED

FOM = units.fom("slowest_us", "us", "lower")
RATES = frozenset({"algorithmic_bandwidth_gbyte_s", "bus_bandwidth_gbyte_s"})
CLAIMED = frozenset({FOM, "split_us", "mean_us", "calls_count", "dropped_count", "latest_start_us"}) | RATES
#: The order of Figure 5: rows, then planes.
WAYS = ("X", "Y", "Z", "XY", "XZ", "YZ", "all")
#: The pairs that the paper compares: rows along Y with rows along X, planes with Y with the plane without.
CONTRASTS = (("Y", "X"), ("XY", "XZ"), ("YZ", "XZ"))

#: The launches of each way of splitting, for each combination.
ByCombination = dict[Combination, dict[str, list[Observation]]]
#: The summary of each way of splitting in the order of `WAYS`, for each combination by its name.
ByName = Mapping[str, Mapping[str, Summary]]


def drawings(case: Case) -> list[Drawing]:
    """Return a figure for each collective."""
    observed: dict[str, dict[int, ByCombination]] = {}
    for (fom, labels), by_arm in cases.observations(case).items():
        named = dict(labels)
        if fom == FOM and {"collective", "size_bytes", "split"} <= named.keys():
            of = observed.setdefault(str(named["collective"]), {}).setdefault(int(named["size_bytes"]), {})
            for combination, values in by_arm.items():
                of.setdefault(combination, {})[str(named["split"])] = values
    return [_drawing(case, collective, *max(of.items(), key=lambda one: one[0])) for collective, of in observed.items()]


def _drawing(case: Case, collective: str, size_bytes: int, observed: ByCombination) -> Drawing:
    of = {combination: observed[combination] for combination in case.combinations if combination in observed}
    by_name = {
        case.name(combination): {way: cases.summary(by_way[way]) for way in WAYS if way in by_way}
        for combination, by_way in of.items()
    }
    launches = {
        way: Values(values=[one.value for one in values], jobs=[one.job for one in values])
        for way, values in next(iter(of.values())).items()
    }
    size = f", {size_text(size_bytes)}" if size_bytes else ""
    title = f"{collective.capitalize()}{size}: the slowest of all splits at once"
    described = "; ".join(
        f"{name} {', '.join(f'{way} {summary.median:.4g}' for way, summary in summaries.items())}"
        for name, summaries in by_name.items()
    )
    columns = (case.head, "split", f"median ({FOM.unit.text})", "n", "min", "max")
    rows = [
        (name, way, f"{one.median:.1f}", str(one.n), f"{one.minimum:.1f}", f"{one.maximum:.1f}")
        for name, summaries in by_name.items()
        for way, one in summaries.items()
    ]
    return Drawing(
        name=f"rowcol-{collective}",
        title=title,
        description=f"{title}, in {FOM.unit.text}: {described}.",
        paint=lambda figure: _paint(figure, title, by_name),
        data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[2:])),
        statement=statement(launches, cases.noise_percent(case), is_exact=case.origin in COMPUTED),
        foms=CLAIMED,
    )


def statement(launches: Mapping[str, Values], noise_percent: float, *, is_exact: bool = False) -> str:
    """Return the comparisons that the paper makes: Y against X, planes with Y against XZ.

    `launches` has what one combination measured of each way of splitting. The comparisons are one family of tests; a
    difference within `noise_percent` shows nothing.
    """
    taken = samples.of_groups(launches)
    pairs = [pair for pair in CONTRASTS if taken.keys() >= set(pair)]
    estimates = {pair: samples.difference(taken[pair[0]], taken[pair[1]]) for pair in pairs}
    tests = iter(contrast.decide([one for one in estimates.values() if one is not None]))
    parts = []
    for (one, other), estimate in estimates.items():
        finding = verdicts.of_test(next(tests) if estimate else None, FOM.better, noise_percent)
        change = 100 * math.expm1(samples.shift(taken[one], taken[other]))
        if is_exact or finding in (Finding.BETTER, Finding.WORSE, Finding.TOO_FEW):
            doubt = f" ({finding} to tell)" if finding is Finding.TOO_FEW and not is_exact else ""
            word = "less" if change < 0 else "more"
            parts.append(f"{one} takes {percent(abs(change), signed=False)} {word} time than {other}{doubt}")
        else:
            parts.append(f"{one} and {other} show no difference")
    return f"{'; '.join(parts)}." if parts else ""


def _paint(figure: Figure, title: str, by_name: ByName) -> None:
    axes = figure.subplots()
    ways = [way for way in WAYS if any(way in summaries for summaries in by_name.values())]
    width = 0.8 / len(by_name)
    for series, (name, summaries) in enumerate(by_name.items()):
        places = [ways.index(way) + series * width for way in summaries]
        heights = [summary.median for summary in summaries.values()]
        axes.bar(places, heights, 0.92 * width, color=svg.sentinel(series), alpha=0.8, label=svg.clean(name))
        for position, summary in zip(places, summaries.values(), strict=True):
            axes.plot([position, position], [summary.minimum, summary.maximum], "-", color=svg.INK, linewidth=1.2)
    middle = width * (len(by_name) - 1) / 2
    axes.set_xticks([index + middle for index in range(len(ways))], ways)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("rows and planes")
    painting.name_axis(axes.yaxis, FOM)
    axes.set_title(svg.clean(title))
    if len(by_name) > 1:
        axes.legend()
