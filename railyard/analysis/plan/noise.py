"""Estimate from an archive how much a check's launches differ within a job, and its jobs from each other.

Models: logarithms of the launches' values. The spread within a job is pooled over jobs and combinations. That between
jobs is what the variance of the jobs' means has beyond it (a one-way analysis of variance), pooled over combinations.
Leaves out: drift between dates (`railyard series dates`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.cases.comparison import label_text, rank_of
from railyard.analysis.judge.rows import Row, series
from railyard.records import comparable
from railyard.records.json_io import Json
from railyard.records.record import COMPUTED
from railyard.records.store.entries import Entry
from railyard.records.units import Better


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of one figure of merit of a check: relative spreads, `between` None where no two jobs show it.

    `launches` are those of a combination in the newest job, `combinations` its number of combinations, `points` those
    of the figure of merit, and `floor` is the noise floor as a share. `freedom` has the degrees of freedom with which
    the two spreads were estimated, 0 where they are stated. `what` names the figure and where it was measured; empty
    for a noise that is stated.
    """

    what: str
    within: float
    between: float | None
    jobs: int
    launches: int
    combinations: int
    floor: float
    points: int = 1
    freedom: tuple[int, int] = (0, 0)

    def limits(self) -> tuple[Noise, Noise]:
        """Return the least and the most that the noise may be: each spread is within them in 80 % of cases."""
        low, high = (
            dataclasses.replace(
                self,
                within=self.within * _factor(self.freedom[0], share),
                between=None if self.between is None else self.between * _factor(self.freedom[1], share),
            )
            for share in (0.9, 0.1)
        )
        return low, high


def _factor(freedom: int, share: float) -> float:
    """Return the limit of a standard deviation over its estimate, by the chi-squared distribution."""
    if not freedom:
        return 1.0
    import scipy.special  # imported here: takes 1 s, and --help does not need it

    return math.sqrt(freedom / float(scipy.special.chdtri(freedom, 1 - share)))


def of_archive(entries: Iterable[Entry], check: str, foms: Sequence[str] = ()) -> list[Noise]:
    """Return the noise of each setting and series in which a check was measured, of its first figure of merit.

    `foms` chooses other figures. Settings without two launches of one combination are left out.
    """
    chosen = (entry for entry in entries if entry.setting["check"] == check)
    rows = [row for row in series(chosen, _shared, None, foms) if row.key.fom.better is not Better.NEITHER]
    if not foms and rows:
        first = min((row.key.fom for row in rows), key=rank_of)
        rows = [row for row in rows if row.key.fom == first]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.shared["reference"], row.key.fom, row.key.labels), []).append(row)
    points = Counter(key[:2] for key in groups)
    noises = (_noise(members, points[key[:2]]) for key, members in groups.items())
    return [noise for noise in noises if noise is not None]


def _shared(setting: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return what jobs must have in common to differ by chance alone; None for what is computed."""
    return None if setting["origin"] in COMPUTED else {"reference": comparable.reference_digest(setting)}


def _noise(rows: Sequence[Row], points: int) -> Noise | None:
    squares, freedom = 0.0, 0  # within jobs
    between, inverse, more = 0.0, 0.0, 0  # between the means of jobs
    for row in rows:
        jobs = [[math.log(value) for value in point.values] for point in row.points if min(point.values) > 0]
        squares += math.fsum(statistics.variance(logs) * (len(logs) - 1) for logs in jobs if len(logs) > 1)
        freedom += sum(len(logs) - 1 for logs in jobs)
        if len(jobs) > 1:
            between += statistics.variance(map(statistics.fmean, jobs)) * (len(jobs) - 1)
            inverse += statistics.fmean(1 / len(logs) for logs in jobs) * (len(jobs) - 1)
            more += len(jobs) - 1
    if not freedom:
        return None
    within = squares / freedom
    newest = max((row.points[-1] for row in rows), key=lambda point: point.created)
    setting = newest.setting
    labels = label_text(rows[0].key.labels)
    return Noise(
        what=f"{rows[0].key.fom.stem}{f' {labels}' if labels else ''}, {rows[0].what}",
        within=math.sqrt(within),
        between=math.sqrt(max(0.0, (between - inverse * within) / more)) if more else None,
        jobs=max(len(row.points) for row in rows),
        launches=len(newest.values),
        combinations=math.prod(len(setting[name]) for name in ("placements", "nic_policies", "software")),
        floor=max(point.entry.own["noise_percent"] for row in rows for point in row.points) / 100,
        points=points,
        freedom=(freedom, more),
    )
