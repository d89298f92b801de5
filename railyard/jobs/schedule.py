"""Which launches a job makes, in which order, and how its script words them. Pure.

Every combination of a placement, a NIC policy and a software is launched once in each round, and each round has its own
order, drawn from the check's seed: drift of the machine spares none of them. Leaves out where ranks go
(`checks.placing`): a command names the files that say it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from placements import launchers
from placements.orders import spec
from placements.orders.allocation import Allocation
from placements.orders.placement import Placement
from railyard.errors import InputError
from railyard.jobs import launching, placing
from railyard.jobs import roles as role
from railyard.jobs.stagedir import Job, Planned
from railyard.records import launch_order
from railyard.records.record import Software, combination_name

#: The time for people, and seconds that no clock's correction changes. Bash from 5.0 on starts no program between the
#: two: on a busy machine it could wait for half a second, and then the two clocks would not agree.
_READ = "now=${EPOCHREALTIME:-$(date +%s.%N)}; read -r uptime _ < /proc/uptime"
_NOW = "${now/,/.} $uptime"
_NO_PROGRAMS = (
    *(".hostfile", ".rankfile", ".json", ".witness", ".evidence"),
    *(".ready", ".stop", "coordinates", "links"),
)
#: Variables that a command sets for itself, as `launching` quotes them.
ASSIGNMENTS = re.compile(r"(?:[A-Za-z_]\w*=(?:'[^']*'|[^\s'])*\s+)*")
#: Exit statuses of `timeout`: the limit was reached; it was, and the launcher had to be killed.
LIMIT_STATUS = (124, 137)

#: Launch number and whose programs -> what each rank runs.
Program = Callable[[int, Software], Sequence[str]]


def launches(
    job: Job, allocation: Allocation, placed: Mapping[str, Placement], program: Program
) -> list[Planned]:
    """The launches of a job, in order.

    A placement that is not in `placed` cannot be on these nodes; on others it may, so it has launches, too. Raises
    InputError for a placement or NIC policy that launcher or stack cannot express.
    """
    prepared = {
        (kind, policy): _prepared(job, placed.get(kind) or _stand_in(job, allocation, kind), kind, policy)
        for kind, policy in itertools.product(job.placements, job.nic_policies)
    }
    beside = {
        (kind, policy): _companions(job, allocation, kind, policy)
        for kind, policy in itertools.product(job.placements, job.nic_policies)
    }
    return [
        Planned(
            index=index,
            placement=kind,
            nic_policy=policy,
            software=str(whose),
            repeat=repeat,
            command=prepared[kind, policy].command(program(index, whose)),
            roles=[
                _planned(job, each, ready, victim=program(index, whose), stem=f"launch-{index:03d}")
                for each, ready in beside[kind, policy]
            ],
        )
        for index, (repeat, kind, policy, whose) in enumerate(_in_rounds(job))
    ]


def _companions(
    job: Job, allocation: Allocation, kind: str, policy: str
) -> list[tuple[role.Companion, launching.Prepared]]:
    """Return the programs that run beside a placement's, rendered for the launcher.

    Their commands are the same on other nodes; where these nodes have no room for them, there are none, and the
    placement cannot be launched either.
    """
    try:
        found = placing.companions(job, allocation, kind)
    except InputError:
        return []
    return [
        (each.companion, _prepared(job, each.placement, placing.stem(kind, each.companion), policy))
        for each in found
    ]


def _planned(
    job: Job, companion: role.Companion, ready: launching.Prepared, *, victim: Sequence[str], stem: str
) -> dict[str, object]:
    words = role.program(companion, victim, stem, counts_nics=job.origin == "measured")
    return {
        "name": companion.name,
        "role": str(companion.role),
        "again": companion.again,
        "command": ready.command(words),
    }


def lines(launch: Planned, *, only_if_placed: bool, limit_s: int = 0) -> list[str]:
    """A launch as lines of the job script, its command one that can be pasted.

    With `only_if_placed` they run where its placement could be made (`placing.mark`). A launch that runs longer than
    `limit_s` seconds (0: no limit) is ended, what it left is ended on every node, and the next one begins.
    """
    stem = launch.stem
    run = [
        f"export RAILYARD_EVIDENCE={stem}.evidence",
        f"{_READ}; echo {_NOW} > {stem}.begun",
        f"{limited(together(launch), limit_s)} > {stem}.out 2> {stem}.err; status=$?",
        f"{_READ}; echo $status {_NOW} > {stem}.ended",
    ]
    if limit_s:
        reached = "|".join(map(str, LIMIT_STATUS))
        run.append(f"if grep -qE '^({reached}) ' {stem}.ended; then railyard strays {stem}; fi")
    if only_if_placed:
        run = [f"if [ -e {shlex.quote(placing.mark(Path(), launch.placement).name)} ]; then", *run, "fi"]
    name = combination_name(launch.placement, launch.nic_policy, launch.software)
    return [f"# launch {launch.index}: {name}, repeat {launch.repeat}", *run]


def digests(launches: Sequence[Planned], when: str) -> list[str]:
    """Lines of the job script that write the sha256 of what the launches run, and of its libraries, to `code.WHEN`.

    The job itself looks, because its PATH decides which program a name means.
    """
    words = dict.fromkeys(
        word
        for each in launches
        for command in (each.command, *(str(beside["command"]) for beside in each.roles))
        for word in shlex.split(command)
        if _is_program(word)
    )
    each = (
        'f=$(command -v -- "$w" || echo "$w"); [ -f "$f" ] || continue; '
        'readlink -f -- "$f"; ldd "$f" 2>/dev/null | grep -o \'/[^ ]*\''
    )
    summed = f"sort -u | xargs -r -d '\\n' sha256sum > code.{when} 2>/dev/null"
    return [
        f"cat /proc/sys/kernel/random/boot_id > boot.{when} 2>/dev/null",
        f"for w in {shlex.join(words)}; do {each}; done | {summed}",
    ]


def _is_program(word: str) -> bool:
    """Return whether a word of a command may name a program or a library: no option, number, or file of the launch."""
    return bool(re.fullmatch(r"[A-Za-z./][A-Za-z0-9_./+-]*", word)) and not word.endswith(_NO_PROGRAMS)


def limited(command: str, limit_s: int) -> str:
    """Return a command with `timeout` behind its variables; it gets 30 seconds to end its ranks before it is killed."""
    if not limit_s:
        return command
    found = ASSIGNMENTS.match(command)
    before = found[0] if found else ""
    return f"{before}timeout --foreground -k 30 {limit_s} {command[len(before) :]}"


def together(launch: Planned) -> str:
    """Return the command of a launch: its own, or `railyard together` with the programs that run beside it."""
    if not launch.roles:
        return launch.command
    found = ASSIGNMENTS.match(launch.command)
    before = found[0] if found else ""
    words = [
        word
        for each in launch.roles
        for word in (
            "--program" if each["again"] else f"--{each['role']}",
            f"{each['name']}={each['command']}",
        )
    ]
    return f"{before}railyard together {launch.stem} {shlex.join(words)} -- {launch.command[len(before) :]}"


def cubic(slots: int) -> list[int]:
    """The grid of three dimensions with that many slots whose extents differ least, the longest first."""
    shapes: list[tuple[int, int, int]] = [
        (slots // (a * b), b, a)
        for a in range(1, round(slots ** (1 / 3)) + 1)
        if slots % a == 0
        for b in range(a, math.isqrt(slots // a) + 1)
        if slots // a % b == 0
    ]
    differences = [longest - shortest for longest, _, shortest in shapes]
    return list(shapes[differences.index(min(differences))])


def _in_rounds(job: Job) -> Iterator[tuple[int, str, str, Software]]:
    rounds = job.case["launches_per_combination"]
    return launch_order.in_rounds(
        job.placements, job.nic_policies, job.software, rounds=rounds, seed=job.seed
    )


def _prepared(job: Job, placed: Placement, kind: str, policy: str) -> launching.Prepared:
    return launching.prepare(
        placed,
        policy,
        launchers.named(job.launcher),
        job.features,
        stem=kind,
        devices=job.devices,
        by_script=job.binds_by_script,
    )


def _stand_in(job: Job, allocation: Allocation, kind: str) -> Placement:
    """Another placement for the words of a command: they do not say where ranks go."""
    plain = placing.place_one(job, allocation, "plain")
    return dataclasses.replace(plain, binding=spec.parse(kind).binding)
