"""Define the ReFrame variables that every check has, from the fields of a job's specification.

A variable's text, type and default are those of the field (railyard/jobs/job/spec.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import variable
from reframe.core.meta import make_test

from railyard.jobs.job import spec

#: ReFrame's type for each type of a field; it parses the value of `-S`.
TYPES = {
    str: str,
    int: int,
    bool: typ.Bool,
    tuple[str, ...]: typ.List[str],
    tuple[int, ...]: typ.List[int],
    Mapping[str, Any]: dict,
}
KNOBS = tuple(name for name, _, _ in spec.variables())

Knobs: Any = make_test(
    "Knobs",
    (rfm.RunOnlyRegressionTest,),
    {name: variable(TYPES[kind], **given) for name, kind, given in spec.variables()},
)
