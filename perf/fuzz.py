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


def measure(options: Namespace) -> None:
    """Read the inputs, and print a line for each kind."""
    count = options.count or COUNT
    for kind in fuzz.KINDS:
        batches = list(pieces.batches(f"fuzz-{kind}", max(1, count // BATCH), functools.partial(batch, kind)))
        accepted = sum(row["accepted"] for row in batches)
        slowest, memory = (max(row[name] for row in batches) for name in ("slowest", "memory_mib"))
        problems = [line for row in batches for line in row["problems"]]
        print(
            f"{kind}: {BATCH * len(batches):,} read, {accepted:,} accepted, {len(problems)} problems; "
            f"the slowest {slowest:.2f} s of processor, {memory:.0f} MiB",
            *problems[:20],
            sep="\n  ",
            flush=True,
        )
