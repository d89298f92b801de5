"""Read what the companions of a victim left, and judge whether the victim ran under their load.

A companion is a congestor or a copy that ran at the same time on other nodes. Models: the hosts, ranks, times, figures
and NIC bytes of each, as the record contains them. A congestor's load is proved if the NICs of its nodes sent at least
a tenth of one of its rounds while the victim ran. A copy's is proved if its NICs sent at least half of the victim's
bytes. Every companion must have run on its assigned nodes. Leaves out how they are run (`railyard.jobs.together`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.jobs.job.json_files import json_object
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
#: The verdict of a launch that no guard watched.
NOT_GUARDED = {"verdict": str(Guarded.OK), "reasons": []}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Companions:
    """The companions of a launch, as the record contains them.

    `reasons`: why the launch was ended early. `fault`: what is wrong with a companion. `void`: why a load is unproved.
    """

    roles: list[Json]
    reasons: list[str]
    fault: str
    void: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What `read` needs: the folder of a launch's files, and its companions as they were planned.

    `planned` has name, role and command of each companion; `hosts` the host of each of its ranks, by name. `own_names`
    maps a host's own name to the scheduler's, where they differ. `read_copy(stem, ranks)` writes the benchmark output
    of a copy of a third-party program, and returns why it has none.
    """

    folder: Path
    stem: str
    planned: Sequence[Mapping[str, Any]]
    hosts: Mapping[str, Sequence[str]]
    devices: Sequence[str] | None
    read_copy: Callable[[str, int], str]
    own_names: Mapping[str, str] = field(default_factory=dict)


def read(left: Left) -> Companions:
    """Return the companions of a launch; a launch without the file `.roles` has none and a fault."""
    results = json_object(left.folder / f"{left.stem}.roles")
    if results.get("format") != FORMAT:
        return Companions(
            roles=[],
            reasons=[],
            fault="railyard together wrote nothing about the programs beside it",
            void=[],
        )
    results = {**results, "nics": counted(results)}
    result_of = {companion["name"]: companion for companion in results["roles"]}
    roles = [_role(left, planned, result_of.get(planned["name"], {}), results) for planned in left.planned]
    fault = next((f"{role['name']}: {role['reason']}" for role in roles if role["status"] != "ok"), "")
    own = _sent_by_others(left, results["nics"])
    void = [word for role in roles if (word := _unproved(role, own))]
    return Companions(roles=roles, reasons=results["reasons"], fault=fault, void=void)


def _role(
    left: Left, planned: Mapping[str, Any], result: Mapping[str, Any], results: Mapping[str, Any]
) -> Json:
    name, own = planned["name"], f"{left.stem}.{planned['name']}"
    hosts = list(left.hosts.get(name, ()))
    is_copy = planned["role"] == Role.COPY
    unread = left.read_copy(own, len(hosts)) if is_copy and result.get("exit_status") == 0 else ""
    output, fault = _output(left, own) if not planned["again"] else (None, "")
    verdict, moved = assemble.judge_placement(hosts, output)
    status = result.get("exit_status")
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
        "starts": result.get("starts", 0),
        "begun_s": _since(results, result.get("begun_s")),
        "ended_s": _since(results, result.get("ended_s")),
        "victim_s": _since(results, results["victim"]["ended_s"]),
        "hosts": hosts,
        "placement_verdict": str(verdict if not planned["again"] else Verdict.CANNOT_TELL),
        "ranks": output.ranks if output else Ranks(),
        "figures": list(output.figures.values()) if output else [],
        "series": list(output.series_json) if output else [],
        "reported": {k: output.parameters[k] for k in REPORTED if output and k in output.parameters},
        "nics": _nics(left, own, hosts, results["nics"]),
    }


def _since(results: Mapping[str, Any], time_s: float | None) -> float | None:
    """Return a time as seconds after the victim's start."""
    begun_s = results["victim"]["begun_s"]
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
    """Return the bytes of a companion's NICs: those that the torus counted, or else those that its ranks wrote."""
    if counted is not None:
        return of_hosts(counted, hosts)
    path = left.folder / f"{own}.nics"
    if not path.exists():
        return None
    return nic_counters.read(path, left.devices, list(dict.fromkeys(hosts)), left.own_names).nics


def counted(evidence: Mapping[str, Any]) -> Nics | None:
    """Return the NIC bytes in a launch's evidence; None if it has none, as on a real machine."""
    rows = evidence.get("nics")
    return None if rows is None else nic_bytes.of_rows(rows)


def of_hosts(nics: Nics | None, hosts: Sequence[str]) -> Nics | None:
    """Return the NIC bytes of some hosts; None if none were counted."""
    if nics is None:
        return None
    own = host_names.matched({node for node, _ in nics.pairs}, hosts)
    return nics.only(own)


def _sent_by_others(left: Left, counted: Nics | None) -> int:
    """Return the bytes that nodes without a companion sent: those of the victim; 0 if no bytes were counted."""
    hosts_of_companions = [host for hosts in left.hosts.values() for host in hosts]
    theirs = of_hosts(counted, hosts_of_companions)
    return sum(counted.tx_bytes) - sum(theirs.tx_bytes) if counted and theirs else 0


def _unproved(role: Json, victim_bytes: int) -> str:
    """Return why a companion's load is not proved; empty where it is."""
    if role["role"] == Role.COPY:
        return _not_at_once(role, victim_bytes)
    if role["nics"] is None:
        return f"nothing counted the NICs of congestor {role['name']}"
    sent = sum(role["nics"].tx_bytes)
    least = max(1.0, LEAST_ROUNDS * role["reported"].get("round_bytes", 0))
    if sent >= least:
        return ""
    return (
        f"the NICs of congestor {role['name']} sent {sent} bytes while the victim ran, less than {least:.0f}"
    )


def _not_at_once(role: Json, victim_bytes: int) -> str:
    """Return why a copy did not run at the same time as the victim; empty if it did, or if no bytes were counted."""
    sent = None if role["nics"] is None else sum(role["nics"].tx_bytes)
    if sent is None or sent >= LEAST_OF_COPY * victim_bytes:
        return ""
    return (
        f"the NICs of {role['name']} sent {sent} bytes while the first copy sent {victim_bytes}: not at once"
    )


def guard(seen: Mapping[str, Any] | None, companions: Companions | None) -> Mapping[str, Any] | None:
    """Return the guard's verdict `seen`, which a load that is not proved makes void; None where no guard watched."""
    if companions is None or not companions.void:
        return seen
    word = {**NOT_GUARDED, **(seen or {})}
    earlier_reasons = word["reasons"] if word["verdict"] == Guarded.VOID else []
    return {**word, "verdict": str(Guarded.VOID), "reasons": [*earlier_reasons, *companions.void]}
