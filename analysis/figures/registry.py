"""Which figures a case has: those of its benchmark first, then the general ones of all that is left.

Models: a benchmark's figures are made by `drawings` in the module of this folder with the benchmark's name. A benchmark
without one has the general figures: comparisons as points with intervals, curves over hops and message size.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.cases.cases import Case
from analysis.figures import applications, beside, nics, overhead
from analysis.figures.drawing import Drawing

#: Modules of this folder that are no benchmark's: figures of any case, of several cases, and how figures are made.
SHARED = frozenset(
    {
        "__init__",
        "applications",
        "beside",
        "by_extent",
        "drawing",
        "general",
        "mpi_profile",
        "nics",
        "overhead",
        "registry",
        "render_all",
        "scales",
        "svg",
    }
)


def _figures() -> Mapping[str, str]:
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    return {name: f"{__package__}.{name}:drawings" for name in names if name not in SHARED}


#: Benchmark -> `module:function`; the function takes a `Case` and returns a sequence of `Drawing`, empty when the
#: case lacks what they need. Modules are imported when first needed.
FIGURES = dict(_figures())


def own_drawings(case: Case) -> list[Drawing]:
    """Return the figures of the case's benchmark, then those that any case has if it has what they show.

    These are the impact of a load, the sizes of a profiled application's messages, what an image costs, and what each
    of several NICs sent.
    """
    common = [
        *beside.drawings(case),
        *applications.drawings(case),
        *overhead.drawings(case),
        *nics.drawings(case),
    ]
    place = FIGURES.get(case.first.case.benchmark.replace("-", "_"))
    if place is None:
        return common
    module, _, function = place.partition(":")
    made: Sequence[Drawing] = getattr(importlib.import_module(module), function)(case)
    return [*made, *common]


def claimed(own: Sequence[Drawing]) -> frozenset[str]:
    """The figures of merit that a benchmark's own figures take over."""
    return frozenset[str]().union(*(each.foms for each in own))
