"""List the launches of a job in their order, and render them as lines of its script. Pure.

Every combination of a placement, a NIC policy and a software is launched once in each round, and each round has its own
order, drawn from the check's seed, so that drift of the machine affects all alike. Leaves out where ranks run
(`railyard.jobs.placing`): a command names files that contain it.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from railyard.jobs import placing
from railyard.jobs import roles as role
from railyard.jobs.job.job_folder import ENOUGH, TORUS
from railyard.jobs.job.launched import LIMIT_STATUS
from railyard.jobs.job.submitted import Planned, Submitted
from railyard.jobs.placing import Plan
from railyard.records import launch_order
from railyard.records.record import Software, combination_name
from railyard.torus.virtual.launcher_process import LIMIT

#: The time for people, and seconds that no clock's correction changes. Bash from 5.0 on starts no program between the
#: two: on a busy machine it could wait for half a second, and then the two clocks would not agree.
_READ = "now=${EPOCHREALTIME:-$(date +%s.%N)}; read -r uptime _ < /proc/uptime"
_NOW = "${now/,/.} $uptime"
_NO_PROGRAMS = (
    *(".hostfile", ".rankfile", ".json", ".witness", ".evidence"),
    *(".ready", ".stop", "coordinates", "links"),
)

#: Launch number and whose programs -> what each rank runs.
Program = Callable[[int, Software], Sequence[str]]


def launches(job: Submitted, plan: Plan, program: Program) -> list[Planned]:
    """Return the launches of a job, in order.

    A placement that the plan's nodes do not allow has launches, too, because the granted nodes may allow it.
    """
    spec, planned, counts_nics = job.spec, [], job.site.origin == "measured"
    order = launch_order.in_rounds(spec.placements, spec.nics, job.software, rounds=spec.launches, seed=spec.seed)
    for index, (repeat, kind, policy, whose) in enumerate(order):
        own, others = program(index, whose), []
        for companion in plan.companions[kind]:
            words = role.program(companion, own, f"launch-{index:03d}", counts_nics=counts_nics)
            command = plan.combinations[placing.stem(kind, companion), policy].command(words)
            others.append(
                {"name": companion.name, "role": str(companion.role), "again": companion.again, "command": command}
            )
        planned.append(
            Planned(
                index=index,
                placement=kind,
                nic_policy=policy,
                software=str(whose),
                repeat=repeat,
                command=plan.combinations[kind, policy].command(own),
                roles=others,
            )
        )
    return planned


def lines(launch: Planned, *, only_if_placed: bool, limit_s: int = 0, of: int = 0, in_turn: bool = False) -> list[str]:
    """Return a launch as lines of the job script, with a command that can be pasted into a shell.

    The job's output shows that the launch, one `of` so many, has ended (0: it shows nothing).
    With `only_if_placed` they run where its placement could be made (`placing.mark`). A launch that runs longer than
    `limit_s` seconds (0: no limit) is ended, what it left is ended on every node, and the next one begins. With
    `in_turn` the launcher is railyard's own, which waits for the machine: the limit begins after that wait. A launch
    with companions is started by `railyard launch-roles`.
    """
    stem, command = launch.stem, launch.command
    if launch.roles:
        before, words = apart(command)
        others = [
            word
            for role in launch.roles
            for word in ("--program" if role["again"] else f"--{role['role']}", f"{role['name']}={role['command']}")
        ]
        command = f"{before}railyard launch-roles {stem} {shlex.join(others)} -- {words}"
    run = [
        f"export RAILYARD_EVIDENCE={stem}.evidence",
        f"{_READ}; echo {_NOW} > {stem}.begun",
        f"{limited(command, limit_s, in_turn=in_turn)} > {stem}.out 2> {stem}.err; status=$?",
        f"{_READ}; echo $status {_NOW} > {stem}.ended",
    ]
    if limit_s:
        reached = "|".join(map(str, LIMIT_STATUS))
        run.append(f"if grep -qE '^({reached}) ' {stem}.ended; then railyard end-launch {stem} 2>> {stem}.err; fi")
    name = combination_name(launch.placement, launch.nic_policy, launch.software)
    if of:
        which = shlex.quote(f"railyard: launch {launch.index + 1} of {of} ({name}) ended:")
        run.append(f'echo {which} "status $status, $SECONDS s after the job began"')
    if only_if_placed:
        run = [f"if [ -e {shlex.quote(placing.mark(Path(), launch.placement).name)} ]; then", *run, "fi"]
    return [f"# launch {launch.index}: {name}, repeat {launch.repeat}", *run]


def rounds(launches: Sequence[Planned], lines: Callable[[Planned], Sequence[str]], looks: Collection[int]) -> list[str]:
    """Return the lines of all launches; after each number of rounds in `looks` the job may note that it has enough."""
    words: list[str] = []
    for repeat, members in itertools.groupby(launches, key=lambda launch: launch.repeat):
        body = [line for launch in members for line in lines(launch)]
        if repeat + 1 in looks:
            body.append(f"if railyard enough {repeat + 1}; then echo {repeat + 1} > {ENOUGH}; fi")
        words += [f"if [ ! -e {ENOUGH} ]; then", *body, "fi"] if looks and repeat >= min(looks) else body
    return words


def rounds_again(
    launches: Sequence[Planned], lines: Callable[[Planned], Sequence[str]], looks: Collection[int]
) -> list[str]:
    """Return the lines of `rounds` on the job's own torus: where load alone made one void, all begin again, slower."""

    def with_a_way_back(launch: Planned) -> list[str]:
        void = f"[ ${{status:-1}} = 0 ] && grep -qs '\"by_load\": true' {launch.stem}.evidence"
        up = f"railyard torus up --slower --name $RAILYARD_TORUS --status {TORUS}"
        return [*lines(launch), f"if {void} && {up}; then rm -rf launch-* {ENOUGH}; continue; fi"]

    return ["while :; do", *rounds(launches, with_a_way_back, looks), "break; done"]


def files_kept(launch: Planned) -> str:
    """Return the line of a job script that copies what a launch wrote to a folder: the next one may overwrite it."""
    stem = launch.stem
    written = f"find . -name 'launch-*' -prune -o -name 'rfm_*' -prune -o -type f -newer {stem}.begun -print0"
    copied = f"{written} | xargs -0 -r cp -p --parents -t {stem}.files"
    return f"if [ -e {stem}.begun ]; then mkdir -p {stem}.files; {copied}; fi"


def digests(launches: Sequence[Planned], when: str) -> list[str]:
    """Return lines of the job script that write the sha256 of programs and their libraries to `code.WHEN`.

    The script looks the programs up, because the PATH inside the job selects them.
    """
    words = dict.fromkeys(
        word
        for launch in launches
        for command in (launch.command, *(str(role["command"]) for role in launch.roles))
        for word in shlex.split(command)
        if _is_program(word)
    )
    paths = (
        'f=$(command -v -- "$w" || echo "$w"); [ -f "$f" ] || continue; '
        'readlink -f -- "$f"; ldd "$f" 2>/dev/null | grep -o \'/[^ ]*\''
    )
    summed = f"sort -u | xargs -r -d '\\n' sha256sum > code.{when} 2>/dev/null"
    return [
        f"cat /proc/sys/kernel/random/boot_id > boot.{when} 2>/dev/null",
        f"for w in {shlex.join(words)}; do {paths}; done | {summed}",
    ]


def _is_program(word: str) -> bool:
    """Return whether a word of a command may name a program or a library: no option, number, or file of the launch."""
    return bool(re.fullmatch(r"[A-Za-z./][A-Za-z0-9_./+-]*", word)) and not word.endswith(_NO_PROGRAMS)


def limited(command: str, limit_s: int, *, in_turn: bool = False) -> str:
    """Return a command with `timeout` after its variables, or with the variable that makes its launcher start one.

    30 seconds after the limit the command is killed.
    """
    if not limit_s or in_turn:
        return f"{LIMIT}={limit_s} {command}" if limit_s else command
    before, words = apart(command)
    return f"{before}timeout --foreground -k 30 {limit_s} {words}"


def apart(command: str) -> tuple[str, str]:
    """Return the variables that a command sets for itself, as `launching` quotes them, and what is after them."""
    match = re.match(r"(?:[A-Za-z_]\w*=(?:'[^']*'|[^\s'])*\s+)*", command)
    before = match[0] if match else ""
    return before, command[len(before) :]


def cubic(slots: int) -> list[int]:
    """Return the extents of the three-dimensional grid of `slots` slots nearest to a cube, the longest first."""
    shapes: list[tuple[int, int, int]] = [
        (slots // (a * b), b, a)
        for a in range(1, round(slots ** (1 / 3)) + 1)
        if slots % a == 0
        for b in range(a, math.isqrt(slots // a) + 1)
        if slots // a % b == 0
    ]
    differences = [longest - shortest for longest, _, shortest in shapes]
    return list(shapes[differences.index(min(differences))])
