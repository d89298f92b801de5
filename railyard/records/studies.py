"""Studies: named sets of checks that reproduce one paper's figures, with what that paper published.

Models: `studies/<name>.yml`, one file a study: the fewest launches of each combination and samples of each series that
its evidence needs, and the published numbers, each with its figure and benchmark. A published number may name what of
ours answers it: a placement or a NIC policy and its baseline, or a series and the labels that its baseline has instead;
the page then puts what was found here beside it. Leaves out: which checks belong to a study (each check's own variable
`studies`, and its tag).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from railyard.base.checkout import RESULTS

FOLDER = RESULTS / "studies"


class Shown(StrEnum):
    """What answers a published number.

    Of two values the change in percent, the share in percent, the difference, or how many times ours is better: the
    baseline's value over ours, of rates ours over the baseline's. Or one value, the middle of all series that have the
    labels, times `factor`. Or the largest distance between two samples of one series, in percent of the smaller.
    """

    CHANGE = "change"
    SHARE = "share"
    DIFFERENCE = "difference"
    TIMES = "times"
    VALUE = "value"
    APART = "apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Which of our values answers a published number.

    Either `placement` or `nic_policy` against `baseline`, by the case's first figure of merit (or `fom`, of the series
    with `labels`; of a curve over message sizes its last point); or the series
    of `fom` with `labels` against that with the labels of `against` in their place, of one combination. `dimensions`
    are those of the process grid, `side` is its extent in each of them; 0 for any.
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
    """One number of the paper, with its unit; `compare` says what of ours it is set beside."""

    figure: str
    benchmark: str
    quantity: str
    value: float
    unit: str
    compare: Contrast | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One study. `launches` and `samples` are minimums for `railyard results check --strict`."""

    name: str
    title: str
    citation: str
    launches: int
    samples: int
    published: Sequence[Published]


@functools.cache
def all_studies() -> Mapping[str, Study]:
    """Every study by name."""
    return {path.stem: _load(path) for path in sorted(FOLDER.glob("*.yml"))}


def of(names: Iterable[str]) -> list[Study]:
    """The studies of these names; a name that is no study's is passed over."""
    return [all_studies()[name] for name in names if name in all_studies()]


def _load(path: Path) -> Study:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    published = [
        Published(**{**item, "compare": _contrast(item["compare"]) if "compare" in item else None})
        for item in document.pop("published")
    ]
    return Study(name=path.stem, published=published, **document)


def _contrast(entry: Mapping[str, Any]) -> Contrast:
    return Contrast(**{**entry, "shown": Shown(entry.get("shown", Shown.CHANGE))})
