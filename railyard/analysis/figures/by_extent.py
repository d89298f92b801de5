"""Draw curves over the extent of the grid: Peña et al., EuroMPI'13, Figure 6, of cases that differ in size alone.

Models: cases of one check on one machine and one build whose grids are squares or cubes of several sizes; a line for
each combination, the first figure of merit of the check. Leaves out: grids with unequal extents, and any ranking: each
size has its own comparison in its own case.
"""

from __future__ import annotations

from collections.abc import Sequence

from railyard.analysis.cases import comparison
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.curves import Panel
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.cases.titles import TIMES
from railyard.analysis.figures import general
from railyard.analysis.figures.drawing import Drawing
from railyard.analysis.stats.medians import Summary
from railyard.analysis.text import percent
from railyard.records import comparable, json_io
from railyard.records.json_io import Json
from railyard.records.record import COMPUTED

#: What of a check's request its sizes share.
_ASKED = frozenset({"benchmark", "check", "nic_policies", "placements", "software"})
#: The ranks along a dimension, the case, its first comparison.
Member = tuple[int, Case, Comparison]


def drawings_of_cases(judged: Sequence[tuple[Case, Sequence[Comparison]]]) -> list[Drawing]:
    """Return a figure for each family of cases, which differ in their extent alone, with two sizes at least.

    `judged` are cases with their comparisons, in the page's order.
    """
    families: dict[str, dict[int, Member]] = {}
    for case, comparisons in judged:
        extent = _extent(case)
        if extent and comparisons:
            families.setdefault(_key(case), {})[extent] = extent, case, comparisons[0]
    by_extent = [[members[extent] for extent in sorted(members)] for members in families.values() if len(members) > 1]
    return [
        general.panel_drawing(_panel(members), f"extent-{number}", statement=_statement(members))
        for number, members in enumerate(by_extent, 1)
    ]


def _extent(case: Case) -> int:
    """Return the ranks along each dimension of a square or cubic grid; 0 for any other."""
    grid = case.first.case.parameters.get("grid")
    if not isinstance(grid, list) or len(grid) < 2 or any(type(side) is not int for side in grid):
        return 0
    first: int = grid[0]
    return first if grid == [first] * len(grid) else 0


def _key(case: Case) -> str:
    """Return what the cases of a family share: all that records of one case do, but for size and nodes.

    Of a checkout with changes the code may differ from run to run, so the run is part of the key.
    """
    record, parameters = case.first, case.first.case.parameters
    cells, run = parameters.get("cells"), record.provenance["reframe"]
    is_clean = record.provenance["railyard"]["git_dirty"] is False
    parts: dict[str, Json] = {
        **comparable.pool(record),
        "case": {name: part for name, part in record.document["case"].items() if name in _ASKED},
        "topology": record.case.topology and record.case.topology.sha256,
        "parameters": {
            **{name: part for name, part in parameters.items() if name not in {"grid", "cells"}},
            "dimensions": len(parameters["grid"]),
            "cells": cells[:1] if isinstance(cells, list) else cells,
        },
        "run": "" if is_clean else run["session"] if run else record.sha256,
    }
    return json_io.canonical(parts)


def _panel(members: Sequence[Member]) -> Panel:
    _, first, compared = members[0]
    lines: dict[str, dict[int, Summary]] = {}
    for extent, _, judged in members:
        for group in judged.groups:
            if group.summary:
                lines.setdefault(group.name, {})[extent] = group.summary
    grid = f" {TIMES} ".join("N" * len(first.first.case.parameters["grid"]))
    return Panel(
        fom=compared.fom,
        subject=f"{first.first.case.benchmark}, {comparison.title(compared)}",
        axis="extent",
        title=", ".join([f"grid {grid}", str(first.origin)]),
        lines=lines,
        is_exact=first.origin in COMPUTED,
    )


def _statement(members: Sequence[Member]) -> str:
    """Return what changed to the baseline at the size where it is most; of equals, the largest."""

    def most_percent(member: Member) -> tuple[float, int]:
        return max((round(abs(change), 1) for _, change in _changes(member[2])), default=0.0), member[0]

    extent, _, widest = max(members, key=most_percent)
    changes = [f"{percent(change)} for {name}" for name, change in _changes(widest)]
    where = f"At extent {extent}, where changes are largest, the change from {widest.baseline}"
    return f"{where} is {', '.join(changes)}." if changes else ""


def _changes(compared: Comparison) -> list[tuple[str, float]]:
    return [
        (group.name, group.change_percent)
        for group in compared.groups
        if group.change_percent is not None and group.name != compared.baseline
    ]
