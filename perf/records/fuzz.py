"""Hostile bundles, records, topologies and tender files: which end in a traceback, take long or much memory.

`python -m perf fuzz` reads 10,000 of each; `python -m perf.records.fuzz COUNT [KIND...]` as many as it is told.
Either goes on where it was stopped. tests/support/fuzz.py draws them by seed; a problem is printed with its seed.
"""

from __future__ import annotations

import argparse
import functools
import resource
import sys
from collections.abc import Sequence
from typing import Any

from perf import resumed
from railyard.base.checkout import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "tests"))
from support import fuzz  # the generators are the tests'

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


def measure(count: int = COUNT, kinds: Sequence[str] = ()) -> dict[str, Any]:
    """Read the inputs, print a line for each kind and return the figures."""
    figures: dict[str, Any] = {}
    for kind in kinds or fuzz.KINDS:
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


def main() -> None:
    """Run this part of the bench alone."""
    parser = argparse.ArgumentParser(prog="python -m perf.records.fuzz", description="read hostile input")
    parser.add_argument(
        "count", nargs="?", type=int, default=COUNT, help="inputs of each kind; default 10,000"
    )
    parser.add_argument("kind", nargs="*", choices=[*fuzz.KINDS, []], help="kinds; default all")
    arguments = parser.parse_args()
    measure(arguments.count, arguments.kind)


if __name__ == "__main__":
    main()
