"""Run every benchmark, and OSU, three times: at first, unchanged (A/A), and with something degraded.

Models: a push that changes nothing, and one that makes a machine worse in a way that no record shows. Both are judged
against the first run. The unchanged run must be green. The degraded one must be red, with a variable and its change,
or fail by the check's own verdict. A run with a log is not repeated, so that another call continues. Leaves out: how
large a change the gate can detect (`perf.gates.simulated`), and real machines.
"""

from __future__ import annotations

import re
import subprocess
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from support.commands import BIN, environment
from support.reframe import QUICK, command

from railyard.base.checkout import BUILD, CHECKOUT

LAUNCHES = 6
#: The first node's NICs at 20 % of their rate; the torus is described before that, so the record does not show it.
SLOW_NIC = """\
#!/bin/sh
node=$(ls /run/netns | sed -n "s/^.*\\.$RAILYARD_TORUS\\.\\(n.*\\)/\\1/p" | head -n 1)
railyard torus fault "$RAILYARD_TORUS" "$node" --injection 20
"""
#: The rank on the first node is stopped for five sixths of its time.
SLOW_RANK = """\
#!/bin/sh
name=$(ls /run/netns | grep "\\.$RAILYARD_TORUS\\.n" | head -n 1)
while [ -e "/run/netns/$name" ]; do
    for process in $(ip netns pids "$name"); do
        [ "$(cat "/proc/$process/comm" 2>/dev/null)" = noise ] || continue
        while kill -STOP "$process"; do sleep 0.05; kill -CONT "$process"; sleep 0.01; done
    done
    sleep 0.01
done >/dev/null 2>&1 &
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """What makes a check worse: a script that runs when the torus is up, or variables of the ranks' MPI."""

    name: str
    preparation: str = "#!/bin/sh\n"
    variables: Mapping[str, str] = field(default_factory=dict)


NIC = Degraded(name="a NIC at 20 %", preparation=SLOW_NIC)
RANK = Degraded(name="a rank slowed", preparation=SLOW_RANK)
ALGORITHM = Degraded(
    name="a linear algorithm forced",
    variables={
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_bcast_algorithm": "1",
    },
)
NETWORK = ["halo", "rowcol", "hops", "paths", "contention", "congestion", "sonar", "topobw", "multirail"]
#: Checks by name, and what degrades them.
RUNS: Mapping[str, Degraded] = {
    **{f"{name}_smoke": NIC for name in NETWORK},
    "canary": NIC,
    "noise_smoke": RANK,
    "osu_pairs%test=osu_bw": NIC,
    "osu_all%test=osu_bcast": ALGORITHM,
}


def options(parser: ArgumentParser) -> None:
    """Add which checks run."""
    parser.add_argument(
        "--check",
        action="append",
        choices=RUNS,
        metavar="CHECK",
        help="gate-runs: a check  [default: all; those of OSU need --osu]",
    )


def measure(console: Console, names: list[str] | None, osu: Path | None) -> list[dict[str, Any]]:
    """Run the checks, and print what each run was judged to be; records and logs are in build/gate-runs."""
    table = Table("check", "degraded by", "A/A", "degraded", "furthest off")
    rows = []
    for name, degraded in RUNS.items():
        if name in (names or RUNS) and (osu or "osu" not in name):
            row = _judged(name, degraded, BUILD / "gate-runs" / re.sub(r"\W+", "-", name), osu)
            console.print(", ".join(map(str, row.values())))
            table.add_row(*map(str, row.values()))
            rows.append(row)
    console.print(table)
    return rows


def _judged(name: str, degraded: Degraded, folder: Path, osu: Path | None) -> dict[str, Any]:
    script = folder / "preparation"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(degraded.preparation)
    script.chmod(0o755)
    programs = {"RAILYARD_PROGRAMS": str(osu or "")}
    _run(name, folder / "first", programs)
    references = str(folder / "references.yaml")
    _railyard("update", "--archive", str(folder / "first/archive"), "-o", references)
    results = []
    for side, variables, words in (
        ("unchanged", {}, ()),
        ("degraded", degraded.variables, ("-S", f"preparations={script}")),
    ):
        failure = _run(name, folder / side, {**programs, **variables}, *words)
        done = _railyard("judge", "--archive", str(folder / side / "archive"), "-o", references)
        worse = re.findall(r"^worse: \S+: (.*?) \(", done.stdout, re.MULTILINE)
        why = max(worse, key=_percent, default=failure or done.stderr.strip())
        results.append((done.returncode != 0 or bool(failure), why))
    (unchanged_is_red, why), (degraded_is_red, variable) = results
    return {
        "check": name,
        "degraded by": degraded.name,
        "A/A": f"red: {why}" if unchanged_is_red else "green",
        "degraded": "red" if degraded_is_red else "green",
        "furthest off": variable,
    }


def _run(name: str, folder: Path, variables: Mapping[str, str], *words: str) -> str:
    """Run a check into an archive of its own, unless it was run before; return why it failed, if it did."""
    log = folder / "log"
    if not log.exists():
        folder.mkdir(parents=True, exist_ok=True)
        into = ["-S", f"archive={folder}/archive", "-S", f"launches={LAUNCHES}"]
        done = subprocess.run(
            command(folder, "-n", f"^{name}$", *into, *words, "-r"),
            cwd=CHECKOUT,
            env=environment(**QUICK, **variables),
            capture_output=True,
            text=True,
            check=False,
        )
        log.write_text(done.stdout + done.stderr)
    reason = re.search(r"\* Reason: (.*)", log.read_text())
    return reason[1] if reason else ""


def _railyard(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "railyard", "references", *words], capture_output=True, text=True, check=False
    )


def _percent(line: str) -> float:
    match = re.search(r"([\d.]+) % (?:above|below)", line)
    return float(match[1]) if match else 0.0
