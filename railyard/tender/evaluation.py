"""Rank complete bids by the tender's metric, with intervals and with the changes that would alter the ranking.

Models: the value of a case is the median of its launches; `metrics` has the formulas. Intervals are percentile
bootstraps over launches, as in `analysis.stats.score`. The sensitivity is how often each bid wins when launches are
drawn again, when all weights are drawn between half and double, and when every median is disturbed by noise; and
whether another bid wins when one weight is halved, doubled, or its case left out. Leaves out: prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from analysis.stats.score import DRAWS, median_draws
from placements.arrays import Floats, np
from railyard.tender import completeness, metrics
from railyard.tender.bids import Read
from railyard.tender.completeness import Ruled
from railyard.tender.metrics import Given
from railyard.tender.request import Tender

SEED = 20131
#: Shares of noise on every median that the sensitivity tries.
NOISE = (0.01, 0.02, 0.05)
#: Weights are drawn between 1 / SPREAD and SPREAD times the tender's.
SPREAD = 2.0
WEIGHTS = "weights between half and double"
#: Number of sets of weights that the sensitivity draws.
WEIGHT_DRAWS = 300
SCENARIOS = (WEIGHTS, *(f"noise of {100 * share:g} % on every case" for share in NOISE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A score or a speedup and the bounds of 95 %; a higher value is better."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A bid in the evaluation; without a score where it is not complete.

    `cases` are speedups over the reference. `wins` is the share of bootstrap draws in which this bid ranks first,
    `wins_by` the same under each disturbance of `SCENARIOS`. `pledges` maps a case to the promised value.
    """

    bidder: str
    signed: str
    tier: str
    rules: Sequence[Ruled]
    score: Interval | None
    cases: Mapping[str, Interval]
    wins: float
    wins_by: Mapping[str, float] = field(default_factory=dict)
    pledges: Mapping[str, float] = field(default_factory=dict)

    @property
    def faults(self) -> int:
        """Return how many faults the rules found."""
        return sum(len(rule.faults) for rule in self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The bids, best first, then those without a score. `sentence` is the award, `flips` what would change it."""

    tender: Tender
    lines: Sequence[Line]
    sentence: str
    flips: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """A complete bid: the medians of its cases, exact and in bootstrap draws."""

    exact: Mapping[str, Floats]
    drawn: Mapping[str, Floats]
    nodes: Mapping[str, int]
    system_nodes: int


Weights = Mapping[str, float]


def evaluate(tender: Tender, read: Sequence[Read]) -> Evaluation:
    """Evaluate bids against a tender; a bid with any fault has no score."""
    ruled = [completeness.check(tender, bid) for bid in read]
    chance = np.random.default_rng(SEED)
    drawn = {
        index: _draw(tender, bid, chance)
        for index, (bid, rules) in enumerate(zip(read, ruled, strict=True))
        if not any(rule.faults for rule in rules)
    }
    weights = {case.name: case.weight for case in tender.cases}
    scores = {index: _score(tender, values, values.drawn, weights) for index, values in drawn.items()}
    wins, disturbed = _wins(scores), _disturbed(tender, drawn, weights, chance)
    lines = {}
    for index, bid in enumerate(read):
        lines[index] = Line(
            bidder=bid.bid.bidder,
            signed=bid.signed.text,
            tier=bid.bid.tier,
            rules=ruled[index],
            pledges=bid.bid.pledges,
            wins=wins.get(index, 0.0),
            wins_by={name: shares[index] for name, shares in disturbed.items() if index in shares},
            **_scored(tender, drawn.get(index), weights),
        )
    order = sorted(lines, key=lambda place: _rank(lines[place]))
    return Evaluation(
        tender=tender,
        lines=[lines[index] for index in order],
        sentence=_sentence(
            [lines[index] for index in order], [scores[index] for index in order if index in scores]
        ),
        flips=_flips(tender, drawn, lines, weights),
    )


def _draw(tender: Tender, bid: Read, chance: np.random.Generator) -> _Drawn:
    values = {case.name: completeness.scored_values(tender, case, bid) for case in tender.cases}
    return _Drawn(
        exact={name: np.array([np.median(samples)]) for name, samples in values.items()},
        drawn={name: median_draws(samples, chance) for name, samples in values.items()},
        nodes={case.name: completeness.nodes_of(case, bid.records) or case.nodes for case in tender.cases},
        system_nodes=bid.bid.nodes or 0,
    )


def _score(tender: Tender, bid: _Drawn, medians: Mapping[str, Floats], weights: Weights) -> Floats:
    return metrics.score(
        Given(tender=tender, medians=medians, nodes=bid.nodes, system_nodes=bid.system_nodes, weights=weights)
    )


def _exact(tender: Tender, bid: _Drawn, weights: Weights) -> float:
    return float(_score(tender, bid, bid.exact, weights)[0])


def _scored(tender: Tender, bid: _Drawn | None, weights: Weights) -> _Scores:
    """Return a bid's score and the speedups of its cases, with their bounds."""
    if bid is None:
        return {"score": None, "cases": {}}
    cases = {
        case.name: _interval(
            float(metrics.speedup(case, bid.exact[case.name])[0]), metrics.speedup(case, bid.drawn[case.name])
        )
        for case in tender.cases
    }
    return {
        "score": _interval(_exact(tender, bid, weights), _score(tender, bid, bid.drawn, weights)),
        "cases": cases,
    }


class _Scores(TypedDict):
    score: Interval | None
    cases: dict[str, Interval]


def _disturbed(
    tender: Tender, drawn: Mapping[int, _Drawn], weights: Weights, chance: np.random.Generator
) -> dict[str, dict[int, float]]:
    """Return how often each bid wins with other weights, and with noise on every median."""
    shares = {WEIGHTS: _wins_by_weights(tender, drawn, weights, chance)}
    for name, share in zip(SCENARIOS[1:], NOISE, strict=True):
        scores = {}
        for index, bid in drawn.items():
            noisy = {
                case: median * np.exp(share * chance.standard_normal(DRAWS))
                for case, median in bid.exact.items()
            }
            scores[index] = _score(tender, bid, noisy, weights)
        shares[name] = _wins(scores)
    return shares


def _wins_by_weights(
    tender: Tender, drawn: Mapping[int, _Drawn], weights: Weights, chance: np.random.Generator
) -> dict[int, float]:
    scores: dict[int, list[float]] = {index: [] for index in drawn}
    for _ in range(WEIGHT_DRAWS if drawn else 0):
        factors = SPREAD ** chance.uniform(-1, 1, len(weights))
        changed = {
            name: weight * factor for (name, weight), factor in zip(weights.items(), factors, strict=True)
        }
        for index, bid in drawn.items():
            scores[index].append(_exact(tender, bid, changed))
    return _wins({index: np.array(values) for index, values in scores.items()})


def _wins(scores: Mapping[int, Floats]) -> dict[int, float]:
    if not scores:
        return {}
    places = list(scores)
    best = np.argmax(np.stack([scores[index] for index in places]), axis=0)
    return {index: float(np.mean(best == number)) for number, index in enumerate(places)}


def _interval(exact: float, drawn: Floats) -> Interval:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(value=exact, low=float(low), high=float(high))


def _rank(line: Line) -> tuple[bool, float, str]:
    return line.score is None, -line.score.value if line.score else 0.0, line.bidder


def _sentence(lines: Sequence[Line], scores: Sequence[Floats]) -> str:
    """Return the award in one sentence, with whether the lead is larger than noise."""
    complete = [line for line in lines if line.score is not None]
    if not complete or complete[0].score is None:
        return "No bid is complete, so none is ranked."
    first = f"{complete[0].bidder} is best with a score of {complete[0].score.value:.4g}"
    if len(complete) == 1:
        return f"{first}; no other bid is complete."
    low, high = np.percentile(scores[0] / scores[1], [2.5, 97.5])
    lead = f"{low:.3f} to {high:.3f} times the score of {complete[1].bidder}"
    if low > 1:
        return f"{first}, {lead} (95 %)."
    return f"{first}, but {lead} (95 %) includes 1: the two cannot be told apart."


def _flips(
    tender: Tender, drawn: Mapping[int, _Drawn], lines: Mapping[int, Line], weights: Weights
) -> list[str]:
    """Return which single change of a weight makes another bid the best."""
    if len(drawn) < 2:
        return []

    def best(changed: Weights) -> int:
        return max(drawn, key=lambda place: _exact(tender, drawn[place], changed))

    usual, flips = best(weights), []
    for name in weights:
        changes = {"halved": 0.5, "doubled": 2.0, **({"left out": 0.0} if len(weights) > 1 else {})}
        for word, factor in changes.items():
            other = best({**weights, name: factor * weights[name]})
            if other != usual:
                flips.append(f"with the weight of {name} {word}, {lines[other].bidder} is best")
    return flips
