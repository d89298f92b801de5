"""Rank complete bids by the tender's metric, with intervals and with the changes that would alter the ranking.

Models: `measured` has the value of a case, `metrics` the formulas. Intervals are over jobs
(`railyard.analysis.stats.contrast`); there is none, and no share of wins, if a case of a bid has too few. The
sensitivity is how often each bid wins when jobs are drawn again, when all weights are drawn between half and double,
and when every value is disturbed by noise. It is also whether another bid wins when one weight is halved, doubled or
left out. What an award leaves on trust is listed, by the table of the mutation run (`railyard.records.trust`), with the
best of several whole sessions, of which one is handed over. Leaves out: prices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from railyard.analysis.stats import contrast
from railyard.analysis.text import counted
from railyard.base import check_sources
from railyard.placements.arrays import Floats, np
from railyard.records import trust
from railyard.records.record import COMPUTED, Origin
from railyard.tender import completeness, measured, metrics
from railyard.tender.bids import Read
from railyard.tender.completeness import Ruled
from railyard.tender.measured import Measured
from railyard.tender.metrics import Given
from railyard.tender.request import Tender

SEED, DRAWS = 20131, 4000
#: Relative difference below which two scores are equal.
EQUAL = 1e-12
#: Shares of noise on every median that the sensitivity tries.
NOISE = (0.01, 0.02, 0.05)
#: Weights are drawn between 1 / SPREAD and SPREAD times the tender's.
SPREAD = 2.0
WEIGHTS = "weights between half and double"
#: Number of sets of weights that the sensitivity draws.
WEIGHT_DRAWS = 300
#: Most sets of nodes that a bid's line names.
MOST_HOSTS = 4
SCENARIOS = (WEIGHTS, *(f"noise of {100 * share:g} % on every case" for share in NOISE))

SESSIONS = 10
#: Expected value of the largest of `SESSIONS` standard normal numbers (Harter 1961, table 1).
LARGEST = 1.5388


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A score or a speedup and the bounds of 95 %, None with too few jobs; a higher value is better."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A bid in the evaluation; without a score where it is not complete.

    `cases` are speedups over the reference. `wins` is the share of draws in which this bid ranks first, `wins_by` the
    same under each disturbance of `SCENARIOS`; None and empty if a bid has too few jobs.
    """

    read: Read
    rules: Sequence[Ruled]
    score: Interval | None = None
    cases: Mapping[str, Interval] = field(default_factory=dict)
    wins: float | None = None
    wins_by: Mapping[str, float] = field(default_factory=dict)

    @property
    def bidder(self) -> str:
        """Return the name of the bidder."""
        return self.read.bid.bidder

    @property
    def origins(self) -> list[Origin]:
        """Return how the records were obtained."""
        return sorted({record.origin for record in self.read.records})

    @property
    def days(self) -> str:
        """Return the day, or the first and the last one, on which records were made; empty without a record."""
        days = sorted({record.created[:10] for record in self.read.records})
        return " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))

    @property
    def measured(self) -> str:
        """Return on which systems records were made, in how many jobs, on how many nodes at most, and when."""
        if not (records := self.read.records):
            return "no record"
        systems = ", ".join(sorted({record.system for record in records}))
        nodes, jobs = max(record.nodes for record in records), len({record.job for record in records})
        hosts = "; ".join(sorted({record.hosts for record in records})[:MOST_HOSTS])
        return (
            f"{counted(len(records), 'record')} of {counted(jobs, 'job')} on {systems}, "
            f"on at most {counted(nodes, 'node')} ({hosts}), "
            f"{self.days}"
        )

    @property
    def notes(self) -> list[str]:
        """Return the notes of all rules as lines."""
        return [f"{note.field}: {note.text}" for rule in self.rules for note in rule.notes]

    @property
    def faults(self) -> int:
        """Return how many faults the rules found."""
        return sum(len(rule.faults) for rule in self.rules)

    @property
    def open_note(self) -> str:
        """Return the first note that the buyer has to decide, empty if there is none."""
        notes = (note for rule in self.rules for note in rule.notes if note.is_open)
        return next((f"{note.field}: {note.text}" for note in notes), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The bids, best first, then those without a score. `sentence` is the award, `flips` what would change it.

    `leads` are the ratios of the best score to each other one, None with too few jobs. `made` is by what and when it
    was made, and of which tender file. `trust` is (subject, sentence) of what nothing in the bids determines.
    """

    tender: Tender
    lines: Sequence[Line]
    sentence: str
    flips: Sequence[str]
    leads: Sequence[Interval | None] = ()
    made: str = ""
    trust: Sequence[tuple[str, str]] = ()

    @property
    def is_decided(self) -> bool:
        """Return whether the best bid leads each other complete one, so that none of them could be as good."""
        return bool(self.leads) and all(lead and (lead.low or 0) > 1 for lead in self.leads)


Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """A complete bid: the results of its cases, their values in draws, and the weight of each in its score.

    `given` are the exact values, with the weights of the tender, and `weights` the derivatives of the score's logarithm
    by those of the values.
    """

    given: Given
    results: Mapping[str, Measured]
    drawn: Mapping[str, Floats]
    weights: Mapping[str, float] = field(default_factory=dict)

    def scores(self, medians: Mapping[str, Floats], weights: Weights) -> Floats:
        """Return the score for each draw of the medians."""
        return metrics.score(replace(self.given, medians=medians, weights=weights))

    def score(self, weights: Weights) -> float:
        """Return the score that the exact values have with these weights of the cases."""
        return float(self.scores(self.given.medians, weights)[0])

    @property
    def sides(self) -> list[contrast.Weighted]:
        """Return the weight and the values by job of each case, for an interval over jobs."""
        return [(self.weights[name], results.logs) for name, results in self.results.items()]

    @property
    def error(self) -> float | None:
        """Return the standard error of the score's logarithm; None with too few jobs of a case."""
        one = contrast.estimate(self.sides)
        return one.error if one else None

    @property
    def jobs(self) -> int:
        """Return the fewest jobs of any case."""
        return min(len(results.by_job) for results in self.results.values())

    @property
    def is_exact(self) -> bool:
        """Return whether nothing varies: pledges, or values of a model."""
        return all(results.is_exact for results in self.results.values())


def evaluate(tender: Tender, read: Sequence[Read]) -> Evaluation:
    """Evaluate bids against a tender; a bid with any fault has no score. A bag that is there twice is one bid."""
    read = _once(read)
    ruled = [completeness.check(tender, bid, [other for other in read if other is not bid]) for bid in read]
    chance = np.random.default_rng(SEED)
    weights = {case.name: case.weight for case in tender.cases}
    drawn = {
        index: _draw(tender, bid, chance, weights)
        for index, (bid, rules) in enumerate(zip(read, ruled, strict=True))
        if not any(rule.faults for rule in rules)
    }
    scores = {index: values.scores(values.drawn, weights) for index, values in drawn.items()}
    is_shown = all(bid.is_exact or bid.jobs >= contrast.FEWEST for bid in drawn.values())
    wins = _wins(scores) if is_shown else {}
    disturbed = _disturbed(drawn, weights, chance) if is_shown else {}
    scored = {index: _around(one.score(weights), one.sides, one.is_exact) for index, one in drawn.items()}
    lines = {
        index: Line(
            read=bid,
            rules=ruled[index],
            score=scored.get(index),
            cases=_speedups(drawn[index]) if index in drawn else {},
            wins=wins.get(index),
            wins_by={name: shares[index] for name, shares in disturbed.items() if index in shares},
        )
        for index, bid in enumerate(read)
    }
    order = sorted(lines, key=lambda index: _rank(lines[index]))
    ranked = [(lines[index], drawn[index]) for index in order if index in drawn]
    leads = [_lead(ranked[0], other) for other in ranked[1:]]
    return Evaluation(
        tender=tender,
        lines=[lines[index] for index in order],
        sentence=_sentence(ranked, leads),
        flips=_flips(drawn, lines, weights),
        leads=leads,
        trust=_trust(tender, read, [bid.error for bid in drawn.values()]),
    )


def _once(read: Sequence[Read]) -> list[Read]:
    """Return the bids without those of the same digest; of these the one with an accepted signature stays."""
    bids: dict[str, Read] = {}
    for bid in sorted(read, key=lambda one: (bool(one.signed.problem), not one.signed.by, not one.signed.key)):
        bids.setdefault(bid.digest or str(bid.path), bid)
    return [bid for bid in read if any(bid is first for first in bids.values())]


def _draw(tender: Tender, bid: Read, chance: np.random.Generator, weights: Weights) -> _Drawn:
    scored = {case.name: measured.scored(tender, case, bid) for case in tender.cases}
    results = {name: result for name, result in scored.items() if result is not None}
    given = Given(
        tender=tender,
        medians={name: np.array([result.value]) for name, result in results.items()},
        nodes={case.name: completeness.nodes_of(case, bid.records) or case.nodes for case in tender.cases},
        system_nodes=bid.bid.nodes or 0,
        weights=weights,
    )
    one = _Drawn(given=given, results=results, drawn=_draws(results, chance))
    step, base, exact = 1e-4, one.score(weights), given.medians
    changed = {name: one.scores({**exact, name: value * np.exp(step)}, weights)[0] for name, value in exact.items()}
    return replace(one, weights={name: float(np.log(score / base)) / step for name, score in changed.items()})


def _draws(results: Mapping[str, Measured], chance: np.random.Generator) -> dict[str, Floats]:
    """Return values of each case with its jobs drawn again, if there are enough of them.

    A job adds its own effect to all cases that it has, so that one draw of the jobs serves all cases.
    """
    names = sorted({job for result in results.values() for job in result.by_job})
    effect = dict(zip(names, chance.standard_normal((len(names), DRAWS)), strict=True))
    drawn = {}
    for name, result in results.items():
        if not result.is_of_machine:
            drawn[name] = np.full(DRAWS, result.value)
            continue
        logs, count = result.logs, len(result.logs)
        mean = sum(logs.values()) / count
        noise = sum((log - mean) * effect[job] for job, log in logs.items()) / np.sqrt(count * (count - 1))
        drawn[name] = np.exp(mean + noise)
    return drawn


def _speedups(bid: _Drawn) -> dict[str, Interval]:
    """Return the speedups of a bid's cases over their references, with their bounds."""
    cases = {}
    for case in bid.given.tender.cases:
        results = bid.results[case.name]
        bounds = results.bounds() if results.is_exact or results.is_of_machine else None
        ends = sorted(map(float, metrics.speedup(case, np.array(bounds)))) if bounds else [None, None]
        exact = float(metrics.speedup(case, bid.given.medians[case.name])[0])
        cases[case.name] = Interval(value=exact, low=ends[0], high=ends[1])
    return cases


def _around(value: float, sides: Sequence[contrast.Weighted], is_exact: bool) -> Interval:
    """Return a value with the bounds that the interval of its logarithm, over jobs, has around the mean of the jobs.

    An exact value has no width; with too few jobs there are no bounds.
    """
    if is_exact:
        return Interval(value=value, low=value, high=value)
    interval = contrast.interval(sides)
    if interval is None:
        return Interval(value=value, low=None, high=None)
    center = sum(weight * contrast.mean(logs) for weight, logs in sides)
    low, high = (value * math.exp(end - center) for end in interval)
    return Interval(value=value, low=low, high=high)


def _disturbed(
    drawn: Mapping[int, _Drawn], weights: Weights, chance: np.random.Generator
) -> dict[str, dict[int, float]]:
    """Return how often each bid wins with other weights, and with noise on every median."""
    factors = SPREAD ** chance.uniform(-1, 1, (WEIGHT_DRAWS if drawn else 0, len(weights)))
    changed = [dict(zip(weights, row, strict=True)) for row in factors * np.array(list(weights.values()))]
    exact = {index: np.array([bid.score(one) for one in changed]) for index, bid in drawn.items()}
    shares = {WEIGHTS: _wins(exact)}
    for name, share in zip(SCENARIOS[1:], NOISE, strict=True):
        scores = {}
        for index, bid in drawn.items():
            medians = bid.given.medians.items()
            noisy = {case: median * np.exp(share * chance.standard_normal(DRAWS)) for case, median in medians}
            scores[index] = bid.scores(noisy, weights)
        shares[name] = _wins(scores)
    return shares


def _wins(scores: Mapping[int, Floats]) -> dict[int, float]:
    if not scores:
        return {}
    stacked = np.stack(list(scores.values()))
    best = stacked >= stacked.max(axis=0) * (1 - EQUAL)
    shares = np.mean(best / best.sum(axis=0), axis=1)  # equal scores share the first place
    return {index: float(share) for index, share in zip(scores, shares, strict=True)}


def _rank(line: Line) -> tuple[bool, float, str]:
    return line.score is None, -line.score.value if line.score else 0.0, line.bidder


def _sentence(ranked: Sequence[tuple[Line, _Drawn]], leads: Sequence[Interval | None]) -> str:
    """Return the award in one sentence: whether the best bid leads all others, or which are close to it."""
    if not ranked or ranked[0][0].score is None:
        return "No bid is complete, so none is ranked."
    first, best = ranked[0][0].bidder, f"has the best score, {ranked[0][0].score.value:.4g}"
    if note := ranked[0][0].open_note:
        return f"{first} {best}, but cannot be the best until it is decided who copied: {note}"
    if not leads:
        return f"{first} {best}; no other bid is complete."
    if None in leads:
        few = [bid.jobs for (_, bid), lead in zip(ranked[1:], leads, strict=True) if lead is None]
        least = min(*few, ranked[0][1].jobs)
        return (
            f"{first} {best}, but nobody can tell whether its machine is better: {counted(least, 'job')} "
            f"of a case in a bid; {contrast.FEWEST} are needed in each."
        )
    close = [line.bidder for (line, _), lead in zip(ranked[1:], leads, strict=True) if lead and (lead.low or 0) <= 1]
    if close or leads[0] is None:
        return f"{first} {best}, but cannot be told apart from {', '.join(close)} (95 %)."
    lead, times = leads[0], f"times that of {ranked[1][0].bidder}"
    return f"{first} is best: it {best}, {lead.value:.3f} {times} (95 %: {lead.low:.3f} to {lead.high:.3f})."


def _lead(best: tuple[Line, _Drawn], other: tuple[Line, _Drawn]) -> Interval | None:
    """Return the ratio of two scores with its bounds, None if there are too few jobs; pledges do not vary.

    The best bid must lead each other one. A false lead therefore needs a false difference between the two best,
    whatever the number of bids, so that the level of one interval is that of the award.
    """
    (line, bid), (second, rival) = best, other
    assert line.score is not None and second.score is not None
    ratio = line.score.value / second.score.value
    results = [*bid.results.values(), *rival.results.values()]
    is_exact = bid.given.tender.scored == "pledged" and all(set(result.by_job) == {"pledge"} for result in results)
    lead = _around(ratio, [*bid.sides, *((-weight, logs) for weight, logs in rival.sides)], is_exact)
    return None if lead.low is None else lead


def _flips(drawn: Mapping[int, _Drawn], lines: Mapping[int, Line], weights: Weights) -> list[str]:
    """Return which single change of a weight makes another bid the best."""
    if len(drawn) < 2:
        return []

    def best(changed: Weights) -> int:
        return max(drawn, key=lambda index: drawn[index].score(changed))

    usual, flips = best(weights), list[str]()
    for name in weights:
        changes = {"halved": 0.5, "doubled": 2.0, **({"left out": 0.0} if len(weights) > 1 else {})}
        for word, factor in changes.items():
            other = best({**weights, name: factor * weights[name]})
            if other != usual:
                flips.append(f"with the weight of {name} {word}, {lines[other].bidder} is best")
    return flips


def _trust(tender: Tender, bids: Sequence[Read], errors: Sequence[float | None]) -> list[tuple[str, str]]:
    """Return (subject, sentence) for each case, and for luck.

    `errors` are the standard errors of the logarithms of the scores; None for a bid with too few jobs.
    """
    sentences = []
    for case in tender.cases:
        records = [read for bid in bids for read in bid.records if read.check == case.check]
        origins = {read.origin for read in records} or set(tender.origins)
        if origins <= COMPUTED:
            where = " where it has the same SimGrid" if Origin.SIMULATED in origins else ""
            sentences.append((case.name, f"The checker computes {case.fom} again{where}."))
        else:
            own = check_sources.value(case.check, "benchmark") or case.check
            benchmark = records[0].benchmark if records else str(own)
            sentences.append((case.name, trust.sentence(benchmark, str(case.fom))))
    return [*sentences, *_luck(tender, errors)]


def _luck(tender: Tender, errors: Sequence[float | None]) -> Iterator[tuple[str, str]]:
    if set(tender.origins) <= COMPUTED or not errors:
        return
    sentence = "Nothing shows which of several whole sessions was handed over."
    finite = [error for error in errors if error is not None]
    if len(finite) < len(errors):
        yield "luck", f"{sentence} With fewer than 4 jobs nobody knows how much the best of them gains."
    else:
        gain = 100 * LARGEST * max(finite)
        yield "luck", f"{sentence} The best of {SESSIONS} gains about {gain:.1f} % of a score by chance."
    free = [case.name for case in tender.cases if case.jobs is None]
    if free:
        names = ", ".join(free)
        yield "luck", f"The tender names no `jobs` for {names}, so a bidder could stop after a good job."
