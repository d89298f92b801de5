"""The figures of programs that ran at once: victims against loads, and copies of one program against one alone.

Leaves out: how a factor is made (`railyard.analysis.stats.impact`), and which launches are compared
(`railyard.analysis.cases.impacts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from railyard.analysis.cases import impacts
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.comparison import label_text
from railyard.analysis.cases.impacts import Copies, Impact
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.stats.impact import Statistic
from railyard.analysis.stats.medians import Summary
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import counted
from railyard.records.units import Better, Fom

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
IMPACT_TITLE = "Victim under load"
COPIES_TITLE = "Copies at once"
_ROW_IN = 0.5
_SHIFT = {Statistic.AVERAGE: -0.2, Statistic.P99: 0.0, Statistic.P999: 0.2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One marker of a figure, at a height in rows from the top, with the ends of its interval if it has one."""

    row: float
    value: float
    low: float | None = None
    high: float | None = None


def drawings(case: Case) -> list[Drawing]:
    """Return the figures of a case in which programs ran beside the measured one; nothing for any other."""
    if not case.first.case.roles:
        return []
    under_load, copies = impacts.impacts(case), impacts.copies(case)
    return [*([_impact(under_load)] if under_load else []), *([_copies(copies)] if copies else [])]


def _impact(rows: Sequence[Impact]) -> Drawing:
    sentences = " ".join(_sentences(rows))
    marks: dict[str, list[Mark]] = {str(statistic): [] for statistic in Statistic}
    for row, impact in enumerate(rows):
        for factor in impact.factors:
            if factor.value is not None:  # a row may have too few samples
                place = row + _SHIFT[factor.statistic]
                marks[factor.statistic].append(Mark(row=place, value=factor.value, low=factor.low, high=factor.high))
    words = ("load", "placement", "NIC policy", "figure of merit", "statistic")
    numbers = ("factor", "low", "high", "p (Holm)", "GPCNeT's", "launches", "samples", "load sent (GB/s)")
    cells = [
        (
            impact.load,
            impact.combination.placement,
            impact.combination.nic_policy,
            _figure(rows, impact),
            str(factor.statistic),
            *map(_number, (factor.value, factor.low, factor.high)),
            _number(factor.p_holm, ".2g"),
            _number(factor.gpcnet),
            "{} and {}".format(*factor.launches),
            "{} and {}".format(*factor.samples),
            _number(impact.sent_gbyte_s, ".3g"),
        )
        for impact in rows
        for factor in impact.factors
    ]
    names, heading = [_name(rows, row) for row in rows], "impact factor (1: as alone, above: worse)"
    return Drawing(
        name="impact",
        title=IMPACT_TITLE,
        description=f"{IMPACT_TITLE}: impact factors by load; 1 is as alone. {sentences}",
        paint=lambda figure: painting.few_ticks(_painted(figure, IMPACT_TITLE, names, marks, heading=heading)),
        data=DataTable(columns=(*words, *numbers), rows=cells, numbers=frozenset(numbers)),
        height_in=1.2 + _ROW_IN * len(rows),
        statement=sentences,
    )


def _copies(rows: Sequence[Copies]) -> Drawing:
    names, sentences, cells = list[str](), list[str](), list[Sequence[str]]()
    marks: dict[str, list[Mark]] = {"slowest copy": [], "median copy": []}
    for row, one in enumerate(rows):
        slowest, alone = _worse(one, one.slowest), one.alone.median
        names.append(", ".join(filter(None, [one.fom.stem, one.combination.placement, label_text(one.labels)])))
        words = f"{one.count} copies at once: the slowest has {one.slowest.median:.4g} {one.fom.unit.text}"
        sentences.append(f"{words}, {slowest:.2f} times worse than one copy alone ({alone:.4g}).")
        marks["slowest copy"].append(Mark(row=row - 0.1, value=slowest))
        marks["median copy"].append(Mark(row=row + 0.1, value=_worse(one, one.median)))
        medians = [f"{value.median:.5g}" if value else "" for value in (one.alone, one.slowest, one.median, one.total)]
        cells.append((names[row], str(one.count), *medians, f"{slowest:.3f}", str(one.slowest.n)))
    numbers = ("copies", "one alone", "slowest", "median", "sum", "slowest, times worse", "launches")
    statement, heading = " ".join(sentences), "times worse than one copy alone"
    return Drawing(
        name="copies",
        title=COPIES_TITLE,
        description=f"{COPIES_TITLE}, against one copy alone. {statement}",
        paint=lambda figure: painting.some_room(_painted(figure, COPIES_TITLE, names, marks, heading=heading)),
        data=DataTable(columns=("figure of merit", *numbers), rows=cells, numbers=frozenset(numbers)),
        height_in=1.2 + _ROW_IN * len(rows),
        statement=statement,
    )


def _worse(row: Copies, value: Summary) -> float:
    lower = row.fom.better is Better.LOWER
    above, below = (value.median, row.alone.median) if lower else (row.alone.median, value.median)
    return above / below if below else float("nan")


def _name(rows: Sequence[Impact], row: Impact) -> str:
    """Return a load, and what distinguishes its rows if it has several."""
    parts = [row.load]
    if len({other.combination for other in rows}) > 1:
        parts += [row.combination.placement, row.combination.nic_policy]
    if len({other.labels for other in rows}) > 1:
        parts.append(_figure(rows, row))
    return ", ".join(parts)


def _figure(rows: Sequence[Impact], row: Impact) -> str:
    """Return the figure of merit, with the labels in which the rows differ."""
    common = frozenset.intersection(*(frozenset(other.labels) for other in rows))
    labels = tuple(label for label in row.labels if label not in common)
    return ", ".join(filter(None, [_stem(row.fom), label_text(labels)]))


def _sentences(rows: Sequence[Impact]) -> Iterator[str]:
    """Yield a sentence for each load, and one for all of those that have too few launches for an interval."""
    bare = [row for row in rows if row.headline.value is not None and row.headline.low is None]
    bare = [] if len(bare) < 2 else bare
    yield from (_sentence(rows, row) for row in rows if row not in bare)
    if bare:
        counts = sorted({min(row.headline.launches) for row in bare})
        few = " or ".join(map(str, counts)) + (" launch" if counts == [1] else " launches")
        listed = ", ".join(f"{_name(rows, row)} {row.headline.value:.2f}{_p99(row, ' (p99 {:.2f})')}" for row in bare)
        of = _stem(bare[0].fom)
        alone = f"without an interval no difference is shown (n = {few})"
        yield f"The average impact factors of {of} are {listed}; {alone}."


def _p99(row: Impact, words: str) -> str:
    value = next((one.value for one in row.factors if one.statistic is Statistic.P99), None)
    return "" if value is None else words.format(value)


def _sentence(rows: Sequence[Impact], impact: Impact) -> str:
    factor = impact.headline
    if factor.value is None:
        return f"There is no factor under {_name(rows, impact)}."
    between = f" (n = {counted(min(factor.launches), 'launch')}: no interval)"
    if factor.low is not None and factor.high is not None:
        between = f" (95 % interval {factor.low:.2f} to {factor.high:.2f})"
    rest = _p99(impact, ", of p99 {:.2f}")
    shown = "a difference is shown" if factor.finding in (Finding.BETTER, Finding.WORSE) else "no difference is shown"
    of = f"impact factor of {_stem(impact.fom)} under {_name(rows, impact)}"
    return f"The {of} is on average {factor.value:.2f}{between}{rest}; {shown}."


def _stem(fom: Fom) -> str:
    return fom.stem.removeprefix(impacts.PAIRS).replace("_", " ")


def _number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)


def _painted(
    figure: Figure, title: str, names: Sequence[str], marks: Mapping[str, Sequence[Mark]], *, heading: str
) -> Axes:
    """Paint the rows of a figure with a marker and a colour for each entry of `marks`; `heading` is of the x axis."""
    axes = figure.subplots()
    for number, (label, of_label) in enumerate(marks.items()):
        colour = svg.sentinel(number)
        for mark in of_label:
            if mark.low is not None and mark.high is not None:
                axes.plot([mark.low, mark.high], [mark.row] * 2, "-", color=colour, linewidth=2)
        if of_label:  # a word in the legend without a point would mislead
            values, rows = [mark.value for mark in of_label], [mark.row for mark in of_label]
            marker = svg.MARKERS[number]
            axes.plot(values, rows, marker, color=colour, markersize=6, linestyle="none", label=label)
    painting.name_rows(axes, names, baseline=1)
    axes.set_xlabel(heading)
    axes.set_title(title)
    axes.legend(loc="best")
    return axes
