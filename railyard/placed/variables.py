"""Make ReFrame's variables from the fields of a job's specification (railyard/jobs/job/spec.py).

A variable's text, type and default are those of the field. `PLACED` are the variables of the mixin: what a test of
others may set. Their names are few, because ReFrame refuses a test whose bases share a variable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from railyard.jobs.job import spec

PLACED: Collection[str] = (
    *("placements", "nics", "launches", "nodes", "allocation", "grid"),
    *("launch_limit_s", "seed", "challenge", "finishes", "archive"),
)
#: What has no value in a test of others until somebody sets it, because one of the test's own takes its place.
UNSET = ("launch_limit_s",)
#: ReFrame's type for each type of a field; it parses the value of `-S`.
TYPES = {
    str: str,
    int: int,
    bool: typ.Bool,
    tuple[str, ...]: typ.List[str],
    tuple[int, ...]: typ.List[int],
    Mapping[str, Any]: dict,
}


def define_placed(namespace: dict[str, Any]) -> None:
    """Put the variables of the mixin into a class's namespace."""
    for name, kind, given in spec.variables():
        if name in PLACED:
            namespace[name] = variable(TYPES[kind], **({} if name in UNSET else given))


def define_others(namespace: dict[str, Any]) -> None:
    """Put the other variables into the namespace of a class that derives from the mixin, with values of the unset."""
    for name, kind, given in spec.variables():
        if name not in PLACED:
            namespace[name] = variable(TYPES[kind], **given)
        elif name in UNSET:
            namespace[name] = given["value"]
