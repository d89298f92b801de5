"""Check times: launches follow one another and the commit that ran; nothing is in the future."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from railyard.records import provenance
from railyard.records.record import COMPUTED, Launch, Record
from railyard.records.rules.registry import Fault, ended_well, rule

#: The resolution of `created`, which has whole seconds; that of `started` may be the same.
SECOND_S = 1.0
#: The most by which the clocks of bidder and buyer may differ.
CLOCKS_S = 300.0
#: The most by which wall clock and monotonic clock may differ, because of resolution and slewing.
DRIFT_S = 0.5


def now() -> datetime:
    """Return the current time on the checking machine."""
    return datetime.now(UTC)


def seconds(text: str) -> float:
    """Return the seconds since 1970 of a time."""
    return datetime.fromisoformat(text).timestamp()


@rule("started")
def started(read: Record) -> Iterator[Fault]:
    """A launch that ended has a start and a duration above 0, unless it was computed."""
    if read.origin in COMPUTED:
        return
    for field, launch in ended_well(read):
        if launch.started is None:
            yield Fault(f"{field}.started", "no start")
        if launch.elapsed_s is None or launch.elapsed_s <= 0:
            yield Fault(f"{field}.elapsed_s", f"{launch.elapsed_s} is no duration")


@rule("one-after-another")
def sequence(read: Record) -> Iterator[Fault]:
    """Launches start one after another, and none before those before it ended."""
    earliest = float("-inf")
    for index, launch in enumerate(read.launches):
        if launch.started is None:
            continue
        started_s = seconds(launch.started)
        if started_s + SECOND_S < earliest:
            text = f"{launch.started}: {earliest - started_s:.1f} s before the launches before it ended"
            yield Fault(f"launches[{index}].started", text)
        earliest = max(earliest, started_s) + (launch.elapsed_s or 0.0)


@rule("created")
def created(read: Record) -> Iterator[Fault]:
    """The record was made after its last launch ended, and not in the checker's future."""
    created_s, (_, last_s) = seconds(read.created), _span_s(read)
    if created_s > now().timestamp() + CLOCKS_S:
        yield Fault("created", f"{read.created} is in the future")
    if created_s + SECOND_S < last_s:
        yield Fault("created", f"{last_s - created_s:.1f} s before the last launch ended")


@rule("job-times")
def job_times(read: Record) -> Iterator[Fault]:
    """The job was written before its first launch and ended after its last, when the record was made."""
    if read.run is None or read.run["written"] is None or read.run["ended"] is None:
        return
    written_s, ended_s = (seconds(read.run[when]["time"]) for when in ("written", "ended"))
    first_s, last_s = _span_s(read)
    if written_s > first_s + SECOND_S:
        yield Fault("run.written.time", "after the first launch")
    if ended_s + SECOND_S < last_s:
        yield Fault("run.ended.time", "before the last launch ended")
    if abs(seconds(read.created) - ended_s) > SECOND_S:
        yield Fault("created", f"{read.created}; the job ended at {read.run['ended']['time']}")


def _span_s(read: Record) -> tuple[float, float]:
    """Return when the first launch began and the last one ended; without a launch an interval that has no time."""
    spans = [(seconds(run.started), run.elapsed_s or 0.0) for run in read.launches if run.started]
    begins, ends = (start_s for start_s, _ in spans), (start_s + taken_s for start_s, taken_s in spans)
    return min(begins, default=float("inf")), max(ends, default=float("-inf"))


_committed = functools.lru_cache(maxsize=4096)(provenance.committed)


@rule("commit-first")
def commit_first(read: Record) -> Iterator[Fault]:
    """The job was written and ran after its commit was made, where the checker has a whole clone with the commit."""
    commit = read.provenance["railyard"]["git_commit"]
    committed = None if commit is None else _committed(commit)
    written = (read.run or {}).get("written") or {}
    times = [read.created, written.get("time"), *(launch.started for launch in read.launches)]
    earliest = min(filter(None, times), key=seconds)
    if committed is not None and seconds(earliest) + CLOCKS_S < committed.timestamp():
        text = f"{commit[:12]} was committed at {committed:%Y-%m-%dT%H:%M:%S%z}, after {earliest}"
        yield Fault("provenance.railyard.git_commit", text)


@rule("session")
def session(read: Record) -> Iterator[Fault]:
    """The ReFrame session began before the first launch, and is the one that `run` names."""
    reframe = read.provenance["reframe"] or {}
    match = re.match(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)-", str(reframe.get("session", "")))
    first = next((launch.started for launch in read.launches if launch.started), None)
    if match and first and seconds(match[1]) > seconds(first) + SECOND_S:
        yield Fault("provenance.reframe.session", f"{match[1]} is after the first launch, {first}")
    if read.run is not None and read.run["session"] != reframe.get("session"):
        yield Fault("run.session", "another session than provenance.reframe's")


@rule("monotonic")
def monotonic(read: Record) -> Iterator[Fault]:
    """Monotonic times rise from launch to launch and give the launches' durations and distances."""
    timed: list[tuple[str, Launch, float, float]] = []
    for field, launch in ended_well(read):
        start_s, end_s = launch.begun_monotonic_s, launch.ended_monotonic_s
        if start_s is None or end_s is None:
            if read.run is not None and read.origin not in COMPUTED:
                yield Fault(f"{field}.begun_monotonic_s", "no monotonic times")
            continue
        timed.append((field, launch, start_s, end_s))
        if launch.elapsed_s is None or abs(end_s - start_s - launch.elapsed_s) > 1e-6 * max(1.0, end_s):
            text = f"{launch.elapsed_s}; the monotonic times differ by {end_s - start_s:.3f}"
            yield Fault(f"{field}.elapsed_s", text)
    for (_, one, since, until), (field, other, later_s, _) in itertools.pairwise(timed):
        if later_s < until - 0.02:
            yield Fault(f"{field}.begun_monotonic_s", f"{later_s} is before the launch before it ended")
        elif one.started and other.started:
            drift = seconds(other.started) - seconds(one.started) - (later_s - since)
            if abs(drift) > DRIFT_S + 1e-3 * (later_s - since):
                yield Fault(f"{field}.started", f"{drift:+.1f} s against the monotonic times")
