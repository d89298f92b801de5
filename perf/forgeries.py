"""Change single fields of honest records at random, and count by path what the strict check accepts.

The digests fit each change. The next call continues where the last one was stopped.

Models: records of halo on a virtual torus with two rails, on half of a torus, on a machine whose NICs were counted, on
one whose NICs were not, and of the link-load model. Leaves out: changes of several fields that fit together.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from typing import Any

from support import evidence, forgeries

from perf import resumed
from railyard.records.record import Record

COUNT = 100_000
BATCH = 250
#: Examples that a batch keeps of what it should have refused.
EXAMPLES = 5


def bases() -> list[Record]:
    """Return the honest records that are changed; a third of the batches take the first."""
    first = evidence.good(launches=1)
    half = evidence.good(launches=1, topology="gemini-2x2x2", grid=[2, 2], order="snake", block=[2, 2, 1])
    counted = evidence.good(launches=1, origin="measured", nic_policies=["library-default", "local-nic"])
    return [first, counted, half, evidence.good(launches=1, origin="measured"), first, _modelled()]


def _modelled() -> Record:
    return evidence.good(origin="modelled")


def batch(seed: int) -> dict[str, Any]:
    """Return what was accepted, by path: what the rest determines and what nothing does; seed by seed the same."""
    chance, choice = random.Random(seed), bases()
    good = choice[seed % len(choice)]
    before = forgeries.faults_of(good)
    accepted: dict[str, Any] = {"made": BATCH, "determined": Counter(), "free": Counter(), "examples": []}
    for _ in range(BATCH):
        done = forgeries.mutated(good, chance, before)
        if not done.is_refused:
            accepted["free" if done.is_free else "determined"][re.sub(r"\.\d+", "[]", done.path)] += 1
            if not done.is_free and len(accepted["examples"]) < EXAMPLES:
                accepted["examples"].append(f"{good.origin}: {done.path}: {done.change}")
    return accepted


def measure(count: int = COUNT) -> dict[str, Any]:
    """Make the changes and print what was accepted."""
    start_s = time.monotonic()
    determined: Counter[str] = Counter()
    free: Counter[str] = Counter()
    examples: list[str] = []
    total = 0
    for _, accepted in resumed.batches("forgeries", max(1, count // BATCH), batch):
        determined.update(accepted["determined"])
        free.update(accepted["free"])
        examples += accepted["examples"]
        total += accepted["made"]
        if accepted["examples"]:
            print("\n".join(accepted["examples"]), flush=True)
    refused = total - sum(determined.values()) - sum(free.values())
    print(f"{total:,} changes ({time.monotonic() - start_s:.0f} s now): {refused:,} refused, ", end="")
    print(f"{sum(free.values()):,} accepted of fields that nothing determines,")
    print(f"{sum(determined.values()):,} accepted that the rest determines")
    for path, times in [*determined.most_common(), *free.most_common()]:
        print(f"  {times:6,}  {path}{'' if path in free else '  DETERMINED'}")
    return {"made": total, "refused": refused, "free": dict(free), "determined": dict(determined)}
