"""Compute the scores of public procurements: SSP, SSI, SSNI, P_tot, and a weighted geometric mean.

Models: each metric is one formula over the medians of a bid's cases, so that the bounds of a score follow from medians
of launches drawn again. Every formula names the public document that it comes from; docs/tender.md works one through.
Leaves out: prices, and which bid is complete (`completeness`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from railyard.placements.arrays import Floats, np
from railyard.records import units
from railyard.records.units import Better
from railyard.tender.request import Case, Metric, Tender

_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The input of a metric: a bid's medians, the nodes that each case ran on, and the nodes of its system.

    `medians` has one value or many draws for each case, in the unit of the case's figure of merit. `weights` are the
    tender's, or varied ones for the sensitivity.
    """

    tender: Tender
    medians: Mapping[str, Floats]
    nodes: Mapping[str, int]
    system_nodes: int
    weights: Mapping[str, float]

    @property
    def cases(self) -> list[Case]:
        """Return the cases with a weight above 0."""
        return [case for case in self.tender.cases if self.weights[case.name] > 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A metric: its name and formula for people, what a score means, its source document, and the function.

    `is_ratio` is whether the reference scores 1.
    """

    name: str
    formula: str
    meaning: str
    source: str
    score: Callable[[Given], Floats]
    is_ratio: bool = True


def score(given: Given) -> Floats:
    """Return the score of a bid by the tender's metric; a higher score is better for each of them."""
    return FORMULAS[given.tender.metric].score(given)


def speedup(case: Case, medians: Floats) -> Floats:
    """Return S, the ratio to the reference, turned so that above 1 is better."""
    return case.reference / medians if case.fom.better is Better.LOWER else medians / case.reference


def seconds(case: Case, medians: Floats) -> Floats:
    """Return the run times of a case: the figure of merit itself if it is a time, or `work` over a rate."""
    unit = case.fom.unit
    if unit.measures == "time":
        return medians * units.SECONDS[unit.name]
    assert case.work is not None  # `request.load` refuses a tender without it
    return case.work / medians


def _weighted(given: Given, ratios: Mapping[str, Floats]) -> Floats:
    """Return the weighted geometric mean over cases."""
    total = sum(given.weights[case.name] for case in given.cases)
    logs = sum(given.weights[case.name] * np.log(ratios[case.name]) for case in given.cases)
    return np.asarray(np.exp(logs / total))


def _geometric_mean(given: Given) -> Floats:
    return _weighted(given, {case.name: speedup(case, given.medians[case.name]) for case in given.cases})


def _ssi(given: Given) -> Floats:
    values = {}
    for case in given.cases:
        utilisation = case.nodes_of_reference / given.nodes[case.name]
        utilisation *= given.system_nodes / given.tender.nodes_of_reference
        values[case.name] = case.capability * utilisation * speedup(case, given.medians[case.name])
    return _weighted(given, values)


def _ssni(given: Given) -> Floats:
    return given.system_nodes / given.tender.nodes_of_reference * _geometric_mean(given)


def _node_seconds(given: Given, case: Case) -> Floats:
    """Return the run time of a case times the nodes that it occupied."""
    return seconds(case, given.medians[case.name]) * given.nodes[case.name]


def _ssp(given: Given) -> Floats:
    """Return SSP, which has no weights; `request.load` refuses a tender without `work`."""
    logs = [np.log((case.work or math.nan) / _node_seconds(given, case)) for case in given.cases]
    return np.asarray(given.system_nodes * np.exp(np.mean(logs, axis=0)))


def _p_tot(given: Given) -> Floats:
    suite = sum(given.weights[case.name] * _node_seconds(given, case) for case in given.cases)
    return np.asarray(_HOUR_S * given.system_nodes / suite)


_NERSC_SSI = "https://www.nersc.gov/research-and-development/benchmarking-and-workload-characterization/ssi/"
_NERSC_SSP = "http://www.nersc.gov/systems/trinity-nersc-8-rfp/draft-nersc-8-trinity-benchmarks/ssp/"
_ATS_5 = "https://github.com/lanl/benchmarks (doc/sphinx/00_intro/introduction.rst, Scaled Single Node Improvement)"
_ARRHENIUS = "https://github.com/PDC-support/arrhenius-benchmarks (README.md, How the benchmarks are evaluated)"
FORMULAS: Mapping[Metric, Formula] = {
    Metric.GEOMETRIC_MEAN: Formula(
        name="weighted geometric mean of speedups",
        formula="(product of S^w)^(1 / sum of w)",
        meaning="The reference system scores 1. A bid with 1.2 is 1.2 times as fast on average over all cases.",
        source="the common part of SSI and SSNI",
        score=_geometric_mean,
    ),
    Metric.SSI: Formula(
        name="Scalable System Improvement (SSI)",
        formula="(product of (c U S)^w)^(1 / sum of w), U = (n_ref / n) (N / N_ref), S at least 1",
        meaning="The reference system scores 1. A bid with 1.2 does 1.2 times as much work in the same time.",
        source=_NERSC_SSI,
        score=_ssi,
    ),
    Metric.SSNI: Formula(
        name="Scaled Single Node Improvement (SSNI)",
        formula="(N / N_ref) (product of S^w)^(1 / sum of w), S above 1",
        meaning="The reference system scores 1. A bid with 1.2 does 1.2 times as much work, all nodes together.",
        source=_ATS_5,
        score=_ssni,
    ),
    Metric.SSP: Formula(
        name="Sustained System Performance (SSP)",
        formula="N times the geometric mean of work / (t n), without weights",
        meaning="The score is the work per second that the whole system sustains. Twice the score is twice the work.",
        source=_NERSC_SSP,
        score=_ssp,
        is_ratio=False,
    ),
    Metric.P_TOT: Formula(
        name="total throughput of the suite (P_tot)",
        formula="3600 s / sum of (w t n / N): how often an hour the system runs the whole suite",
        meaning="The score is how often per hour the whole system can run all cases.",
        source=_ARRHENIUS,
        score=_p_tot,
        is_ratio=False,
    ),
}
