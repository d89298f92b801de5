"""Random changes of single fields of honest records, each with digests that fit: which does the strict check accept?

`python -m perf forgeries` makes 100,000 of them and lists by path what was accepted; `python -m
perf.records.forgeries COUNT` makes as many as it is told. Either goes on where it was stopped. With `--kinds` it
prints instead how many kinds of deliberate forgery are refused.

Models: records of halo on a virtual torus with two rails, on half of a torus, on a machine whose NICs were counted, on
one whose NICs were not, and of the link-load model. Leaves out: changes of several fields that fit together.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from typing import Any

from perf import resumed
from railyard.base.checkout import CHECKOUT
from railyard.records.record import Record

sys.path.insert(0, str(CHECKOUT / "tests"))
from support import evidence, forgeries  # the generators are the tests'

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
    found: dict[str, Any] = {"made": BATCH, "determined": Counter(), "free": Counter(), "examples": []}
    for _ in range(BATCH):
        done = forgeries.mutated(good, chance, before)
        if not done.is_refused:
            found["free" if done.is_free else "determined"][re.sub(r"\.\d+", "[]", done.path)] += 1
            if not done.is_free and len(found["examples"]) < EXAMPLES:
                found["examples"].append(f"{good.origin}: {done.path}: {done.change}")
    return found


def measure(count: int = COUNT) -> dict[str, Any]:
    """Make the changes and print what was accepted."""
    begun = time.monotonic()
    determined: Counter[str] = Counter()
    free: Counter[str] = Counter()
    examples: list[str] = []
    total = 0
    for _, found in resumed.batches("forgeries", max(1, count // BATCH), batch):
        determined.update(found["determined"])
        free.update(found["free"])
        examples += found["examples"]
        total += found["made"]
        if found["examples"]:
            print("\n".join(found["examples"]), flush=True)
    refused = total - sum(determined.values()) - sum(free.values())
    print(f"{total:,} changes ({time.monotonic() - begun:.0f} s now): {refused:,} refused, ", end="")
    print(f"{sum(free.values()):,} accepted of fields that nothing determines,")
    print(f"{sum(determined.values()):,} accepted that the rest determines")
    for path, times in [*determined.most_common(), *free.most_common()]:
        print(f"  {times:6,}  {path}{'' if path in free else '  DETERMINED'}")
    return {"made": total, "refused": refused, "free": dict(free), "determined": dict(determined)}


def kinds() -> None:
    """Print how many kinds of deliberate forgery are refused, by rule, each tried here."""
    tried = forgeries.tried()
    for rule, count in sorted(Counter(each.rule for each in tried).items()):
        print(f"{count:4}  {rule}")
    accepted = [each.name for each in tried if not each.is_refused]
    print(f"{len(tried)} kinds of forgery, {len(tried) - len(accepted)} refused")
    for name in accepted:
        print(f"accepted: {name}")


def main() -> None:
    """Run this part of the bench alone."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.records.forgeries", description="change records at random"
    )
    parser.add_argument("count", nargs="?", type=int, default=COUNT, help="changes; default 100,000")
    parser.add_argument("--kinds", action="store_true", help="count the kinds of deliberate forgery instead")
    arguments = parser.parse_args()
    if arguments.kinds:
        kinds()
    else:
        measure(arguments.count)


if __name__ == "__main__":
    main()
