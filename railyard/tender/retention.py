"""Compare a later measurement with what a bid promised: at acceptance, or after years of service.

Models: each case of the tender, the later median over the pledge, or over the bid's own median where there is no
pledge, turned so that above 1 is better; bounds by drawing the launches of both again. The tender file names the share
that must be reached as `retention`. Leaves out: why performance was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.stats.score import median_draws
from placements.arrays import Floats, np
from railyard.records.units import Better
from railyard.tender import completeness
from railyard.tender.bids import Read
from railyard.tender.evaluation import SEED, Interval
from railyard.tender.request import Case, Tender


class Kept(StrEnum):
    """Whether a promise is kept, by the bounds of the ratio."""

    KEPT = "kept"
    NOT_KEPT = "not kept"
    CANNOT_TELL = "cannot tell"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One case: what was promised and by what, the later median, and their ratio with bounds."""

    case: Case
    promised: float
    is_pledge: bool
    later: float | None
    ratio: Interval | None
    verdict: Kept


def promises(tender: Tender, bid: Read, later: Read) -> list[Promise]:
    """Compare a later measurement with a bid, case by case."""
    chance = np.random.default_rng(SEED)
    return [_promise(tender, case, bid, (later, chance)) for case in tender.cases]


def _promise(tender: Tender, case: Case, bid: Read, against: tuple[Read, np.random.Generator]) -> Promise:
    later, chance = against
    pledge = bid.bid.pledges.get(case.name)
    before = completeness.values_of(case, bid.records) if pledge is None else [pledge]
    now = completeness.values_of(case, later.records)
    if not before or len(now) < case.launches:
        return _made(case, before, pledge, None)
    medians = np.array([np.median(now)]), np.array([np.median(before)])
    drawn = median_draws(now, chance), median_draws(before, chance)
    low, high = np.percentile(_ratio(case, *drawn), [2.5, 97.5])
    ratio = Interval(value=float(_ratio(case, *medians)[0]), low=float(low), high=float(high))
    verdict = Kept.CANNOT_TELL
    if ratio.low >= tender.retention:
        verdict = Kept.KEPT
    elif ratio.high < tender.retention:
        verdict = Kept.NOT_KEPT
    return _made(case, before, pledge, (float(medians[0][0]), ratio, verdict))


def _ratio(case: Case, now: Floats, before: Floats) -> Floats:
    return before / now if case.better is Better.LOWER else now / before


def _made(
    case: Case,
    before: Sequence[float],
    pledge: float | None,
    outcome: tuple[float, Interval, Kept] | None,
) -> Promise:
    later, ratio, verdict = outcome or (None, None, Kept.NOT_MEASURED)
    promised = float(np.median(before)) if before else float("nan")
    return Promise(
        case=case, promised=promised, is_pledge=pledge is not None, later=later, ratio=ratio, verdict=verdict
    )
