"""List what an award leaves on trust: for the figure of each case, and for the luck of a session.

Models: the table of the mutation run (`railyard.records.trust`); the best of several whole sessions, of which one is
handed over. Leaves out: fields besides figures (docs/tender.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railyard.base import check_sources
from railyard.records import trust
from railyard.records.record import COMPUTED, Origin
from railyard.tender.bids import Read
from railyard.tender.request import Case, Tender

SESSIONS = 10
#: Expected value of the largest of `SESSIONS` standard normal numbers (Harter 1961, table 1).
LARGEST = 1.5388


def rows(tender: Tender, bids: Sequence[Read], errors: Sequence[float | None]) -> list[tuple[str, str]]:
    """Return (subject, sentence) for each case, and for luck.

    `errors` are the standard errors of the logarithms of the scores; None for a bid with too few jobs.
    """
    return [*((case.name, _of_case(tender, case, bids)) for case in tender.cases), *_luck(tender, errors)]


def _of_case(tender: Tender, case: Case, bids: Sequence[Read]) -> str:
    records = [read for bid in bids for read in bid.records if read.check == case.check]
    origins = {read.origin for read in records} or set(tender.origins)
    if origins <= COMPUTED:
        where = " where it has the same SimGrid" if Origin.SIMULATED in origins else ""
        return f"The checker computes {case.fom} again{where}."
    own = check_sources.value(case.check, "benchmark") or case.check
    return trust.sentence(records[0].benchmark if records else str(own), str(case.fom))


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
