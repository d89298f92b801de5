"""Time `railyard tender evaluate` over five signed bids of 2,000 records each, as a whole process without a cache.

Models: honest records of the tender of docs/tender.md, 12 launches of 16 ranks, all different, each bid one ReFrame
session whose records name one another; every record passes the strict check. Leaves out: the kernel's page cache,
which is warm, because the bags were just written.
"""

from __future__ import annotations

import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from support import evidence

from perf.vtorus import console
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.records import json_io, record
from railyard.records.store import bag

SPEEDS = {"swift": 1.30, "steady": 1.05, "third": 1.02, "fourth": 0.98, "fifth": 0.91}
RECORDS = 2000
APART = timedelta(seconds=17)
#: Seconds of a launch: short, so that the jobs of a session end before today.
LAUNCH_S = 0.3


def measure(options: Namespace) -> dict[str, Any]:
    """Print and return seconds, processor time and verdict of an evaluation; `--count` is the records of a bid."""
    count = options.count or RECORDS
    evidence.LAUNCH_S = LAUNCH_S
    with tempfile.TemporaryDirectory(prefix="tender-", dir=BUILD) as name:
        folder = Path(name)
        key, signers, request = folder / "key", folder / "signers", folder / "tender.yml"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        signers.write_text(f"* {key.with_suffix('.pub').read_text()}")
        (example,) = re.findall(r"```yaml\n(.*?)```", (CHECKOUT / "docs/tender.md").read_text(), re.DOTALL)
        request.write_text(example)
        bags = [_bid(folder, bidder, count, key) for bidder in SPEEDS]
        command: list[str | Path] = [
            Path(sys.executable).with_name("railyard"),
            "tender",
            "evaluate",
            *bags,
            "--request",
            request,
        ]
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*command, "--allowed-signers", signers, "--format", "json"], capture_output=True, check=True
        )
        seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        result = json.loads(done.stdout)
    figures = {
        "records": count * len(bags),
        "seconds": seconds,
        "processor_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "largest_mib": after.ru_maxrss / 1024,
        "complete": sum(line["complete"] for line in result["bids"]),
    }
    console.print(figures, result["sentence"])
    return figures


def _bid(folder: Path, name: str, count: int, key: Path) -> Path:
    """Write a signed bag with `count` records of one bidder and return it; the same each time but for the key."""
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
    bag.write(folder / name, paths, bag.Bid(bidder=name, tier="baseline"), key=key)
    return folder / name


def _another(document: dict[str, Any], chance: random.Random, after: timedelta) -> dict[str, Any]:
    """Return a document of another job, which ran later and has other figures."""
    document["created"] = _later(document["created"], after)
    document["run"]["job"] = f"{chance.getrandbits(128):032x}"
    for when in ("written", "ended"):
        document["run"][when]["time"] = _later(document["run"][when]["time"], after)
    for launch in document["launches"]:
        launch["started"] = _later(launch["started"], after)
        for name in ("begun_monotonic_s", "ended_monotonic_s"):
            launch[name] += after.total_seconds()
        slower = [1 + abs(chance.gauss(0, 0.02)) for _ in launch["series"][0]["samples"]]
        for series in launch["series"]:
            power = -1 if series["fom"] == "bandwidth_gbyte_s" else 1
            series["samples"] = [one * factor**power for one, factor in zip(series["samples"], slower, strict=True)]
    return document


def _later(time: str, after: timedelta) -> str:
    shape = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in time else "%Y-%m-%dT%H:%M:%SZ"
    return (datetime.fromisoformat(time) + after).strftime(shape)
