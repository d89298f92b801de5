"""Summarise what a bid measured for a case: one value with an interval, by jobs where there are enough of them.

Models: the value is the geometric mean of the medians of the jobs. The interval is that of the machine, Student's over
jobs, from `FEWEST` jobs on. With fewer it is that of these jobs alone, from how their launches differ, because launches
of one job do not distinguish two machines from two jobs.

The records of a bid are chosen by whole sessions, because a record that is missing in its chain is a fault. Of a case
for which the tender names `jobs`, one session is chosen: the first with enough jobs, because later ones do not count.
Leaves out: what is demanded (`railyard.tender.completeness`), and scores.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from railyard.analysis.stats import contrast
from railyard.analysis.stats.contrast import FEWEST
from railyard.analysis.text import counted
from railyard.records.benchmark import point
from railyard.records.units import Better
from railyard.tender.bids import Read
from railyard.tender.judged import Judged
from railyard.tender.request import Case, Tender


class Meets(StrEnum):
    """Whether results satisfy a demand, by the bounds of the measured value."""

    MEETS = "meets"
    DOES_NOT_MEET = "does not meet"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The results of a case: job -> values of its launches. A pledge that is scored is one job of one value.

    `divided_by` are the values of other launches of the same jobs, by which those of a ratio are divided.
    """

    by_job: Mapping[str, Sequence[float]]
    divided_by: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def launches(self) -> int:
        """Return the number of results."""
        return sum(map(len, self.by_job.values()))

    @property
    def is_of_machine(self) -> bool:
        """Return whether there are enough jobs for an interval of the machine."""
        return len(self.by_job) >= FEWEST

    @functools.cached_property
    def logs(self) -> dict[str, float]:
        """Return job -> logarithm of the median of its launches, divided by that of the others."""
        return {
            job: math.log(statistics.median(values)) - math.log(statistics.median(self.divided_by.get(job, (1.0,))))
            for job, values in self.by_job.items()
        }

    @property
    def value(self) -> float:
        """Return the geometric mean of the medians of the jobs."""
        return math.exp(math.fsum(self.logs.values()) / len(self.by_job))

    @property
    def is_exact(self) -> bool:
        """Return whether nothing varies: a pledge, or a model."""
        sides = (self.by_job, self.divided_by)
        return all(len({value for values in side.values() for value in values}) < 2 for side in sides)

    def bounds(self) -> tuple[float, float] | None:
        """Return the bounds of 95 % of the value: of the machine, or of these jobs where they are too few.

        None where a job has too few launches.
        """
        if self.is_exact:
            return self.value, self.value
        sides: list[contrast.Weighted] = [(1.0, self.logs)]
        if not self.is_of_machine:  # the logarithms of each job's launches, weighted by one job
            sides = [
                (sign / len(self.by_job), {f"{job} {sign} {at}": math.log(value) for at, value in enumerate(values)})
                for sign, side in ((1, self.by_job), (-1, self.divided_by))
                for job, values in side.items()
            ]
        one = contrast.estimate(sides, is_serial=self.is_of_machine)
        interval = one.interval() if one else None
        if one is None or interval is None:
            return None
        shift = 0.0 if self.is_of_machine else math.log(self.value) - one.value
        return math.exp(interval[0] + shift), math.exp(interval[1] + shift)

    @property
    def text(self) -> str:
        """Return value and bounds in one line."""
        bounds = self.bounds()
        if bounds is None:
            return f"{self.value:.6g} (too few launches for an interval, {counted(len(self.by_job), 'job')})"
        jobs = counted(len(self.by_job), "job")
        whose = jobs if self.is_of_machine else f"launches of {jobs} alone"
        return f"{self.value:.6g} (95 %: {bounds[0]:.6g} to {bounds[1]:.6g}, {whose})"


def answering(case: Case, records: Sequence[Judged]) -> list[Judged]:
    """Return the records of a case."""
    answers: dict[str, bool] = {}
    for read in records:
        if read.work not in answers:
            answers[read.work] = case.is_met_by(read)
    return [read for read in records if answers[read.work]]


def of_case(case: Case, records: Sequence[Judged]) -> Measured | None:
    """Return what the records of a case that count measured; None without a result.

    The first `jobs` count in the order of their sessions, or all.
    """
    key, combination = (case.fom, point(case.labels)), (case.placement, case.nic_policy)
    by_job: dict[str, tuple[float, ...]] = {}
    for record in sorted(answering(case, records), key=lambda read: (read.session or "", read.number))[: case.jobs]:
        values = tuple(
            launch.values[key]
            for launch in record.launches  # one that is not a result has no values
            if (launch.placement, launch.nic_policy) == combination and launch.values.get(key, 0) > 0
        )
        if values:
            by_job[record.job] = by_job.get(record.job, ()) + values
    return Measured(by_job=by_job) if by_job else None


def scored(tender: Tender, case: Case, bid: Read) -> Measured | None:
    """Return what is scored of a case: the results, or only the pledge."""
    pledged = bid.bid.pledges.get(case.name)
    if tender.scored == "pledged" and pledged is not None:
        return Measured(by_job={"pledge": (pledged,)})
    return of_case(case, bid.records)


def meets(case: Case, results: Measured, bound: float) -> Meets:
    """Return whether results are at least as good as a bound: both ends of the interval, none, or one."""
    sign = 1 if case.fom.better is Better.LOWER else -1
    bounds = results.bounds()
    if bounds is None:
        return Meets.CANNOT_TELL
    ends = sorted(sign * end for end in bounds)
    if ends[1] <= sign * bound:
        return Meets.MEETS
    return Meets.DOES_NOT_MEET if ends[0] > sign * bound else Meets.CANNOT_TELL


def left_out(tender: Tender, records: Sequence[Judged]) -> dict[str, str]:
    """Return the id of each record that does not belong to a bid -> why."""
    programs = {rule.test.program for preset in tender.presets for rule in preset.rules if rule.test}
    reasons = {read.id: _reason(tender, programs, read) for read in records}
    answers = [read for read in records if not reasons[read.id]]
    by_case = {case.name: _sessions(case, answers) for case in tender.cases}
    of_presets = {_session(read) for read in answers if read.benchmark in programs}
    chosen = of_presets.union(*by_case.values())
    return {
        read.id: reasons[read.id] or f"the tender counts the jobs of an earlier session than {read.session}"
        for read in records
        if _session(read) not in chosen
    }


def _reason(tender: Tender, programs: Collection[str], read: Judged) -> str:
    """Return why a record does not answer the tender; empty if it does."""
    if read.challenge != tender.challenge:
        return f"its challenge is {read.challenge or 'none'}; the tender's is {tender.challenge}"
    if read.origin not in tender.origins:
        return f"its origin is {read.origin}; the tender accepts {', '.join(tender.origins)}"
    if read.benchmark in programs:
        return ""
    wrong = ["; ".join(case.differences(read)) for case in tender.cases if case.check == read.check]
    return min(wrong, key=len) if wrong else f"no case of the tender runs {read.check}"


def _sessions(case: Case, records: Sequence[Judged]) -> set[str]:
    """Return the sessions with the jobs that count for a case."""
    by_session = Counter(_session(read) for read in sorted(answering(case, records), key=_session))
    if (jobs := case.jobs) is None or not by_session:
        return set(by_session)
    return {max(by_session, key=lambda session: min(by_session[session], jobs))}  # the first of those with the most


def _session(read: Judged) -> str:
    return read.session or read.id
