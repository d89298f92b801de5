"""What a tuning file gains on two virtual networks: the answer of one job, and a second job that tries it.

The first job broadcasts by the library's default and by each of `TRIED`. `railyard collectives answer` chooses one and
writes the rules. The second job launches the default, the answer, and a file of rules that begin above all sizes, which
must show no difference. Leaves out other collectives, so that all takes some minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from support.mpis.algorithms import NETWORKS

from railyard.analysis.judge import collectives
from railyard.analysis.judge.collectives import Answer
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.records.store import archive

FOLDER = BUILD / "gain"
COLLECTIVE, SIZES = "bcast", (65536,)
TRIED = ("scatter-ring", "binary")
#: A rule of no size that is measured.
NEVER = f"{COLLECTIVE}:{TRIED[0]}@{1 << 30}"
LAUNCHES = 8


def measure(console: Console) -> list[dict[str, Any]]:
    """Print what the tuning file of each network gains, and what one that changes nothing does; return the rows."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    rows = []
    for name, text in NETWORKS.items():
        topology = FOLDER / f"{name}.yml"
        FOLDER.mkdir(exist_ok=True)
        topology.write_text(text)
        first = _job(topology, FOLDER / name / "first", [f"{COLLECTIVE}:{algorithm}" for algorithm in TRIED])
        console.print(f"{name}: {', '.join(f'{one} from {least} bytes on' for one, least in first.use.items())}")
        second = _job(topology, FOLDER / name / "second", [first.choice, NEVER])
        for size, comparison in second.sizes.items():
            for group in comparison.groups[1:]:
                interval = group.change_interval and [round(end, 1) for end in group.change_interval]
                row = {"network": name, "size": size, "rules": group.name, "finding": str(group.finding)}
                rows.append({**row, "change_percent": group.change_percent, "interval": interval})
                change = f"{group.change_percent:+.1f} % {interval}" if group.change_percent is not None else ""
                console.print(f"{name}, {size} bytes, {group.name}: {change} {group.finding}")
    return rows


def _job(topology: Path, records: Path, choices: Sequence[str]) -> Answer:
    """Run a job of the library's default and other choices; return what its record answers.

    The job may fail: on a busy machine some launches are void, and the others are compared.
    """
    words = [str(Path(sys.executable).parent / "reframe"), "-C", str(CHECKOUT / "reframe.yml"), "--nocolor"]
    words += ["-c", str(CHECKOUT / "checks"), "-n", "^rowcol_alltoall$", "--system", "vtorus:netns", "-r"]
    words += ["--prefix", str(FOLDER / "reframe")]
    settings = {
        "torus": topology,
        "nodes": 16,
        "placements": "plain",
        "launches": LAUNCHES,
        "archive": records,
        "collectives": COLLECTIVE,
        "sizes": ",".join(map(str, SIZES)),
        "algorithms": ",".join(["default", *dict.fromkeys(choices)]),
    }
    for setting, value in settings.items():
        words += ["-S", f"{setting}={value}"]
    environment = {**os.environ, "RAILYARD_RATE_SCALE": "0.0001", "RAILYARD_ATTEMPTS": "3"}
    done = subprocess.run(words, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    files = sorted(records.rglob("*.json*"))
    assert files, done.stdout[-3000:]
    (answer,) = collectives.answers(archive.iterate(files))
    return answer
