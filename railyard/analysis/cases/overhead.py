"""Compare launches from an image with native launches of the same job, pair by pair.

Models: the pair of launches that one round made with the same placement and NIC policy, so that drift of the machine
meets both; the change of each figure of merit (FOM) from native to image in percent, and its median with an interval. A
FOM with several points (sizes, hops) has one change per pair, the geometric mean over its points. The whole launch's
time counts as a FOM. Leaves out: what the change comes from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination, Observation
from railyard.analysis.cases.comparison import rank_of
from railyard.analysis.stats.medians import Summary
from railyard.records import units
from railyard.records.benchmark import Labels
from railyard.records.record import Launch, Software
from railyard.records.store.entries import launch_values
from railyard.records.units import Fom

#: The whole launch, from its line in the job script to its end, as a figure of merit.
LAUNCH = units.fom("launch_s", "s", "lower")

#: A launch's values: (FOM, labels) -> value.
_Values = Mapping[tuple[Fom, Labels], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """The change of one FOM from native to image, in percent, for one placement and NIC policy; pairs in order."""

    fom: Fom
    combination: Combination
    changes_percent: tuple[float, ...]
    summary: Summary


def overheads(case: Case) -> list[Overhead]:
    """Return the changes of all FOMs for which some pair has both values; first those that the page shows first."""
    by_fom: dict[tuple[Fom, Combination], list[Observation]] = {}
    for job, native, image in _pairs(case):
        for fom, change in _changes(native, image):
            of_fom = by_fom.setdefault((fom, cases.combination_of(image)), [])
            of_fom.append(Observation(value=change, job=job))
    rows = [
        Overhead(
            fom=fom,
            combination=combination,
            changes_percent=tuple(change.value for change in changes),
            summary=cases.summary(changes),
        )
        for (fom, combination), changes in by_fom.items()
    ]
    return sorted(rows, key=lambda row: (row.fom == LAUNCH, rank_of(row.fom)[0]))


def _pairs(case: Case) -> Iterator[tuple[str, Launch, Launch]]:
    """Yield the job, native and image of each round in which both are results."""
    natives: dict[tuple[str, str, str, int], Launch] = {}
    for wanted in (Software.NATIVE, Software.IMAGE):
        for record, launch in cases.launches(case):
            key = (record.sha256, launch.placement, launch.nic_policy, launch.repeat)
            if launch.software is not wanted or not launch.is_result:
                continue
            if wanted is Software.NATIVE:
                natives[key] = launch
            elif key in natives:
                yield record.job, natives[key], launch


def _changes(native: Launch, image: Launch) -> Iterator[tuple[Fom, float]]:
    before, after = launch_values(native), launch_values(image)
    for fom in dict.fromkeys(fom for fom, _ in before):
        if ratios := _ratios(fom, before, after):
            yield fom, 100 * (math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) - 1)
    if native.elapsed_s and image.elapsed_s:
        yield LAUNCH, 100 * (image.elapsed_s / native.elapsed_s - 1)


def _ratios(fom: Fom, before: _Values, after: _Values) -> list[float]:
    """Return after over before at every point that both have; values without a ratio are left out."""
    return [
        after[key] / value
        for key, value in before.items()
        if key[0] == fom and value > 0 and after.get(key, 0.0) > 0
    ]
