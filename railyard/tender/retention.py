"""Compare a later measurement with what a bid promised: at acceptance, or after years of service.

Models: each case of the tender, the later value over the pledge, or over the bid's own value where there is no pledge,
turned so that above 1 is better; bounds over jobs, of which each side needs `railyard.analysis.stats.contrast.FEWEST`.
The tender file names the share that must be reached as `retention`. Leaves out: why performance was lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from railyard.analysis.stats import contrast
from railyard.records.rules.registry import Fault
from railyard.records.units import Better
from railyard.tender import completeness, copies, measured
from railyard.tender.bids import Read
from railyard.tender.evaluation import Interval
from railyard.tender.measured import Measured
from railyard.tender.request import Case, Tender


class Kept(StrEnum):
    """Whether a promise is kept, by the bounds of the ratio."""

    KEPT = "kept"
    NOT_KEPT = "not kept"
    CANNOT_TELL = "cannot tell"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One case: what was promised and by what, the later value of so many jobs, and their ratio with bounds."""

    case: Case
    promised: float
    is_pledge: bool
    later: float | None
    jobs: int
    ratio: Interval | None
    verdict: Kept


def promises(tender: Tender, bid: Read, later: Read) -> list[Promise]:
    """Compare a later measurement with a bid, case by case."""
    return [_promise(tender, case, bid, later) for case in tender.cases]


def faults(tender: Tender, bid: Read, later: Read, challenge: str) -> Iterator[Fault]:
    """Yield what is wrong with a later bag, and with its records: of the bid, not newer, of another challenge."""
    yield from later.broken
    yield from later.faults
    if later.signed.problem:
        yield Fault(field="signature", text=later.signed.text)
    for rule in (completeness.sessions, completeness.first_jobs):
        yield from (item for item in rule(tender, later) if isinstance(item, Fault))
    jobs_before = {read.job for read in bid.records}
    copied = {copy.read.id for copy in copies.between(later.records, bid.records)}
    newest = max((read.created for read in bid.records), default="")
    if challenge == tender.challenge:
        yield Fault(
            field="--challenge", text=f"{challenge} is that of the tender; expected one made after the bid"
        )
    for read in later.records:
        field = f"record {read.id}"
        if read.job in jobs_before or read.id in copied:
            yield Fault(field=f"{field}: run.job", text="a job or a launch of the bid")
        if datetime.fromisoformat(read.started) <= datetime.fromisoformat(newest or read.created):
            yield Fault(
                field=f"{field}: started", text=f"{read.started}, before the bid's newest record, {newest}"
            )
        if read.challenge != challenge:
            yield Fault(
                field=f"{field}: case.challenge", text=f"{read.challenge or 'none'}; expected {challenge}"
            )


def _promise(tender: Tender, case: Case, bid: Read, later: Read) -> Promise:
    pledge = bid.bid.pledges.get(case.name)
    before, now = measured.of_case(case, bid.records), measured.of_case(case, later.records)
    promised = pledge if pledge is not None else before.value if before else math.nan
    verdict, ratio = Kept.NOT_MEASURED, None
    if now and now.launches >= case.launches and not math.isnan(promised):
        ratio = _ratio(case, now, promised, before if pledge is None else None)
        verdict = Kept.CANNOT_TELL
        if ratio and ratio.low is not None and ratio.low >= tender.retention:
            verdict = Kept.KEPT
        elif ratio and ratio.high is not None and ratio.high < tender.retention:
            verdict = Kept.NOT_KEPT
    return Promise(
        case=case,
        promised=promised,
        is_pledge=pledge is not None,
        later=now.value if now else None,
        jobs=len(now.by_job) if now else 0,
        ratio=ratio,
        verdict=verdict,
    )


def _ratio(case: Case, now: Measured, promised: float, before: Measured | None) -> Interval | None:
    """Return the ratio to what was promised, above 1 is better, with bounds over jobs; None for too few jobs."""
    sign = -1.0 if case.better is Better.LOWER else 1.0
    sides = [(sign, now.logs), *([(-sign, before.logs)] if before else [])]
    interval = contrast.interval(sides)
    if interval is None:
        return None
    shift = 0.0 if before else -sign * math.log(promised)
    value = (now.value / promised) ** sign
    return Interval(value=value, low=math.exp(interval[0] + shift), high=math.exp(interval[1] + shift))
