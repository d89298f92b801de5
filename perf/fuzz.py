"""Hostile bundles, records, topologies and tender files: which end in a traceback, take long or much memory.

tests/support/fuzz.py draws each input from a seed, and a problem is printed with its seed. The next call continues
where the last one was stopped.
"""

from __future__ import annotations

import functools
import resource
from typing import Any

from support import fuzz

from perf import resumed

COUNT = 10_000
BATCH = 100


def batch(kind: str, seed: int) -> dict[str, Any]:
    """Return what came of a hundred inputs: accepted, the slowest, the process's memory, problems by seed."""
    accepted, slowest, problems = 0, 0.0, []
    for number in range(seed * BATCH, (seed + 1) * BATCH):
        found = fuzz.fuzzed(kind, number)
        accepted += found.is_accepted
        slowest = max(slowest, found.seconds)
        if found.problem:
            problems.append(f"{kind} {number}: {found.problem}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"accepted": accepted, "slowest": slowest, "memory_mib": memory, "problems": problems}


def measure(count: int = COUNT) -> dict[str, Any]:
    """Read the inputs, print a line for each kind and return the figures."""
    figures: dict[str, Any] = {}
    for kind in fuzz.KINDS:
        made = list(resumed.batches(f"fuzz-{kind}", max(1, count // BATCH), functools.partial(batch, kind)))
        each = [found for _, found in made]
        total: dict[str, Any] = {
            "made": BATCH * len(each),
            "accepted": sum(found["accepted"] for found in each),
            "slowest_s": max(found["slowest"] for found in each),
            "memory_mib": max(found["memory_mib"] for found in each),
            "problems": [line for found in each for line in found["problems"]],
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
