"""Draw contention: the sum of all pairs' rates and the slowest pair's latency, over the pairs per node.

Models: a figure for each test and size, a line for each placement and NIC policy; rounds are taken together. Leaves
out: single pairs; the records keep them.
"""

from __future__ import annotations

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination, Observation
from railyard.analysis.cases.curves import TESTS, Panel
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
    by_panel: dict[Key, Values] = {}
    for (fom, labels), by_arm in cases.observations(case).items():
        named = dict(labels)
        if fom in (AGGREGATE, SLOWEST) and {"test", "size_bytes", AXIS} <= named.keys():
            values = by_panel.setdefault((fom, str(named["test"]), int(named["size_bytes"])), {})
            for combination, observed in by_arm.items():
                values.setdefault(combination, {}).setdefault(int(named[AXIS]), []).extend(observed)
    by_size = sorted(by_panel, key=lambda key: key[2] if key[0] == AGGREGATE else -key[2])
    chosen = {key[:2]: key for key in by_size}  # the last one of each test
    panels = [_panel(case, key, by_panel[key]) for _, key in sorted(chosen.items())]
    return [
        general.panel_drawing(panel, f"contention-{number}", statement=general.ends(panel), foms=CLAIMED)
        for number, panel in enumerate(panels)
    ]


def _panel(case: Case, key: Key, values: Values) -> Panel:
    fom, test, size = key
    return Panel(
        fom=fom,
        subject="latency of the slowest pair" if fom == SLOWEST else f"aggregate {TESTS.get(test, test)}",
        axis=AXIS,
        title=size_text(size),
        lines={
            case.name(combination): {x: cases.summary(of) for x, of in sorted(values[combination].items())}
            for combination in case.combinations
            if combination in values
        },
        is_exact=case.origin in COMPUTED,
    )
