"""What a job leaves in its stage directory, and the record that is made of it, however the job ended.

    job.json        what was asked (`Job`), written before the job is submitted
    placed.json     where each placement puts its ranks (`Placed`), written before the first launch
    code.*, boot.*  digests of what the launches run, and the machine's boot: .begun and .ended
    ended.json      the code when the record was made
    launch-NNN.*    .begun, .ended, .json, .out, .err, .evidence and .nics of each launch
    torus.json      the virtual torus, as `railyard torus status` said it
    machine.json    the machine that the job ran on; where there is none, it is the one that reads
    recorded        the record's path, once there is one; blank before

A job may end before it has written any of them, or in the middle of one: a file that is cut off counts as not there.
Leaves out how a launch is made (`checks.base`, `checks.launching`) and where its ranks go (`checks.placing`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from placements.nics.evidence import SETUP_BYTES, Found
from placements.nics.evidence import Verdict as NicVerdict
from railyard.applications import launch as applications
from railyard.errors import InputError, RunError
from railyard.jobs import beside, launching
from railyard.jobs.beside import Around
from railyard.jobs.nodes import energy, nic_counters, surroundings
from railyard.records import assemble, provenance
from railyard.records.folded.nic_bytes import Nics
from railyard.records.record import Record, Software, Verdict
from railyard.records.store import archive, sessions
from railyard.records.store.sessions import Place

FORMAT = "railyard-job/1"
MOST_PATH_BYTES = 4096
TORUS_FIELDS = ("name", "engine", "rate_scale", "mtu_bytes", "burst_bytes", "latency_scaled", "faults")
#: What mpirun writes round the words of a program that failed, and railyard's own notice before a launch.
FRAME = (
    "mpirun",
    "Primary job  terminated",
    "a non-zero exit code. Per user-direction",
    "railyard: waiting for another ",
    "railyard: removed torus ",
)
#: A first line that says nothing without the next.
HEADINGS = ("usage:", "error:", "syntax:")
KILLED = re.compile(r"mpirun\S* noticed that (process rank \d+ .*)")
#: What the shell of a job script says of a signal: that it came, not why.
SIGNAL = re.compile(r"(\S+: line \d+: +\d+ )?(Terminated|Killed|Hangup)\b")
TORUS_FIELDS_OF_ENGINE = ("image", "image_sha256", "network", "buffer_cells")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One planned launch: its number in the job, what it is to measure, and its line in the job script.

    `roles` are the programs that run beside it: name, role, command, and whether it is started again when it has ended.
    """

    index: int
    placement: str
    nic_policy: str
    repeat: int
    command: str
    software: str = Software.NATIVE
    roles: Sequence[Mapping[str, Any]] = ()

    @property
    def stem(self) -> str:
        """Its files are `launch-007.json`, `.out`, `.err`, `.begun`, `.ended`, `.evidence`."""
        return f"launch-{self.index:03d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What was asked of a job.

    `case` is the record's without topology and allocation, which may be known on the nodes alone. `coordinates` is the
    file with the nodes' coordinates; empty where they have the topology's own names, or nothing is known.
    `image` is what the record's provenance says of the image, `owner` the process that waits for the job,
    `launch_limit_s` the seconds after which a launch is ended (0: never), `read_by` the patterns of a program without a
    parser of its own.
    """

    case: Mapping[str, Any]
    system: Mapping[str, str]
    origin: str
    reframe: Mapping[str, str]
    archive: str
    topology: str
    coordinates: str
    needs_coordinates: bool
    order: str
    block: Sequence[int]
    grid: Sequence[int]
    ranks_per_node: int
    seed: int
    launcher: str
    features: Sequence[str]
    devices: Sequence[str] | None
    stderr: str
    owner: Mapping[str, Any]
    launches: Sequence[Planned]
    image: Mapping[str, Any] | None = None
    cube: Sequence[int] = ()
    challenge: str = ""
    id: str = ""
    written: Mapping[str, Any] | None = None
    launch_limit_s: int = 0
    read_by: Mapping[str, Any] | None = None
    format: str = FORMAT

    @property
    def binds_by_script(self) -> bool:
        """Whether a script binds the ranks, to CPUs that the job finds; nodes of a torus have none of their own."""
        return self.origin == "measured"

    @property
    def placements(self) -> list[str]:
        return list(self.case["placements"])

    @property
    def nic_policies(self) -> list[str]:
        return list(self.case["nic_policies"])

    @property
    def software(self) -> list[Software]:
        return [Software(each) for each in self.case.get("software", [Software.NATIVE])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where ranks were to run: for each placement the host and the local rank of every rank, or why it cannot be.

    `nics` are, for each policy, the NICs of each local rank, and `gpus` the GPU of each. `allocation` and `topology`
    are the record's. With `has_groups` the first number of a node's coordinate is its group. `roles` are the hosts of
    the ranks of each program that runs beside a placement's.
    """

    allocation: Mapping[str, Any]
    topology: Mapping[str, Any] | None
    hosts: Mapping[str, Sequence[str]]
    local_ranks: Mapping[str, Sequence[int]]
    nics: Mapping[str, Sequence[Sequence[str]]]
    cannot: Mapping[str, str] = field(default_factory=dict)
    has_groups: bool = False
    roles: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    gpus: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write(folder: Path, written: Job | Placed) -> None:
    """As a whole or not at all."""
    name = "job.json" if isinstance(written, Job) else "placed.json"
    archive.write_whole(folder / name, json.dumps(asdict(written)), replace=True)


def read(folder: Path) -> Job:
    """The job of a stage directory; InputError for a folder that is none, or whose job is not whole."""
    found = _json(folder / "job.json")
    if found.get("format") != FORMAT:
        raise InputError(str(folder), "job.json", found.get("format"), f"a stage directory with {FORMAT}")
    return Job(**{**found, "launches": [Planned(**launch) for launch in found["launches"]]})


def read_placed(folder: Path) -> Placed | None:
    """Return where the ranks were to run; None where the job did not come that far."""
    found = _json(folder / "placed.json")
    return Placed(**found) if found else None


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
    root = Path(job.archive)
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
    ended_by = last_complaint(folder / job.stderr) or reason
    collected = provenance.collect(reframe=job.reframe, torus=torus_of(folder), image=job.image)
    on = _json(folder / "machine.json")
    ran_in, job_id = surroundings.provenance(folder)
    if ran_in:
        collected |= {"job": ran_in, "reframe": {**job.reframe, "job": job_id}}
    unknown: dict[str, object] = {"order": job.order, "seed": None, "nodes": []}
    return assemble.assemble(
        case={
            **job.case,
            "ranks_per_node": job.ranks_per_node,
            "grid": list(job.grid),
            "block": list(job.block),
            "cube": list(job.cube),
            "devices": job.devices,
            "challenge": job.challenge,
            "topology": placed.topology if placed else None,
            "allocation": placed.allocation if placed else unknown,
        },
        system=job.system,
        origin=job.origin,
        provenance={
            **collected,
            "railyard": {
                **collected["railyard"],
                **{name: ended[name] for name in ("git_commit", "git_dirty")},
            },
            "machine": on or collected["machine"],
        },
        launches=[_run_of(folder, job, placed, launch=launch, ended_by=ended_by) for launch in job.launches],
        created=datetime.fromisoformat(ended["time"]),
        run=_run(folder, job, ended, place or Place(number=0, previous=None)) if job.id else None,
    )


def _ended(folder: Path) -> dict[str, Any]:
    """Return the code's state at the job's end, as the first call saw it; on a full disk it is not noted."""
    known = _json(folder / "ended.json")
    if not known:
        known = provenance.state()
        with contextlib.suppress(OSError, RunError):
            archive.write_whole(folder / "ended.json", json.dumps(known), replace=True)
    return known


def _run(folder: Path, job: Job, ended: Mapping[str, Any], place: Place) -> dict[str, Any]:
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
    folder: Path, job: Job, placed: Placed | None, *, launch: Planned, ended_by: str
) -> assemble.LaunchRun:
    """Return what a launch left."""
    stem = launch.stem
    evidence = _json(folder / f"{stem}.evidence")
    start = _numbers(folder / f"{stem}.begun", (1, 2))
    end = _numbers(folder / f"{stem}.ended", (2, 3))
    since, until = start[1] if start and start[1:] else None, end[2] if end and end[2:] else None
    hosts = placed.hosts.get(launch.placement) if placed else None
    reason = _reason(folder, placed, launch, ended_by, begun=bool(start), ended=bool(end))
    if end and start and job.launch_limit_s and job.launch_limit_s <= end[1] - start[0]:
        reason = f"ended after its limit of {job.launch_limit_s} s (launch_limit_s){reason and f': {reason}'}"
    nics, found = beside.counted(evidence), None
    around = _around(folder, job, placed, launch) if launch.roles and end else None
    if around:
        reason = "; ".join(around.reasons) or reason
    if job.case.get("roles"):
        nics = beside.of_hosts(nics, hosts or ())
    if placed and hosts:
        nics, found = _judged_nics(folder / f"{stem}.nics", job, placed, launch=launch, nics=nics)
    return assemble.LaunchRun(
        index=launch.index,
        placement=launch.placement,
        nic_policy=launch.nic_policy,
        software=Software(launch.software),
        repeat=launch.repeat,
        command=launch.command,
        exit_status=int(end[0]) if end else None,
        started=_utc_text(start[0]) if start else None,
        elapsed_s=_elapsed_s(start, end),
        begun_monotonic_s=since,
        ended_monotonic_s=until,
        output=folder / f"{stem}.json",
        expected_hosts=hosts,
        reason=reason,
        guard=beside.guard(evidence.get("guard"), around),
        roles=around.roles if around else None,
        nics=nics,
        nic_verdict=Verdict(found.verdict) if found else Verdict.CANNOT_TELL,
        nic_reason=found.reason if found else "",
        has_groups=placed is not None and placed.has_groups,
        energy=energy.read(folder / f"{stem}.nics", hosts or ()) if job.origin == "measured" else (),
        fault=_read_application(folder, job, stem, len(hosts)) or (around.fault if around else "")
        if hosts and end
        else "",
    )


def _judged_nics(
    path: Path, job: Job, placed: Placed, *, launch: Planned, nics: Nics | None
) -> tuple[Nics | None, Found]:
    """The bytes of the NICs and the verdict on them: those that the torus counted, or else those that the ranks did."""
    hosts, local = placed.hosts[launch.placement], placed.local_ranks[launch.placement]
    assigned = placed.nics[launch.nic_policy]
    if nics is not None or not path.exists():
        return nics, launching.judge_nics(hosts, local, assigned, nics)
    counted = nic_counters.read(path, job.devices, hosts)
    found = launching.judge_nics(hosts, local, assigned, counted.nics, setup_bytes=SETUP_BYTES)
    if found.verdict == NicVerdict.CANNOT_TELL and counted.reason:
        found = Found(verdict=NicVerdict.CANNOT_TELL, reason=counted.reason)
    return counted.nics, _with_gpus(found, placed.gpus.get(launch.nic_policy, ()), local, counted.gpus)


def _with_gpus(
    nics: Found, assigned: Sequence[str], local: Sequence[int], seen: Sequence[str | None]
) -> Found:
    """Return the verdict on NICs and GPUs together: a wrong GPU is wrong whatever the NICs carried."""
    if not assigned:
        return nics
    gpus = launching.judge_gpus(assigned, local, seen)
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


def _around(folder: Path, job: Job, placed: Placed | None, launch: Planned) -> Around:
    """Return what the programs beside a launch's left."""
    left = beside.Left(
        folder=folder,
        stem=launch.stem,
        planned=launch.roles,
        hosts=placed.roles.get(launch.placement, {}) if placed else {},
        devices=job.devices,
        read_copy=lambda stem, ranks: _read_application(folder, job, stem, ranks),
    )
    return beside.found(left)


def _read_application(folder: Path, job: Job, stem: str, ranks: int) -> str:
    """Make the benchmark output of a program that is not ours; why it is no result, or nothing."""
    benchmark = job.case["benchmark"]
    if not job.read_by and not applications.is_application(benchmark):
        return ""
    parameters = job.case["parameters"]
    return applications.read(folder, stem, benchmark, parameters=parameters, ranks=ranks, read_by=job.read_by)


def _reason(
    folder: Path, placed: Placed | None, launch: Planned, ended_by: str, *, begun: bool, ended: bool
) -> str:
    """Why a launch is no good, if it is none: what it said itself, why it could not be, or what ended the job."""
    said = first_complaint(folder / f"{launch.stem}.err")
    if ended:
        return said
    if (folder / f"{launch.stem}.{'ended' if begun else 'begun'}").exists():
        return "its files are cut off, as on a full disk"
    if begun:
        return f"the job ended while it ran: {ended_by or said or 'nothing says why'}"
    cannot = placed.cannot.get(launch.placement, "") if placed else ""
    return cannot or ended_by


def first_complaint(path: Path) -> str:
    """The first line that a program wrote to its standard error, mpirun's own frame left out.

    With the next line where it is a heading, and the file's name where even that is all.
    """
    lines = _complaints(path)
    if lines and lines[0].strip().lower() in HEADINGS:
        return " ".join([*(line.strip() for line in lines[:2]), f"({path.name} has all of it)"])
    return next(iter(lines), "")


def last_complaint(path: Path) -> str:
    """The last such line: what a job script said before it ended."""
    return next(reversed(_complaints(path)), "")


def _complaints(path: Path) -> list[str]:
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    killed = [found[1] for line in lines if (found := KILLED.match(line))]
    words = [line for line in lines if line.strip("- ") and not SIGNAL.match(line)]
    return [*killed, *(line for line in words if not line.startswith(FRAME))]


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
