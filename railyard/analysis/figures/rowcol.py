"""Rows and planes as bars: the slowest split's time of each collective, by the way of splitting (Pena 2013, Figure 5).

Models: a figure for each collective at its largest size, a group of bars for each placement and NIC policy; the bar is
the median over launches, its line their range. Leaves out: single splits; the records keep them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
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

Key = tuple[str, int, str, Combination]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """One collective at one size: the summary of each way of splitting, for each combination.

    `launches` has what the first combination measured of each way. A difference within `noise_percent` shows nothing.
    """

    collective: str
    size_bytes: int
    of: Mapping[Combination, Mapping[str, Summary]]
    launches: Mapping[str, Values]
    noise_percent: float = 0.0
    is_exact: bool = False

    @property
    def ways(self) -> list[str]:
        """The ways that any combination has, in the paper's order."""
        return [way for way in WAYS if any(way in by_way for by_way in self.of.values())]

    @property
    def title(self) -> str:
        """`Alltoall, 16 KiB`."""
        size = f", {size_text(self.size_bytes)}" if self.size_bytes else ""
        return f"{self.collective.capitalize()}{size}: the slowest of all splits at once"


def drawings(case: Case) -> list[Drawing]:
    """Return a figure for each collective."""
    observed = _observed(case)
    largest: dict[str, int] = {}
    for collective, size, _, _ in observed:
        largest[collective] = max(size, largest.get(collective, 0))
    return [_drawing(case, _bars(case, observed, collective, size)) for collective, size in largest.items()]


def _observed(case: Case) -> dict[Key, list[Observation]]:
    return {
        (str(named["collective"]), int(named["size_bytes"]), str(named["split"]), combination): values
        for (fom, labels), by_arm in cases.observations(case).items()
        if fom == FOM and {"collective", "size_bytes", "split"} <= (named := dict(labels)).keys()
        for combination, values in by_arm.items()
    }


def _bars(case: Case, observed: Mapping[Key, list[Observation]], collective: str, size: int) -> Bars:
    floor = cases.noise_percent(case)
    of: dict[Combination, dict[str, list[Observation]]] = {combination: {} for combination in case.combinations}
    for (name, size_bytes, way, combination), values in observed.items():
        if (name, size_bytes) == (collective, size):
            of[combination][way] = values
    of = {combination: by_way for combination, by_way in of.items() if by_way}
    return Bars(
        collective=collective,
        size_bytes=size,
        of={
            combination: {way: cases.summary(values, floor) for way, values in by_way.items()}
            for combination, by_way in of.items()
        },
        launches={
            way: Values(values=[one.value for one in values], jobs=[one.job for one in values])
            for way, values in next(iter(of.values())).items()
        },
        noise_percent=floor,
        is_exact=case.origin in COMPUTED,
    )


def _drawing(case: Case, bars: Bars) -> Drawing:
    return Drawing(
        name=f"rowcol-{bars.collective}",
        title=bars.title,
        description=f"{bars.title}, in {FOM.unit.text}: {_described(case, bars)}.",
        paint=lambda figure: _paint(figure, case, bars),
        data=_data(case, bars),
        statement=statement(bars),
        foms=CLAIMED,
    )


def statement(bars: Bars) -> str:
    """Return the comparisons that the paper makes: Y against X, planes with Y against XZ; the first combination's.

    They are one family of tests.
    """
    taken = samples.of_groups(bars.launches)
    pairs = [pair for pair in CONTRASTS if taken.keys() >= set(pair)]
    estimates = {pair: samples.difference(taken[pair[0]], taken[pair[1]]) for pair in pairs}
    tests = iter(contrast.decide([one for one in estimates.values() if one is not None]))
    parts = []
    for (one, other), estimate in estimates.items():
        finding = verdicts.of_test(next(tests) if estimate else None, FOM.better, bars.noise_percent)
        change = 100 * math.expm1(samples.shift(taken[one], taken[other]))
        if bars.is_exact or finding in (Finding.BETTER, Finding.WORSE, Finding.TOO_FEW):
            doubt = f" ({finding} to tell)" if finding is Finding.TOO_FEW and not bars.is_exact else ""
            word = "less" if change < 0 else "more"
            parts.append(f"{one} takes {percent(abs(change), signed=False)} {word} time than {other}{doubt}")
        else:
            parts.append(f"{one} and {other} show no difference")
    return f"{'; '.join(parts)}." if parts else ""


def _described(case: Case, bars: Bars) -> str:
    return "; ".join(
        f"{case.name(combination)} {', '.join(f'{way} {summary.median:.4g}' for way, summary in _ordered(summaries))}"
        for combination, summaries in bars.of.items()
    )


def _ordered(summaries: Mapping[str, Summary]) -> list[tuple[str, Summary]]:
    return sorted(summaries.items(), key=lambda item: WAYS.index(item[0]))


def _data(case: Case, bars: Bars) -> DataTable:
    rows = [
        (
            case.name(combination),
            way,
            f"{summary.median:.1f}",
            str(summary.n),
            f"{summary.minimum:.1f}",
            f"{summary.maximum:.1f}",
        )
        for combination, summaries in bars.of.items()
        for way, summary in _ordered(summaries)
    ]
    columns = (case.head, "split", f"median ({FOM.unit.text})", "n", "min", "max")
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[2:]))


def _paint(figure: Figure, case: Case, bars: Bars) -> None:
    axes = figure.subplots()
    width = 0.8 / len(bars.of)
    for series, (combination, summaries) in enumerate(bars.of.items()):
        _paint_group(axes, bars.ways, summaries, series=series, width=width, name=case.name(combination))
    middle = width * (len(bars.of) - 1) / 2
    axes.set_xticks([index + middle for index in range(len(bars.ways))], bars.ways)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("rows and planes")
    painting.name_y(axes, FOM)
    axes.set_title(svg.clean(bars.title))
    if len(bars.of) > 1:
        axes.legend()


def _paint_group(
    axes: Axes, ways: Sequence[str], summaries: Mapping[str, Summary], *, series: int, width: float, name: str
) -> None:
    places = [ways.index(way) + series * width for way in summaries]
    heights = [summary.median for summary in summaries.values()]
    axes.bar(places, heights, 0.92 * width, color=svg.sentinel(series), alpha=0.8, label=svg.clean(name))
    for position, summary in zip(places, summaries.values(), strict=True):
        axes.plot([position, position], [summary.minimum, summary.maximum], "-", color=svg.INK, linewidth=1.2)
