"""A job on a whole machine that nobody has: every step of railyard at its size, with the time and memory of each.

Models: a dry run of `halo_3d` on a Slurm site of N nodes, `railyard granted` on its nodes, launches whose files are
made up (unbound ranks that each launch finds on other CPUs, NIC and energy counters of every node), the record, the
strict check, and report and comparison of two such records. Leaves out the launches themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.base.checkout import BUILD, CHECKOUT
from railyard.placements.arrays import np
from railyard.records.folded import columns
from railyard.records.programs import halo

BIN = Path(sys.executable).parent
FOLDER = BUILD / "machine"
CONFIGURATION = """\
systems:
  - name: machine
    hostnames: ['^nowhere$']
    partitions:
      - name: compute
        scheduler: squeue
        launcher: srun
        environs: [machine-mpi]
        features: [torus]
        extras: {{origin: measured, nodes: {nodes}, nics: [{nics}]}}
environments:
  - name: machine-mpi
    target_systems: [machine]
    cc: mpicc
    features: [mpi, openmpi, ucx]
"""
#: Figures of a halo exchange: iterations take some 9 ms.
REPEATS, ITERATION_US = 20, 9200.0
LAUNCHES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Its sizes, and the launches of a job; placements share them equally."""

    nodes: int
    ranks_per_node: int
    nics: int
    launches: int

    @property
    def devices(self) -> list[str]:
        """The names of a node's NICs."""
        return [f"mlx5_{number}" for number in range(self.nics)]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the machine's sizes, and the launches of a job."""
    for name, default, what in (
        ("nodes", 64, "nodes"),
        ("ranks-per-node", 16, "ranks on each node"),
        ("nics", 4, "NICs of a node"),
        ("launches", LAUNCHES, "launches of a job"),
    ):
        text = f"machine: {what}  [default: {default}]"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=text)


def measure(console: Console, arguments: argparse.Namespace) -> None:
    """Take every step, and print its time and memory."""
    machine = Machine(
        nodes=arguments.nodes, ranks_per_node=arguments.ranks_per_node, nics=arguments.nics, launches=arguments.launches
    )
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    steps = _Steps(console)
    stage = _dry_run(steps, machine)
    archive, names = FOLDER / "archive", FOLDER / "nodes.txt"
    names.write_text("".join(f"n{number}\n" for number in range(machine.nodes)))
    steps.railyard("granted", "granted", stage, RAILYARD_NODES=str(names))
    for number in range(2):
        _made_up(stage, machine, seed=number)
        steps.railyard(f"record {number}", "recover", stage)
        newest = max(archive.glob("machine/*.json*"), key=lambda path: path.stat().st_mtime_ns)
        steps.rows[-1]["record_bytes"] = newest.stat().st_size
    # It may fail in a checkout with changes, which is a fault of every record made there.
    steps.railyard("strict check", "results", "check", "--strict", archive, may_fail=True)
    steps.railyard("list", "results", "list", "--archive", archive)
    steps.railyard("report", "report", archive, "-o", FOLDER / "report.html")
    steps.railyard("compare", "compare", *sorted(archive.glob("machine/*.json*")))
    sizes = f"{machine.nodes:,} nodes x {machine.ranks_per_node} ranks x {machine.nics} NICs"
    title = f"{sizes}, {machine.launches} launches"
    table = Table("step", "wall s", "CPU s", "MiB", "written", title=title)
    for row in steps.rows:
        written = row.get("script_bytes") or row.get("record_bytes")
        figures = (f"{row[name]:,}" for name in ("seconds", "cpu_s", "memory_mib"))
        table.add_row(row["step"], *figures, f"{written:,} B" if written else "")
    console.print(table)


class _Steps:
    """Runs commands one after another, each with its time and the most memory that it had."""

    def __init__(self, console: Console) -> None:
        self.rows: list[dict[str, Any]] = []
        self._console = console

    def railyard(self, name: str, *words: object, may_fail: bool = False, **environment: str) -> None:
        """Run `railyard` as `run` does."""
        self.run(name, [str(BIN / "railyard"), *map(str, words)], may_fail=may_fail, **environment)

    def run(self, name: str, command: Sequence[str], *, may_fail: bool = False, **environment: str) -> None:
        """Run a command; its output is kept in a file beside the others."""
        log = FOLDER / f"{name.replace(' ', '-')}.log"
        begun = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=CHECKOUT, stdout=output, stderr=output, env={**os.environ, **environment}
            )
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode and not may_fail:
            sys.exit(f"{shlex.join(command)}: exit status {process.returncode}; see {log}")
        row = {
            "step": name,
            "seconds": round(time.monotonic() - begun, 2),
            "cpu_s": round(used.ru_utime + used.ru_stime, 2),
            "memory_mib": round(used.ru_maxrss / 1024),
        }
        self._console.print(f"{name}: {row['seconds']} s, {row['memory_mib']} MiB")
        self.rows.append(row)


def _dry_run(steps: _Steps, machine: Machine) -> Path:
    """Return the stage directory that a dry run leaves."""
    config, prefix = FOLDER / "site.yml", FOLDER / "reframe"
    config.write_text(CONFIGURATION.format(nodes=machine.nodes, nics=", ".join(machine.devices)))
    words = [str(BIN / "reframe"), "-C", str(CHECKOUT / "reframe.yml"), "-C", str(config), "--nocolor"]
    words += ["--system", "machine:compute", "--prefix", str(prefix), "--keep-stage-files"]
    words += ["-c", str(CHECKOUT / "checks/halo.py"), "-n", "^halo_3d$", "--dry-run"]
    for setting in (
        f"ranks_per_node={machine.ranks_per_node}",
        "placements=plain,cart-create",
        f"launches={max(1, machine.launches // 2)}",
        f"archive={FOLDER / 'archive'}",
    ):
        words += ["-S", setting]
    steps.run("dry run", words)
    (job,) = prefix.rglob("job.json")
    script = next(iter(job.parent.glob("rfm_job.sh")))
    steps.rows[-1]["script_bytes"] = script.stat().st_size
    return job.parent


def _made_up(stage: Path, machine: Machine, *, seed: int) -> None:
    """Write what a job's launches would leave."""
    job, placed = (json.loads((stage / name).read_text()) for name in ("job.json", "placed.json"))
    placed |= {"described": machine.nodes, "kinds": 1, "boots": machine.nodes}
    (stage / "placed.json").write_text(json.dumps(placed))
    chance = random.Random(seed)
    for name in ("recorded", "ended.json"):
        (stage / name).unlink(missing_ok=True)
    now = time.time() - 3600
    (stage / "boot.begun").write_text("0f0f\n")
    (stage / "code.begun").write_text(f"{'ab' * 32}  /opt/bin/halo\n")
    (stage / "code.ended").write_text(f"{'ab' * 32}  /opt/bin/halo\n")
    written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 60))
    job |= {"id": f"{seed:032x}", "written": {**job["written"], "time": written}}
    job["reframe"]["session"] = f"{written}-1"
    (stage / "job.json").write_text(json.dumps(job))
    layouts: dict[str, dict[str, list[int]]] = {name: {} for name in placed["hosts"]}
    for name, hosts in placed["hosts"].items():
        for rank, host in enumerate(hosts):
            layouts[name].setdefault(host, []).append(rank)
    for launch in job["launches"]:
        stem = f"launch-{launch['index']:03d}"
        begun = now + 20 * launch["index"]
        (stage / f"{stem}.begun").write_text(f"{begun} {1000 + 20 * launch['index']}\n")
        (stage / f"{stem}.ended").write_text(f"0 {begun + 15} {1015 + 20 * launch['index']}\n")
        output = json.dumps(_output(job["spec"], layouts[launch["placement"]], machine, chance))
        for ending, text in {
            "out": "",
            "err": "",
            "json": output,
            "nics": json.dumps(_counted(machine, chance)),
        }.items():
            (stage / f"{stem}.{ending}").write_text(text)


def _output(
    spec: Mapping[str, Any], of_host: Mapping[str, list[int]], machine: Machine, chance: random.Random
) -> dict[str, Any]:
    """A launch's output: ranks that no one binds, each on a CPU of its own of twice as many."""
    dice = np.random.default_rng(chance.getrandbits(32))
    cpus = 2 * machine.ranks_per_node
    layouts: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []
    for host, ranks in of_host.items():
        own = dice.permutation(cpus)[: len(ranks)]
        nodes.append({"host": host, "ranks": columns.fold(ranks), "layout": len(layouts)})
        layouts.append(
            {
                "ranks": len(ranks),
                "cpu": columns.fold(own),
                "cpu_sets": [f"0-{cpus - 1}"],
                "allowed_cpus": f"0*{len(ranks)}",
                "numa_node": columns.fold(own * 4 // cpus),
            }
        )
    size_bytes = halo.exchanged_bytes(spec["parameters"]) or 1e8
    times = [ITERATION_US * (1 + abs(chance.gauss(0, 0.02))) for _ in range(REPEATS)]
    return {
        "format": "railyard-benchmark/3",
        "benchmark": spec["benchmark"],
        "version": "0.1.0",
        "parameters": dict(spec["parameters"]),
        "mpi": {"library": "Open MPI v5.0.8", "standard": "3.1", "ranks": sum(map(len, of_host.values()))},
        "verified": True,
        "ranks": {"layouts": layouts, "nodes": nodes},
        "figures": {
            "bandwidth_gbyte_s": {"unit": "GB/s", "better": "higher"},
            **{
                f"{part}_us": {"unit": "us", "better": "lower"}
                for part in ("iteration", "pack", "unpack", "exchange", "wait")
            },
        },
        "series": [
            {"fom": "iteration_us", "labels": {}, "samples": times},
            *(
                {"fom": f"{part}_us", "labels": {}, "samples": [share * each for each in times]}
                for part, share in {"pack": 0.1, "unpack": 0.1, "exchange": 0.8, "wait": 0.7}.items()
            ),
            {"fom": "bandwidth_gbyte_s", "labels": {}, "samples": [size_bytes / 1e3 / each for each in times]},
        ],
    }


def _counted(machine: Machine, chance: random.Random) -> dict[str, Any]:
    """What the NICs of every node counted, waits of every NIC among it, and the energy of its packages."""
    size = 8 << 30
    return {
        "format": "railyard-nics/1",
        "groups": "auto",
        "reason": None,
        "nics": [
            {
                "node": f"n{node}",
                "nic": nic,
                "group": "infiniband",
                "tx_bytes": size + chance.getrandbits(26),
                "rx_bytes": size + chance.getrandbits(26),
            }
            for node in range(machine.nodes)
            for nic in machine.devices
        ],
        "energy": [
            {"node": f"n{node}", "counter": f"package-{socket}", "joules": 400 + chance.random()}
            for node in range(machine.nodes)
            for socket in range(2)
        ],
        "health": {
            "read": {"infiniband": ["LINK_DOWNS", "SYMBOL_ERRORS", "XMIT_WAIT"]},
            "not_read": {"infiniband": {"RATE": "no such file"}},
            "events": [
                {
                    "node": f"n{node}",
                    "nic": nic,
                    "event": "XMIT_WAIT",
                    "unit": "ticks",
                    "kind": "congestion",
                    "before": 0,
                    "after": chance.randrange(1, 10_000),
                }
                for node in range(machine.nodes)
                for nic in machine.devices
            ],
        },
    }
