"""Run every benchmark, and OSU, three times: at first, unchanged (A/A), and with something degraded.

Models: a push that changes nothing, and one that makes a machine worse in a way that no record shows. Both are judged
against the first run. The unchanged run must be green. The degraded one must be red, with a variable and its change,
or fail by the check's own verdict. A run whose launches load on this machine made void has no verdict. A run with a
verdict is not repeated, so that another call continues. Leaves out: how large a change the gate can detect
(`perf.gates.simulated`), and real machines.
"""

from __future__ import annotations

import os
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
from support.reframe import CHECKS, QUICK, VOID, command

from railyard.base.checkout import BUILD, CHECKOUT

#: As many launches as a reference needs, one placement, and messages that pass in seconds.
SETTINGS = (
    *("launches=6", "canary.size=2048"),
    *(f"congestion_bandwidth.{value}" for value in ("loads=alltoall", "sizes=8192", "repeats=4")),
    *("osu_pairs.placements=plain", "osu_pairs.smallest=1024", "osu_pairs.largest=8192"),
    *("osu_all.placements=plain", "osu_all.smallest=1024", "osu_all.largest=8192"),
)
#: A fifth of the rate of tests, so that launches count on a busy machine; a variable of this name sets another.
RATE_SCALE = {"RAILYARD_RATE_SCALE": os.environ.get("RAILYARD_RATE_SCALE", "0.00002")}
#: The first node's NICs at 20 % of their rate; the torus is described before that, so the record does not show it.
SLOW_NIC = """\
#!/bin/sh
node=$(ls /run/netns | sed -n "s/^.*\\.$RAILYARD_TORUS\\.\\(n.*\\)/\\1/p" | head -n 1)
railyard torus fault "$RAILYARD_TORUS" "$node" --injection 20
"""
#: The first node's NICs send packets of 576 bytes, so that more bytes are headers.
SMALL_PACKETS = """\
#!/bin/sh
name=$(ls /run/netns | grep "\\.$RAILYARD_TORUS\\.n" | head -n 1)
for nic in $(ip netns exec "$name" ls /sys/class/net | grep -vx lo); do
    ip -n "$name" link set "$nic" mtu 576
done
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
PACKETS = Degraded(name="packets of 576 bytes", preparation=SMALL_PACKETS)
RANK = Degraded(name="a rank slowed", preparation=SLOW_RANK)
ALGORITHM = Degraded(
    name="a linear algorithm forced",
    variables={
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_bcast_algorithm": "1",
    },
)
NETWORK = ["halo", "rowcol", "hops", "paths", "contention", "topobw", "multirail"]
#: Checks by name, and what degrades them. A slower NIC delays 8 B, which congestion_smoke sends, less than a limit.
RUNS: Mapping[str, Degraded] = {
    **{f"{name}_smoke": NIC for name in NETWORK},
    "congestion_bandwidth": NIC,
    "canary": NIC,
    "noise_smoke": RANK,
    "sonar_smoke": PACKETS,
    "osu_pairs%test=osu_latency": NIC,
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
    table = Table("check", "A/A", "degraded by", "degraded")
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
    row = {"check": name, "A/A": "", "degraded by": degraded.name, "degraded": ""}
    if reason := _run(name, folder / "first", programs):
        return {**row, "A/A": f"no verdict, the first run failed: {reason}"}
    references = str(folder / "references.yaml")
    _railyard("update", "--archive", str(folder / "first/archive"), "-o", references)
    unchanged = _verdict(folder / "unchanged", references, _run(name, folder / "unchanged", programs))
    into = ("-S", f"preparations={script}")
    reason = _run(name, folder / "degraded", {**programs, **degraded.variables}, *into)
    return {**row, "A/A": unchanged, "degraded": _verdict(folder / "degraded", references, reason)}


def _verdict(folder: Path, references: str, reason: str) -> str:
    """Return green, red with what is furthest off, or why there is no verdict; `reason` is why the run failed."""
    if VOID in reason:
        return f"no verdict: {reason}"
    done = _railyard("judge", "--archive", str(folder / "archive"), "-o", references)
    worse = re.findall(r"^worse: \S+: (.*?) \(", done.stdout, re.MULTILINE)
    if worse or reason:
        return f"red: {max(worse, key=_percent, default=reason)}"
    return (
        f"green: {done.stdout.splitlines()[-1]}"
        if done.returncode == 0
        else f"no verdict: {done.stderr.strip()}"
    )


def _run(name: str, folder: Path, variables: Mapping[str, str], *words: str) -> str:
    """Run a check into an archive of its own, unless it has a verdict; return why it failed, if it did."""
    log = folder / "log"
    if not log.exists() or VOID in log.read_text():
        folder.mkdir(parents=True, exist_ok=True)
        into = [f"archive={folder}/archive", *SETTINGS]
        words = (*words, *(word for setting in into for word in ("-S", setting)))
        checks = CHECKS / "applications/osu.py" if name.startswith("osu") else CHECKS
        done = subprocess.run(
            command(folder, "-n", f"^{name}$", *words, "-r", checks=checks),
            cwd=CHECKOUT,
            env=environment(**{**QUICK, **RATE_SCALE, **variables}),
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
