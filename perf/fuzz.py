"""Read hostile bags, records, topologies, tender files, files of sites and outputs of programs.

Reports tracebacks, time and memory.

tests/support/fuzz.py draws each input from a seed, and a problem is printed with its seed. The next call continues
where the last one was stopped.
"""

from __future__ import annotations

import functools
import resource
from argparse import Namespace
from typing import Any

from support import fuzz

from perf import pieces

COUNT = 10_000
#: Memory of a process that reads, in bytes: an input that takes more is a problem, and not the end of the machine.
MEMORY = 4 << 30
BATCH = 100


def batch(kind: str, seed: int) -> dict[str, Any]:
    """Read a hundred inputs; return the number accepted, the slowest, the memory of the process, problems by seed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    accepted, slowest, problems = 0, 0.0, []
    for number in range(seed * BATCH, (seed + 1) * BATCH):
        outcome = fuzz.fuzzed(kind, number)
        accepted += outcome.is_accepted
        slowest = max(slowest, outcome.seconds)
        if outcome.problem:
            problems.append(f"{kind} {number}: {outcome.problem}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"accepted": accepted, "slowest": slowest, "memory_mib": memory, "problems": problems}


def measure(options: Namespace) -> dict[str, Any]:
    """Read the inputs, print a line for each kind and return the figures."""
    figures: dict[str, Any] = {}
    count = options.count or COUNT
    for kind in fuzz.KINDS:
        batches = list(pieces.batches(f"fuzz-{kind}", max(1, count // BATCH), functools.partial(batch, kind)))
        total: dict[str, Any] = {
            "made": BATCH * len(batches),
            "accepted": sum(row["accepted"] for row in batches),
            "slowest_s": max(row["slowest"] for row in batches),
            "memory_mib": max(row["memory_mib"] for row in batches),
            "problems": [line for row in batches for line in row["problems"]],
        }
        print(
            f"{kind}: {total['made']:,} read, {total['accepted']:,} accepted, {len(total['problems'])} problems; "
            f"the slowest {total['slowest_s']:.2f} s of processor, {total['memory_mib']:.0f} MiB",
            *total["problems"][:20],
            sep="\n  ",
            flush=True,
        )
        figures[kind] = total
    return figures
