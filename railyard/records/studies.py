"""Load studies: a study is a named set of checks that reproduce one paper, with the numbers that the paper published.

Models: `studies/<name>.yml`, one file per study: the least number of launches per combination and of samples per series
that its evidence needs, and the published numbers, each with its figure and benchmark. A published number may name the
value of ours that corresponds to it: a placement or a NIC policy and its baseline, or a series and the labels that
differ in its baseline. The report then shows our value next to the published one. Leaves out: which checks belong to a
study (each check's own variable `studies`, and its tag).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import yaml

from railyard.base.checkout import RESULTS
from railyard.base.decoded import decoded

FOLDER = RESULTS / "studies"


class Shown(StrEnum):
    """How our value that corresponds to a published number is computed.

    From our value and its baseline: `CHANGE` in percent, `SHARE` in percent, `DIFFERENCE`, or `TIMES`, by which factor
    ours is better (baseline / ours for times, ours / baseline for rates). `VALUE` is the median of all series with
    the labels, multiplied by `factor`. `APART` is the largest difference between two samples of one series, in percent
    of the smaller.
    """

    CHANGE = "change"
    SHARE = "share"
    DIFFERENCE = "difference"
    TIMES = "times"
    VALUE = "value"
    APART = "apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The pair of our values that corresponds to a published number.

    There are two kinds. The first compares `placement` or `nic_policy` with `baseline`, in the figure of merit `fom`
    (default: the case's first) of the series with `labels`; a curve over message sizes counts by its last point. The
    second compares two series of one combination: `fom` with `labels`, and `fom` with the labels in `against` replaced.
    `dimensions` is the number of dimensions of the process grid, `side` its extent in each of them; 0 allows any.
    """

    baseline: str = ""
    placement: str = ""
    nic_policy: str = ""
    fom: str = ""
    labels: Mapping[str, str | int] = field(default_factory=dict)
    against: Mapping[str, str | int] = field(default_factory=dict)
    shown: Shown = Shown.CHANGE
    dimensions: int = 0
    side: int = 0
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One number of the paper, with its unit; `compare` selects our values that it is compared with.

    `differs` is why these differ from it, where that is known. `row` is its row of docs/coverage.md, `by` the system
    and the check whose record answers it, and `ours` the answer.
    """

    figure: str
    benchmark: str
    quantity: str
    value: float
    unit: str
    compare: Contrast | None = None
    differs: str = ""
    row: str = ""
    by: str = ""
    ours: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Anything else that the paper has, by the name of its row of docs/coverage.md, and in Markdown where it is here.

    `published` is what the paper states, `run` a command whose output has `ours`. `state` is `here`, `weaker` (less
    than the paper has) or `cannot` (it cannot be had here).
    """

    row: str
    item: str
    where: str
    state: str = "here"
    published: str = ""
    run: str = ""
    ours: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One study. `launches` and `samples` are the minimums that `railyard results check --strict` requires.

    `differs` is how the paper's runs differ from ours in general.
    """

    name: str
    title: str
    citation: str
    launches: int
    samples: int
    published: Sequence[Published]
    rows: Sequence[Row] = ()
    differs: str = ""


@functools.cache
def all_studies() -> Mapping[str, Study]:
    """Return every study by name."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, where PyYAML has it
    files = [(path, yaml.load(path.read_text(encoding="utf-8"), loader)) for path in sorted(FOLDER.glob("*.yml"))]
    return {path.stem: decoded(Study, {"name": path.stem, **study}, str(path)) for path, study in files}


def of(names: Iterable[str]) -> list[Study]:
    """Return the studies of these names; unknown names are ignored."""
    return [all_studies()[name] for name in names if name in all_studies()]
