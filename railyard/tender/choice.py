"""Choose the records of an archive that answer a tender, and give the reason for each that is left out.

Models: a session is chosen as a whole, because a record that is missing in its chain is a fault. Of a case for which
the tender names `jobs`, one session is chosen: the first with enough jobs, because later ones do not count. Leaves out:
whether the bid is complete (`railyard.tender.completeness`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from railyard.tender import measured
from railyard.tender.judged import Judged
from railyard.tender.request import Case, Tender


def left_out(tender: Tender, records: Sequence[Judged]) -> dict[str, str]:
    """Return the id of each record that does not belong to a bid -> why."""
    reasons = {read.id: reason(tender, read) for read in records}
    answers = [read for read in records if not reasons[read.id]]
    by_case = {case.name: _sessions(case, answers) for case in tender.cases}
    of_presets = {_session(read) for read in answers if read.benchmark in _programs(tender)}
    chosen = of_presets.union(*by_case.values())
    return {
        read.id: reasons[read.id] or f"the tender counts the jobs of an earlier session than {read.session}"
        for read in records
        if _session(read) not in chosen
    }


def reason(tender: Tender, read: Judged) -> str:
    """Return why a record does not answer the tender; empty if it does."""
    if read.challenge != tender.challenge:
        return f"its challenge is {read.challenge or 'none'}; the tender's is {tender.challenge}"
    if read.origin not in tender.origins:
        return f"its origin is {read.origin}; the tender accepts {', '.join(tender.origins)}"
    if read.benchmark in _programs(tender):
        return ""
    wrong = ["; ".join(case.differences(read)) for case in tender.cases if case.check == read.check]
    return min(wrong, key=len) if wrong else f"no case of the tender runs {read.check}"


def _sessions(case: Case, records: Sequence[Judged]) -> set[str]:
    """Return the sessions with the jobs that count for a case."""
    by_session: dict[str, int] = {}
    for read in sorted(measured.answering(case, records), key=_session):
        by_session[_session(read)] = by_session.get(_session(read), 0) + 1
    if case.jobs is None or not by_session:
        return set(by_session)
    most: Mapping[str, int] = {session: min(count, case.jobs) for session, count in by_session.items()}
    return {max(most, key=lambda session: most[session])}  # the first of those with the most


def _session(read: Judged) -> str:
    return read.session or read.id


def _programs(tender: Tender) -> set[str]:
    return {rule.test.program for preset in tender.presets for rule in preset.rules if rule.test}
