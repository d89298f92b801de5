"""Compare launches under load with the same launches alone: impact factors, and copies against one copy.

Models: for each placement, NIC policy and software of a case whose launches had companions the samples alone and under
every load, of the most detailed figure of merit. That is the one of each pair of ranks if a benchmark has it, then one
with several samples per launch, otherwise the one that the page shows first. Copies: the slowest, the median and the
sum of all copies of a launch against the launches with one copy. Leaves out: what the factors are
(`railyard.analysis.stats.impact`).
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination
from railyard.analysis.cases.comparison import rank_of
from railyard.analysis.stats import impact, medians
from railyard.analysis.stats.impact import Factor, Samples
from railyard.analysis.stats.medians import Summary
from railyard.jobs.roles import COPIES, Role
from railyard.placements.orders.spec import split_load
from railyard.records.benchmark import Labels
from railyard.records.record import Launch
from railyard.records.store import entries
from railyard.records.units import Better, Fom

#: Beginnings of figures of merit that hold the samples of each pair of ranks.
PAIRS = "pair_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """A load's effect on one series of a combination; `sent_gbyte_s` is what its NICs sent, the median of launches."""

    combination: Combination
    load: str
    fom: Fom
    labels: Labels
    factors: Sequence[Factor]
    sent_gbyte_s: float | None

    @property
    def headline(self) -> Factor:
        """The factor of the average."""
        return self.factors[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Copies that ran at once: over launches, their slowest, median and sum (of rates alone), and one copy alone."""

    combination: Combination
    fom: Fom
    labels: Labels
    count: int
    slowest: Summary
    median: Summary
    total: Summary | None
    alone: Summary


def alone_of(combination: Combination) -> Combination:
    """Return the same combination without its load."""
    return dataclasses.replace(combination, placement=split_load(combination.placement)[0])


def impacts(case: Case) -> list[Impact]:
    """Return the effect of every load but copies, in the order of the case; all tests are one family."""
    results = [launch for _, launch in cases.launches(case) if launch.is_result]
    fom = _detailed(results)
    taken: dict[Combination, dict[tuple[Fom, Labels], list[tuple[float, ...]]]] = {}
    for launch in results:
        of = taken.setdefault(cases.combination_of(launch), {})
        for key, samples in entries.samples_of(launch.series).items():
            if key[0] == fom:
                of.setdefault(key, []).append(tuple(itertools.chain.from_iterable(samples)))
    rows = [
        (loaded, load, key)
        for loaded in case.combinations
        if (load := split_load(loaded.placement)[1]) and load != COPIES
        for key in taken.get(loaded, {})
        if key in taken.get(alone_of(loaded), {})
    ]
    floor = cases.noise_percent(case)
    measured = [
        Samples(
            alone=taken[alone_of(loaded)][key], loaded=taken[loaded][key], better=key[0].better, noise_percent=floor
        )
        for loaded, _, key in rows
    ]
    return [
        Impact(
            combination=alone_of(loaded),
            load=load,
            fom=key[0],
            labels=key[1],
            factors=factors,
            sent_gbyte_s=_sent(_of(case, loaded)),
        )
        for (loaded, load, key), factors in zip(rows, impact.factors(measured), strict=True)
    ]


def _detailed(launches: Iterable[Launch]) -> Fom | None:
    """Return the figure of merit of pairs, or else one with several samples per launch, which percentiles need."""
    measured = [series for launch in launches for series in launch.series]
    directed = {series.fom for series in measured if series.fom.better is not Better.NEITHER}
    several = {series.fom for series in measured if len(series.samples) > 1}
    order = {fom: (not fom.startswith(PAIRS), fom not in several, *rank_of(fom)) for fom in directed}
    return min(order, key=order.__getitem__, default=None)


def _of(case: Case, combination: Combination) -> list[Launch]:
    launches = (launch for _, launch in cases.launches(case) if launch.is_result)
    return [launch for launch in launches if cases.combination_of(launch) == combination]


def _sent(loaded: Sequence[Launch]) -> float | None:
    """Return the rate at which the congestors' NICs sent while the victim ran, in GB/s, the median over launches."""
    rates = [
        sum(nic.tx_bytes for nic in role.nics) / role.victim_s * 1e-9
        for launch in loaded
        for role in launch.roles or ()
        if role.role == Role.CONGESTOR and role.nics is not None and role.victim_s
    ]
    return statistics.median(rates) if rates else None


def copies(case: Case) -> list[Copies]:
    """Return the results of copies that ran at once, for each series of the most detailed figure of merit."""
    rows = []
    for loaded in case.combinations:
        single = _of(case, alone_of(loaded)) if split_load(loaded.placement)[1] == COPIES else []
        fom = _detailed(single)
        for key in [key for launch in single[:1] for key in entries.values_of(launch.series) if key[0] == fom]:
            launches = [values for launch in _of(case, loaded) if (values := _of_copies(launch, key))]
            alone = [value for launch in single if (value := entries.values_of(launch.series).get(key)) is not None]
            if not (launches and alone):
                continue
            worst, is_rate = max if key[0].better is Better.LOWER else min, key[0].better is Better.HIGHER
            rows.append(
                Copies(
                    combination=alone_of(loaded),
                    fom=key[0],
                    labels=key[1],
                    count=max(map(len, launches)),
                    slowest=medians.summarise([worst(values) for values in launches]),
                    median=medians.summarise([statistics.median(values) for values in launches]),
                    total=medians.summarise([sum(values) for values in launches]) if is_rate else None,
                    alone=medians.summarise(alone),
                )
            )
    return rows


def _of_copies(launch: Launch, key: tuple[Fom, Labels]) -> list[float]:
    """Return the value of each copy of a launch, the measured program first; empty where one has none."""
    values = [entries.values_of(launch.series).get(key)]
    values += [entries.values_of(role.series).get(key) for role in launch.roles or () if role.role == Role.COPY]
    return [value for value in values if value is not None] if None not in values else []
