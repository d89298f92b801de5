"""Order a FOM over hops or message size as curves, a line per torus dimension or combination (Pena 2013, Figure 3).

Models: which series make one panel and at which size or hop count it is cut; every point keeps its launches.
Leaves out: fits, interpolation, verdicts per point. The full series stay in the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
#: A line of a figure: x -> the summary of the launches there, in order of x.
Line = Mapping[int, Summary]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes that shows `subject` over `axis`; `title` names the labels that are fixed, `lines` by name.

    `is_exact` means that a model computed the points.
    """

    fom: Fom
    subject: str
    axis: str
    title: str
    lines: Mapping[str, Line]
    is_exact: bool = False

    @property
    def unit(self) -> Unit:
        """Unit of its y axis."""
        return self.fom.unit


class _Series(NamedTuple):
    """The launches of one combination in one series of a figure."""

    labels: Mapping[str, Label]
    combination: Combination
    observations: Sequence[Observation]


def panels(case: Case) -> list[Panel]:
    """Return the panels of a case: for each FOM with an axis, over hops and over sizes if these vary."""
    observed = cases.observations(case)
    panels: list[Panel] = []
    for fom in sorted(curve_foms(observed), key=rank_of):
        series = [
            _Series(_placed(labels), combination, launches)
            for (name, labels), by_combination in observed.items()
            if name == fom
            for combination, launches in by_combination.items()
        ]
        series.sort(key=lambda part: case.combinations.index(part.combination))
        for axis, other in (("hops", "size_bytes"), ("size_bytes", "hops")):
            panels += _over(case, fom, series, axis, other=other)
    return panels


def _placed(labels: Labels) -> dict[str, Label]:
    """Return labels without dimension and hops if the benchmark reports that it had no coordinates."""
    named = dict(labels)
    if named.get("dimension") == "none":
        return {name: value for name, value in labels if name not in ("dimension", "hops")}
    return named


def _over(case: Case, fom: Fom, series: Iterable[_Series], axis: str, *, other: str) -> Iterator[Panel]:
    """Yield panels over one axis, the other held at one value; every other label splits them."""
    split: dict[tuple[Labels, Combination | None], list[_Series]] = {}
    on_axis = [part for part in series if isinstance(part.labels.get(axis), int)]
    by_dimension = any("dimension" in part.labels for part in on_axis)
    for part in on_axis:
        others = {name: value for name, value in part.labels.items() if name not in (axis, other, "dimension")}
        key = (cases.frozen_labels(others), part.combination if by_dimension else None)
        split.setdefault(key, []).append(part)
    for (labels, combination), members in split.items():
        held = _held([value for part in members if isinstance(value := part.labels.get(other), int)], other, fom)
        lines: dict[str, dict[int, Summary]] = {}
        for part in members:
            if part.labels.get(other) == held:
                line = case.name(part.combination) if combination is None else str(part.labels.get("dimension", ""))
                lines.setdefault(line, {})[int(part.labels[axis])] = cases.summary(part.observations)
        if max(map(len, lines.values()), default=0) < 2:
            continue
        rest = dict(labels)
        subject = str(rest.pop("test", fom.stem))
        named = [
            str(value) if name == "direction" else f"{name.replace('_', ' ')} {value}" for name, value in rest.items()
        ]
        if held is not None:
            named.insert(0, size_text(held) if other == "size_bytes" else f"{held} hop{'' if held == 1 else 's'}")
        if combination is not None and len(case.combinations) > 1:
            named.append(case.name(combination))
        yield Panel(
            fom=fom,
            subject=TESTS.get(subject, subject),
            axis=axis,
            title=", ".join(named),
            lines={name: dict(sorted(summaries.items())) for name, summaries in lines.items()},
            is_exact=case.origin in COMPUTED,
        )


def _held(values: Sequence[int], other: str, fom: Fom) -> int | None:
    """Return the value at which the other axis is held: the fewest hops, or a size; None without one.

    The size is the preferred one if it was measured, otherwise the largest, or the smallest for a latency.
    """
    if not values or other == "hops":
        return min(values, default=None)
    is_lower = fom.better is Better.LOWER
    preferred = LATENCY_SIZE_BYTES if is_lower else RATE_SIZE_BYTES
    return preferred if preferred in values else min(values) if is_lower else max(values)
