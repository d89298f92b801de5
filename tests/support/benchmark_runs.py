"""How tests run the C benchmarks: as a user would, under mpirun on this machine, over shared memory.

Many nodes are pretended by a preloaded gethostname; the coordinates file then says where they stand.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from railyard.base.checkout import CHECKOUT
from railyard.records.folded import ranks
from support.commands import variables
from support.records import rows

ROOT = CHECKOUT
BIN = ROOT / "build" / "benchmarks-openmpi" / "bin"
#: The compiler of the MPI that the benchmarks of these tests were built with.
MPICC = "mpicc.openmpi" if shutil.which("mpicc.openmpi") else "mpicc"
SCHEMA = ROOT / "results" / "schema" / "benchmark-v1.json"
DEADLINE_S = 60
MPIRUN = [
    "mpirun.openmpi" if shutil.which("mpirun.openmpi") else "mpirun",
    *("-q", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"),
    *("--mca", "pml", "ob1,monitoring"),  # ob1 is what Open MPI takes here, after it has asked other networks for 0.2 s
    *("--mca", "odls_base_sigkill_timeout", "0"),  # else each exit status but 0 costs a second
]
#: Open MPI has one folder for all launches of a user, and the last that ends removes it, while another begins in it.
SESSIONS = Path(tempfile.gettempdir(), f"railyard-tests-{os.getpid()}")
atexit.register(shutil.rmtree, SESSIONS, ignore_errors=True)
ENVIRONMENT = {**os.environ, **variables("HWLOC_COMPONENTS", "HWLOC_PLUGINS_PATH")} | {
    "OMPI_MCA_orte_tmpdir_base": str(SESSIONS),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
}
#: A run of each program that takes a moment.
QUICK = {
    "halo": ["--cells", "4", "--repeats", "3", "--variants", "manual,datatypes,neighbours,copy"],
    "hops": ["--sizes", "0,1KiB,64KiB", "--repeats", "3", "--min-time-per-point", "0"],
    "rowcol": ["--sizes", "8,1KiB", "--repeats", "3", "--start", "barrier", "--min-time-per-point", "0"],
    "contention": ["--groups", "ranks", "--sizes", "8,64KiB", "--repeats", "3", "--min-time-per-point", "0"],
    "pt2pt": ["--units", "ranks", "--sizes", "8,64KiB", "--repeats", "3", "--min-time-per-point", "0"],
    "noise": ["--quantum", "1e-5", "--count", "10", "--repeats", "2"],
}
#: The same of programs that need the nodes' coordinates, or two hosts, or have no --repeats. topobw keeps its
#: retests: on a busy machine one reading may take any time.
MORE = {
    "congestor": ["--rounds", "3", "--size", "1KiB"],
    "paths": ["--sizes", "1KiB", "--repeats", "1", "--min-time-per-point", "0", "--warmup-time", "0"],
    "topobw": ["--size", "1KiB", "--messages", "2", "--repeats", "1", "--tolerance", "99", "--routes", "off"],
    "sonar": ["--sizes", "1,1KiB", "--pings", "send,put,get", "--repeats", "1", "--count", "2", "--group", "linux-net"],
}
#: What mpirun's own event library says on a busy machine; no program wrote it.
LIBEVENT = "[warn] Epoll"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def error_lines(self) -> list[str]:
        return self.err.splitlines()


def mpirun(*command: str | Path, env: dict[str, str] | None = None) -> Outcome:
    words, variables = [*MPIRUN, *map(str, command)], ENVIRONMENT | (env or {})
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, env=variables, check=False)
    said = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith(LIBEVENT)]
    return Outcome(status=done.returncode, out=done.stdout, err="".join(said))


def run(program: str, ranks: int, *arguments: str | Path, folder: Path = BIN, **env: str) -> Outcome:
    return mpirun("-n", str(ranks), folder / program, *arguments, env=env)


def document(path: Path) -> dict[str, Any]:
    """What a program wrote, with a row for each rank."""
    read: dict[str, Any] = json.loads(path.read_text())
    jsonschema.validate(read, json.loads(SCHEMA.read_text()))
    return {**read, "ranks": rows.of_ranks(ranks.of_nodes(read["ranks"], str(path), "ranks"))}


def measured(program: str, ranks: int, *arguments: str, folder: Path, programs: Path = BIN) -> dict[str, Any]:
    """The document of a run that must be good; it is written into the folder."""
    path = folder / f"{program}.json"
    outcome = run(program, ranks, *arguments, "--json", path, folder=programs)
    assert (outcome.status, outcome.err) == (0, "")
    return document(path)


def samples_of(read: dict[str, Any], **labels: object) -> dict[str, list[float]]:
    """Return the samples of each figure, of the series that have these labels."""
    return {series["fom"]: series["samples"] for series in read["series"] if labels.items() <= series["labels"].items()}


def series_of(read: dict[str, Any], fom: str, **labels: object) -> list[dict[str, Any]]:
    """Return the labels of each series of a figure that has these."""
    of_figure = [series["labels"] for series in read["series"] if series["fom"] == fom]
    return [own for own in of_figure if labels.items() <= own.items()]


def pairs_of(read: dict[str, Any], fom: str = "pair_latency_us", **labels: object) -> list[tuple[int, int]]:
    """Return the ranks of each pair that has a series with these labels."""
    return [(one["from_rank"], one["to_rank"]) for one in series_of(read, fom, **labels)]


def assert_refused(outcome: Outcome, program: str, *parts: str) -> None:
    """Exit status 2, nothing on stdout, and one line of the program that has all the parts."""
    assert (outcome.status, outcome.out, len(outcome.error_lines)) == (2, "", 1), outcome
    assert outcome.err.startswith(f"{program}: ") and all(part in outcome.err for part in parts), outcome.err


def assert_data_wrong(outcome: Outcome, output: Path, *parts: str) -> None:
    """Exit status 1, one line, no number printed, no document."""
    assert (outcome.status, outcome.out, len(outcome.error_lines)) == (1, "", 1), outcome
    assert all(part in outcome.err for part in parts) and not output.exists(), outcome.err


def preload(library: Path, program: Path) -> list[str | Path]:
    """The command of a program with a library loaded first; a sanitizer's must come before any other."""
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    sanitizer = [line.split()[2] for line in linked.splitlines() if "libasan" in line]
    return ["env", "LD_PRELOAD=" + ":".join([*sanitizer, str(library)]), program]


@dataclass(frozen=True, slots=True, kw_only=True)
class PretendedTorus:
    """A coordinates file and the library that makes rank r run on host n<r / per_node>."""

    library: Path
    coordinates: Path

    def run(
        self, program: str, ranks: int, *arguments: str | Path, per_node: int = 1, folder: Path = BIN, **env: str
    ) -> Outcome:
        command = [*preload(self.library, folder / program), "--coordinates", self.coordinates]
        env["TEST_RANKS_PER_NODE"] = str(per_node)
        return mpirun("-n", str(ranks), *command, *arguments, env=env)

    def measured(
        self, program: str, ranks: int, *arguments: str, per_node: int = 1, folder: Path = BIN
    ) -> dict[str, Any]:
        output = self.coordinates.with_suffix(".json")
        outcome = self.run(program, ranks, *arguments, "--json", output, per_node=per_node, folder=folder)
        assert (outcome.status, outcome.err) == (0, ""), outcome
        return document(output)


#: Makes a torus from the text of a coordinates file.
Pretend = Callable[[str], PretendedTorus]


def block(x: int, y: int, z: int, *, torus: str = "", nodes_per_router: int = 1) -> str:
    """A coordinates file: all nodes of the routers below x, y, z, the last dimension fastest."""
    lines = [f"torus {torus or f'{x} {y} {z}'}"]
    for i in range(x * y * z * nodes_per_router):
        router = i // nodes_per_router
        lines.append(f"n{i} {router // (y * z)} {router // z % y} {router % z}")
    return "\n".join(lines) + "\n"
