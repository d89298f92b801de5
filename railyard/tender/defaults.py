"""Read what a check measures unless its user sets something else, from the source files of the checks.

Models: assignments of plain values in a check's class and its bases, and its sizes by scale. Nothing is imported, and a
value that is computed is not known. Leaves out: which parameters a tender names (`railyard.tender.request`).
"""

from __future__ import annotations

import functools

from railyard.base import check_sources
from railyard.records.comparable import BUILD
from railyard.records.json_io import Json
from railyard.records.record import Origin

#: Parameters that set how often the same work is measured, and how a verdict is reached.
EFFORT = frozenset({"repeats", "rounds", "count", "tolerance_percent"})
#: Parameters that a tender need not name: these, and those of the build, which must be one in all records of a case.
FREE = EFFORT | BUILD
#: Parameters whose variable has another name; `sizes_bytes` is `sizes` without being listed here.
VARIABLES = {
    "pairs_per_node": "pairs",
    "size_bytes": "message_bytes",
    "tests": "test",
    "variables": "stencil_variables",
}
SCALES = ("small", "standard", "large")


@functools.lru_cache(maxsize=1024)
def value(check: str, name: str, *, scale: str = "", dimensions: int = 1) -> Json:
    """Return a check's default of a parameter or variable at a scale; None if it is not known.

    `dimensions` are those of the process grid, for which `cells` are repeated.
    """
    stem = name.rpartition("_")[0] or name
    values = (_value(check, variable, scale) for variable in (VARIABLES.get(name, name), stem))
    default = next((one for one in values if one is not None), None)
    if name == "cells" and isinstance(default, int):
        return [default] * dimensions
    return [default] if name == "tests" and isinstance(default, str) else default


def is_size(check: str, name: str) -> bool:
    """Return whether a parameter is the process grid, or a size that a check has by scale."""
    variables = {name, VARIABLES.get(name, name), name.rpartition("_")[0]}
    by_scale = (values.get(scale) or {} for values in check_sources.chain(check) for scale in SCALES)
    return name == "grid" or any(variables & sizes.keys() for sizes in by_scale)


def scale_of(origin: Origin) -> str:
    """Return the scale that a check has if its user names none."""
    return "standard" if origin is Origin.MEASURED else "small"


def _value(check: str, variable: str, scale: str) -> Json:
    """Return a variable's value: of the scale, or of the class or the nearest base that assigns one."""
    by_scale = ("large", "standard") if scale == "large" else (scale,)
    for values in check_sources.chain(check):
        for name in by_scale:
            if variable in (values.get(name) or {}):
                return values[name][variable]
    return next((values[variable] for values in check_sources.chain(check) if variable in values), None)
