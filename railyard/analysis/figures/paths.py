"""Parallel paths: aggregate bandwidth over hops, a line for each dimension and number of paths (Pena 2013, Figure 4).

Models: a figure for each test at its largest size. Leaves out: single paths; the records keep them.
"""

from __future__ import annotations

from collections.abc import Mapping

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination
from railyard.analysis.cases.curves import TESTS, Panel
from railyard.analysis.figures import general
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.stats.medians import Summary
from railyard.analysis.text import size_text
from railyard.records import units
from railyard.records.record import COMPUTED

FOM = units.fom("aggregate_bandwidth_gbyte_s", "GB/s", "higher")
CLAIMED = frozenset({FOM, "pair_bandwidth_gbyte_s", "pair_latency_us", "mean_latency_us", "overlap_percent"})

#: Dimension and number of paths -> hops -> the summary of the launches there.
Lines = dict[tuple[str, int], dict[int, Summary]]


def drawings(case: Case) -> list[Drawing]:
    """Return a figure for each test and combination."""
    panels: dict[tuple[str, Combination], dict[int, Lines]] = {}
    for (fom, labels), by_arm in cases.observations(case).items():
        named = dict(labels)
        if fom == FOM and {"test", "size_bytes", "dimension", "paths", "hops"} <= named.keys():
            for combination, values in by_arm.items():
                by_size = panels.setdefault((str(named["test"]), combination), {})
                lines = by_size.setdefault(int(named["size_bytes"]), {})
                line = lines.setdefault((str(named["dimension"]), int(named["paths"])), {})
                line[int(named["hops"])] = cases.summary(values)
    chosen = [_panel(case, *key, by_size) for key, by_size in panels.items()]
    return [
        general.panel_drawing(panel, f"paths-{number}", statement=statement(panel), foms=CLAIMED)
        for number, panel in enumerate(chosen)
    ]


def _panel(case: Case, test: str, combination: Combination, by_size: Mapping[int, Lines]) -> Panel:
    size = max(by_size)
    return Panel(
        fom=FOM,
        subject=f"aggregate {TESTS.get(test, test)}",
        axis="hops",
        title=", ".join([size_text(size), *([case.name(combination)] if len(case.combinations) > 1 else [])]),
        lines={
            f"{dimension}, {paths} path{'' if paths == 1 else 's'}": dict(sorted(line.items()))
            for (dimension, paths), line in sorted(by_size[size].items())
        },
        is_exact=case.origin in COMPUTED,
    )


def statement(panel: Panel) -> str:
    """Return a sentence: rate of the most paths / rate of one path, for each dimension, at the fewest hops."""
    rates: dict[str, list[float]] = {}
    for name, line in panel.lines.items():
        rates.setdefault(name.partition(",")[0], []).append(next(iter(line.values())).median)
    parts = [
        f"{most / one:.2f} times as much in {dimension}"
        for dimension, (one, *others) in rates.items()
        for most in others[-1:]
        if one > 0
    ]
    return f"The most paths carry {', '.join(parts)} as one path." if parts else ""
