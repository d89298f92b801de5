"""Make the record of a job from the files in its stage directory, however the job ended, and judge it.

Leaves out the files (`railyard.jobs.job.job_folder` lists and reads them), what one launch left
(`railyard.jobs.job.launched`), how a launch is made (`railyard.jobs.schedule`) and where its ranks go
(`railyard.jobs.placing`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import railyard
from railyard.base.errors import RunError
from railyard.jobs.job import job_folder, launched
from railyard.jobs.job.job_folder import JobFolder
from railyard.jobs.job.submitted import Placed
from railyard.jobs.nodes import node, surroundings
from railyard.records import assemble, provenance
from railyard.records.record import Origin, Record, Status
from railyard.records.store import archive, sessions
from railyard.records.store.entries import SUBJECT
from railyard.records.store.sessions import Place


def keep(folder: Path, reason: str = "") -> Record:
    """Make the record of a stage directory, add it to the archive and return it; `record_path` then has its path.

    `reason` is recorded for missing launches if the job's own output gives none. Raises InputError for a folder that
    holds no job, RunError where the archive cannot be written.
    """
    left = job_folder.read(folder, reason)
    job, root = left.job, Path(left.job.spec.archive)
    with sessions.opened(root, str(job.reframe.get("session", ""))) as chain:
        record = record_of(left, place=chain.place(job.id))
        path = archive.add(record, root)
        if job.id:
            chain.add(job.id, record)
    try:
        with os.fdopen(os.open(folder / "recorded", os.O_WRONLY | os.O_CREAT, 0o666), "w") as file:
            file.write(f"{path}\n")
    except OSError as error:  # the record is safe
        print(f"railyard: {folder} has no note of its record {path}: {error.strerror}", file=sys.stderr)
    return record


def record_path(folder: Path) -> Path | None:
    """Return the path of the record that was made of a stage directory; None before it is made."""
    path = folder / "recorded"
    text = path.read_text().strip() if path.is_file() else ""
    return Path(text) if text else None


def first_rounds(folder: Path, count: int) -> Record:
    """Return the record that a running job would have if it ended after its first rounds; writes nothing."""
    left = job_folder.read(folder)
    return record_of(dataclasses.replace(left, job=left.job.of_rounds(count)), provenance.state())


def record_of(left: JobFolder, code: Mapping[str, Any] | None = None, *, place: Place | None = None) -> Record:
    """Return the record of a job: launches with their samples, and missing ones as not measured.

    `code` is the code's state and the time. Without it they are those of the first call, which writes them down, so
    that a second call returns the same record. `place` is the record's position in its session. The origin is
    `emulated` in place of `measured` if the nodes reported that they are emulated.
    """
    job, code = left.job, code or left.ended
    if not code:
        code = provenance.state()
        with contextlib.suppress(OSError, RunError):  # a full disk leaves it unwritten
            archive.write_whole(left.path / "ended.json", json.dumps(code))
    is_emulated = job.site.origin == Origin.MEASURED and left.torus is not None
    place = place or Place(number=0, previous=None)
    run = {
        "job": job.id,
        "boot": node.boot_digest(left.boot_id) or None,
        "written": None if job.written is None else _with_digests(job.written, left.begun_files),
        "ended": _with_digests(code, left.ended_files),
        "session": str(job.reframe.get("session", "")),
        "number": place.number,
        "previous": place.previous,
    }
    return assemble.assemble(
        case={
            **job.case(),
            "topology": left.placed.topology,
            "allocation": left.placed.allocation or {"order": job.spec.allocation, "seed": None, "nodes": []},
        },
        system=job.site.system,
        origin=str(Origin.EMULATED) if is_emulated else job.site.origin,
        provenance=_provenance(left, code),
        launches=[launched.run(left, launch) for launch in job.launches],
        created=datetime.fromisoformat(code["time"]),
        run=run if job.id else None,
    )


def _provenance(left: JobFolder, code: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record's provenance: what the job noted where it ran, and what this process finds where it did not."""
    collected: dict[str, Any] = {
        "railyard": {"version": railyard.__version__, **{name: code[name] for name in ("git_commit", "git_dirty")}},
        "machine": left.machine or provenance.machine(),
        "mpi": None,  # that of the first launch's output
        "reframe": left.job.reframe,
        "torus": left.torus,
        "image": left.job.image,
    }
    if noted := left.environment:
        libraries = surroundings.libraries(left.libraries, os.environ.get("HOME", ""))
        surrounding = {**{name: noted[name] for name in ("variables", "modules")}, "libraries": libraries}
        collected |= {"job": surrounding, "reframe": {**left.job.reframe, "job": str(noted["job"])}}
    elif subject := {name: os.environ[name] for name in SUBJECT if os.environ.get(name)}:
        collected |= {"job": {"variables": subject, "modules": [], "libraries": []}}
    nodes = described_nodes(left.placed)
    return collected | ({"nodes": nodes} if nodes else {})


def described_nodes(placed: Placed) -> dict[str, Any]:
    """Return the record's `provenance.nodes`: how many nodes described themselves, kinds, boots, other host names.

    Empty on a virtual torus, whose nodes write no description.
    """
    if not placed.described:
        return {}
    own = {"own_names": dict(placed.own_names)} if placed.own_names else {}
    boots = {} if placed.boots is None else {"boots": placed.boots}
    return {"described": placed.described, "kinds": placed.kinds, **boots, **own}


def _with_digests(state: Mapping[str, Any], sums: job_folder.Sums) -> dict[str, Any]:
    """Return a state of the code with the digests that the job made by sha256sum."""
    return {**state, "files": {**state["files"], **provenance.named_digests(sums)}}


def fault(record: Record, not_on_these_nodes: Collection[str]) -> str:
    """Return why a check fails by its job's record, in one line: a launch failed or is void, or nothing was measured.

    Empty where the check passes. `not_on_these_nodes` are the placements that the granted nodes do not allow. That is
    no failure: they are recorded as not measured, with the reason, and the launches of the others decide.
    """
    void = [launch for launch in record.launches if launch.is_void and launch.guard]
    bad = [launch for launch in record.launches if launch.status is not Status.OK]
    if not record.launches or not all(
        launch.status is Status.NOT_MEASURED and launch.placement in not_on_these_nodes for launch in bad
    ):
        return record.reason
    if len(bad) == len(record.launches):
        return f"nothing was measured: {record.reason}"
    reasons = "; ".join(void[0].guard.reasons) if void and void[0].guard else ""
    return f"launch {void[0].index} is void: {reasons}" if void else ""
