"""Order a FOM over hops or message size as curves, a line per torus dimension or combination (Pena 2013, Figure 3).

Models: which series make one panel and at which size or hop count it is cut; every point keeps its launches.
Leaves out: fits, interpolation, verdicts per point. The full series stay in the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination, Observation
from railyard.analysis.cases.comparison import curve_foms, rank_of
from railyard.analysis.stats.medians import Summary
from railyard.analysis.text import size_text
from railyard.records.benchmark import Label, Labels
from railyard.records.record import COMPUTED
from railyard.records.units import Better, Fom, Unit

#: Where curves over hops are cut, if the size is there.
RATE_SIZE_BYTES = 2**20
LATENCY_SIZE_BYTES = 8
AXIS_TEXT = {
    "hops": "hops",
    "size_bytes": "message size",
    "pairs_per_node": "pairs per node",
    "extent": "N, ranks in each dimension",
}
#: What a benchmark's label `test` is called in a title, where the FOM's own name would not do.
TESTS = {"bibandwidth": "bidirectional bandwidth"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a line: its x, and the summary of the launches there."""

    x: int
    summary: Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A named line of a figure; its points are sorted by x."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes that shows `subject` over `axis`; `title` names the labels that are fixed.

    `is_exact` means that a model computed the points.
    """

    fom: Fom
    subject: str
    axis: str
    title: str
    lines: tuple[Line, ...]
    is_exact: bool = False

    @property
    def unit(self) -> Unit:
        """Unit of its y axis."""
        return self.fom.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    fom: Fom
    labels: Mapping[str, Label]
    combination: Combination
    observations: tuple[Observation, ...]


def panels(case: Case) -> list[Panel]:
    """Return the panels of a case: for each FOM with an axis, over hops and over sizes if these vary."""
    observed = cases.observations(case)
    panels = []
    for fom in sorted(curve_foms(observed), key=rank_of):
        series = sorted(_series_of(fom, observed), key=lambda part: case.combinations.index(part.combination))
        panels += [
            panel
            for axis, other in (("hops", "size_bytes"), ("size_bytes", "hops"))
            for panel in _over(case, series, axis, other)
        ]
    return panels


def _series_of(
    fom: Fom, observed: Mapping[tuple[Fom, Labels], Mapping[Combination, list[Observation]]]
) -> list[_Series]:
    return [
        _Series(fom=fom, labels=_placed(labels), combination=combination, observations=tuple(of_arm))
        for (name, labels), by_arm in observed.items()
        if name == fom
        for combination, of_arm in by_arm.items()
    ]


def _placed(labels: Labels) -> dict[str, Label]:
    """Return labels without dimension and hops if the benchmark reports that it had no coordinates."""
    named = dict(labels)
    if named.get("dimension") == "none":
        return {name: value for name, value in labels if name not in ("dimension", "hops")}
    return named


def _over(case: Case, series: Iterable[_Series], axis: str, other: str) -> list[Panel]:
    """Return panels over one axis, the other held at one value; every other label splits them."""
    split: dict[tuple[Labels, Combination | None], list[_Series]] = {}
    on_axis = [part for part in series if isinstance(part.labels.get(axis), int)]
    by_dimension = any("dimension" in part.labels for part in on_axis)
    for part in on_axis:
        rest = {name: value for name, value in part.labels.items() if name not in (axis, other, "dimension")}
        key = (cases.frozen_labels(rest), part.combination if by_dimension else None)
        split.setdefault(key, []).append(part)
    panels = [
        _panel(case, members, axis, other=other, rest=rest, combination=combination)
        for (rest, combination), members in split.items()
    ]
    return [panel for panel in panels if any(len(line.points) > 1 for line in panel.lines)]


def _panel(
    case: Case, members: list[_Series], axis: str, *, other: str, rest: Labels, combination: Combination | None
) -> Panel:
    fixed = _held(members, other)
    members = [part for part in members if part.labels.get(other) == fixed]
    lines: dict[str, list[_Series]] = {}
    for part in members:
        name = case.name(part.combination) if combination is None else str(part.labels.get("dimension", ""))
        lines.setdefault(name, []).append(part)
    named = [_fixed_text(other, fixed), *(_rest_text(name, value) for name, value in rest if name != "test")]
    if combination is not None and len(case.combinations) > 1:
        named.append(case.name(combination))
    return Panel(
        fom=members[0].fom,
        subject=_subject(members[0].fom, dict(rest)),
        axis=axis,
        title=", ".join(filter(None, named)),
        lines=tuple(Line(name=name, points=_points(part, axis)) for name, part in lines.items()),
        is_exact=case.origin in COMPUTED,
    )


def _subject(fom: Fom, rest: Mapping[str, Label]) -> str:
    test = str(rest.get("test", fom.stem))
    return TESTS.get(test, test)


def _rest_text(name: str, value: Label) -> str:
    return str(value) if name == "direction" else f"{name.replace('_', ' ')} {value}"


def _held(members: list[_Series], other: str) -> Label | None:
    """Return the value at which the other axis is held: the fewest hops, or a size.

    The size is the preferred one if it was measured, otherwise the largest, or the smallest for a latency.
    """
    values = [value for part in members if isinstance(value := part.labels.get(other), int)]
    if not values or other == "hops":
        return min(values, default=None)
    lower = members[0].fom.better is Better.LOWER
    preferred = LATENCY_SIZE_BYTES if lower else RATE_SIZE_BYTES
    if preferred in values:
        return preferred
    return min(values) if lower else max(values)


def _fixed_text(other: str, fixed: Label | None) -> str:
    if fixed is None:
        return ""
    return size_text(int(fixed)) if other == "size_bytes" else f"{fixed} hop{'' if fixed == 1 else 's'}"


def _points(members: list[_Series], axis: str) -> tuple[Point, ...]:
    points = [Point(x=int(part.labels[axis]), summary=cases.summary(part.observations)) for part in members]
    return tuple(sorted(points, key=lambda point: point.x))
