"""Parse and validate a record: one job, one case, all launches with samples and evidence (docs/formats.md, "Record").

Models: the documents of `schema/record-v2.json`, the rules between their fields, and the id. The JSON document is the
authority: id and file are made from it, and the dataclasses are typed views of it. The id depends on content only, so
that re-indenting a record does not change it. Leaves out: where records are stored (`records.store.archive`), how one
is made (`records.assemble`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from railyard.base import verdict
from railyard.base.decoded import decoded
from railyard.base.errors import InputError
from railyard.records import benchmark, json_io, text_rules
from railyard.records.benchmark import Series, Unmeasured
from railyard.records.folded import tables
from railyard.records.folded.health import Health
from railyard.records.folded.nic_bytes import Nics
from railyard.records.folded.ranks import Ranks
from railyard.records.json_io import Json
from railyard.records.spans import Spans
from railyard.records.units import Fom

#: The version that this code writes and reads. Another one's records are read by its own railyard.
FORMAT = "railyard-record/2.2"
SCHEMA = "record-v2.json"
ID_DIGITS = 12
#: Keys that are computed from the content, and therefore left out when it is hashed.
DERIVED = frozenset({"id", "sha256"})


class Origin(StrEnum):
    """How the numbers of a record were obtained; a report never mixes two origins in one comparison."""

    EMULATED = "emulated"
    SIMULATED = "simulated"
    MODELLED = "modelled"
    MEASURED = "measured"


#: Origins whose numbers are computed and always the same, so that one launch suffices and no statistical test applies.
COMPUTED = frozenset({Origin.SIMULATED, Origin.MODELLED})


class Status(StrEnum):
    """How a launch or a job ended: well, badly, deliberately not run here, or requested but not run."""

    OK = "ok"
    FAILED = "failed"
    NOT_MEASURED = "not-measured"


class Software(StrEnum):
    """Where the programs of a launch came from: the machine itself, or the image that the provenance names."""

    NATIVE = "native"
    IMAGE = "image"


#: Whether a launch obeyed its placement (ranks ran on the requested hosts), or its NIC policy.
Verdict = verdict.Verdict
#: Placement, NIC policy and software.
Combination = tuple[str, str, str]


def combination_name(placement: str, nic_policy: str, software: str = Software.NATIVE) -> str:
    """Return a combination's name for people: `PLACEMENT + NIC-POLICY`, and ` + image` if it ran from an image."""
    return " + ".join([placement, nic_policy, *([software] if software != Software.NATIVE else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Where the job ran: system, partition and environment as ReFrame's configuration names them."""

    name: str
    partition: str
    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The topology of a case; `sha256` is that of its file, and `extents` is empty unless it is a torus."""

    name: str
    sha256: str
    extents: tuple[int, ...]
    nodes_per_router: int
    rails: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the job was requested to measure: everything that must be equal for two jobs to have done the same work.

    `benchmark` names the program and `parameters` has its parameters by name; `studies` are the papers whose
    figures the check reproduces. `allocation` is JSON: `order` (by which the nodes were chosen), `seed`, and
    `nodes`, each with `name` and `coordinate` (a list of numbers, or None), in the order of the scheduler. Each
    combination of `placements`, `nic_policies` and `software` has `launches_per_combination` launches, in the
    random order that `seed` draws (`railyard.records.launch_order`). `grid` has the ranks along each dimension of
    the process grid, `block` the routers and `cube` the nodes of the allocation; both are empty for all of a torus.
    `devices` are the names of each node's NICs. `challenge` is the buyer's word from which the seed follows.
    `roles` has the rule that divided the nodes between the measured program and the others, and those programs.
    What a check does not have is None.
    """

    check: str
    benchmark: str
    studies: tuple[str, ...]
    parameters: Mapping[str, Json]
    topology: Topology | None
    allocation: Mapping[str, Json]
    placements: tuple[str, ...]
    nic_policies: tuple[str, ...]
    seed: int
    launches_per_combination: int
    software: tuple[Software, ...] = (Software.NATIVE,)
    ranks_per_node: int | None = None
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    cube: tuple[int, ...] | None = None
    devices: tuple[str, ...] | None = None
    challenge: str = ""
    roles: Mapping[str, Json] | None = None


class Guarded(StrEnum):
    """Whether the host machine was fast enough for the rates of the virtual torus; a void launch is not a result."""

    OK = "ok"
    VOID = "void"
    CANNOT_TELL = "cannot-tell"


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of the guard on one launch; `figures` are the numbers that it judged, as JSON.

    The guard watches whether the machine under a virtual torus limited the traffic.
    """

    verdict: Guarded
    reasons: tuple[str, ...]
    figures: Mapping[str, Json]


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """A program that ran at the same time as the measured one, on other nodes: a `congestor` or a `copy`.

    Times are seconds after the start of the measured program; `victim_s` is when that program ended. `nics` are the
    bytes that the NICs of this program's nodes counted in that time. A congestor that counts its own NICs starts to
    count when it has begun to load the network.
    """

    name: str
    role: str
    command: str
    status: Status
    reason: str
    exit_status: int | None
    starts: int
    begun_s: float | None
    ended_s: float | None
    victim_s: float | None
    hosts: tuple[str, ...]
    placement_verdict: Verdict
    ranks: Ranks
    series: tuple[Series, ...]
    reported: Mapping[str, Json]
    nics: Nics | None


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a launcher such as mpirun. A launch that never started has no exit status, start, ranks or series.

    `index` is its position in the job, `repeat` its round, from 0 on: in each round every combination is launched
    once. `command` is the line that a person can paste. `started` is a UTC time; `elapsed_s` and the monotonic
    times are seconds of the clock of the node that ran the launcher, from its start to its end. `reason` explains
    in one line why the status is not ok. `verified` is whether the program found its data right, None for one that
    does not look. `series` has the raw samples, `not_measured` the points that the program left out, and `reported`
    what it printed besides figures, such as iterations. `ranks` is where each rank ran, as it reported itself.
    `guard`, `nics` and `health` are None if no guard watched, and no NIC and no error was counted. `nic_verdict` is
    whether the NIC policy was obeyed; `nic_reason` explains why it was not, or why the bytes cannot show it. `spans`
    is None where a node has no coordinate, `roles` where no other program ran at the same time. `others` has the fields
    of the schema that are not above, as JSON.
    """

    index: int
    placement: str
    nic_policy: str
    repeat: int
    command: str
    status: Status
    reason: str
    exit_status: int | None
    started: str | None
    elapsed_s: float | None
    placement_verdict: Verdict
    ranks: Ranks
    verified: bool | None
    series: tuple[Series, ...]
    not_measured: tuple[Unmeasured, ...]
    guard: Guard | None = None
    nics: Nics | None = None
    health: Health | None = None
    nic_verdict: Verdict = Verdict.CANNOT_TELL
    nic_reason: str | None = None
    software: Software = Software.NATIVE
    begun_monotonic_s: float | None = None
    ended_monotonic_s: float | None = None
    reported: Mapping[str, Json] = {}
    spans: Spans | None = None
    roles: tuple[Beside, ...] | None = None
    others: Mapping[str, Json] = {}

    @property
    def combination(self) -> Combination:
        """Return what launches that are alike share: placement, NIC policy and software."""
        return self.placement, self.nic_policy, str(self.software)

    @property
    def is_void(self) -> bool:
        """Return whether the launch ended well but the guard refused it; it is not a result, but keeps its samples."""
        return self.status is Status.OK and self.guard is not None and self.guard.verdict is Guarded.VOID

    @property
    def is_result(self) -> bool:
        """Return whether statistics may use the samples: the launch is ok and not void."""
        return self.status is Status.OK and not self.is_void


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A valid record. `source` is the file that it was read from, for messages; `document` must not be changed.

    `created` is the UTC time at which it was made, `origin` how its numbers were obtained, `status` that of the job
    as a whole (see `job_status`) and `reason` its explanation, empty for ok. `provenance` is JSON: code, machine,
    MPI, torus, image. `run` is JSON: the job, the code before and after it, and the place in the chain of its
    ReFrame session. `sha256` identifies the record; `id`, its first 12 digits, is for people and file names. `run`
    is None in a record that names no job.
    """

    source: str
    document: Mapping[str, Json]
    id: str
    sha256: str
    created: str
    origin: Origin
    system: System
    case: Case
    status: Status
    reason: str
    launches: tuple[Launch, ...]
    provenance: Mapping[str, Json]
    run: Mapping[str, Json] | None = None

    @property
    def job(self) -> str:
        """Return the job that made the record, or the record's sha256 if the record names no job."""
        return str(self.run["job"]) if self.run else self.sha256


def load(path: Path) -> Record:
    """Return the record in a file; raises InputError for one that is truncated, invalid or does not match its id."""
    return validate(json_io.read(path), str(path))


def parse(content: bytes, source: str) -> Record:
    """Return the record in a file's bytes; raises InputError as `load` does."""
    return validate(json_io.loads_bytes(content, source), source)


def validate(document: Json, source: str) -> Record:
    """Return the record in a JSON document; raises InputError, which names field, value and what is valid there."""
    digest = check(document, source)
    record = _parse(document, source, digest)
    _check_times(record)
    _check_launches(record)
    _check_status(record)
    image = record.provenance.get("image")
    if (image is not None) != (Software.IMAGE in record.case.software):
        wanted = "the image" if image is None else "null, as case.software has no image"
        raise InputError(source, "provenance.image", "null" if image is None else "an image", wanted)
    if record.origin is Origin.EMULATED and record.provenance["torus"] is None:
        valid = "one, because origin is emulated"
        raise InputError(source, "provenance.torus", problem="no virtual torus", valid=valid)
    return record


def check(document: Json, source: str, schema: str = SCHEMA) -> str:
    """Return the sha256 of a document that its schema accepts and that matches it; InputError for another one.

    A record must fit more rules, which `validate` knows. Results of other tools have a schema of their own.
    """
    json_io.validate(document, schema, source)
    written = _content(document)
    text_rules.check(document, source, written)
    digest = sha256_of(written)
    for field, wanted in (("id", digest[:ID_DIGITS]), ("sha256", digest)):
        if document[field] != wanted:
            valid = f"{wanted}, the hash of the content: the record was changed"
            raise InputError(source, field, document[field], valid)
    return digest


def from_content(content: Mapping[str, Json], source: str) -> Record:
    """Return the record with this content, converted to plain JSON (tuples become lists), with its id, validated.

    Raises InputError for content that is not JSON or not a valid record.
    """
    try:
        document = json_io.loads_bytes(json_io.canonical(content).encode("ascii"), source)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(source, "", str(error), "values that JSON can hold, finite numbers") from error
    return validate(sealed(document), source)


def sealed(document: Mapping[str, Json]) -> dict[str, Json]:
    """Return a document with the sha256 of its content and the id, its first digits."""
    digest = sha256_of(_content(document))
    content = {key: value for key, value in document.items() if key not in DERIVED}
    return {**content, "id": digest[:ID_DIGITS], "sha256": digest}


def _content(document: Mapping[str, Json]) -> bytes:
    return json_io.canonical_bytes({key: value for key, value in document.items() if key not in DERIVED})


def sha256_of(written: bytes) -> str:
    """Return the sha256 of canonical JSON, in hex digits."""
    return hashlib.sha256(written).hexdigest()


def text(record: Record) -> str:
    """Return the text of a record's file, before any compression."""
    return json_io.text(record.document)


def _parse(document: Mapping[str, Json], source: str, digest: str) -> Record:
    views = tables.Reader(document["tables"], source)
    figures, case = _figures(document, source), document["case"]
    nodes = tables.unfold_nodes(case["allocation"]["nodes"], source)
    return Record(
        source=source,
        document=document,
        id=document["id"],
        sha256=digest,
        created=document["created"],
        origin=Origin(document["origin"]),
        system=decoded(System, document["system"], source, "system"),
        case=decoded(Case, case, source, "case", allocation={**case["allocation"], "nodes": nodes}),
        status=Status(document["status"]),
        reason=document["reason"],
        launches=tuple(
            _parse_launch(launch, views, figures, f"launches[{index}]")
            for index, launch in enumerate(document["launches"])
        ),
        provenance=document["provenance"],
        run=document.get("run"),
    )


def _figures(document: Mapping[str, Json], source: str) -> Mapping[str, Fom]:
    """Return name -> figure of every series; raises InputError for one that is not declared."""
    names: dict[str, str] = {}
    for index, launch in enumerate(document["launches"]):
        lists = [(name, launch[name]) for name in ("series", "not_measured")]
        lists += [(f"roles[{at}].series", role["series"]) for at, role in enumerate(launch.get("roles") or ())]
        for name, items in lists:
            names |= {item["fom"]: f"launches[{index}].{name}[{at}].fom" for at, item in enumerate(items)}
    figures = benchmark.declared(document, source)
    for name in sorted(names.keys() ^ figures.keys()):
        if name in figures:
            raise InputError(source, f"figures.{name}", problem="no series has it", valid="figures of the series alone")
        raise InputError(source, names[name], name, "a figure that `figures` declares")
    return figures


def _parse_launch(item: Mapping[str, Json], views: tables.Reader, figures: Mapping[str, Fom], place: str) -> Launch:
    hook = benchmark.figure_of(figures)

    def of_part(part: Mapping[str, Json], place: str) -> dict[str, Any]:
        ranks, nics = views.ranks(part["ranks"], f"{place}.ranks"), views.nics(part.get("nics"), f"{place}.nics")
        return {"ranks": ranks, "nics": nics}

    roles = []
    for number, role in enumerate(item.get("roles") or ()):
        at = f"{place}.roles[{number}]"
        hosts = views.hosts(role["hosts"], f"{at}.hosts")
        roles.append(decoded(Beside, role, views.source, at, hook=hook, hosts=hosts, **of_part(role, at)))
    if guard := item.get("guard"):
        numbers = {name: value for name, value in guard.items() if name not in {"verdict", "reasons"}}
        guard = Guard(verdict=Guarded(guard["verdict"]), reasons=tuple(guard["reasons"]), figures=numbers)
    given = {"guard": guard, "roles": item.get("roles") and tuple(roles), **of_part(item, place)}
    return decoded(Launch, item, views.source, place, hook=hook, **given)


def _check_times(record: Record) -> None:
    times = {"created": record.created}
    times |= {
        f"launches[{index}].started": launch.started for index, launch in enumerate(record.launches) if launch.started
    }
    for field, time in times.items():
        try:
            datetime.fromisoformat(time)
        except ValueError as error:
            raise InputError(record.source, field, time, "a UTC time such as 2026-11-21T03:00:00Z") from error


def _check_launches(record: Record) -> None:
    seen: set[tuple[Combination, int]] = set()
    case, source = record.case, record.source
    for index, launch in enumerate(record.launches):
        field = f"launches[{index}]"
        if launch.index != index:
            raise InputError(source, f"{field}.index", launch.index, f"{index} (launches in the order they ran)")
        for name, of_case in (("placement", "placements"), ("nic_policy", "nic_policies"), ("software", "software")):
            if (value := getattr(launch, name)) not in getattr(case, of_case):
                raise InputError(source, f"{field}.{name}", value, f"one of case.{of_case}")
        if launch.repeat >= case.launches_per_combination:
            last = case.launches_per_combination - 1
            raise InputError(source, f"{field}.repeat", launch.repeat, f"0 to {last}, as launches_per_combination says")
        _check_launch_status(source, launch, field)
        benchmark.check_series(launch.series, source, f"{field}.series")
        for number, role in enumerate(launch.roles or ()):
            benchmark.check_series(role.series, source, f"{field}.roles[{number}].series")
        if (launch.combination, launch.repeat) in seen:
            text = " ".join((*launch.combination, str(launch.repeat)))
            raise InputError(source, field, text, "each combination and repeat once")
        seen.add((launch.combination, launch.repeat))


def _check_launch_status(source: str, launch: Launch, field: str) -> None:
    """Raise InputError if the status of a launch contradicts its other fields.

    An ok launch has exit status 0, no failed verdict and a series; any other launch has a `reason`.
    """
    _check_reason(source, launch.status, launch.reason, f"{field}.reason")
    if launch.status is Status.OK:
        if launch.exit_status != 0:
            raise InputError(source, f"{field}.exit_status", launch.exit_status, "0 for a launch that is ok")
        if launch.verified is False or Verdict.NOT_OBEYED in (launch.placement_verdict, launch.nic_verdict):
            wanted = "failed: data not verified, or placement or NIC policy not obeyed"
            raise InputError(source, f"{field}.status", "ok", wanted)
        if not launch.series:
            valid = "at least one series in a launch that is ok"
            raise InputError(source, f"{field}.series", problem="empty", valid=valid)
    if launch.status is Status.NOT_MEASURED and (launch.exit_status is not None or launch.series):
        raise InputError(source, f"{field}.status", "not-measured", "failed or ok: this launch has run")


def _check_status(record: Record) -> None:
    source, case = record.source, record.case
    _check_reason(source, record.status, record.reason, "reason")
    wanted = job_status([launch.status for launch in record.launches])
    if not record.launches and record.status in {Status.NOT_MEASURED, Status.FAILED}:
        return
    if record.status is not wanted:
        raise InputError(source, "status", str(record.status), f"{wanted}, as its launches say")
    combinations = len(case.placements) * len(case.nic_policies) * len(case.software)
    combinations *= case.launches_per_combination
    if len(record.launches) != combinations:
        size = f"{len(record.launches)} launches"
        raise InputError(source, "launches", size, f"{combinations}: one that never started is listed as not-measured")


def job_status(launches: Sequence[Status]) -> Status:
    """Return the status of a job: failed if any launch failed, else ok if all are ok, else not measured."""
    if Status.FAILED in launches:
        return Status.FAILED
    return Status.OK if launches and set(launches) == {Status.OK} else Status.NOT_MEASURED


def _check_reason(source: str, status: Status, reason: str, field: str) -> None:
    if (status is Status.OK) != (not reason):
        wanted = "empty when status is ok" if status is Status.OK else f"one line that says why it is {status}"
        raise InputError(source, field, reason, wanted)
