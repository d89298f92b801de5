"""What a job leaves in its stage directory, and the record that is made of it, however the job ended.

    job.json          what was requested (`job.submitted.Submitted`), written before the job is submitted
    placed.json       where each placement puts its ranks (`job.submitted.Placed`), written before the first launch
    nodes, nodes.json the descriptions of a real machine's nodes (`railyard.jobs.nodes.node_step`)
    environment.json  the variables and modules of the launches (`railyard.jobs.nodes.surroundings`)
    code.*, boot.*    digests of what the launches run, and the machine's boot: .begun and .ended
    ended.json        the code when the record was made
    launch-NNN.*      .begun, .ended, .json, .out, .err, .evidence and .nics of each launch; `.roles` if it had
                      companions (`railyard.jobs.together`)
    torus.json        the virtual torus, as `railyard torus status` reported it
    machine.json      the machine that the job ran on; where there is none, it is the one that reads
    recorded          the record's path, once there is one; blank before

A job may end before it has written any of them, or in the middle of one: a file that is cut off counts as not there.
Leaves out how a launch is made (`railyard.jobs.schedule`) and where its ranks go (`railyard.jobs.placing`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from placements.nics.evidence import SETUP_BYTES, Found
from placements.nics.evidence import Verdict as NicVerdict
from railyard.applications import launch as applications
from railyard.base.errors import RunError
from railyard.jobs import beside, complaints, launching
from railyard.jobs.beside import Around
from railyard.jobs.job.submitted import Placed, Planned, Submitted, read, read_placed
from railyard.jobs.nodes import energy, nic_counters, surroundings
from railyard.records import assemble, provenance
from railyard.records.folded.nic_bytes import Nics
from railyard.records.record import Record, Software, Verdict
from railyard.records.store import archive, sessions
from railyard.records.store.sessions import Place

MOST_PATH_BYTES = 4096
#: How far the clocks may differ of the node that submits and of those that run.
CLOCKS_S = 60.0
TORUS_FIELDS = ("name", "engine", "rate_scale", "mtu_bytes", "burst_bytes", "latency_scaled", "faults")
TORUS_FIELDS_OF_ENGINE = ("image", "image_sha256", "network", "buffer_cells")


def torus_of(folder: Path) -> dict[str, Any] | None:
    """Return what `railyard torus status` said of the job's torus, where it ran on one; of a simulation what it was."""
    said = _json(folder / "torus.json")
    if not said:
        return _simulation(folder)
    names = [*TORUS_FIELDS, *(name for name in TORUS_FIELDS_OF_ENGINE if name in said)]
    return {name: said[name] for name in names} if said else None


def _simulation(folder: Path) -> dict[str, Any] | None:
    """Return what simulated the launches, in a torus's words; the same for all of them."""
    for path in sorted(folder.glob("launch-*.evidence")):
        if said := _json(path).get("simulation"):
            kept = {
                name: said[name] for name in ("calibration", "calibration_sha256", "algorithms", "faults")
            }
            engine = f"SimGrid {said['simgrid']}"
            return {"name": "simulated", "engine": engine, "rate_scale": 1.0, "latency_scaled": True, **kept}
    return None


def began(folder: Path) -> bool:
    """Return whether any launch began."""
    return any(folder.glob("launch-*.begun"))


def keep(folder: Path, reason: str = "") -> Record:
    """Make the record of a stage directory and add it to the archive; afterwards `record_path` knows it.

    `reason` is why launches are missing, where the job itself has not said. Raises InputError for a folder that holds
    no job, RunError where the archive cannot be written.
    """
    job = read(folder)
    root = Path(job.spec.archive)
    with sessions.opened(root, str(job.reframe.get("session", ""))) as chain:
        made = record_of(folder, reason, chain.place(job.id))
        added = archive.add(made, root)
        if job.id:
            chain.add(job.id, made)
    _note(folder, added)
    return made


def reserve(folder: Path) -> None:
    """Take the room that noting the record's path needs, before launches can fill the disk: a record that is not noted
    would be made again.
    """
    (folder / "recorded").write_text(" " * MOST_PATH_BYTES)


def _note(folder: Path, record: Path) -> None:
    """In the room that `reserve` took, where it did; the record itself is safe already."""
    try:
        with os.fdopen(os.open(folder / "recorded", os.O_WRONLY | os.O_CREAT, 0o666), "w") as file:
            file.write(f"{record}\n")
    except OSError as error:
        print(f"railyard: {folder} does not know of its record {record}: {error.strerror}", file=sys.stderr)


def record_path(folder: Path) -> Path | None:
    """Of the record that was made of a stage directory."""
    path = folder / "recorded"
    noted = path.read_text().strip() if path.is_file() else ""
    return Path(noted) if noted else None


def record_of(folder: Path, reason: str = "", place: Place | None = None) -> Record:
    """The record of what there is: launches that ended with their samples, the others as not measured, and why.

    The same folder gives the same record at any time: the first call writes down when it was and which code was there.
    """
    job, placed, ended = read(folder), read_placed(folder), _ended(folder)
    ended_by = complaints.last(folder / job.stderr) or reason
    collected = provenance.collect(reframe=job.reframe, torus=torus_of(folder), image=job.image)
    on = _json(folder / "machine.json")
    ran_in, job_id = surroundings.provenance(folder)
    if ran_in:
        collected |= {"job": ran_in, "reframe": {**job.reframe, "job": job_id}}
    unknown: dict[str, object] = {"order": job.spec.allocation, "seed": None, "nodes": []}
    return assemble.assemble(
        case={
            **job.case(),
            "topology": placed.topology if placed else None,
            "allocation": placed.allocation if placed else unknown,
        },
        system=job.site.system,
        origin=job.site.origin,
        provenance={
            **collected,
            "railyard": {
                **collected["railyard"],
                **{name: ended[name] for name in ("git_commit", "git_dirty")},
            },
            "machine": on or collected["machine"],
            **({"nodes": said} if (said := described_nodes(placed)) else {}),
        },
        launches=[_run_of(folder, job, placed, launch=launch, ended_by=ended_by) for launch in job.launches],
        created=datetime.fromisoformat(ended["time"]),
        run=_run(folder, job, ended, place or Place(number=0, previous=None)) if job.id else None,
    )


def described_nodes(placed: Placed | None) -> dict[str, Any]:
    """Return how many nodes described themselves, of how many kinds, and which hosts have a name of their own.

    Empty where none was asked to.
    """
    if not placed or not placed.described:
        return {}
    own = {"own_names": dict(placed.own_names)} if placed.own_names else {}
    return {"described": placed.described, "kinds": placed.kinds, **own}


def _ended(folder: Path) -> dict[str, Any]:
    """Return the code's state at the job's end, as the first call saw it; on a full disk it is not noted."""
    known = _json(folder / "ended.json")
    if not known:
        known = provenance.state()
        with contextlib.suppress(OSError, RunError):
            archive.write_whole(folder / "ended.json", json.dumps(known), replace=True)
    return known


def _run(folder: Path, job: Submitted, ended: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """The record's `run`: what ran at the job's beginning and at its end, and where the record is in its session."""
    begun = None if job.written is None else _with_digests(job.written, folder / "code.begun")
    return {
        "job": job.id,
        "boot": _boot(folder / "boot.begun"),
        "written": begun,
        "ended": _with_digests(ended, folder / "code.ended"),
        "session": str(job.reframe.get("session", "")),
        "number": place.number,
        "previous": place.previous,
    }


def _with_digests(state: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """A state of the code with the digests that the job wrote, lines of sha256sum."""
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    found = [(line[66:], line[:64]) for line in lines if re.match(r"[0-9a-f]{64} [ *].", line)]
    return {**state, "files": {**state["files"], **provenance.named_digests(found)}}


def _boot(path: Path) -> str | None:
    text = path.read_text(errors="replace").strip() if path.is_file() else ""
    return hashlib.sha256(text.encode()).hexdigest()[:32] if text else None


def _run_of(
    folder: Path, job: Submitted, placed: Placed | None, *, launch: Planned, ended_by: str
) -> assemble.LaunchRun:
    """Return what a launch left."""
    stem = launch.stem
    start = _numbers(folder / f"{stem}.begun", (1, 2))
    if start and (older := _older(job, start[0])):
        return _absent(launch, older)
    evidence = _json(folder / f"{stem}.evidence")
    end = _numbers(folder / f"{stem}.ended", (2, 3))
    since, until = start[1] if start and start[1:] else None, end[2] if end and end[2:] else None
    hosts = placed.hosts.get(launch.placement) if placed else None
    own_names = placed.own_names if placed else {}
    reason = _reason(folder, placed, launch, ended_by, begun=bool(start), ended=bool(end))
    if end and start and job.limit_s and job.limit_s <= end[1] - start[0]:
        reason = f"ended after its limit of {job.limit_s} s (launch_limit_s){reason and f': {reason}'}"
    nics, found = beside.counted(evidence), None
    around = _around(folder, job, placed, launch) if launch.roles and end else None
    if around:
        reason = "; ".join(around.reasons) or reason
    if job.roles:
        nics = beside.of_hosts(nics, hosts or ())
    if placed and hosts:
        nics, found = _judged_nics(folder / f"{stem}.nics", job, placed, launch=launch, nics=nics)
    return dataclasses.replace(
        _absent(launch, reason),
        exit_status=int(end[0]) if end else None,
        started=_utc_text(start[0]) if start else None,
        elapsed_s=_elapsed_s(start, end),
        begun_monotonic_s=since,
        ended_monotonic_s=until,
        output=folder / f"{stem}.json",
        expected_hosts=hosts,
        guard=beside.guard(evidence.get("guard"), around),
        roles=around.roles if around else None,
        nics=nics,
        nic_verdict=Verdict(found.verdict) if found else Verdict.CANNOT_TELL,
        nic_reason=found.reason if found else "",
        has_groups=placed is not None and placed.has_groups,
        energy=energy.read(folder / f"{stem}.nics", hosts or (), own_names)
        if job.site.origin == "measured"
        else (),
        own_names=own_names,
        fault=_read_application(folder, job, stem, len(hosts)) or (around.fault if around else "")
        if hosts and end
        else "",
    )


def _older(job: Submitted, begun_s: float) -> str:
    """Return why a launch is not this job's: it began before the job was written; empty for one that is."""
    written = datetime.fromisoformat(job.written["time"]).timestamp() if job.written else 0.0
    if begun_s >= written - CLOCKS_S:
        return ""
    return f"another job left its files: it began {written - begun_s:.0f} s before this job was written"


def _absent(launch: Planned, reason: str) -> assemble.LaunchRun:
    """Return a launch that left nothing."""
    return assemble.LaunchRun(
        index=launch.index,
        placement=launch.placement,
        nic_policy=launch.nic_policy,
        software=Software(launch.software),
        repeat=launch.repeat,
        command=launch.command,
        reason=reason,
    )


def _judged_nics(
    path: Path, job: Submitted, placed: Placed, *, launch: Planned, nics: Nics | None
) -> tuple[Nics | None, Found]:
    """The bytes of the NICs and the verdict on them: those that the torus counted, or else those that the ranks did."""
    hosts, rows = placed.hosts[launch.placement], placed.rows(launch.placement)
    assigned = placed.nics_by_row(launch.nic_policy)
    if nics is not None or not path.exists():
        return nics, launching.judge_nics(hosts, rows, assigned, nics)
    counted = nic_counters.read(path, job.site.devices, hosts, placed.own_names)
    found = launching.judge_nics(hosts, rows, assigned, counted.nics, setup_bytes=SETUP_BYTES)
    if found.verdict == NicVerdict.CANNOT_TELL and counted.reason:
        found = Found(verdict=NicVerdict.CANNOT_TELL, reason=counted.reason)
    return counted.nics, _with_gpus(found, placed.gpus_by_row(launch.nic_policy), rows, counted.gpus)


def _with_gpus(
    nics: Found, assigned: Sequence[str], rows: Sequence[int], seen: Sequence[str | None]
) -> Found:
    """Return the verdict on NICs and GPUs together: a wrong GPU is wrong whatever the NICs carried."""
    if not assigned:
        return nics
    gpus = launching.judge_gpus(assigned, rows, seen)
    is_worse = gpus.verdict == NicVerdict.NOT_OBEYED or nics.verdict == NicVerdict.OBEYED
    return gpus if is_worse else nics


def _utc_text(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _elapsed_s(start: Sequence[float] | None, end: Sequence[float] | None) -> float | None:
    """By the clock that nobody sets where the job read it; None where the other clock went back."""
    if not start or not end:
        return None
    monotonic = len(start) > 1 and len(end) > 2
    elapsed = end[2] - start[1] if monotonic else end[1] - start[0]
    return elapsed if elapsed >= 0 else None


def _around(folder: Path, job: Submitted, placed: Placed | None, launch: Planned) -> Around:
    """Return what the programs beside a launch's left."""
    left = beside.Left(
        folder=folder,
        stem=launch.stem,
        planned=launch.roles,
        hosts=placed.roles.get(launch.placement, {}) if placed else {},
        devices=job.site.devices,
        own_names=placed.own_names if placed else {},
        read_copy=lambda stem, ranks: _read_application(folder, job, stem, ranks),
    )
    return beside.found(left)


def _read_application(folder: Path, job: Submitted, stem: str, ranks: int) -> str:
    """Make the benchmark output of a program that is not ours; why it is no result, or nothing."""
    benchmark = job.spec.benchmark
    if not job.read_by and not applications.is_application(benchmark):
        return ""
    parameters = job.case()["parameters"]
    return applications.read(folder, stem, benchmark, parameters=parameters, ranks=ranks, read_by=job.read_by)


def _reason(
    folder: Path, placed: Placed | None, launch: Planned, ended_by: str, *, begun: bool, ended: bool
) -> str:
    """Why a launch is no good, if it is none: what it said itself, why it could not be, or what ended the job."""
    said = complaints.first(folder / f"{launch.stem}.err")
    if ended:
        return said
    if (folder / f"{launch.stem}.{'ended' if begun else 'begun'}").exists():
        return "its files are cut off, as on a full disk"
    if begun:
        return f"the job ended while it ran: {ended_by or said or 'nothing says why'}"
    cannot = placed.cannot.get(launch.placement, "") if placed else ""
    return cannot or ended_by


def _json(path: Path) -> dict[str, Any]:
    """A JSON object; empty where it is not there or not whole."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _numbers(path: Path, counts: tuple[int, ...]) -> list[float] | None:
    """The numbers of a file's one line; None where it has not so many, or the line is cut off."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    if not text.endswith("\n"):
        return None
    try:
        found = [float(word) for word in text.split()]
    except ValueError:
        return None
    return found if len(found) in counts else None
