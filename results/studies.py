"""Studies: named sets of checks that reproduce one paper's figures, with what that paper published.

Models: `studies/<name>.yml`, one file a study: the fewest launches of each combination and samples of each series that
its evidence needs, and the published numbers, each with its figure and benchmark. A published number may name a
placement or a NIC policy and its baseline: the page then puts the change found here beside it. Leaves out: which
checks belong to a study (each check's own variable `studies`, and its tag).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).resolve().parent / "studies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Which of our combinations answers a published number: `placement` or `nic_policy` against `baseline`."""

    baseline: str
    placement: str = ""
    nic_policy: str = ""


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
        Published(**{**each, "compare": Contrast(**each["compare"]) if "compare" in each else None})
        for each in document.pop("published")
    ]
    return Study(name=path.stem, published=published, **document)
