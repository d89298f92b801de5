"""Draw contention: the sum of all pairs' rates and the slowest pair's latency, over the pairs per node.

Models: a figure for each test and size, a line for each placement and NIC policy; rounds are taken together. Leaves
out: single pairs; the records keep them.
"""

from __future__ import annotations

from dataclasses import replace

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination, Observation
from railyard.analysis.cases.curves import TESTS, Line, Panel, Point
from railyard.analysis.figures import general
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.text import size_text
from railyard.records import units
from railyard.records.record import COMPUTED
from railyard.records.units import Fom

AGGREGATE = units.fom("aggregate_bandwidth_gbyte_s", "GB/s", "higher")
SLOWEST = units.fom("slowest_latency_us", "us", "lower")
CLAIMED = frozenset(
    {AGGREGATE, SLOWEST, "pair_bandwidth_gbyte_s", "pair_latency_us", "mean_latency_us", "overlap_percent"}
)
AXIS = "pairs_per_node"

#: FOM, test and size of a panel.
Key = tuple[Fom, str, int]
#: The values of each combination at each number of pairs.
Values = dict[Combination, dict[int, list[Observation]]]


def drawings(case: Case) -> list[Drawing]:
    """Return a figure for each test at its largest size; latency at its smallest."""
    by_panel = _values(case)
    chosen: dict[tuple[Fom, str], int] = {}
    for fom, test, size in sorted(by_panel, key=lambda key: key[2] if key[0] == AGGREGATE else -key[2]):
        chosen[fom, test] = size
    panels = [
        _panel(case, fom, test, size=size, values=by_panel[fom, test, size])
        for (fom, test), size in sorted(chosen.items())
    ]
    return [
        replace(general.panel_drawing(panel, f"contention-{number}"), statement=general.ends(panel), foms=CLAIMED)
        for number, panel in enumerate(panels)
    ]


def _values(case: Case) -> dict[Key, Values]:
    by_panel: dict[Key, Values] = {}
    for (fom, labels), by_arm in cases.observations(case).items():
        named = dict(labels)
        if fom not in (AGGREGATE, SLOWEST) or not {"test", "size_bytes", AXIS} <= named.keys():
            continue
        for combination, values in by_arm.items():
            of_key = by_panel.setdefault((fom, str(named["test"]), int(named["size_bytes"])), {})
            of_key.setdefault(combination, {}).setdefault(int(named[AXIS]), []).extend(values)
    return by_panel


def _panel(case: Case, fom: Fom, test: str, *, size: int, values: Values) -> Panel:
    subject = "latency of the slowest pair" if fom == SLOWEST else f"aggregate {TESTS.get(test, test)}"
    return Panel(
        fom=fom,
        subject=subject,
        axis=AXIS,
        title=size_text(size),
        lines=tuple(
            Line(
                name=case.name(combination),
                points=tuple(Point(x=x, summary=cases.summary(of)) for x, of in sorted(values[combination].items())),
            )
            for combination in case.combinations
            if combination in values
        ),
        is_exact=case.origin in COMPUTED,
    )
