"""Reduce a judged record to what a tender needs: a hundredth of its size, so that many fit in memory.

Models: a record's identity, case and run, and each launch's values, without samples, ranks and evidence. The
strict check has used those already. Leaves out: the verdict (`railyard.tender.bids`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from railyard.placements.orders.allocation import AllocationOrder
from railyard.records.benchmark import Labels
from railyard.records.folded import slow
from railyard.records.json_io import Json
from railyard.records.record import Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.times import seconds
from railyard.records.store import entries
from railyard.records.units import Fom
from railyard.tender import agreement, copies


class Ran(NamedTuple):
    """One launch. `values` are those of its series.

    It is a tuple because a bid may have a hundred thousand launches.
    """

    placement: str
    nic_policy: str
    is_result: bool
    ranks: int
    command: str
    values: Mapping[tuple[Fom, Labels], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One record. `nics` is a number, None if not recorded.

    `nodes` are those on which ranks ran, at most `granted`. `setting` is what changes the work and is not a parameter.
    Records with one text `work` are of one case. `allocation` is a digest of the set of nodes, `hosts` their
    first and last names. `started` is of the first launch. `ended_s` is when the last one ended, `up_s` when the clock
    of the boot began, both in seconds since 1970, as the launches give them; `up_s` is None if they do not. `facts` and
    `files` are what jobs of a bid share (`railyard.tender.agreement`), `marks` what copies share
    (`railyard.tender.copies`). `explained` has a sentence for each slow launch that an event of the
    network explains.
    """

    id: str
    sha256: str
    created: str
    started: str
    ended_s: float
    origin: Origin
    system: str
    commit: str
    check: str
    benchmark: str
    parameters: Mapping[str, Json]
    setting: Mapping[str, Json]
    environment: str
    work: str
    nodes: int
    granted: int
    allocation: str
    hosts: str
    up_s: float | None
    facts: Mapping[str, str]
    files: Mapping[str, str]
    marks: bytes
    ranks_per_node: int | None
    nics: int | None
    challenge: str
    job: str
    boot: str | None
    session: str | None
    number: int
    previous: str | None
    launches: tuple[Ran, ...]
    explained: tuple[str, ...] = ()


def of_record(read: Record, marks: bytes | None = None) -> Judged:
    """Return what a tender needs of a record; `marks` are its own, if the caller has made those of many records."""
    case, run = read.case, read.run
    setting, environment = _setting(read), read.system.environment
    commit = str(read.provenance["railyard"]["git_commit"])
    nodes = max((len(launch.ranks.hosts) for launch in read.launches if launch.is_result), default=0)
    work = [case.check, case.parameters, setting, nodes, environment, commit, read.provenance["mpi"]]
    names = sorted(rebuilt.names(read))
    # A record is made some time after its last launch ended, which may be a time that no calendar has.
    ends = (seconds(launch.started) + (launch.elapsed_s or 0.0) for launch in read.launches if launch.started)
    return Judged(
        id=read.id,
        sha256=read.sha256,
        created=read.created,
        started=min((launch.started for launch in read.launches if launch.started), default=read.created),
        ended_s=max(ends, default=seconds(read.created)),
        origin=read.origin,
        system=read.system.name,
        commit=commit,
        check=case.check,
        benchmark=case.benchmark,
        parameters=case.parameters,
        setting=setting,
        environment=environment,
        work=orjson.dumps(work, option=orjson.OPT_SORT_KEYS).decode(),
        nodes=nodes,
        granted=len(case.allocation["nodes"]),
        allocation=entries.allocation(case.allocation["nodes"]),
        hosts=" to ".join(dict.fromkeys([names[0], names[-1]])) if names else "no node",
        up_s=_up_s(read),
        facts=agreement.facts_of(read),
        files=agreement.files_of(read),
        marks=copies.marks_of([read])[0] if marks is None else marks,
        ranks_per_node=case.ranks_per_node,
        nics=_nics(read),
        challenge=case.challenge,
        job=read.job,
        boot=None if run is None else run["boot"],
        session=None if run is None else str(run["session"]),
        number=0 if run is None else int(run["number"]),
        previous=None if run is None else run["previous"],
        launches=tuple(
            Ran(
                placement=launch.placement,
                nic_policy=launch.nic_policy,
                is_result=launch.is_result,
                ranks=len(launch.ranks),
                command=launch.command,
                values=entries.values_of(launch.series) if launch.is_result else {},
            )
            for launch in read.launches
        ),
        explained=tuple(one.text() for one in slow.marked(read)),
    )


def _setting(read: Record) -> dict[str, Json]:
    """Return what changes a case's work besides its parameters: ranks per node, software, loads, and the network.

    Which nodes the job requested counts on a machine that gives it those, not where a scheduler chose them.
    """
    case, torus = read.case, read.provenance["torus"] or {}
    given = {
        "ranks_per_node": rebuilt.ranks_per_node(read),
        "software": ",".join(case.software),
        "split": case.roles and case.roles["rule"],
        "topology": case.topology and case.topology.name,
        **{name: torus.get(name) for name in ("rate_scale", "latency_scaled", "network")},
    }
    if case.allocation["order"] != AllocationOrder.SCHEDULER:
        given |= {
            "allocation": case.allocation["order"],
            "block": list(case.block or ()),
            "cube": list(case.cube or ()),
        }
    return {name: value for name, value in given.items() if value is not None}


def _up_s(read: Record) -> float | None:
    for launch in read.launches:
        if launch.started and launch.begun_monotonic_s is not None:
            return seconds(launch.started) - launch.begun_monotonic_s
    return None


def _nics(read: Record) -> int | None:
    if read.case.devices:
        return len(read.case.devices)
    return read.case.topology.rails if read.case.topology else None
