"""Draw the cost of a container: how the first figures of merit and the launch time change from native to image.

Models: the pair of launches that one round made with the same placement and NIC policy, so that drift of the machine
meets both; the change of each figure of merit (FOM) from native to image in percent, and its median with an interval. A
FOM with several points (sizes, hops) has one change per pair, the geometric mean over its points. The whole launch's
time counts as a FOM. The drawing shows only the first FOMs; its table of numbers has all of them. Leaves out: what the
change comes from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination, Observation
from railyard.analysis.cases.comparison import rank_of
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.figures.general import SHOWN_FOMS
from railyard.analysis.stats.medians import Summary
from railyard.analysis.text.numbers import percent
from railyard.records import units
from railyard.records.benchmark import Labels
from railyard.records.record import Launch, Software
from railyard.records.store.entries import launch_values
from railyard.records.units import Fom

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
TITLE = "Image against native"
_ROW_IN = 0.42

#: The whole launch, from its line in the job script to its end, as a figure of merit.
LAUNCH = units.fom("launch_s", "s", "lower")

#: A launch's values: (FOM, labels) -> value.
_Values = Mapping[tuple[Fom, Labels], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """The change of one FOM from native to image, in percent, for one placement and NIC policy; pairs in order."""

    fom: Fom
    combination: Combination
    changes_percent: tuple[float, ...]
    summary: Summary


def overheads(case: Case) -> list[Overhead]:
    """Return the changes of all FOMs for which some pair has both values; first those that the page shows first."""
    by_fom: dict[tuple[Fom, Combination], list[Observation]] = {}
    for job, native, image in _pairs(case):
        for fom, change in _changes(native, image):
            of_fom = by_fom.setdefault((fom, cases.combination_of(image)), [])
            of_fom.append(Observation(value=change, job=job))
    rows = [
        Overhead(
            fom=fom,
            combination=combination,
            changes_percent=tuple(change.value for change in changes),
            summary=cases.summary(changes),
        )
        for (fom, combination), changes in by_fom.items()
    ]
    return sorted(rows, key=lambda row: (row.fom == LAUNCH, rank_of(row.fom)[0]))


def _pairs(case: Case) -> Iterator[tuple[str, Launch, Launch]]:
    """Yield the job, native and image of each round in which both are results."""
    natives: dict[tuple[str, str, str, int], Launch] = {}
    for wanted in (Software.NATIVE, Software.IMAGE):
        for record, launch in cases.launches(case):
            key = (record.sha256, launch.placement, launch.nic_policy, launch.repeat)
            if launch.software is not wanted or not launch.is_result:
                continue
            if wanted is Software.NATIVE:
                natives[key] = launch
            elif key in natives:
                yield record.job, natives[key], launch


def _changes(native: Launch, image: Launch) -> Iterator[tuple[Fom, float]]:
    before, after = launch_values(native), launch_values(image)
    for fom in dict.fromkeys(fom for fom, _ in before):
        if ratios := _ratios(fom, before, after):
            yield fom, 100 * (math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) - 1)
    if native.elapsed_s and image.elapsed_s:
        yield LAUNCH, 100 * (image.elapsed_s / native.elapsed_s - 1)


def _ratios(fom: Fom, before: _Values, after: _Values) -> list[float]:
    """Return after over before at every point that both have; values without a ratio are left out."""
    return [
        after[key] / value
        for key, value in before.items()
        if key[0] == fom and value > 0 and after.get(key, 0.0) > 0
    ]


def drawings(case: Case) -> list[Drawing]:
    """Return the figure of a case that ran both; nothing for any other."""
    rows = overheads(case)
    if not rows:
        return []
    foms = [*dict.fromkeys(row.fom for row in rows if row.fom != LAUNCH)][:SHOWN_FOMS]
    shown = [row for row in rows if row.fom in {*foms, LAUNCH}]
    return [
        Drawing(
            name="overhead",
            title=TITLE,
            description=f"{TITLE}, change in percent over pairs of launches. {statement(shown)}",
            paint=lambda figure: _paint(figure.subplots(), shown),
            data=_data(rows),
            height_in=1.15 + _ROW_IN * len(shown),
            statement=statement(shown),
        )
    ]


def statement(rows: Sequence[Overhead]) -> str:
    """Return each change with its interval; columns name the better direction."""
    return (
        f"From native to image {'; '.join(f'{_name(rows, row)} changes by {_value(row)}' for row in rows)}."
    )


def _name(rows: Sequence[Overhead], row: Overhead) -> str:
    """Return the FOM, and what distinguishes its rows if it has several."""
    combinations = {other.combination for other in rows}
    differs = [
        getattr(row.combination, part)
        for part in ("placement", "nic_policy")
        if len({getattr(other, part) for other in combinations}) > 1
    ]
    return ", ".join([row.fom.stem, *differs])


def _value(row: Overhead) -> str:
    interval = row.summary.interval
    if interval is None:
        return f"{percent(row.summary.median)} (n = {row.summary.n}: no interval)"
    between = f"95 % interval {percent(interval.low)} to {percent(interval.high)} of {interval.of}"
    return f"{percent(row.summary.median)} ({between}, n = {row.summary.n})"


def _paint(axes: Axes, shown: Sequence[Overhead]) -> None:
    for row, change in enumerate(shown):
        colour = svg.sentinel(0)
        axes.plot(change.changes_percent, [row + 0.22] * change.summary.n, ".", color=colour, alpha=0.55)
        if change.summary.interval:
            ends = [change.summary.interval.low, change.summary.interval.high]
            axes.plot(ends, [row, row], "-", color=colour, linewidth=2.2)
        axes.plot([change.summary.median], [row], svg.MARKERS[0], color=colour, markersize=7)
    painting.name_rows(axes, [_name(shown, change) for change in shown], baseline=0)
    painting.few_ticks(axes)
    axes.set_xlabel("change from native to image, %")
    axes.set_title(TITLE)


def _data(rows: Sequence[Overhead]) -> DataTable:
    columns = ("figure of merit", "better", "placement", "NIC policy", "change (%)", "low", "high", "n")
    return DataTable(columns=columns, rows=[_row(row) for row in rows], numbers=frozenset(columns[4:]))


def _row(row: Overhead) -> tuple[str, ...]:
    interval, combination = row.summary.interval, row.combination
    ends = (interval.low, interval.high) if interval else ()
    return (
        row.fom.stem,
        str(row.fom.better),
        combination.placement,
        combination.nic_policy,
        f"{row.summary.median:.2f}",
        *(f"{end:.2f}" for end in ends),
        *(() if ends else ("", "")),
        str(row.summary.n),
    )
