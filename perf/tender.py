"""Time `railyard tender evaluate` over five bids of 2,000 records each, new and judged before, as whole processes.

Models: honest records of the tender of docs/tender.md, 12 launches of 16 ranks, all different, each bid one ReFrame
session whose records name one another; every record passes the strict check. The bags are not signed. Leaves out: the
kernel's page cache, which is warm, because the bags were just written.
"""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from support import evidence

from perf.archive import RAILYARD, run
from railyard.base.checkout import CHECKOUT
from railyard.records import json_io, record
from railyard.records.store import bag

SPEEDS = {"swift": 1.30, "steady": 1.05, "third": 1.02, "fourth": 0.98, "fifth": 0.91}
RECORDS = 2000
APART = timedelta(seconds=17)
#: Short launches, so that the jobs of a session end before today.
evidence.LAUNCH_S = 0.3


def measure(count: int) -> dict[str, Any]:
    """Print the times of two evaluations, the first without earlier judgements, and return the figures."""
    folder = Path(tempfile.mkdtemp(prefix="railyard-bench-"))
    try:
        request, output = folder / "tender.yml", folder / "evaluation.json"
        (example,) = re.findall(r"```yaml\n(.*?)```", (CHECKOUT / "docs/tender.md").read_text(), re.DOTALL)
        request.write_text(re.sub(r"(?m)^ *(signed|jobs): .*\n", "", example))
        bags = [str(_bid(folder, name, count)) for name in SPEEDS]
        command = [RAILYARD, "tender", "evaluate", *bags, "--request", str(request), "--format", "json"]
        figures: dict[str, Any] = {"records": count * len(bags)}
        for name in ("first", "again"):
            before_s = _processor_s()
            timed = run(name, *command, "-o", str(output), cache=folder / "cache")
            used_s = _processor_s() - before_s
            print(f"{name}: {timed.seconds:.1f} s, {used_s:.1f} s of processors, {timed.memory_mib:.0f} MiB")
            figures[name] = {"seconds": timed.seconds, "processor_s": used_s}
        result = json.loads(output.read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(folder)
    complete = sum(line["complete"] for line in result["bids"])
    print(f"{len(bags)} bids of {count:,} records, {complete} complete. {result['sentence']}")
    return {**figures, "complete": complete}


def _bid(folder: Path, name: str, count: int) -> Path:
    """Write a bag with `count` records of one bidder and return it; the same each time."""
    template = evidence.good(
        origin="measured", challenge="7f3a-Sunday-rain", speed=SPEEDS[name], system=name, session=name
    )
    written, chance, previous = orjson.dumps(template.document), random.Random(name), None
    paths = []
    (folder / "records").mkdir(exist_ok=True)
    for number in range(count):
        document = _another(orjson.loads(written), chance, number * APART)
        document["run"] |= {"number": number, "previous": previous}
        sealed = record.sealed(document)
        previous = sealed["sha256"]
        paths.append(folder / "records" / f"{number}.json")
        paths[-1].write_text(json_io.text(sealed), encoding="ascii")
    bag.write(folder / name, paths, bag.Bid(bidder=name, tier="baseline"))
    return folder / name


def _another(document: dict[str, Any], chance: random.Random, after: timedelta) -> dict[str, Any]:
    """Return a document as of another job, later and with figures of its own."""
    document["created"] = _later(document["created"], after)
    document["run"]["job"] = f"{chance.getrandbits(128):032x}"
    for when in ("written", "ended"):
        document["run"][when]["time"] = _later(document["run"][when]["time"], after)
    for launch in document["launches"]:
        launch["started"] = _later(launch["started"], after)
        for name in ("begun_monotonic_s", "ended_monotonic_s"):
            launch[name] += after.total_seconds()
        factor = 1 + 0.01 * chance.random()
        for series in launch["series"]:
            scale = 1 / factor if series["fom"] == "bandwidth_gbyte_s" else factor
            series["samples"] = [sample * scale for sample in series["samples"]]
    return document


def _later(time: str, after: timedelta) -> str:
    shape = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in time else "%Y-%m-%dT%H:%M:%SZ"
    return (datetime.fromisoformat(time) + after).strftime(shape)


def _processor_s() -> float:
    """Return the processor time of all processes that this one started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
