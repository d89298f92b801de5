"""Read what one launch left in its job's stage directory, and make the launch of the record from it.

Models: `collect` reads the files that the job script wrote for the launch; `convert` makes the benchmark output of a
third-party program; `judge_nics` compares the NICs that sent with those that the policy assigned; `run` combines
them. A file that is cut off counts as missing. Leaves out the record as a whole (`railyard.jobs.stagedir`), and what
the companions of a victim left (`railyard.jobs.beside`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from railyard.applications import launch as applications
from railyard.jobs import beside, complaints, launching
from railyard.jobs.beside import Companions
from railyard.jobs.job.json_files import json_object
from railyard.jobs.job.submitted import Placed, Planned, Submitted, read
from railyard.jobs.nodes import energy, nic_counters, rank_nics
from railyard.placements.nics import stating
from railyard.placements.nics.evidence import SETUP_BYTES, Found
from railyard.placements.nics.evidence import Verdict as NicVerdict
from railyard.placements.nics.policies import Host
from railyard.records.assemble import LaunchRun
from railyard.records.folded.nic_bytes import Nics
from railyard.records.record import Software, Verdict

#: Exit statuses of `timeout`: the limit was reached; it was, and the launcher had to be killed.
LIMIT_STATUS = (124, 137)
#: Largest difference between the clocks of the node that submits a job and of those that run it.
CLOCKS_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When a launch started: seconds since 1970, and seconds of the monotonic clock, None in old jobs."""

    time_s: float
    monotonic_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How and when a launch ended: exit status, and the two times of `Start`."""

    status: int
    time_s: float
    monotonic_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFiles:
    """The files of a launch as values. `start` and `end` are None where the launch did not come that far.

    `start` is when the launch had its turn on the machine. `complaint` is the line of its standard error that
    explains a failure, `evidence` what the virtual torus or the simulator measured. `is_cut_off`: the file of its
    start or its end exists and is not whole.
    """

    start: Start | None
    end: End | None
    complaint: str
    evidence: Mapping[str, Any]
    is_cut_off: bool

    @property
    def elapsed_s(self) -> float | None:
        """Return the seconds between start and end, by the monotonic clock if both have it; None if negative."""
        if not self.start or not self.end:
            return None
        elapsed = self.end.time_s - self.start.time_s
        if self.start.monotonic_s is not None and self.end.monotonic_s is not None:
            elapsed = self.end.monotonic_s - self.start.monotonic_s
        return elapsed if elapsed >= 0 else None


def collect(folder: Path, launch: Planned) -> LaunchFiles:
    """Return what the files of a launch in a stage directory contain."""
    start_file, end_file = folder / f"{launch.stem}.begun", folder / f"{launch.stem}.ended"
    start, end = _numbers(start_file, (1, 2)), _numbers(end_file, (2, 3))
    evidence = json_object(folder / f"{launch.stem}.evidence")
    start = [time_s + waited_s(evidence) for time_s in start or ()]
    return LaunchFiles(
        start=Start(time_s=start[0], monotonic_s=_item(start, 1)) if start else None,
        end=End(status=int(end[0]), time_s=end[1], monotonic_s=_item(end, 2)) if end else None,
        complaint=_complaint(folder / f"{launch.stem}.err"),
        evidence=evidence,
        is_cut_off=not end and (end_file if start else start_file).exists(),
    )


def _complaint(stderr: Path) -> str:
    """Return the line that explains a failure, and what notices are beside it."""
    return "; ".join(filter(None, (complaints.first(stderr), complaints.beside(stderr))))


def waited_s(evidence: Mapping[str, Any]) -> float:
    """Return the seconds for which a launch waited for other launches on the machine, from its evidence."""
    waited = (evidence.get("guard") or {}).get("waited_s", 0.0)
    return float(waited) if isinstance(waited, int | float) else 0.0


def convert(folder: Path, job: Submitted, stem: str, ranks: int) -> str:
    """Write the benchmark output of a third-party program from what the program printed.

    Returns why its output is no result, in one line; empty if it is one, or if the program is railyard's own.
    """
    benchmark = job.spec.benchmark
    if not job.read_by and not applications.is_application(benchmark):
        return ""
    parameters = job.case()["parameters"]
    return applications.read(folder, stem, benchmark, parameters=parameters, ranks=ranks, read_by=job.read_by)


def replaced_image(folder: Path, job: Submitted) -> str:
    """Return that the job's image is another file at the job's end than when it was submitted; empty if it is the same.

    A running job, and an image that is a folder, have no sum to compare.
    """
    image = job.image or {}
    for when in ("begun", "ended"):
        for file, digest in sums(folder / f"code.{when}"):
            if Path(file).name == image.get("file") and digest != image.get("sha256"):
                was, now = str(image.get("sha256"))[:12], digest[:12]
                return f"the image {image['file']} was replaced while the job ran: sha256 {was}... became {now}..."
    return ""


def sums(path: Path) -> list[tuple[str, str]]:
    """Return path and sha256 of the files in what sha256sum wrote; nothing for a file that is not there."""
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return [(line[66:], line[:64]) for line in lines if re.match(r"[0-9a-f]{64} [ *].", line)]


def run(folder: Path, job: Submitted, placed: Placed | None, *, launch: Planned, ended_by: str) -> LaunchRun:
    """Return a launch for the record, from what it left in a stage directory.

    `placed` is None where the job ended before it placed its ranks; `ended_by` is why the job ended early.
    """
    left = collect(folder, launch)
    if left.start and (older := _older(job, left.start)):
        return _absent(launch, older)
    hosts = placed.hosts.get(launch.placement) if placed else None
    own_names = placed.own_names if placed else {}
    companions = _companions(folder, job, placed, launch) if launch.roles and left.end else None
    nics, obeyed = judge_nics(folder, job, placed, launch=launch, left=left)
    fault = convert(folder, job, launch.stem, len(hosts)) if hosts and left.end else ""
    is_measured, counters = job.site.origin == "measured", folder / f"{launch.stem}.nics"
    reason = _reason(left, placed, launch, ended_by=ended_by)
    return dataclasses.replace(
        _absent(launch, "; ".join(companions.reasons if companions else ()) or reason),
        late=late(left, job.limit_s),
        exit_status=left.end.status if left.end else None,
        started=_utc_text(left.start.time_s) if left.start else None,
        elapsed_s=left.elapsed_s,
        begun_monotonic_s=left.start.monotonic_s if left.start else None,
        ended_monotonic_s=left.end.monotonic_s if left.end else None,
        output=folder / f"{launch.stem}.json",
        expected_hosts=hosts,
        guard=beside.guard(left.evidence.get("guard"), companions),
        roles=companions.roles if companions else None,
        nics=nics,
        nic_verdict=Verdict(obeyed.verdict),
        nic_reason=obeyed.reason,
        has_groups=placed is not None and placed.has_groups,
        counted=[*energy.read(counters, hosts or (), own_names), *rank_nics.read(counters)]
        if is_measured
        else (),
        own_names=own_names,
        replaced=replaced_image(folder, job) if launch.software == Software.IMAGE else "",
        fault=fault or (companions.fault if companions and hosts else ""),
    )


def judge_nics(
    folder: Path, job: Submitted, placed: Placed | None, *, launch: Planned, left: LaunchFiles
) -> tuple[Nics | None, Found]:
    """Return the bytes of a launch's NICs, and the verdict on its NIC policy; `cannot-tell` if nothing was placed.

    The bytes are those that the torus counted, or else those that the ranks wrote into the launch's file `.nics`.
    """
    hosts = placed.hosts.get(launch.placement) if placed else None
    nics = beside.counted(left.evidence)
    if job.roles:
        nics = beside.of_hosts(nics, hosts or ())
    if not placed or not hosts:
        return nics, Found(verdict=NicVerdict.CANNOT_TELL)
    rows, assigned = placed.rows(launch.placement), placed.nics_by_row(launch.nic_policy)
    path = folder / f"{launch.stem}.nics"
    if nics is not None or not path.exists():
        verdict = launching.judge_nics(hosts, rows, assigned, nics)
        return nics, _explained(job, launch.nic_policy, (nics, verdict), assigned)
    counted = nic_counters.read(path, job.site.devices, hosts, placed.own_names)
    verdict = launching.judge_nics(hosts, rows, assigned, counted.nics, setup_bytes=SETUP_BYTES)
    if verdict.verdict == NicVerdict.CANNOT_TELL and counted.reason:
        verdict = Found(verdict=NicVerdict.CANNOT_TELL, reason=counted.reason)
    verdict = _explained(job, launch.nic_policy, (counted.nics, verdict), assigned)
    return counted.nics, _with_gpus(verdict, placed.gpus_by_row(launch.nic_policy), rows, counted.gpus)


def _explained(
    job: Submitted, policy: str, judged: tuple[Nics | None, Found], local: Sequence[Sequence[str]]
) -> Found:
    """Return a verdict; one that is not obeyed with the variables that were set for the policy, wrong ones named."""
    counted, verdict = judged
    if verdict.verdict != NicVerdict.NOT_OBEYED:
        return verdict
    used = {nic for own in local for nic in own} | {nic for _, nic in (counted.sent if counted else {})}
    names = tuple(job.site.devices or sorted(used))
    nearest = tuple(names.index(own[0]) if own and own[0] in names else 0 for own in local)
    stack = launching.named_stack(job.site.features)
    why = stating.explained(policy, stack, Host(nics=names, nearest=nearest), job.spec.nic_settings)
    return dataclasses.replace(verdict, reason="; ".join(filter(None, (verdict.reason, why))))


def _with_gpus(
    nics: Found, assigned: Sequence[str], rows: Sequence[int], seen: Sequence[str | None]
) -> Found:
    """Return the worse of the verdicts on NICs and GPUs: a wrong GPU fails the launch whatever its NICs sent."""
    if not assigned:
        return nics
    gpus = launching.judge_gpus(assigned, rows, seen)
    is_worse = gpus.verdict == NicVerdict.NOT_OBEYED or nics.verdict == NicVerdict.OBEYED
    return gpus if is_worse else nics


def _companions(folder: Path, job: Submitted, placed: Placed | None, launch: Planned) -> Companions:
    """Return what the companions of a launch's victim left."""
    return beside.read(
        beside.Left(
            folder=folder,
            stem=launch.stem,
            planned=launch.roles,
            hosts=placed.roles.get(launch.placement, {}) if placed else {},
            devices=job.site.devices,
            own_names=placed.own_names if placed else {},
            read_copy=lambda stem, ranks: convert(folder, job, stem, ranks),
        )
    )


def late(left: LaunchFiles, limit_s: int) -> str:
    """Return that railyard ended a launch at its limit; empty if it did not."""
    is_late = limit_s and left.end and left.end.status in LIMIT_STATUS and (left.elapsed_s or 0.0) >= limit_s
    return f"ended after its limit of {limit_s} s (launch_limit_s)" if is_late else ""


def ended_late(folder: Path, stem: str) -> str:
    """Return that railyard ended a launch of a stage directory at its limit; empty if it did not, or without a job."""
    job = read(folder) if (folder / "job.json").is_file() else None
    launch = next((one for one in job.launches if one.stem == stem), None) if job else None
    return late(collect(folder, launch), job.limit_s) if job and launch else ""


def _reason(left: LaunchFiles, placed: Placed | None, launch: Planned, *, ended_by: str) -> str:
    """Return why a launch has no result, in one line; empty if it ended without a complaint.

    It is the launch's own complaint, why it could not be placed, or what ended the job.
    """
    if left.end:
        return left.complaint
    if left.is_cut_off:
        return "its files are cut off, as on a full disk"
    if left.start:
        return f"the job ended while it ran: {ended_by or left.complaint or 'nothing says why'}"
    cannot = placed.cannot.get(launch.placement, "") if placed else ""
    return cannot or ended_by


def _older(job: Submitted, start: Start) -> str:
    """Return why a launch belongs to an earlier job: it started before this job was written; empty otherwise."""
    written_s = datetime.fromisoformat(job.written["time"]).timestamp() if job.written else 0.0
    if start.time_s >= written_s - CLOCKS_S:
        return ""
    return (
        f"another job left its files: it began {written_s - start.time_s:.0f} s before this job was written"
    )


def _absent(launch: Planned, reason: str) -> LaunchRun:
    """Return a launch that left no file."""
    return LaunchRun(
        index=launch.index,
        placement=launch.placement,
        nic_policy=launch.nic_policy,
        software=Software(launch.software),
        repeat=launch.repeat,
        command=launch.command,
        reason=reason,
    )


def _numbers(path: Path, counts: tuple[int, ...]) -> list[float] | None:
    """Return the numbers in a file's one line; None if their count is not in `counts`, or the line is cut off."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    if not text.endswith("\n"):
        return None
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return None
    return numbers if len(numbers) in counts else None


def _item(numbers: Sequence[float], index: int) -> float | None:
    """Return a number of a list; None if the list is shorter."""
    return numbers[index] if index < len(numbers) else None


def _utc_text(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
