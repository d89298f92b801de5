"""Make the launch of the record from the files that one launch left.

Models: `convert` makes the benchmark output of a third-party program; `judge_nics` compares the NICs that sent with
those that the policy assigned; `with_algorithms` judges the algorithms of collectives by the bytes of links and nodes,
and by how often the launch called; `run` combines them. Leaves out the files themselves
(`railyard.jobs.job.job_folder`), the record as a whole (`railyard.jobs.stagedir`), and what the companions of a victim
left (`railyard.jobs.load_evidence`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from railyard.applications import launch as applications
from railyard.base.errors import InputError
from railyard.base.json_files import json_object
from railyard.jobs import launching, load_evidence
from railyard.jobs.job import job_folder
from railyard.jobs.job.job_folder import JobFolder, LaunchFiles
from railyard.jobs.job.submitted import FILE, Planned, Submitted, read
from railyard.placements.collectives import libraries, proof
from railyard.placements.collectives.algorithms import Shape
from railyard.placements.nics import stating
from railyard.placements.nics.evidence import SETUP_BYTES, Found, judge, senders
from railyard.placements.nics.policies import Host
from railyard.placements.topology import catalog
from railyard.records.assemble import LaunchRun
from railyard.records.folded import health
from railyard.records.folded.nic_bytes import Nics
from railyard.records.record import Software, Verdict

#: Exit statuses of `timeout`: the limit was reached; it was, and the launcher had to be killed.
LIMIT_STATUS = (124, 137)
#: Largest difference between the clocks of the node that submits a job and of those that run it.
CLOCKS_S = 60.0


def run(folder: JobFolder, launch: Planned) -> LaunchRun:
    """Return a launch for the record, from what it left in a stage directory."""
    job, placed, files = folder.job, folder.placed, job_folder.launch(folder.path, launch)
    if files.start and job.written:
        early_s = datetime.fromisoformat(job.written["time"]).timestamp() - files.start.time_s
        if early_s > CLOCKS_S:
            why = f"another job left its files: it began {early_s:.0f} s before this job was written"
            return _absent(launch, why)
    hosts, companions, fault = placed.hosts.get(launch.placement), None, ""
    seen = files.evidence.get("guard")
    if files.end and launch.roles:
        companions = load_evidence.read(folder, launch, files.companions, functools.partial(convert, folder))
    nics, obeyed = judge_nics(folder, launch, files)
    obeyed = with_algorithms(folder, launch, files, obeyed)
    if files.end and hosts:
        fault = convert(folder, launch.stem, len(hosts)) or (companions.fault if companions else "")
    series = []
    if files.counted and job.site.origin == "measured":
        series = [*files.counted.energy(hosts or (), placed.own_names), *files.counted.rank_nics()]
    reason = "; ".join(companions.reasons if companions else ()) or _reason(folder, files, launch)
    started = datetime.fromtimestamp(files.start.time_s, UTC) if files.start else None
    return dataclasses.replace(
        _absent(launch, reason),
        late=late(files, job.limit_s),
        exit_status=files.end.status if files.end else None,
        started=started.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if started else None,
        elapsed_s=files.elapsed_s,
        begun_monotonic_s=files.start.monotonic_s if files.start else None,
        ended_monotonic_s=files.end.monotonic_s if files.end else None,
        output=folder.path / f"{launch.stem}.json",
        expected_hosts=hosts,
        guard=load_evidence.guard(seen, companions) if companions else seen,
        roles=companions.roles if companions else None,
        nics=nics,
        health=_health(folder, files),
        nic_verdict=obeyed.verdict,
        nic_reason=obeyed.reason,
        has_groups=placed.has_groups,
        counted=series,
        own_names=placed.own_names,
        replaced=_replaced_image(folder) if launch.software == Software.IMAGE else "",
        fault=fault,
    )


def _health(folder: JobFolder, files: LaunchFiles) -> dict[str, Any] | None:
    """Return the health of a launch for the record: what its torus counted, or else what its ranks read."""
    counted = files.evidence.get("health", {})
    if "spells" in counted:  # not in a stage directory that an older railyard left
        return {**health.document(counted["read"], counted["not_read"], counted["events"]), "spells": counted["spells"]}
    return files.counted.health(folder.placed.own_names) if files.counted else None


def convert(folder: JobFolder, stem: str, ranks: int) -> str:
    """Write the benchmark output of a third-party program from what the program printed.

    Returns why its output is not a result, in one line; empty if it is one, or if the program is railyard's own.
    """
    job = folder.job
    benchmark = job.spec.benchmark
    if not job.read_by and not applications.is_application(benchmark):
        return ""
    parameters = job.case()["parameters"]
    return applications.read(folder.path, stem, benchmark, parameters=parameters, ranks=ranks, read_by=job.read_by)


def _replaced_image(folder: JobFolder) -> str:
    """Return a sentence if the job's image is another file at the job's end than when it was submitted, else nothing.

    A running job, and an image that is a folder, have no sum to compare.
    """
    image = folder.job.image or {}
    for file, digest in (*folder.begun_files, *folder.ended_files):
        if Path(file).name == image.get("file") and digest != image.get("sha256"):
            was, now = str(image.get("sha256"))[:12], digest[:12]
            return f"the image {image['file']} was replaced while the job ran: sha256 {was}... became {now}..."
    return ""


def judge_nics(folder: JobFolder, launch: Planned, files: LaunchFiles) -> tuple[Nics | None, Found]:
    """Return the bytes of a launch's NICs, and the verdict on its NIC policy; `cannot-tell` if nothing was placed.

    The bytes are those that the torus counted, or else those that the ranks wrote into the launch's file `.nics`.
    """
    job, placed, nics = folder.job, folder.placed, load_evidence.counted(files.evidence)
    hosts = placed.hosts.get(launch.placement)
    if job.roles:
        nics = load_evidence.of_hosts(nics, hosts or ())
    if not hosts:
        return nics, Found(verdict=Verdict.CANNOT_TELL)
    rows, assigned = placed.rows(launch.placement), placed.nics_by_row(launch.nic_policy)
    of_ranks = senders(hosts, rows, list(map(tuple, assigned)))
    if nics is not None or not files.counted:
        verdict = judge(of_ranks, None if nics is None else nics.sent)
        return nics, _explained(job, launch.nic_policy, (nics, verdict), assigned)
    nics, reason = files.counted.nics(job.site.devices, hosts, placed.own_names)
    verdict = judge(of_ranks, None if nics is None else nics.sent, setup_bytes=SETUP_BYTES)
    if verdict.verdict == Verdict.CANNOT_TELL and reason:
        verdict = Found(verdict=Verdict.CANNOT_TELL, reason=reason)
    verdict = _explained(job, launch.nic_policy, (nics, verdict), assigned)
    if gpus := placed.gpus_by_row(launch.nic_policy):  # a wrong GPU fails the launch whatever its NICs sent
        of_gpus = judge_gpus(gpus, rows, files.counted.gpus)
        is_worse = of_gpus.verdict == Verdict.NOT_OBEYED or verdict.verdict == Verdict.OBEYED
        verdict = of_gpus if is_worse else verdict
    return nics, verdict


def _explained(job: Submitted, policy: str, judged: tuple[Nics | None, Found], local: Sequence[Sequence[str]]) -> Found:
    """Return a verdict; one that is not obeyed with the variables that were set for the policy, wrong ones named."""
    counted, verdict = judged
    if verdict.verdict != Verdict.NOT_OBEYED:
        return verdict
    used = {nic for own in local for nic in own} | {nic for _, nic in (counted.sent if counted else {})}
    names = tuple(job.site.devices or sorted(used))
    nearest = tuple(names.index(own[0]) if own and own[0] in names else 0 for own in local)
    stack = launching.named_stack(job.site.features)
    why = stating.explained(policy, stack, Host(nics=names, nearest=nearest), job.spec.nic_settings)
    return dataclasses.replace(verdict, reason="; ".join(filter(None, (verdict.reason, why))))


def judge_gpus(assigned: Sequence[str], local_ranks: Sequence[int], seen: Sequence[str | None]) -> Found:
    """Return the verdict on the GPUs that the ranks report; `seen` has one entry for each rank, None for no report."""
    for rank, (local, sees) in enumerate(zip(local_ranks, seen, strict=False)):
        if sees is not None and sees != assigned[local]:
            reason = f"rank {rank} sees GPU {sees}, assigned {assigned[local]}"
            return Found(verdict=Verdict.NOT_OBEYED, reason=reason)
    if len(seen) < len(local_ranks) or None in seen:
        return Found(verdict=Verdict.CANNOT_TELL, reason="not every rank reported its GPU")
    return Found(verdict=Verdict.OBEYED)


def late(files: LaunchFiles, limit_s: int) -> str:
    """Return that railyard ended a launch at its limit; empty if it did not."""
    is_late = limit_s and files.end and files.end.status in LIMIT_STATUS and (files.elapsed_s or 0.0) >= limit_s
    return f"ended after its limit of {limit_s} s (launch_limit_s)" if is_late else ""


def ended_late(path: Path, stem: str) -> str:
    """Return that railyard ended a launch of a stage directory at its limit; empty if it did not, or without a job."""
    job = read(path) if (path / FILE).is_file() else None
    planned = next((one for one in job.launches if one.stem == stem), None) if job else None
    return late(job_folder.launch(path, planned), job.limit_s) if job and planned else ""


def _reason(folder: JobFolder, files: LaunchFiles, launch: Planned) -> str:
    """Return why a launch has no result, in one line; empty if it ended without a complaint.

    It is the launch's own complaint, why it could not be placed, or what ended the job.
    """
    if files.end:
        return files.complaint
    if files.is_cut_off:
        return "its files are cut off, as on a full disk"
    if files.start:
        return f"the job ended while it ran: {folder.ended_by or files.complaint or 'nothing says why'}"
    return folder.placed.cannot.get(launch.placement, "") or folder.ended_by


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


VERDICTS = {True: Verdict.OBEYED, False: Verdict.NOT_OBEYED, None: Verdict.CANNOT_TELL}


def with_algorithms(folder: JobFolder, launch: Planned, files: LaunchFiles, nics: Found) -> Found:
    """Return the worse of the verdicts on a launch's NICs and on its algorithms.

    A policy that leaves the NICs to the library has no verdict on them. In a job that compares algorithms, the reason
    of the library's default is what it was, as its bytes show.
    """
    policy, _, choice = launch.nic_policy.partition("+")
    is_by_library = policy == "library-default"
    if nics.verdict == Verdict.NOT_OBEYED or not any("+" in name for name in folder.job.spec.nics):
        return nics
    try:
        is_obeyed, reason = _judged(folder, launch, files, choice)
    except InputError as error:
        is_obeyed, reason = None, str(error)
    own = Found(verdict=VERDICTS[is_obeyed], reason=reason and f"{choice or libraries.DEFAULT}: {reason}")
    if choice:
        return own if is_by_library or own.verdict != Verdict.OBEYED else nics
    return own if is_by_library else nics


def _judged(folder: JobFolder, launch: Planned, files: LaunchFiles, choice: str) -> tuple[bool | None, str]:
    placed, job = folder.placed, folder.job
    hosts = placed.hosts.get(launch.placement)
    if not hosts or "nics" not in files.evidence or placed.topology is None:
        return None, "nobody counted the bytes of nodes on a known topology"
    series = json_object(folder.path / f"{launch.stem}.json").get("series", ())
    calls = proof.calls_of((one["fom"], one["labels"], one["samples"]) for one in series)
    if not calls:
        return None, f"{job.spec.benchmark} does not count its calls"
    topology = catalog.load(job.site.topology)
    shape = Shape(ranks=len(hosts), per_node=job.spec.ranks_per_node, grid=tuple(job.spec.grid))
    rows = proof.fits(proof.counted(topology, hosts, files.evidence), calls, shape)
    if not choice:
        return None, f"the bytes are {proof.named(rows)}"
    smallest = min(size for _, size in calls)
    if any(int(name.partition(libraries.FROM)[2] or 0) > smallest for _, name in libraries.parse(choice)):
        return None, f"smaller sizes are the library's default; the bytes are {proof.named(rows)}"
    library = None if libraries.is_own(choice) else libraries.of_features(job.site.features)
    wanted = libraries.matrices(choice, library)
    (collective,) = {name for name, _ in calls}
    if collective not in wanted:
        return None, f"the program calls {collective}"
    return proof.judge(wanted[collective], rows)
