"""How complete bids compare: a weighted geometric mean of ratios to the tender's references, with intervals.

Models: a case counts by the median of its launches over the reference, turned so that above 1 is better. Intervals are
percentile bootstraps over launches, as in `analysis.stats.score`. The sensitivity is how often another bid wins when
launches are drawn again, and whether another wins when one weight is halved, doubled, or its case left out. Leaves out:
prices, and utilisation and capability factors (SSI's U and c).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.score import median_draws
from railyard.records.units import Better
from railyard.tender import completeness
from railyard.tender.bids import Read
from railyard.tender.completeness import Ruled
from railyard.tender.request import Case, Tender

SEED = 20131
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A ratio to the reference, above 1 is better, and the bounds of 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A bid in the evaluation; without a score where it is not complete. `wins` is the share of draws that it wins."""

    bidder: str
    signed: str
    tier: str
    rules: Sequence[Ruled]
    score: Interval | None
    cases: Mapping[str, Interval]
    wins: float

    @property
    def faults(self) -> int:
        """How many faults the rules found."""
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
    """A complete bid: logarithms of its cases' ratios, as they are and as drawn again."""

    exact: Mapping[str, float]
    drawn: Mapping[str, Array]


def evaluate(tender: Tender, read: Sequence[Read]) -> Evaluation:
    """Evaluate bids against a tender; a bid with any fault has no score."""
    ruled = [completeness.check(tender, bid) for bid in read]
    chance = np.random.default_rng(SEED)
    drawn = {
        place: _draw(tender, bid, chance)
        for place, (bid, rules) in enumerate(zip(read, ruled, strict=True))
        if not any(rule.faults for rule in rules)
    }
    weights = {case.name: case.weight for case in tender.cases}
    scores = {place: _weighted(each.drawn, weights) for place, each in drawn.items()}
    wins = _wins(scores)
    lines = {
        place: _line(bid, ruled[place], drawn.get(place), weights, wins.get(place, 0.0))
        for place, bid in enumerate(read)
    }
    order = sorted(lines, key=lambda place: _rank(lines[place]))
    return Evaluation(
        tender=tender,
        lines=[lines[place] for place in order],
        sentence=_sentence(
            [lines[place] for place in order], [scores[place] for place in order if place in scores]
        ),
        flips=_flips(drawn, lines, weights),
    )


def _draw(tender: Tender, bid: Read, chance: np.random.Generator) -> _Drawn:
    exact, drawn = {}, {}
    for case in tender.cases:
        values = completeness.values_of(case, bid.records)
        exact[case.name] = float(_log(case, np.array([np.median(values)]))[0])
        drawn[case.name] = _log(case, median_draws(values, chance))
    return _Drawn(exact=exact, drawn=drawn)


def _log(case: Case, medians: Array) -> Array:
    sign = -1.0 if case.better is Better.LOWER else 1.0
    return np.asarray(sign * (np.log(medians) - math.log(case.reference)))


def _weighted(logs: Mapping[str, Array], weights: Mapping[str, float]) -> Array:
    total = sum(weights.values())
    return np.asarray(sum(weights[name] * logs[name] for name in weights) / total)


def _exact(bid: _Drawn, weights: Mapping[str, float]) -> float:
    return sum(weights[name] * bid.exact[name] for name in weights) / sum(weights.values())


def _wins(scores: Mapping[int, Array]) -> dict[int, float]:
    if not scores:
        return {}
    places = list(scores)
    best = np.argmax(np.stack([scores[place] for place in places]), axis=0)
    return {place: float(np.mean(best == number)) for number, place in enumerate(places)}


def _line(
    bid: Read, rules: Sequence[Ruled], drawn: _Drawn | None, weights: Mapping[str, float], wins: float
) -> Line:
    cases: dict[str, Interval] = {}
    score = None
    if drawn is not None:
        cases = {name: _interval(drawn.exact[name], drawn.drawn[name]) for name in weights}
        score = _interval(_exact(drawn, weights), _weighted(drawn.drawn, weights))
    return Line(
        bidder=bid.bid.bidder,
        signed=bid.signed.text,
        tier=bid.bid.tier,
        rules=rules,
        score=score,
        cases=cases,
        wins=wins,
    )


def _interval(exact: float, drawn: Array) -> Interval:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(value=math.exp(exact), low=math.exp(low), high=math.exp(high))


def _rank(line: Line) -> tuple[bool, float, str]:
    return line.score is None, -line.score.value if line.score else 0.0, line.bidder


def _sentence(lines: Sequence[Line], scores: Sequence[Array]) -> str:
    """The award in one sentence, which says whether the lead is more than noise."""
    complete = [line for line in lines if line.score is not None]
    if not complete or complete[0].score is None:
        return "No bid is complete, so none is ranked."
    first = f"{complete[0].bidder} is best with a score of {complete[0].score.value:.3f}"
    if len(complete) == 1:
        return f"{first}; no other bid is complete."
    low, high = np.exp(np.percentile(scores[0] - scores[1], [2.5, 97.5]))
    lead = f"{low:.3f} to {high:.3f} times the score of {complete[1].bidder}"
    if low > 1:
        return f"{first}, {lead} (95 %)."
    return f"{first}, but {lead} (95 %) includes 1: the two cannot be told apart."


def _flips(drawn: Mapping[int, _Drawn], lines: Mapping[int, Line], weights: Mapping[str, float]) -> list[str]:
    """Which single change of a weight makes another bid the best."""
    if len(drawn) < 2:
        return []

    def best(changed: Mapping[str, float]) -> int:
        return max(drawn, key=lambda place: _exact(drawn[place], changed))

    usual, found = best(weights), []
    for name in weights:
        changes = {"halved": 0.5, "doubled": 2.0, **({"left out": 0.0} if len(weights) > 1 else {})}
        for word, factor in changes.items():
            other = best({**weights, name: factor * weights[name]})
            if other != usual:
                found.append(f"with the weight of {name} {word}, {lines[other].bidder} is best")
    return found
