"""Read what a job left in its stage directory, as values, however the job ended. Nothing else opens these files.

    job.json          what was requested (`job.submitted.Submitted`), written before the job is submitted
    placed.json       where each placement puts its ranks (`job.submitted.Placed`), written before the first launch
    nodes, nodes.json the descriptions of a real machine's nodes (`railyard.jobs.nodes.allocated_nodes`)
    environment.json  the variables and modules of the launches (`railyard.jobs.nodes.surroundings`)
    code.*, boot.*    digests of what the launches run, and the machine's boot: .begun and .ended
    ended.json        the code when the record was made
    launch-NNN.*      .begun, .ended, .json, .out, .err, .evidence and .nics of each launch; `.roles` if it had
                      companions (`railyard.jobs.companions`)
    torus.json        the virtual torus, as `railyard torus status` reported it, or what else emulates the nodes
    enough            the number of rounds after which a job with `until` needed no more
    machine.json      the machine that the job ran on; where there is none, it is the one that reads
    recorded          the record's path, once there is one; blank before

A job may end before it has written any of them, or in the middle of one: a file that is cut off counts as not there.
Models: `JobFolder` are the files of the whole job, read at once; `LaunchFiles` are those of one launch, because all
launches of a large machine together would not fit into memory. Leaves out: the record that is made of them
(`railyard.jobs.stagedir`, `railyard.jobs.job.launched`), and benchmark output (`railyard.records.benchmark`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railyard.base.json_files import json_object
from railyard.jobs import complaints
from railyard.jobs.job import submitted
from railyard.jobs.job.submitted import NOT_PLACED, Placed, Planned, Submitted
from railyard.jobs.nodes.counted import Counted

#: The file with the number of rounds after which a job with `until` had enough.
ENOUGH = "enough"
#: The variables, modules and job id of the launches.
ENVIRONMENT = "environment.json"
#: What emulates the job's nodes; a job whose nodes are observed to be emulated writes it itself.
TORUS = "torus.json"
TORUS_FIELDS = ("name", "engine", "rate_scale", "mtu_bytes", "burst_bytes", "latency_scaled", "faults")
SIMULATION_FIELDS = ("calibration", "calibration_sha256", "algorithms", "faults")
TORUS_FIELDS_OF_ENGINE = ("image", "image_sha256", "network", "buffer_cells", "routes", "machines", "slowed_from")

#: Path and sha256 of files, in the order of the job's list.
Sums = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFolder:
    """The files of a job as values; `launch` reads those of one launch.

    `job` lacks the rounds that the job did not need. `torus` is the record's description of what emulates the nodes,
    None on a real machine. `environment`, `machine` and `ended` are the contents of the files with these names, empty
    for a file that is not there. `libraries` are the communication libraries that the first launch with an output had
    loaded. `begun_files` and `ended_files` are the sums of `code.begun` and `code.ended`. `boot_id` is the kernel's.
    `ended_by` is why the job ended: the last error message of its script.
    """

    path: Path
    job: Submitted
    placed: Placed = NOT_PLACED
    torus: Mapping[str, Any] | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    ended: Mapping[str, Any] = field(default_factory=dict)
    libraries: Sequence[Mapping[str, Any]] = ()
    begun_files: Sums = ()
    ended_files: Sums = ()
    boot_id: str = ""
    ended_by: str = ""


def read(path: Path, reason: str = "") -> JobFolder:
    """Return what a job left; `reason` is why it ended if its own output does not have it.

    Raises InputError for a folder that holds no job.
    """
    job, placed, enough = submitted.read(path), submitted.read_placed(path), _text(path / ENOUGH)
    return JobFolder(
        path=path,
        job=job.of_rounds(int(enough)) if enough.isdecimal() else job,
        placed=placed,
        torus=torus(path),
        environment=json_object(path / ENVIRONMENT),
        machine=json_object(path / "machine.json"),
        ended=json_object(path / "ended.json"),
        libraries=libraries(path),
        begun_files=_sums(path / "code.begun"),
        ended_files=_sums(path / "code.ended"),
        boot_id=_text(path / "boot.begun"),
        ended_by=complaints.last(path / job.stderr) or reason,
    )


def began(path: Path) -> bool:
    """Return whether any launch began."""
    return any(path.glob("launch-*.begun"))


def torus(path: Path) -> dict[str, Any] | None:
    """Return the record's description of the job's torus, or of what simulated it; None on a real machine."""
    if described := json_object(path / TORUS):
        names = [*TORUS_FIELDS, *(name for name in TORUS_FIELDS_OF_ENGINE if name in described)]
        return {name: described[name] for name in names}
    for evidence in sorted(path.glob("launch-*.evidence")):  # the simulation is the same for all launches
        if simulation := json_object(evidence).get("simulation"):
            return {
                "name": "simulated",
                "engine": f"SimGrid {simulation['simgrid']}",
                "rate_scale": 1.0,
                "latency_scaled": True,
                **{name: simulation[name] for name in SIMULATION_FIELDS},
            }
    return None


def libraries(path: Path) -> Sequence[Mapping[str, Any]]:
    """Return the communication libraries that the first launch with an output had loaded."""
    for output in sorted([*path.glob("launch-*.json"), *path.glob("launch-*.witness")]):
        if loaded := json_object(output).get("mpi", {}).get("libraries"):
            return list(loaded)
    return ()


def _sums(path: Path) -> list[tuple[str, str]]:
    """Return path and sha256 of the files in what sha256sum wrote; nothing for a file that is not there."""
    lines = _text(path).splitlines()
    return [(line[66:], line[:64]) for line in lines if re.match(r"[0-9a-f]{64} [ *].", line)]


def _text(path: Path) -> str:
    return path.read_text(errors="replace").strip() if path.is_file() else ""


# ---- one launch ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a launch began or ended: seconds since 1970 and of the monotonic clock; the exit status of its end."""

    time_s: float
    monotonic_s: float
    status: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFiles:
    """The files of a launch as values. `start` and `end` are None where the launch did not come that far.

    `start` is when the launch had its turn on the machine. `complaint` is the line of its standard error that
    explains a failure, `evidence` what the virtual torus or the simulator measured. `is_cut_off`: the file of its
    start or its end exists and is not whole. `counted` is what the ranks counted on a real machine, None without the
    file; `companions` is what `railyard launch-roles` wrote, empty without companions.
    """

    start: Moment | None
    end: Moment | None
    complaint: str
    evidence: Mapping[str, Any]
    is_cut_off: bool
    counted: Counted | None
    companions: Mapping[str, Any]

    @property
    def elapsed_s(self) -> float | None:
        """Return the seconds between start and end by the monotonic clock; None if negative."""
        elapsed_s = self.end.monotonic_s - self.start.monotonic_s if self.start and self.end else -1.0
        return elapsed_s if elapsed_s >= 0 else None


def launch(path: Path, planned: Planned) -> LaunchFiles:
    """Return what the files of a launch in a stage directory contain."""
    start_file, end_file = path / f"{planned.stem}.begun", path / f"{planned.stem}.ended"
    start, end = _numbers(start_file, 2), _numbers(end_file, 3)
    evidence, errors = json_object(path / f"{planned.stem}.evidence"), path / f"{planned.stem}.err"
    waits_s = waited_s(evidence)
    return LaunchFiles(
        start=Moment(time_s=start[0] + waits_s, monotonic_s=start[1] + waits_s) if start else None,
        end=Moment(status=int(end[0]), time_s=end[1], monotonic_s=end[2]) if end else None,
        complaint="; ".join(filter(None, (complaints.first(errors), complaints.notices(errors)))),
        evidence=evidence,
        is_cut_off=not end and (end_file if start else start_file).exists(),
        counted=Counted.read(path / f"{planned.stem}.nics"),
        companions=json_object(path / f"{planned.stem}.roles") if planned.roles else {},
    )


def waited_s(evidence: Mapping[str, Any]) -> float:
    """Return the seconds for which a launch waited for other launches on the machine, from its evidence."""
    waited = (evidence.get("guard") or {}).get("waited_s", 0.0)
    return float(waited) if isinstance(waited, int | float) else 0.0


def _numbers(path: Path, count: int) -> list[float]:
    """Return the numbers in a file's one line; none if they are not so many, or the line is cut off."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    try:
        numbers = [float(word) for word in text.split()] if text.endswith("\n") else []
    except ValueError:
        return []
    return numbers if len(numbers) == count else []
