"""Which launches a job makes, in which order, and how its script words them. Pure.

Every combination of a placement, a NIC policy and a software is launched once in each round, and each round has its own
order, drawn from the check's seed: drift of the machine spares none of them. Leaves out where ranks go
(`checks.placing`): a command names the files that say it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from placements import launchers
from placements.orders import spec
from placements.orders.allocation import Allocation
from placements.orders.placement import Placement
from railyard.jobs import launching, placing
from railyard.jobs.stagedir import Job, Planned
from railyard.records.record import Software, combination_name

#: Launch number and whose programs -> what each rank runs.
Program = Callable[[int, Software], Sequence[str]]


def launches(
    job: Job, allocation: Allocation, placed: Mapping[str, Placement], program: Program
) -> list[Planned]:
    """The launches of a job, in order.

    A placement that is not in `placed` cannot be on these nodes; on others it may, so it has launches, too. Raises
    InputError for a placement or NIC policy that launcher or stack cannot express.
    """
    return [
        Planned(
            index=index,
            placement=kind,
            nic_policy=policy,
            software=str(whose),
            repeat=repeat,
            command=_command(
                job, placed.get(kind) or _stand_in(job, allocation, kind), kind, policy, program(index, whose)
            ),
        )
        for index, (repeat, kind, policy, whose) in enumerate(_in_rounds(job))
    ]


def lines(launch: Planned, *, only_if_placed: bool) -> list[str]:
    """A launch as lines of the job script, its command one that can be pasted.

    With `only_if_placed` they run where its placement could be made (`placing.mark`).
    """
    stem = launch.stem
    run = [
        f"export RAILYARD_EVIDENCE={stem}.evidence",
        f"date +%s.%N > {stem}.begun",
        f"{launch.command} > {stem}.out 2> {stem}.err; echo $? $(date +%s.%N) > {stem}.ended",
    ]
    if only_if_placed:
        run = [f"if [ -e {shlex.quote(placing.mark(Path(), launch.placement).name)} ]; then", *run, "fi"]
    name = combination_name(launch.placement, launch.nic_policy, launch.software)
    return [f"# launch {launch.index}: {name}, repeat {launch.repeat}", *run]


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
    shuffle = random.Random(job.seed)
    combinations = list(itertools.product(job.placements, job.nic_policies, job.software))
    for repeat in range(job.case["launches_per_combination"]):
        for kind, policy, whose in shuffle.sample(combinations, len(combinations)):
            yield repeat, kind, policy, whose


def _command(job: Job, placed: Placement, kind: str, policy: str, program: Sequence[str]) -> str:
    return launching.prepare(
        placed,
        policy,
        launchers.named(job.launcher),
        job.features,
        stem=kind,
        program=program,
        devices=job.devices,
    ).command


def _stand_in(job: Job, allocation: Allocation, kind: str) -> Placement:
    """Another placement for the words of a command: they do not say where ranks go."""
    plain = placing.place_one(job, allocation, "plain")
    return dataclasses.replace(plain, binding=spec.parse(kind).binding)
