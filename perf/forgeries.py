"""Change honest records of each benchmark at random, and write the table of what the strict check accepts.

The digests fit each change. First, each figure of merit is scaled by each factor: in a sample, a launch or all
launches, and all figures together. Then half of the changes are of one field anywhere. The next call continues where
the last one was stopped. Each call writes `results/trust.yml`.

Models: the records of `perf.bases`. Leaves out: other changes of several fields that fit together.
"""

from __future__ import annotations

import itertools
import random
import re
import time
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import yaml
from support import forgeries

from perf import bases, pieces
from railyard.base.checkout import CHECKOUT
from railyard.records import trust

COUNT = 100_000
BATCH = 200
#: Examples that a batch keeps of what it should have refused.
EXAMPLES = 5
FACTORS = (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)
#: Least change that the table names, because a smaller one is within the room for clocks and digits.
LEAST = 0.05
Accepted = dict[str, Any]


def batch(seed: int) -> Accepted:
    """Return what was accepted of changes of one record, and how often: fields, scopes with figures; seed by seed.

    The first batch of each record tries every figure, scope and factor; the others change fields at random, too.
    """
    chance, names = random.Random(seed), bases.names()
    name = names[seed % len(names)]
    good = bases.load(name)
    before = forgeries.faults_of(good)
    done: Accepted = {"base": name, "made": 0, "refused": 0, "fields": Counter(), "figures": Counter(), "examples": []}
    foms = sorted({str(series.fom) for series in good.launches[0].series})
    choices = list(itertools.product(foms, trust.SCOPES, FACTORS))
    choices += itertools.product([""], trust.SCOPES[1:], FACTORS)  # all figures together
    for number in range(len(choices) if seed < len(names) else BATCH):
        if seed >= len(names) and number % 2:
            _change_field(done, forgeries.mutated(good, chance, before))
            continue
        fom, scope, factor = choices[number] if seed < len(names) else chance.choice(choices)
        document = forgeries.scaled(good, fom, factor, scope=scope, chance=chance)
        if document is None:
            continue
        done["made"] += 1
        if forgeries.refuses(document, before):
            done["refused"] += 1
        elif abs(factor - 1) >= LEAST:
            done["figures"][f"{scope} {fom or trust.TOGETHER}"] += 1
    return done


def _change_field(done: Accepted, tried: forgeries.Mutated) -> None:
    """Count a change of one field; samples are counted by figure, not here."""
    path = re.sub(r"\.c?\d+(?=\.|$)", "[]", tried.path)
    done["made"] += 1
    if tried.is_refused:
        done["refused"] += 1
    elif path != "launches[].series[].samples[]":
        done["fields"][path] += 1
        if not tried.is_free and len(done["examples"]) < EXAMPLES:
            done["examples"].append(f"{done['base']}: {tried.path}: {tried.change}")


def measure(options: Namespace) -> None:
    """Make the changes, print what was accepted, and write the table."""
    count, start_s = options.count or COUNT, time.monotonic()
    bases.make()
    fields: dict[str, Counter[str]] = defaultdict(Counter)
    figures: dict[str, Counter[str]] = defaultdict(Counter)
    changes = refused = 0
    for done in pieces.batches("forgeries", max(len(bases.names()), count // BATCH), batch):
        changes, refused = changes + done["made"], refused + done["refused"]
        fields[done["base"]].update(done["fields"])
        figures[done["base"]].update(done["figures"])
        if done["examples"]:
            print("\n".join(done["examples"]), flush=True)
    print(f"{changes:,} changes ({time.monotonic() - start_s:.0f} s now): {refused:,} refused")
    for path, times in sum(fields.values(), Counter[str]()).most_common():
        print(f"  {times:6,}  {path}")
    trust.PATH.write_text(_table((changes, refused), figures, fields), encoding="utf-8")
    print(f"wrote {trust.PATH.relative_to(CHECKOUT)}")


def _table(counts: tuple[int, int], figures: Mapping[str, Counter[str]], fields: Mapping[str, Counter[str]]) -> str:
    """Return the text of `results/trust.yml`: record -> scope -> figures that the rest does not determine.

    `counts` are how many changes were made and refused. `fields` are, by record, the other fields that were accepted.
    """
    records: dict[str, Any] = {}
    for name in bases.names():
        own = [one.partition(" ") for one in sorted(figures[name])]
        records[name] = {scope: [fom for of_scope, _, fom in own if of_scope == scope] for scope in trust.SCOPES}
        records[name]["fields"] = sorted(fields[name])
    head = "# Written by `python -m perf forgeries`: what strict accepted; of figures, 5 % and more.\n"
    document = {"format": trust.FORMAT, "made": counts[0], "refused": counts[1], "records": records}
    return head + yaml.safe_dump(document, sort_keys=False, width=100, default_flow_style=None)
