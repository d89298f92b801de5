"""Run long seeded work in batches: a file has the findings of each batch, so that a run can be stopped and continued.

Models: a batch is its seed, so that it repeats exactly. The file also has a digest of the checker's sources;
findings of other sources are not continued. Runs have the lowest priority of the machine. Leaves out: what is found.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any

from railyard.base import parent
from railyard.base.checkout import BUILD, CHECKOUT

SOURCES = ("railyard", "placements", "tests/support", "perf")
Found = dict[str, Any]


def batches(
    name: str, count: int, batch: Callable[[int], Found], workers: int | None = None
) -> Iterator[tuple[int, Found]]:
    """Yield seed and findings of the batches 0 to count - 1, those from build/NAME.json first."""
    path, digest = BUILD / f"{name}.json", sources()
    findings = _kept(path, digest)
    for seed in sorted(findings):
        if seed < count:
            yield seed, findings[seed]
    missing = [seed for seed in range(count) if seed not in findings]
    if not missing:
        return
    with parent.workers(workers or os.cpu_count() or 1) as pool:
        waiting = {pool.submit(_humbly, batch, seed): seed for seed in missing}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                seed = waiting.pop(future)
                findings[seed] = future.result()
                _keep(path, digest, findings)
                yield seed, findings[seed]


def _humbly(batch: Callable[[int], Found], seed: int) -> Found:
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    return batch(seed)


def sources() -> str:
    """Return a digest of the sources that a run depends on."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _kept(path: Path, digest: str) -> dict[int, Found]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    is_ours = document.get("sources") == digest
    return {int(seed): batch for seed, batch in document["batches"].items()} if is_ours else {}


def _keep(path: Path, digest: str, findings: dict[int, Found]) -> None:
    document = {"sources": digest, "saved": time.time(), "batches": findings}
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document), encoding="utf-8")
    temporary.replace(path)
