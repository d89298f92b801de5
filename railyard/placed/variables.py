"""Make ReFrame's variables from the fields of a job's specification (railyard/jobs/job/spec.py).

A variable's text, type and default are those of the field. `PLACED` are the variables of the mixin: what a test of
others may set. Their names are few, because ReFrame refuses a test whose bases share a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from railyard.jobs.job import spec

PLACED: Collection[str] = (
    *("placements", "nics", "launches", "nodes", "allocation", "grid"),
    *("launch_limit_s", "seed", "challenge", "finishes", "archive"),
)
#: ReFrame's type for each type of a field; it parses the value of `-S`.
TYPES = {
    str: str,
    int: int,
    bool: typ.Bool,
    tuple[str, ...]: typ.List[str],
    tuple[int, ...]: typ.List[int],
    Mapping[str, Any]: dict,
}


def define(*, names: Collection[str] = (), but: Collection[str] = ()) -> Callable[[dict[str, Any]], None]:
    """Return what puts variables into a class's namespace: those of `names`, or all `but` some."""

    def body(namespace: dict[str, Any]) -> None:
        for name, kind, given in spec.variables():
            if name in names if names else name not in but:
                namespace[name] = variable(TYPES[kind], **given)

    return body
