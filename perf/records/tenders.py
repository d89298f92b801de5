"""Times of `railyard tender evaluate` over five bids of 2,000 records each, new and judged before, whole processes.

`python -m perf.records.tenders [RECORDS]` runs it alone; `make bench` runs it in the section `tender`.

Models: honest records of the tender of docs/tender.md, 12 launches of 16 ranks, all different, each bid one ReFrame
session whose records name one another; every record passes the strict check. The bags are not signed. Leaves out: the
kernel's page cache, which is warm, since the bags were just written.
"""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from perf.records.archive import RAILYARD, Timed, run
from railyard.base.checkout import CHECKOUT
from railyard.records import json_io, record
from railyard.records.store import bag

sys.path.insert(0, str(CHECKOUT / "tests"))
from support import evidence  # the generators are the tests'

SPEEDS = {"swift": 1.30, "steady": 1.05, "third": 1.02, "fourth": 0.98, "fifth": 0.91}
RECORDS = 2000
APART = timedelta(hours=1)


def request(folder: Path) -> Path:
    """Write the tender file of docs/tender.md, without the demand of a signature, and return its path."""
    page = (CHECKOUT / "docs/tender.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    path = folder / "tender.yml"
    path.write_text(example.replace("signed: true", "signed: false"), encoding="utf-8")
    return path


def bid(folder: Path, name: str, count: int) -> Path:
    """Write a bag with `count` records of one bidder and return it; the same each time."""
    template = evidence.good(
        origin="measured", challenge="7f3a-Sunday-rain", speed=SPEEDS[name], system=name, session=name
    )
    written, chance, previous = orjson.dumps(template.document), random.Random(name), None
    files = folder / f"{name}-files"
    files.mkdir()
    paths = []
    for number in range(count):
        document = _another(orjson.loads(written), chance, number)
        document["run"] |= {"number": number, "previous": previous}
        sealed = record.sealed(document)
        previous = sealed["sha256"]
        paths.append(files / f"{number}.json")
        paths[-1].write_text(json_io.text(sealed), encoding="ascii")
    bag.write(folder / name, paths, bag.Bid(bidder=name, tier="baseline"))
    shutil.rmtree(files)
    return folder / name


def _another(document: dict[str, Any], chance: random.Random, number: int) -> dict[str, Any]:
    """Return a document as of another job, later and with figures of its own."""
    document["created"] = _later(document["created"], number)
    document["run"]["job"] = f"{chance.getrandbits(128):032x}"
    for when in ("written", "ended"):
        document["run"][when]["time"] = _later(document["run"][when]["time"], number)
    for launch in document["launches"]:
        launch["started"] = _later(launch["started"], number)
        for name in ("begun_monotonic_s", "ended_monotonic_s"):
            launch[name] += number * APART.total_seconds()
        factor = 1 + 0.01 * chance.random()
        for series in launch["series"]:
            scale = 1 / factor if series["fom"] == "bandwidth_gbyte_s" else factor
            series["samples"] = [sample * scale for sample in series["samples"]]
    return document


def _later(time: str, number: int) -> str:
    moved = datetime.fromisoformat(time) + number * APART - 10_000 * APART
    shape = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in time else "%Y-%m-%dT%H:%M:%SZ"
    return moved.strftime(shape)


@contextmanager
def tender(count: int) -> Iterator[tuple[Path, list[Path], Path]]:
    """Yield a tender file, its bags and a cache folder, all gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="railyard-bench-"))
    try:
        bags = [bid(folder, name, count) for name in SPEEDS]
        yield request(folder), bags, folder / "cache"
    finally:
        shutil.rmtree(folder)


def measure(count: int = RECORDS) -> dict[str, Any]:
    """Print the times of two evaluations, the first without kept judgements, and return the figures."""
    with tender(count) as (wanted, bags, cache):
        output = wanted.parent / "evaluation.json"
        command = [RAILYARD, "tender", "evaluate", *map(str, bags), "--request", str(wanted)]
        timed: list[tuple[Timed, float]] = []
        for name in ("the first time", "judged before"):
            before = _processor_s()
            took = run(name, *command, "--format", "json", "-o", str(output), cache=cache)
            timed.append((took, _processor_s() - before))
        found = json.loads(output.read_text(encoding="utf-8"))
    complete = sum(each["complete"] for each in found["bids"])
    print(f"tender evaluate, {len(bags)} bids of {count:,} records, {complete} complete")
    for took, used in timed:
        print(
            f"{took.name}: {took.seconds:.1f} s, {used:.1f} s of processors, {took.memory_mib:.0f} MiB",
        )
    print(found["sentence"])
    return {
        "records": count * len(bags),
        "complete": complete,
        "evaluations": [
            {"name": took.name, "seconds": took.seconds, "processor_s": used} for took, used in timed
        ],
    }


def _processor_s() -> float:
    """Return the processor time of all processes that this one started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:2]))
