"""Find the figures of a case: those of its benchmark first, then the ones that any case may have.

Models: each module of this kind that has a function `drawings` is a family of figures, and nothing else lists it. The
module has the name of its benchmark, or `OF_ANY_CASE` if it is for all of them. A benchmark without a family has the
general figures alone: comparisons as points with intervals, curves over hops and message size.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import ModuleType

from railyard.analysis.cases.cases import Case
from railyard.analysis.figures.drawing import Drawing, made
from railyard.base.members import modules


@functools.cache
def families() -> Mapping[str, ModuleType]:
    """Return the modules of this folder that have `drawings`, by name.

    `drawings` takes a `Case` and returns a sequence of `Drawing`, empty for a case that lacks what they need.
    """
    return modules(str(__package__), "drawings")


def of_benchmarks() -> Mapping[str, ModuleType]:
    """Return the families that are of one benchmark, by the benchmark's name with `_` for `-`."""
    return {name: module for name, module in families().items() if not hasattr(module, "OF_ANY_CASE")}


def own_drawings(case: Case) -> list[Drawing]:
    """Return the figures of the case's benchmark, then the general figures for which the case has data.

    The general figures show the message sizes of a profiled application, the impact of a load, the bytes that each of
    several NICs sent, and the cost of an image.
    """
    benchmark = case.first.case.benchmark.replace("-", "_")
    common = [name for name, module in families().items() if hasattr(module, "OF_ANY_CASE")]
    names = [*({benchmark} & of_benchmarks().keys()), *common]
    return [shown for name in names for shown in made(name, functools.partial(families()[name].drawings, case))]
