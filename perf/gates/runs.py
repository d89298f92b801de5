"""Run every benchmark, and OSU, three times by `tools/smoke`: at first, unchanged (A/A), and with something degraded.

Models: what a push does that changes nothing, and one that makes a machine worse without a word in its record. The
unchanged run must be green. The degraded one must be red, with a variable of every benchmark and by how much. Leaves
out how large a change the gate can find (`perf.gates.simulated`), and real machines.
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

from railyard.base.checkout import BUILD, CHECKOUT

LAUNCHES = 6
#: The first node's NICs at 20 % of their rate; the torus was described before, so the record does not know.
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
        kill -STOP "$process"; sleep 0.05; kill -CONT "$process"
    done
    sleep 0.01
done >/dev/null 2>&1 &
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Checks that one change degrades: a script that runs when the torus is up, or variables of the ranks' MPI."""

    name: str
    checks: str
    degraded: str
    preparation: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


GROUPS = (
    Group(
        name="network",
        checks="^(halo|rowcol|hops|paths|contention|congestion|sonar|topobw|multirail)_smoke",
        degraded="a NIC at 20 %",
        preparation=SLOW_NIC,
    ),
    Group(name="canary", checks="^canary", degraded="a NIC at 20 %", preparation=SLOW_NIC),
    Group(name="noise", checks="^noise_smoke", degraded="a rank slowed", preparation=SLOW_RANK),
    Group(name="pairs", checks="^osu_pairs", degraded="a NIC at 20 %", preparation=SLOW_NIC),
    Group(
        name="collectives",
        checks="^osu_all.%test=osu_(allreduce|bcast)",
        degraded="a linear algorithm forced",
        variables={
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_allreduce_algorithm": "1",
            "OMPI_MCA_coll_tuned_bcast_algorithm": "1",
        },
    ),
)


def options(parser: ArgumentParser) -> None:
    """Add which groups run, and where."""
    parser.add_argument(
        "--group",
        action="append",
        choices=[group.name for group in GROUPS],
        help="gate-runs: a group of benchmarks  [default: all; those of OSU need --osu]",
    )


def measure(
    console: Console, names: list[str] | None, osu: Path | None, folder: Path = BUILD / "gate-runs"
) -> list[dict[str, Any]]:
    """Run the groups, and print what each run judged; records are in `folder`."""
    table = Table("check", "degraded by", "A/A", "degraded", "variable furthest off")
    rows = []
    for group in GROUPS:
        needs_osu = "osu" in group.checks
        if (names and group.name not in names) or (needs_osu and osu is None):
            continue
        for row in _group(group, folder / group.name, str(osu) if needs_osu else ""):
            table.add_row(*map(str, row.values()))
            rows.append(row)
    console.print(table)
    return rows


def _group(group: Group, folder: Path, programs: str) -> list[dict[str, Any]]:
    first, unchanged, degraded = folder / "first", folder / "unchanged", folder / "degraded"
    baseline = {"BASELINE": str(first / "baseline")}
    _smoke(group, first, {}, programs)
    _, equal = _smoke(group, unchanged, baseline, programs)
    script = folder / "preparation"
    script.write_text(group.preparation or "#!/bin/sh\n")
    script.chmod(0o755)
    status, worse = _smoke(
        group, degraded, {**baseline, **group.variables}, programs, f"-S preparations={script}"
    )
    return [
        {
            "check": check,
            "degraded by": group.degraded,
            "A/A": "; ".join(equal.get(check, ())) or "green",
            "degraded": "red" if status and check in worse else "green",
            "variable": max(worse.get(check, ("",)), key=_percent),
        }
        for check in _checks(first)
    ]


def _smoke(
    group: Group, out: Path, variables: Mapping[str, str], programs: str, *words: str
) -> tuple[int, dict[str, list[str]]]:
    """Run `tools/smoke` into a folder; return its status, and for each check the lines on what is worse."""
    done = subprocess.run(
        [CHECKOUT / "tools/smoke"],
        env={
            **os.environ,
            **variables,
            "OUT": str(out),
            "SELECT": " ".join(["-n", group.checks, *words]),
            "LAUNCHES": str(LAUNCHES),
            "PROGRAMS": programs,
            "RAILYARD_RATE_SCALE": "0.0001",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    (out.parent / f"{out.name}.log").write_text(done.stdout + done.stderr)
    worse: dict[str, list[str]] = {}
    judged = re.findall(r"^worse: (\S+): (.*)$", done.stdout, re.MULTILINE)
    # Checks that judge for themselves, such as the canary, make no record that could be judged.
    failed = re.findall(r"FAILURE INFO for (\S+).*?\* Reason: ([^\n]*)", done.stdout, re.DOTALL)
    for check, text in judged:
        worse.setdefault(check, []).append(text.partition(" (")[0])
    for check, text in failed:
        worse.setdefault(check, [text])
    return done.returncode, worse


def _percent(line: str) -> float:
    match = re.search(r"([\d.]+) % (?:above|below)", line)
    return float(match[1]) if match else 0.0


def _checks(out: Path) -> list[str]:
    """Return the checks that have a reference in the baseline of a run."""
    text = (out / "baseline/references.yaml").read_text()
    return sorted(re.findall(r"^(\w+):$", text, re.MULTILINE))
