"""The figures of programs that ran at once: victims against loads, and copies of one program against one alone.

Leaves out: how a factor is made (`analysis.stats.impact`), and which launches stand beside each other
(`analysis.cases.impacts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.cases import impacts
from analysis.cases.cases import Case
from analysis.cases.comparison import label_text
from analysis.cases.impacts import Copies, Impact
from analysis.figures import svg
from analysis.figures.drawing import DataTable, Drawing
from analysis.stats.impact import Factor, Statistic
from analysis.stats.medians import Summary
from railyard.records import units
from railyard.records.units import Better

#: These figures are no benchmark's own (`analysis.figures.registry`).
OF_ANY_CASE = True
IMPACT_TITLE = "Victim under load"
COPIES_TITLE = "Copies at once"
_ROW_IN = 0.5
_SHIFT = {Statistic.AVERAGE: -0.2, Statistic.P99: 0.0, Statistic.P999: 0.2}


def drawings(case: Case) -> list[Drawing]:
    """Return the figures of a case in which programs ran beside the measured one; nothing for any other."""
    if not case.first.case.roles:
        return []
    return [*_impact(impacts.impacts(case)), *_copies(impacts.copies(case))]


def _impact(found: Sequence[Impact]) -> list[Drawing]:
    if not found:
        return []
    said = " ".join(_sentences(found))
    return [
        Drawing(
            name="impact",
            title=IMPACT_TITLE,
            description=f"{IMPACT_TITLE}: impact factors by load; 1 is as alone. {said}",
            paint=lambda figure: _paint(figure.subplots(), found),
            data=_impact_data(found),
            height_in=1.2 + _ROW_IN * len(found),
            statement=said,
        )
    ]


def _name(found: Sequence[Impact], each: Impact) -> str:
    """Return a load, and what tells its rows apart where it has several."""
    parts = [each.load]
    if len({other.combination for other in found}) > 1:
        parts += [each.combination.placement, each.combination.nic_policy]
    if len({other.labels for other in found}) > 1:
        parts.append(_figure(found, each))
    return ", ".join(parts)


def _figure(found: Sequence[Impact], each: Impact) -> str:
    """Return the figure of merit, with the labels in which the rows differ."""
    common = frozenset.intersection(*(frozenset(other.labels) for other in found))
    labels = tuple(label for label in each.labels if label not in common)
    return ", ".join(filter(None, [_stem(each.fom), label_text(labels)]))


def _sentences(found: Sequence[Impact]) -> Iterator[str]:
    """Yield a sentence for each load, and one for all of those that have too few launches for an interval."""
    bare = [each for each in found if each.headline.value is not None and each.headline.low is None]
    bare = [] if len(bare) < 2 or any(each.headline.is_significant for each in bare) else bare
    yield from (_sentence(found, each) for each in found if each not in bare)
    if bare:
        counts = sorted({min(each.headline.launches) for each in bare})
        few = " or ".join(map(str, counts)) + (" launch" if counts == [1] else " launches")
        listed = ", ".join(
            f"{_name(found, each)} {each.headline.value:.2f}{_p99(each, ' (p99 {:.2f})')}" for each in bare
        )
        yield f"Average impact factors of {_stem(bare[0].fom)}: {listed}; no interval, no difference shown (n = {few})."


def _p99(each: Impact, words: str) -> str:
    value = next((one.value for one in each.factors if one.statistic is Statistic.P99), None)
    return "" if value is None else words.format(value)


def _sentence(found: Sequence[Impact], each: Impact) -> str:
    factor = each.headline
    if factor.value is None:
        return f"Under {_name(found, each)}: no factor."
    rest = _p99(each, ", of p99 {:.2f}")
    shown = "a difference is shown" if factor.is_significant else "no difference is shown"
    of = f"impact factor of {_stem(each.fom)} under {_name(found, each)}"
    return f"The {of}: on average {factor.value:.2f}{_between(factor)}{rest}; {shown}."


def _stem(fom: str) -> str:
    return units.stem(fom).removeprefix(impacts.PAIRS).replace("_", " ")


def _between(factor: Factor) -> str:
    if factor.low is None or factor.high is None:
        count = min(factor.launches)
        return f" (n = {count} launch{'es' if count > 1 else ''}: no interval)"
    return f" (95 % interval {factor.low:.2f} to {factor.high:.2f})"


def _paint(axes: Axes, found: Sequence[Impact]) -> None:
    for number, statistic in enumerate(Statistic):
        colour, rows, values = svg.sentinel(number), [], []
        for row, each in enumerate(found):
            factor = next(one for one in each.factors if one.statistic is statistic)
            if factor.value is None:
                continue
            rows.append(row + _SHIFT[statistic])
            values.append(factor.value)
            if factor.low is not None and factor.high is not None:
                axes.plot([factor.low, factor.high], [rows[-1]] * 2, "-", color=colour, linewidth=2)
        if not rows:  # too few samples of every row: a word in the legend without a point would mislead
            continue
        axes.plot(
            values,
            rows,
            svg.MARKERS[number],
            color=colour,
            markersize=6,
            linestyle="none",
            label=str(statistic),
        )
    axes.axvline(1, color=svg.INK, linewidth=0.9)
    svg.name_rows(axes, [svg.clean(_name(found, each)) for each in found])
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.margins(x=0.08)
    axes.set_xlabel("impact factor (1: as alone, above: worse)")
    axes.set_title(IMPACT_TITLE)
    axes.legend(loc="best", fontsize="small")


def _impact_data(found: Sequence[Impact]) -> DataTable:
    words = ("load", "placement", "NIC policy", "figure of merit", "statistic")
    numbers = ("factor", "low", "high", "p (Holm)", "GPCNeT's", "launches", "samples", "load sent (GB/s)")
    rows = [
        (
            each.load,
            each.combination.placement,
            each.combination.nic_policy,
            _figure(found, each),
            str(factor.statistic),
            _number(factor.value),
            _number(factor.low),
            _number(factor.high),
            _number(factor.p_holm, ".2g"),
            _number(factor.gpcnet),
            "{} and {}".format(*factor.launches),
            "{} and {}".format(*factor.samples),
            _number(each.sent_gbyte_s, ".3g"),
        )
        for each in found
        for factor in each.factors
    ]
    return DataTable(columns=(*words, *numbers), rows=rows, numbers=frozenset(numbers))


def _number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)


def _copies(found: Sequence[Copies]) -> list[Drawing]:
    if not found:
        return []
    said = " ".join(_copies_sentence(each) for each in found)
    return [
        Drawing(
            name="copies",
            title=COPIES_TITLE,
            description=f"{COPIES_TITLE}, against one copy alone. {said}",
            paint=lambda figure: _paint_copies(figure.subplots(), found),
            data=_copies_data(found),
            height_in=1.2 + _ROW_IN * len(found),
            statement=said,
        )
    ]


def _copies_sentence(each: Copies) -> str:
    slowest = _worse(each, each.slowest)
    words = f"{each.count} copies at once: the slowest has {each.slowest.median:.4g} {units.unit_of(each.fom).text}"
    return f"{words}, {slowest:.2f} times worse than one copy alone ({each.alone.median:.4g})."


def _worse(each: Copies, value: Summary) -> float:
    lower = units.unit_of(each.fom).better is Better.LOWER
    above, below = (value.median, each.alone.median) if lower else (each.alone.median, value.median)
    return above / below if below else float("nan")


def _paint_copies(axes: Axes, found: Sequence[Copies]) -> None:
    for number, (name, part) in enumerate((("slowest copy", "slowest"), ("median copy", "median"))):
        values = [_worse(each, getattr(each, part)) for each in found]
        rows = [row + 0.2 * number - 0.1 for row in range(len(found))]
        axes.plot(
            values,
            rows,
            svg.MARKERS[number],
            color=svg.sentinel(number),
            markersize=6,
            linestyle="none",
            label=name,
        )
    axes.axvline(1, color=svg.INK, linewidth=0.9)
    svg.name_rows(axes, [svg.clean(_row_name(each)) for each in found])
    axes.margins(x=0.08)
    axes.set_xlabel("times worse than one copy alone")
    axes.set_title(COPIES_TITLE)
    axes.legend(loc="best", fontsize="small")


def _row_name(each: Copies) -> str:
    return ", ".join(
        filter(None, [units.stem(each.fom), each.combination.placement, label_text(each.labels)])
    )


def _copies_data(found: Sequence[Copies]) -> DataTable:
    numbers = ("copies", "one alone", "slowest", "median", "sum", "slowest, times worse", "launches")
    rows = [
        (
            _row_name(each),
            str(each.count),
            f"{each.alone.median:.5g}",
            f"{each.slowest.median:.5g}",
            f"{each.median.median:.5g}",
            f"{each.total.median:.5g}" if each.total else "",
            f"{_worse(each, each.slowest):.3f}",
            str(each.slowest.n),
        )
        for each in found
    ]
    return DataTable(columns=("figure of merit", *numbers), rows=rows, numbers=frozenset(numbers))
