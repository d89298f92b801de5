"""Which figures a case has: those of its benchmark first, then the general ones of all that is left.

Models: a table from the benchmark's name to the function that makes its figures. A benchmark without an entry has
the general figures: comparisons as points with intervals, curves over hops and message size.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from analysis.cases.cases import Case
from analysis.figures import nics, overhead
from analysis.figures.drawing import Drawing

#: Benchmark -> `module:function`; the function takes a `Case` and returns a sequence of `Drawing`, empty when the
#: case lacks what they need. Modules are `analysis/figures_<benchmark>.py` and are imported when first needed.
FIGURES: dict[str, str] = {
    **dict.fromkeys(("amg", "lulesh", "minife", "minighost"), "analysis.figures.applications:drawings"),
    "contention": "analysis.figures.contention:drawings",
    "halo": "analysis.figures.halo:drawings",
    "paths": "analysis.figures.paths:drawings",
    "rowcol": "analysis.figures.rowcol:drawings",
    "sonar": "analysis.figures.sonar:drawings",
    "topobw": "analysis.figures.topobw:drawings",
}


def own_drawings(case: Case) -> list[Drawing]:
    """The figures that the case's benchmark brings along, what an image costs where the case has both, and what each
    NIC carried where there are several.
    """
    common = [*overhead.drawings(case), *nics.drawings(case)]
    place = FIGURES.get(case.first.case.benchmark)
    if place is None:
        return common
    module, _, function = place.partition(":")
    made: Sequence[Drawing] = getattr(importlib.import_module(module), function)(case)
    return [*made, *common]


def claimed(own: Sequence[Drawing]) -> frozenset[str]:
    """The figures of merit that a benchmark's own figures take over."""
    return frozenset[str]().union(*(each.foms for each in own))
