"""Select the points of a combination at which regressions are detected: ReFrame's performance variables.

Models: a figure of merit without labels is one variable. One with labels and a better direction is watched at the ends
of its curves. A curve consists of the points with equal textual labels (test, dimension, pattern). Its ends are the
smallest and the largest value of each numeric label (hops, message size), and 8 KiB, where eager messages end. All
figures with labels share 16 variables. A figure with more ends than its share has two variables instead, or two per
class of link if points have one: the geometric mean over its points, and its worst point. Leaves out: all other
points, which stay in the record.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence

from railyard.records.benchmark import Label, Labels
from railyard.records.units import Better, Fom

#: The most variables, per combination, of all figures of merit with labels.
MOST = 16
MIDDLE_BYTES = 8192
SIZE = "size_bytes"
#: The label whose values have a summary each, because links of different classes have different rates.
CLASS = "class"
#: The character that separates the figure of merit from the point in a variable's name.
POINT = "@"

#: Words for signs, because ReFrame's httpjson replaces all characters but letters and digits by the same one.
SIGNS = {"+": "plus", "-": "minus"}

#: Point -> the value of each launch of a combination there.
Points = Mapping[Labels, Sequence[float]]


def variables(values: Mapping[tuple[Fom, Labels], Sequence[float]]) -> dict[Fom, list[float]]:
    """Return variable -> a value for each launch, from (figure of merit, labels) -> a value for each launch.

    A variable has unit and direction of its figure. A point that any launch lacks is left out.
    """
    launches = max(map(len, values.values()), default=0)
    points: dict[Fom, dict[Labels, Sequence[float]]] = {}
    for (fom, labels), of_launches in values.items():
        if len(of_launches) == launches and (not labels or fom.better is not Better.NEITHER):
            points.setdefault(fom, {})[labels] = of_launches
    labelled = sum(any(of_fom) for of_fom in points.values())
    share = max(1, MOST // max(1, labelled))
    return {
        name: list(of_launches)
        for fom, of_fom in points.items()
        for name, of_launches in _of_figure(fom, of_fom, share).items()
    }


def figure(variable: str) -> str:
    """Return the figure of merit in a variable's name, which may begin with a combination: `plain/latency_us@8B`."""
    return variable.rpartition("/")[2].partition(POINT)[0]


def _of_figure(fom: Fom, points: Points, share: int) -> dict[Fom, Sequence[float]]:
    ends = _ends(points)
    if len(ends) <= share:
        return {_name(fom, labels): points[labels] for labels in ends}
    classes = sorted({_class(labels) for labels in points})
    if 2 * len(classes) > share:
        return _summary(fom, points.values(), has_worst=share > 1)
    summaries: dict[Fom, Sequence[float]] = {}
    for link_class in classes:
        of_class = [of_launches for labels, of_launches in points.items() if _class(labels) == link_class]
        summaries |= _summary(_name(fom, ((CLASS, link_class),) if link_class else ()), of_class)
    return summaries


def _class(labels: Labels) -> str:
    return str(dict(labels).get(CLASS, ""))


def _summary(name: Fom, points: Iterable[Sequence[float]], *, has_worst: bool = True) -> dict[Fom, Sequence[float]]:
    """Return variable -> a value per launch, for the geometric mean over some points and the worst of them."""
    launches = list(zip(*points, strict=True))
    mark = "," if POINT in name else POINT
    summary: dict[Fom, Sequence[float]] = {
        name.named(f"{name}{mark}mean"): [_mean(of_launch) for of_launch in launches]
    }
    worst = max if name.better is Better.LOWER else min
    return summary | ({name.named(f"{name}{mark}worst"): list(map(worst, launches))} if has_worst else {})


def _mean(values: Sequence[float]) -> float:
    """Return the geometric mean, or the median if a value is not above 0."""
    return statistics.geometric_mean(values) if min(values) > 0 else statistics.median(values)


def _ends(points: Points) -> list[Labels]:
    """Return the labels of the points that are an end of their curve in every numeric label."""
    curves: dict[Labels, list[Labels]] = {}
    for labels in points:
        curve = tuple((name, value if isinstance(value, str) else "") for name, value in labels)
        curves.setdefault(curve, []).append(labels)
    at_ends: list[Labels] = []
    for of_curve in curves.values():
        ends: list[set[Label]] = []
        for of_name in zip(*of_curve, strict=True):
            numbers = [value for _, value in of_name if isinstance(value, int)]
            middle = [MIDDLE_BYTES] if of_name[0][0] == SIZE else []
            ends.append({min(numbers), max(numbers), *middle} if numbers else {of_name[0][1]})
        pairs = ((labels, zip(labels, ends, strict=True)) for labels in of_curve)
        at_ends += [labels for labels, allowed in pairs if all(value in of for (_, value), of in allowed)]
    return at_ends


def _name(fom: Fom, labels: Labels) -> Fom:
    """Return a variable's name, textual labels before numeric ones, without colons, at which ReFrame splits names."""
    in_order = sorted(labels, key=lambda label: isinstance(label[1], int))
    return fom.named(f"{fom}{POINT}{','.join(map(_word, in_order))}") if labels else fom


def _word(label: tuple[str, Label]) -> str:
    name, value = label
    if name == SIZE:
        return f"{value}B"
    if isinstance(value, int):
        return f"{name}={value}"
    return SIGNS.get(value) or re.sub(r"[^A-Za-z0-9.-]+", "-", value)
