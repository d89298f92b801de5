"""What the programs that ran beside a launch's victim left, and whether the victim really had its load. Pure reading.

Models: for each congestor or copy its hosts, ranks, times, figures and the bytes of its NICs during the victim's time,
as the record has them; a congestor's load is proved where its nodes' NICs sent at least a tenth of one of its own
rounds meanwhile. A copy ran at once with the victim where its NICs sent at least half as much as the victim's. Copies
and congestors must have run where they were placed. Leaves out: running them (`railyard.jobs.together`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.jobs.nodes import nic_counters
from railyard.jobs.roles import Role
from railyard.records import assemble, benchmark
from railyard.records.benchmark import Benchmark
from railyard.records.folded import nic_bytes
from railyard.records.folded.nic_bytes import Nics
from railyard.records.folded.ranks import Ranks
from railyard.records.record import Guarded, Verdict

FORMAT = "railyard-roles/1"
#: Share of one round's payload that a congestor's NICs must have sent.
LEAST_ROUNDS = 0.1
#: Share of the victim's own bytes that a copy of it must have sent during the victim's time.
LEAST_OF_COPY = 0.5
REPORTED = ("pattern", "size_bytes", "rounds_sent", "round_bytes", "elapsed_s", "ended_by")
#: What a guard has of its own; the rest is figures.
NOBODY_LOOKED = {"verdict": str(Guarded.OK), "reasons": []}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The companions of a launch. `reasons` say why it was ended, `fault` what is wrong with a companion, `void` why
    the load is not proved.
    """

    roles: list[Json]
    reasons: list[str]
    fault: str
    void: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Where a launch's files are, and what is known of its companions before it ran.

    `planned` are their names, roles and commands, `hosts` the hosts of each one's ranks, `own_names` host -> node of
    hosts that call themselves otherwise; `read_copy` makes the output of a copy of a program that is not ours, by its
    files' names and its ranks.
    """

    folder: Path
    stem: str
    planned: Sequence[Mapping[str, Any]]
    hosts: Mapping[str, Sequence[str]]
    devices: Sequence[str] | None
    read_copy: Callable[[str, int], str]
    own_names: Mapping[str, str] = field(default_factory=dict)


def found(left: Left) -> Around:
    """Return what the companions of a launch left."""
    said = _json(left.folder / f"{left.stem}.roles")
    if said.get("format") != FORMAT:
        return Around(
            roles=[],
            reasons=[],
            fault="railyard together wrote nothing about the programs beside it",
            void=[],
        )
    said = {**said, "nics": counted(said)}
    ended = {each["name"]: each for each in said["roles"]}
    made = [_role(left, each, ended.get(each["name"], {}), said) for each in left.planned]
    fault = next((f"{each['name']}: {each['reason']}" for each in made if each["status"] != "ok"), "")
    own = _sent_by_others(left, said["nics"])
    void = [word for each in made if (word := _unproved(each, own))]
    return Around(roles=made, reasons=said["reasons"], fault=fault, void=void)


def _role(left: Left, planned: Mapping[str, Any], ended: Mapping[str, Any], said: Mapping[str, Any]) -> Json:
    name, own = planned["name"], f"{left.stem}.{planned['name']}"
    hosts = list(left.hosts.get(name, ()))
    is_copy = planned["role"] == Role.COPY
    unread = left.read_copy(own, len(hosts)) if is_copy and ended.get("exit_status") == 0 else ""
    output, fault = _output(left, own) if not planned["again"] else (None, "")
    verdict, moved = assemble.judge_placement(hosts, output)
    status = ended.get("exit_status")
    failed = "" if status == 0 or planned["again"] else f"exit status {status}"
    wrong = "its data are wrong" if output and output.verified is False else ""
    reason = next(filter(None, [failed, unread, fault, wrong, moved]), "")
    return {
        "name": name,
        "role": planned["role"],
        "command": planned["command"],
        "status": "failed" if reason else "ok",
        "reason": assemble.one_line(reason),
        "exit_status": status,
        "starts": ended.get("starts", 0),
        "begun_s": _since(said, ended.get("begun_s")),
        "ended_s": _since(said, ended.get("ended_s")),
        "victim_s": _since(said, said["victim"]["ended_s"]),
        "hosts": hosts,
        "placement_verdict": str(verdict if not planned["again"] else Verdict.CANNOT_TELL),
        "ranks": output.ranks if output else Ranks(),
        "series": list(output.series_json) if output else [],
        "reported": {k: output.parameters[k] for k in REPORTED if output and k in output.parameters},
        "nics": _nics(left, own, hosts, said["nics"]),
    }


def _since(said: Mapping[str, Any], time_s: float | None) -> float | None:
    """Return a time as seconds after the victim's start."""
    begun_s = said["victim"]["begun_s"]
    return None if time_s is None or begun_s is None else round(time_s - begun_s, 3)


def _output(left: Left, own: str) -> tuple[Benchmark | None, str]:
    path = left.folder / f"{own}.json"
    if not path.exists():
        return None, "it left no output"
    try:
        return benchmark.load(path, left.own_names), ""
    except InputError as error:
        return None, str(error).replace(str(path), path.name)


def _nics(left: Left, own: str, hosts: Sequence[str], counted: Nics | None) -> Nics | None:
    """Return the NICs of a companion's nodes: as the torus counted them meanwhile, or as its own ranks did."""
    if counted is not None:
        return of_hosts(counted, hosts)
    path = left.folder / f"{own}.nics"
    if not path.exists():
        return None
    return nic_counters.read(path, left.devices, list(dict.fromkeys(hosts)), left.own_names).nics


def counted(evidence: Mapping[str, Any]) -> Nics | None:
    """Return the NICs that a launch's evidence counted; None where nobody did."""
    rows = evidence.get("nics")
    return None if rows is None else nic_bytes.of_rows(rows)


def of_hosts(nics: Nics | None, hosts: Sequence[str]) -> Nics | None:
    """Return the NICs of some nodes; None where none were counted."""
    if nics is None:
        return None
    own = host_names.matched({node for node, _ in nics.pairs}, hosts)
    return nics.only(own)


def _sent_by_others(left: Left, counted: Nics | None) -> int:
    """Return what the NICs of all nodes without a companion sent meanwhile: the victim's bytes; 0 if not counted."""
    beside = [host for hosts in left.hosts.values() for host in hosts]
    theirs = of_hosts(counted, beside)
    return sum(counted.tx_bytes) - sum(theirs.tx_bytes) if counted and theirs else 0


def _unproved(role: Json, victim_bytes: int) -> str:
    """Return why a companion's load is not proved; empty where it is."""
    if role["role"] == Role.COPY:
        return _apart(role, victim_bytes)
    if role["nics"] is None:
        return f"nothing counted the NICs of congestor {role['name']}"
    sent = sum(role["nics"].tx_bytes)
    least = max(1.0, LEAST_ROUNDS * role["reported"].get("round_bytes", 0))
    if sent >= least:
        return ""
    return (
        f"the NICs of congestor {role['name']} sent {sent} bytes while the victim ran, less than {least:.0f}"
    )


def _apart(role: Json, victim_bytes: int) -> str:
    """Return why a copy did not run at the same time as the victim; empty where it did, or nobody counted."""
    sent = None if role["nics"] is None else sum(role["nics"].tx_bytes)
    if sent is None or sent >= LEAST_OF_COPY * victim_bytes:
        return ""
    return (
        f"the NICs of {role['name']} sent {sent} bytes while the first copy sent {victim_bytes}: not at once"
    )


def guard(seen: Mapping[str, Any] | None, around: Around | None) -> Mapping[str, Any] | None:
    """Return the guard's word with what the load has to add; a load that is not proved makes it void."""
    if around is None or not around.void:
        return seen
    word = {**NOBODY_LOOKED, **(seen or {})}
    kept = word["reasons"] if word["verdict"] == Guarded.VOID else []
    return {**word, "verdict": str(Guarded.VOID), "reasons": [*kept, *around.void]}


def _json(path: Path) -> Json:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}
