"""Where a halo exchange spends its time: packing, posting, waiting, unpacking, for each variant and combination.

Models: one figure of stacked bars, each part the median over launches of the slowest rank's time, so that a bar need
not be as long as the iteration. Leaves out: the comparison of iterations, which is a general figure.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination
from railyard.analysis.figures import painting
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.text import DataTable
from railyard.records import units

WAIT = units.fom("wait_us", "us", "lower")
PARTS = ("pack", "post", "wait", "unpack")
_ROW_IN = 0.42
#: If one part is this share of an iteration in every row, there is nothing to draw.
_ALL = 0.9

#: The median of each part, in microseconds; posting is the time of the exchange without that of waiting.
Parts = dict[str, float]


def drawings(case: Case) -> list[Drawing]:
    """Return one figure if the records have the time of waiting, and more than that."""
    medians: dict[tuple[str, Combination], dict[str, float]] = {}
    for (fom, labels), by_arm in cases.observations(case).items():
        if set(dict(labels)) <= {"variant"}:
            for combination, values in by_arm.items():
                key = str(dict(labels).get("variant", "")), combination
                medians.setdefault(key, {})[fom] = cases.summary(values).median
    timed = [key for key in medians if "wait_us" in medians[key]]
    rows: dict[str, Parts] = {}
    for variant, combination in sorted(timed, key=lambda key: case.combinations.index(key[1])):
        names = [variant, case.name(combination) if len(case.combinations) > 1 or not variant else ""]
        of = medians[variant, combination]
        rows[": ".join(filter(None, names))] = {
            "pack": of.get("pack_us", 0.0),
            "post": max(0.0, of["exchange_us"] - of["wait_us"]),
            "wait": of["wait_us"],
            "unpack": of.get("unpack_us", 0.0),
        }
    if all(max(parts.values()) >= _ALL * sum(parts.values()) for parts in rows.values()):
        return []
    title = "Where the time of an iteration goes"
    sentences = "; ".join(
        f"{name} {', '.join(f'{p} {v:,.{0 if v >= 1000 else 1}f}' for p, v in parts.items())}"
        for name, parts in rows.items()
    )
    columns = ("combination", *(f"{part} ({WAIT.unit.text})" for part in PARTS))
    numbers = [(name, *(f"{parts[part]:.1f}" for part in PARTS)) for name, parts in rows.items()]
    return [
        Drawing(
            name="halo-parts",
            title=title,
            description=f"{title}, medians in {WAIT.unit.text}: {sentences}.",
            paint=lambda figure: _paint(figure, title, rows),
            data=DataTable(columns=columns, rows=numbers, numbers=frozenset(columns[1:])),
            height_in=1.45 + _ROW_IN * len(rows),
        )
    ]


def _paint(figure: Figure, title: str, rows: dict[str, Parts]) -> None:
    lengths = {part: [parts[part] for parts in rows.values()] for part in PARTS}
    axes = painting.stacked_bars(figure, list(rows), lengths, alphas=(0.85,))
    painting.name_axis(axes.xaxis, WAIT)
    axes.set_title(title)
