"""Random changes of single fields of an honest record, each with digests that fit: which does the strict check accept?

`python -m perf forgeries` makes 100,000 of them on every processor and lists by path what was accepted;
`python -m perf.forgeries COUNT` makes as many as it is told.

Models: one record of halo on a virtual torus with two rails. Leaves out: changes of several fields that fit together.
"""

from __future__ import annotations

import os
import random
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from railyard.checkout import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "tests"))
from support import evidence, forgeries  # the generators are the tests'

COUNT = 100_000
BATCH = 500


def batch(seed: int) -> tuple[Counter[str], Counter[str]]:
    """Paths of what was accepted, those that the rest determines and those that nothing does; seed by seed the same."""
    chance, good = random.Random(seed), evidence.good(launches=1)
    before = forgeries.faults_of(good)
    determined: Counter[str] = Counter()
    free: Counter[str] = Counter()
    for _ in range(BATCH):
        done = forgeries.mutated(good, chance, before)
        if not done.is_refused:
            (free if done.is_free else determined)[re.sub(r"\.\d+", "[]", done.path)] += 1
    return determined, free


def measure(count: int = COUNT) -> None:
    """Make the changes and print what was accepted."""
    begun = time.monotonic()
    determined: Counter[str] = Counter()
    free: Counter[str] = Counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for one, other in pool.map(batch, range(max(1, count // BATCH))):
            determined += one
            free += other
    total = max(1, count // BATCH) * BATCH
    refused = total - sum(determined.values()) - sum(free.values())
    print(
        f"{total:,} changes in {time.monotonic() - begun:.0f} s: {refused:,} refused, {sum(free.values()):,} of fields"
    )
    print(f"that nothing determines, {sum(determined.values()):,} accepted that the rest determines")
    for path, times in [*determined.most_common(), *free.most_common()]:
        print(f"  {times:6,}  {path}{'' if path in free else '  DETERMINED'}")


if __name__ == "__main__":
    measure(int(sys.argv[1]))
