"""Parallel paths: aggregate bandwidth over hops, a line for each dimension and number of paths (Pena 2013, Figure 4).

Models: a figure for each test at its largest size. Leaves out: single paths; the records keep them.
"""

from __future__ import annotations

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination
from railyard.analysis.cases.curves import TESTS, Line, Panel, Point
from railyard.analysis.figures import general
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.text import size_text
from railyard.records import units
from railyard.records.record import COMPUTED

FOM = units.fom("aggregate_bandwidth_gbyte_s", "GB/s", "higher")
CLAIMED = frozenset({FOM, "pair_bandwidth_gbyte_s", "pair_latency_us", "mean_latency_us", "overlap_percent"})

#: Test, size and combination of a panel; dimension and paths of a line.
PanelKey = tuple[str, int, Combination]
LineKey = tuple[str, int]


def drawings(case: Case) -> list[Drawing]:
    """Return a figure for each test and combination."""
    panels: dict[PanelKey, dict[LineKey, list[Point]]] = {}
    for (fom, labels), by_arm in cases.observations(case).items():
        named = dict(labels)
        if fom == FOM and {"test", "size_bytes", "dimension", "paths", "hops"} <= named.keys():
            for combination, values in by_arm.items():
                panel = panels.setdefault((str(named["test"]), int(named["size_bytes"]), combination), {})
                line = panel.setdefault((str(named["dimension"]), int(named["paths"])), [])
                line.append(Point(x=int(named["hops"]), summary=cases.summary(values)))
    largest: dict[tuple[str, Combination], int] = {}
    for test, size, combination in panels:
        largest[test, combination] = max(size, largest.get((test, combination), 0))
    chosen = [
        _panel(case, (test, size, combination), panels[test, size, combination])
        for (test, combination), size in largest.items()
    ]
    return [
        general.panel_drawing(panel, f"paths-{number}", statement=statement(panel), foms=CLAIMED)
        for number, panel in enumerate(chosen)
    ]


def _panel(case: Case, key: PanelKey, lines: dict[LineKey, list[Point]]) -> Panel:
    test, size, combination = key
    fixed = [size_text(size)] + ([case.name(combination)] if len(case.combinations) > 1 else [])
    return Panel(
        fom=FOM,
        subject=f"aggregate {TESTS.get(test, test)}",
        axis="hops",
        title=", ".join(fixed),
        lines=tuple(
            Line(
                name=f"{dimension}, {paths} path{'' if paths == 1 else 's'}",
                points=tuple(sorted(points, key=lambda point: point.x)),
            )
            for (dimension, paths), points in sorted(lines.items())
        ),
        is_exact=case.origin in COMPUTED,
    )


def statement(panel: Panel) -> str:
    """Return a sentence: rate of the most paths / rate of one path, for each dimension, at the fewest hops."""
    by_dimension: dict[str, list[Line]] = {}
    for line in panel.lines:
        by_dimension.setdefault(line.name.partition(",")[0], []).append(line)
    parts = [
        f"{most.points[0].summary.median / one.points[0].summary.median:.2f} times as much in {dimension}"
        for dimension, (one, *_, most) in ((d, ls) for d, ls in by_dimension.items() if len(ls) > 1)
        if one.points[0].summary.median > 0
    ]
    return f"The most paths carry {', '.join(parts)} as one path." if parts else ""
