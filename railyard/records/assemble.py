"""Build one record from the launches of a job: read each launch's benchmark output and judge it.

Models: the status of each launch (ok, failed, not measured) and the verdict on its placement, each with a reason that
names the expected and the actual value. A failed launch is recorded with its output as evidence. Leaves out: running
launches, timing them, writing the record (`railyard.records.store.archive`).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.records import benchmark, record, spans
from railyard.records.benchmark import Benchmark, Series
from railyard.records.folded import tables
from railyard.records.folded.nic_bytes import Nics
from railyard.records.folded.ranks import Ranks
from railyard.records.json_io import Json
from railyard.records.record import Record, Software, Status, Verdict
from railyard.records.units import Fom

_NOT_MET = "the program's MPI does not understand what started it"
#: Fields of `LaunchRun` that are fields of the record, unchanged.
_AS_GIVEN = (
    *("placement", "nic_policy", "repeat", "command", "exit_status", "started", "elapsed_s", "guard", "health"),
    *("begun_monotonic_s", "ended_monotonic_s"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRun:
    """What the job knows about one launch: what was requested, how it ended, where its output should be.

    `exit_status` is None if the launch never started; `reason` may then explain why. `expected_hosts` is the host
    on which each rank should run, by rank; None if the placement does not determine it. `own_names` maps a host's
    own name to the scheduler's name for the node, where the two differ. `guard` and `health` have the form of the
    record's schema. `nics` are the bytes that the NICs counted, `nic_verdict` is the verdict on them, and `nic_reason`
    explains any verdict but `obeyed`. `late` is set if its limit ended it. `fault` describes wrong data or missing
    output where the check knows more than the output shows, `replaced` an image that changed while the job ran.
    With `has_groups`, the first number of a node's coordinate is its group. `roles` are the programs that ran at
    the same time on other nodes, in the form of the record's schema except for `ranks` (`Ranks`), `hosts` (one name
    per rank) and `nics` (`Nics`), and for `figures`, those of their series. `counted` holds the series of energy,
    and of the NICs that ranks used. `others` are fields of the record's schema that nothing here judges.
    """

    placement: str
    nic_policy: str
    repeat: int
    command: str
    index: int = -1
    exit_status: int | None = None
    started: str | None = None
    elapsed_s: float | None = None
    output: Path | None = None
    expected_hosts: Sequence[str] | None = None
    reason: str = ""
    guard: Mapping[str, Json] | None = None
    nics: Nics | None = None
    health: Mapping[str, Json] | None = None
    nic_verdict: Verdict = Verdict.CANNOT_TELL
    nic_reason: str = ""
    software: Software = Software.NATIVE
    late: str = ""
    fault: str = ""
    replaced: str = ""
    begun_monotonic_s: float | None = None
    ended_monotonic_s: float | None = None
    has_groups: bool = False
    roles: Sequence[Mapping[str, Json]] | None = None
    counted: Sequence[Series] = ()
    own_names: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """The verdict on one launch, with its parsed output where there is one."""

    status: Status
    reason: str
    verdict: Verdict = Verdict.CANNOT_TELL
    output: Benchmark | None = None


def assemble(
    *,
    case: Mapping[str, Json],
    system: Mapping[str, str],
    origin: str,
    provenance: Mapping[str, Json],
    launches: Iterable[LaunchRun],
    created: datetime | None = None,
    run: Mapping[str, Json] | None = None,
) -> Record:
    """Return the record of one job.

    Launches are numbered in the order given. A combination of the case that is not among them is listed as
    not measured. If `provenance["mpi"]` is None, the first output supplies it. Raises InputError if the result
    violates the format, for example by a placement that the case does not name.
    """
    runs = [*launches]
    there = {(run.placement, run.nic_policy, run.software, run.repeat) for run in runs}
    repeats = range(case["launches_per_combination"])
    software = map(Software, case.get("software", [Software.NATIVE]))
    runs += [
        LaunchRun(placement=placement, nic_policy=policy, repeat=repeat, software=whose, command="")
        for repeat, placement, policy, whose in itertools.product(
            repeats, case["placements"], case["nic_policies"], software
        )
        if (placement, policy, whose, repeat) not in there
    ]
    findings = [judge(run, case) for run in runs]
    nodes = case["allocation"]["nodes"]
    at, writer = spans.coordinates(nodes), tables.Writer(known=[node["name"] for node in nodes])
    documents = []
    for index, (launch, finding) in enumerate(zip(runs, findings, strict=True)):
        hosts = set(finding.output.ranks.hosts) if finding.output else set[str]()
        spread = spans.of_hosts(hosts, at, has_groups=launch.has_groups)
        documents.append({**_launch(index, launch, finding, writer), "spans": spread and dataclasses.asdict(spread)})
    output = next((finding.output for finding in findings if finding.output), None)
    mpi = output and {"library": output.mpi_library, "standard": output.mpi_standard}
    document: dict[str, Json] = {
        "schema": record.FORMAT,
        "created": utc_text(created or datetime.now(UTC)),
        "origin": str(origin),
        "system": dict(system),
        "case": tables.with_folded_nodes(case),
        "status": str(record.job_status([finding.status for finding in findings])),
        "reason": _job_reason(findings),
        "launches": documents,
        "tables": writer.document(),
        "figures": benchmark.figures_json(_figures(runs, findings)),
        "provenance": {**provenance, "mpi": provenance.get("mpi") or mpi},
        "run": None if run is None else dict(run),
    }
    return record.from_content(document, "the assembled record")


def judge(run: LaunchRun, case: Mapping[str, Json]) -> _Finding:
    """Return the status of a launch, with its first fault as the reason.

    Faults are looked for in this order: time limit, exit status, a replaced image, unreadable output, another case
    than the requested one, wrong data, ranks on other hosts, NIC policy not obeyed, no series.
    """
    if run.exit_status is None:
        return _Finding(status=Status.NOT_MEASURED, reason=one_line(run.reason) or "the launch was never started")
    output, fault = _read(run)
    verdict, moved = judge_placement(run.expected_hosts, output)
    exit_text = f"exit status {run.exit_status}" if run.exit_status else ""
    unlike = _unlike_case(output, case) if output else ""
    wrong = one_line(run.fault) or "the benchmark found wrong data"
    unverified = wrong if output and output.verified is False else ""
    empty = "the output has no series" if output and not output.series else ""
    why = run.fault if output and output.verified is False else run.reason or run.fault
    ended_badly = exit_text and "; ".join(filter(None, [run.late or exit_text, one_line(why)]))
    strayed = one_line(run.nic_reason) if run.nic_verdict is Verdict.NOT_OBEYED else ""
    reason = next(filter(None, [ended_badly, run.replaced, fault, unlike, unverified, moved, strayed, empty]), "")
    status = Status.FAILED if reason else Status.OK
    return _Finding(status=status, reason=reason, verdict=verdict, output=output)


def judge_placement(expected: Sequence[str] | None, output: Benchmark | None) -> tuple[Verdict, str]:
    """Return whether each rank ran on the requested host, and a reason that names the first one that did not."""
    if expected is None or output is None:
        return Verdict.CANNOT_TELL, ""
    ranks = output.ranks
    if len(ranks) == 1 and len(expected) > 1:
        return Verdict.NOT_OBEYED, f"{len(expected)} singletons instead of {len(expected)} ranks: {_NOT_MET}"
    if len(ranks) != len(expected):
        return Verdict.NOT_OBEYED, f"{len(ranks)} ranks ran, asked {len(expected)}"
    rank = elsewhere(ranks, expected)
    if rank is None:
        return Verdict.OBEYED, ""
    return Verdict.NOT_OBEYED, one_line(f"rank {rank} ran on {ranks[rank].host}, asked {expected[rank]}")


def elsewhere(ranks: Ranks, expected: Sequence[str]) -> int | None:
    """Return the first rank that did not run on its host, which is `expected[rank]`; None if all did."""
    names = ranks.host_names
    if names == list(expected):
        return None
    same = host_names.matched(ranks.hosts, expected)
    for rank, (ran, assigned) in enumerate(zip(names, expected, strict=False)):
        if ran != assigned and same.get(ran) != assigned:
            return rank
    return None


def one_line(text: str) -> str:
    """Return a text on one line: control characters become blanks, and each run of blanks becomes one."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _read(run: LaunchRun) -> tuple[Benchmark | None, str]:
    if run.output is None or not run.output.exists():
        return None, one_line(run.fault) or "the benchmark left no output"
    try:
        return benchmark.load(run.output, run.own_names), ""
    except InputError as error:
        return None, one_line(str(error).replace(str(run.output), run.output.name))


def _unlike_case(output: Benchmark, case: Mapping[str, Json]) -> str:
    """Return the first difference between the case and what the program reports that it ran; empty if none."""
    if output.benchmark != case["benchmark"]:
        return f"{output.benchmark} ran, the case says {case['benchmark']}"
    for name, requested in case["parameters"].items():
        if name in output.parameters and output.parameters[name] != requested:
            return one_line(f"parameter {name}: {output.parameters[name]!r} ran, the case says {requested!r}")
    return ""


def _launch(index: int, run: LaunchRun, finding: _Finding, writer: tables.Writer) -> dict[str, Json]:
    output = finding.output
    ranks, nics = writer.ranks(output.ranks) if output else None, writer.nics(run.nics)
    roles = []
    for role in run.roles or ():
        members = {"hosts": writer.hosts(role["hosts"]), "ranks": writer.ranks(role["ranks"])}
        members |= {"nics": writer.nics(role["nics"])}
        roles.append({**{name: part for name, part in role.items() if name != "figures"}, **members})
    return {
        **run.others,
        **{name: getattr(run, name) for name in _AS_GIVEN},
        "index": index,
        "software": str(run.software),
        "status": str(finding.status),
        "reason": finding.reason,
        "placement_verdict": str(finding.verdict),
        "ranks": ranks,
        "verified": output.verified if output else None,
        "series": [*output.series_json, *map(benchmark.series_json, run.counted)] if output else [],
        "not_measured": list(output.not_measured_json) if output else [],
        "nics": nics,
        "nic_verdict": str(run.nic_verdict),
        "nic_reason": one_line(run.nic_reason) or None,
        "reported": dict(output.reported) if output else {},
        "roles": None if run.roles is None else roles,
    }


def _figures(runs: Sequence[LaunchRun], findings: Sequence[_Finding]) -> set[Fom]:
    """Return the figures of all series of the launches."""
    figures: set[Fom] = set()
    for run, finding in zip(runs, findings, strict=True):
        if finding.output:
            figures.update(finding.output.figures.values(), (series.fom for series in run.counted))
        for role in run.roles or ():
            figures.update(role["figures"])
    return figures


def _job_reason(findings: Sequence[_Finding]) -> str:
    if not findings:
        return "the case has no launch"
    parts = []
    for status, word in ((Status.FAILED, "failed"), (Status.NOT_MEASURED, "not measured")):
        if reasons := [finding.reason for finding in findings if finding.status is status]:
            parts.append(f"{len(reasons)} of {len(findings)} launches {word}: {reasons[0]}")
    return "; ".join(parts)


def utc_text(time: datetime) -> str:
    """Return a time as records write it: UTC, whole seconds, `Z`. Raises ValueError for a time without a zone."""
    if time.tzinfo is None:
        raise ValueError("a time without a zone")
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
