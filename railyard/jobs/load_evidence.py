"""Read what the companions of a victim left, and judge whether the victim ran under their load.

A companion is a congestor or a copy that ran at the same time on other nodes. Models: the hosts, ranks, times, figures
and NIC bytes of each, as the record contains them. A congestor's load is proved if the NICs of its nodes sent at least
a tenth of one of its rounds while the victim ran. A copy's is proved if its NICs sent at least half of the victim's
bytes. Every companion must have run on its assigned nodes. Leaves out how they are run (`railyard.jobs.companions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.jobs.job.job_folder import JobFolder
from railyard.jobs.job.submitted import Planned
from railyard.jobs.nodes.counted import Counted
from railyard.jobs.roles import FORMAT, Role
from railyard.records import assemble, benchmark
from railyard.records.folded import nic_bytes
from railyard.records.folded.nic_bytes import Nics
from railyard.records.folded.ranks import Ranks
from railyard.records.record import Guarded, Verdict

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


#: Writes the benchmark output of a copy of a third-party program: the beginning of its files' names, ranks -> why not.
Convert = Callable[[str, int], str]


def read(folder: JobFolder, launch: Planned, results: Mapping[str, Any], convert: Convert) -> Companions:
    """Return the companions of a launch; `results` are what `railyard launch-roles` wrote.

    A launch without them has no companions and a fault.
    """
    if results.get("format") != FORMAT:
        return Companions(
            roles=[], reasons=[], fault="railyard launch-roles wrote nothing about the programs beside it", void=[]
        )
    nics = counted(results)
    roles = [_role(folder, launch, planned, results=results, nics=nics, convert=convert) for planned in launch.roles]
    fault = next((f"{role['name']}: {role['reason']}" for role in roles if role["status"] != "ok"), "")
    theirs = of_hosts(nics, [host for role in roles for host in role["hosts"]])
    victim_bytes = sum(nics.tx_bytes) - sum(theirs.tx_bytes) if nics and theirs else 0
    void = [word for role in roles if (word := _unproved(role, victim_bytes))]
    return Companions(roles=roles, reasons=results["reasons"], fault=fault, void=void)


def _role(
    folder: JobFolder,
    launch: Planned,
    planned: Mapping[str, Any],
    *,
    results: Mapping[str, Any],
    nics: Nics | None,
    convert: Convert,
) -> Json:
    """Return a companion as the record contains it; `nics` are those that the torus counted, None elsewhere."""
    name, victim = planned["name"], results["victim"]
    stem, is_copy = f"{launch.stem}.{name}", planned["role"] == Role.COPY
    hosts = list(folder.placed.roles.get(launch.placement, {}).get(name, ()))
    result: Mapping[str, Any] = next((one for one in results["roles"] if one["name"] == name), {})
    status = result.get("exit_status")
    unread = convert(stem, len(hosts)) if is_copy and status == 0 else ""
    output, path, fault = None, folder.path / f"{stem}.json", "" if planned["again"] else "it left no output"
    if not planned["again"] and path.exists():
        try:
            output, fault = benchmark.load(path, folder.placed.own_names), ""
        except InputError as error:
            fault = str(error).replace(str(path), path.name)
    by_ranks = Counted.read(folder.path / f"{stem}.nics")
    arguments = folder.job.site.devices, list(dict.fromkeys(hosts)), folder.placed.own_names
    verdict, moved = assemble.judge_placement(hosts, output)
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
        "begun_s": _since(victim, result.get("begun_s")),
        "ended_s": _since(victim, result.get("ended_s")),
        "victim_s": _since(victim, victim["ended_s"]),
        "hosts": hosts,
        "placement_verdict": str(verdict if not planned["again"] else Verdict.CANNOT_TELL),
        "ranks": output.ranks if output else Ranks(),
        "figures": list(output.figures.values()) if output else [],
        "series": list(output.series_json) if output else [],
        "reported": {k: output.parameters[k] for k in REPORTED if output and k in output.parameters},
        "nics": of_hosts(nics, hosts) if nics is not None or not by_ranks else by_ranks.nics(*arguments)[0],
    }


def _since(victim: Mapping[str, Any], time_s: float | None) -> float | None:
    """Return a time as seconds after the victim's start."""
    begun_s = victim["begun_s"]
    return None if time_s is None or begun_s is None else round(time_s - begun_s, 3)


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


def _unproved(role: Json, victim_bytes: int) -> str:
    """Return why a companion's load is not proved; empty where it is."""
    sent = None if role["nics"] is None else sum(role["nics"].tx_bytes)
    if role["role"] == Role.COPY:  # one whose bytes nothing counted is believed
        if sent is None or sent >= LEAST_OF_COPY * victim_bytes:
            return ""
        return f"the NICs of {role['name']} sent {sent} bytes while the first copy sent {victim_bytes}: not at once"
    if sent is None:
        return f"nothing counted the NICs of congestor {role['name']}"
    least = max(1.0, LEAST_ROUNDS * role["reported"].get("round_bytes", 0))
    if sent >= least:
        return ""
    return f"the NICs of congestor {role['name']} sent {sent} bytes while the victim ran, less than {least:.0f}"


def guard(seen: Mapping[str, Any] | None, companions: Companions) -> Mapping[str, Any] | None:
    """Return the guard's verdict `seen`, which a load that is not proved makes void; None where no guard watched."""
    if not companions.void:
        return seen
    word = {**NOT_GUARDED, **(seen or {})}
    earlier_reasons = word["reasons"] if word["verdict"] == Guarded.VOID else []
    return {**word, "verdict": str(Guarded.VOID), "reasons": [*earlier_reasons, *companions.void]}
