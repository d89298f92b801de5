"""Read which figures of merit a record leaves on trust, by benchmark: the table that `python -m perf forgeries` writes.

A figure is in the table if the strict check accepted a change of 5 % or more in an honest record. Leaves out: fields
besides figures (docs/tender.md).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from railyard.base import yaml_io
from railyard.base.checkout import CHECKOUT

FORMAT = "railyard-trust/1"
PATH = CHECKOUT / "results/trust.yml"
#: What is changed: one sample of a figure, all of one launch, all of all launches.
SCOPES = ("sample", "launch", "launches")
#: The name for all figures at once: times and rates scaled by one factor.
TOGETHER = "all together"


@functools.cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = yaml_io.read(PATH)
    return table


def changes() -> tuple[int, int]:
    """Return how many changes the run made, and how many the strict check refused."""
    table = _table()
    return int(table["made"]), int(table["refused"])


def free(benchmark: str) -> Mapping[str, Sequence[str]] | None:
    """Return scope -> figures that nothing else determines; None for a benchmark without a record in the run.

    A benchmark of several records has the figures of all of them.
    """
    own = [row for name, row in _table()["records"].items() if name.partition("-")[0] == benchmark]
    if not own:
        return None
    return {scope: sorted({fom for row in own for fom in row[scope]}) for scope in SCOPES}


def sentence(benchmark: str, fom: str) -> str:
    """Return in one sentence how far a record determines a figure of merit of a benchmark."""
    scopes = free(benchmark)
    if scopes is None:
        return f"No record of {benchmark} was forged to find out what determines {fom}: it is taken on trust."
    if fom in scopes["launches"]:
        return f"Nothing else in a record determines {fom}: it is taken on trust."
    if fom in scopes["launch"]:
        return f"Nothing else in a launch determines {fom}: it is taken on trust."
    if fom in scopes["sample"]:
        return f"Single samples of {fom} are taken on trust; a launch's other figures determine them together."
    if TOGETHER in scopes["launches"]:
        return f"The other figures determine {fom}; that all of them were scaled together is not seen."
    return f"The rest of a record determines {fom}."
