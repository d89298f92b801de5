"""Make the record of a job from the files in its stage directory, however the job ended.

    job.json          what was requested (`job.submitted.Submitted`), written before the job is submitted
    placed.json       where each placement puts its ranks (`job.submitted.Placed`), written before the first launch
    nodes, nodes.json the descriptions of a real machine's nodes (`railyard.jobs.nodes.node_step`)
    environment.json  the variables and modules of the launches (`railyard.jobs.nodes.surroundings`)
    code.*, boot.*    digests of what the launches run, and the machine's boot: .begun and .ended
    ended.json        the code when the record was made
    launch-NNN.*      .begun, .ended, .json, .out, .err, .evidence and .nics of each launch; `.roles` if it had
                      companions (`railyard.jobs.together`)
    torus.json        the virtual torus, as `railyard torus status` reported it, or what else emulates the nodes
    enough            the number of rounds after which a job with `until` needed no more
    machine.json      the machine that the job ran on; where there is none, it is the one that reads
    recorded          the record's path, once there is one; blank before

A job may end before it has written any of them, or in the middle of one: a file that is cut off counts as not there.
Leaves out what is read from the files of one launch (`railyard.jobs.job.launched`), how a launch is made
(`railyard.jobs.schedule`) and where its ranks go (`railyard.jobs.placing`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from railyard.base.errors import RunError
from railyard.jobs import complaints, schedule
from railyard.jobs.job import launched
from railyard.jobs.job.json_files import json_object
from railyard.jobs.job.submitted import Placed, Submitted, read, read_placed
from railyard.jobs.nodes import node, surroundings
from railyard.records import assemble, provenance
from railyard.records.record import Origin, Record
from railyard.records.store import archive, sessions
from railyard.records.store.entries import SUBJECT
from railyard.records.store.sessions import Place

MOST_PATH_BYTES = 4096
TORUS_FIELDS = ("name", "engine", "rate_scale", "mtu_bytes", "burst_bytes", "latency_scaled", "faults")
TORUS_FIELDS_OF_ENGINE = ("image", "image_sha256", "network", "buffer_cells", "routes")


def torus_of(folder: Path) -> dict[str, Any] | None:
    """Return the record's description of the job's torus, or of what simulated it; None on a real machine."""
    torus = json_object(folder / "torus.json")
    if not torus:
        return _simulation(folder)
    names = [*TORUS_FIELDS, *(name for name in TORUS_FIELDS_OF_ENGINE if name in torus)]
    return {name: torus[name] for name in names}


def _simulation(folder: Path) -> dict[str, Any] | None:
    """Return the simulation of the job's launches, which is the same for all, with the fields of a torus."""
    for path in sorted(folder.glob("launch-*.evidence")):
        if simulation := json_object(path).get("simulation"):
            names = ("calibration", "calibration_sha256", "algorithms", "faults")
            return {
                "name": "simulated",
                "engine": f"SimGrid {simulation['simgrid']}",
                "rate_scale": 1.0,
                "latency_scaled": True,
                **{name: simulation[name] for name in names},
            }
    return None


def began(folder: Path) -> bool:
    """Return whether any launch began."""
    return any(folder.glob("launch-*.begun"))


def keep(folder: Path, reason: str = "") -> Record:
    """Make the record of a stage directory, add it to the archive and return it; `record_path` then has its path.

    `reason` is recorded for missing launches if the job's own output gives none. Raises InputError for a folder that
    holds no job, RunError where the archive cannot be written.
    """
    job = read(folder)
    root = Path(job.spec.archive)
    with sessions.opened(root, str(job.reframe.get("session", ""))) as chain:
        record = record_of(folder, reason, chain.place(job.id))
        path = archive.add(record, root)
        if job.id:
            chain.add(job.id, record)
    _note(folder, path)
    return record


def reserve(folder: Path) -> None:
    """Reserve the bytes that `recorded` needs, before launches can fill the disk.

    Without the note of its path, the record would be made a second time.
    """
    (folder / "recorded").write_text(" " * MOST_PATH_BYTES)


def _note(folder: Path, record: Path) -> None:
    """Write the record's path into the stage directory; a failure is only reported, because the record is safe."""
    try:
        with os.fdopen(os.open(folder / "recorded", os.O_WRONLY | os.O_CREAT, 0o666), "w") as file:
            file.write(f"{record}\n")
    except OSError as error:
        print(f"railyard: {folder} has no note of its record {record}: {error.strerror}", file=sys.stderr)


def record_path(folder: Path) -> Path | None:
    """Return the path of the record that was made of a stage directory; None before it is made."""
    path = folder / "recorded"
    text = path.read_text().strip() if path.is_file() else ""
    return Path(text) if text else None


def record_of(folder: Path, reason: str = "", place: Place | None = None) -> Record:
    """Return the record of a stage directory: launches with their samples, and missing ones as not measured.

    A second call returns the same record, because the first one writes down its time and the code's state. `reason` is
    that of `keep`, `place` the record's position in its session. Raises InputError for a folder that holds no job.
    """
    return _record_of(folder, _launched(folder), _code_at_the_end(folder), reason=reason, place=place)


def first_rounds(folder: Path, count: int) -> Record:
    """Return the record that a running job would have if it ended after its first rounds; writes nothing."""
    return _record_of(folder, read(folder).of_rounds(count), provenance.state())


def _launched(folder: Path) -> Submitted:
    """Return the job of a stage directory, without the rounds that it did not need."""
    job, path = read(folder), folder / schedule.ENOUGH
    text = path.read_text().strip() if path.is_file() else ""
    return job.of_rounds(int(text)) if text.isdecimal() else job


def _record_of(
    folder: Path, job: Submitted, code: Mapping[str, Any], *, reason: str = "", place: Place | None = None
) -> Record:
    placed = read_placed(folder)
    ended_by = complaints.last(folder / job.stderr) or reason
    unknown: dict[str, object] = {"order": job.spec.allocation, "seed": None, "nodes": []}
    return assemble.assemble(
        case={
            **job.case(),
            "topology": placed.topology if placed else None,
            "allocation": placed.allocation if placed else unknown,
        },
        system=job.site.system,
        origin=_origin(folder, job),
        provenance=_provenance(folder, job, placed, code),
        launches=[
            launched.run(folder, job, placed, launch=launch, ended_by=ended_by) for launch in job.launches
        ],
        created=datetime.fromisoformat(code["time"]),
        run=_run(folder, job, code, place or Place(number=0, previous=None)) if job.id else None,
    )


def _origin(folder: Path, job: Submitted) -> str:
    """Return the declared origin, or `emulated` if it is `measured` and the nodes reported that they are emulated."""
    is_emulated = job.site.origin == Origin.MEASURED and torus_of(folder) is not None
    return str(Origin.EMULATED) if is_emulated else job.site.origin


def _provenance(
    folder: Path, job: Submitted, placed: Placed | None, code: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the record's provenance: what this process finds, replaced by what the job noted where it ran."""
    collected = provenance.collect(reframe=job.reframe, torus=torus_of(folder), image=job.image)
    surrounding, job_id = surroundings.provenance(folder)
    if surrounding:
        collected |= {"job": surrounding, "reframe": {**job.reframe, "job": job_id}}
    elif subject := {name: os.environ[name] for name in SUBJECT if os.environ.get(name)}:
        collected |= {"job": {"variables": subject, "modules": [], "libraries": []}}
    nodes = described_nodes(placed)
    commit = {name: code[name] for name in ("git_commit", "git_dirty")}
    return {
        **collected,
        "railyard": {**collected["railyard"], **commit},
        "machine": json_object(folder / "machine.json") or collected["machine"],
        **({"nodes": nodes} if nodes else {}),
    }


def described_nodes(placed: Placed | None) -> dict[str, Any]:
    """Return the record's `provenance.nodes`: how many nodes described themselves, kinds, boots, other host names.

    Empty on a virtual torus, whose nodes write no description.
    """
    if not placed or not placed.described:
        return {}
    own = {"own_names": dict(placed.own_names)} if placed.own_names else {}
    boots = {} if placed.boots is None else {"boots": placed.boots}
    return {"described": placed.described, "kinds": placed.kinds, **boots, **own}


def _code_at_the_end(folder: Path) -> dict[str, Any]:
    """Return the code's state and the time when the record was first made; a full disk leaves it unwritten."""
    state = json_object(folder / "ended.json")
    if not state:
        state = provenance.state()
        with contextlib.suppress(OSError, RunError):
            archive.write_whole(folder / "ended.json", json.dumps(state), replace=True)
    return state


def _run(folder: Path, job: Submitted, code: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return the record's `run`: the code at the job's start and end, and the record's position in its session."""
    return {
        "job": job.id,
        "boot": _boot(folder / "boot.begun"),
        "written": None if job.written is None else _with_digests(job.written, folder / "code.begun"),
        "ended": _with_digests(code, folder / "code.ended"),
        "session": str(job.reframe.get("session", "")),
        "number": place.number,
        "previous": place.previous,
    }


def _with_digests(state: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return a state of the code with the digests in a file that the job wrote by sha256sum."""
    return {**state, "files": {**state["files"], **provenance.named_digests(launched.sums(path))}}


def _boot(path: Path) -> str | None:
    text = path.read_text(errors="replace").strip() if path.is_file() else ""
    return node.boot_digest(text) or None
