"""Make an honest record of each benchmark, to be forged: figures of railyard's programs and of recorded outputs.

Models: each C program runs once, eight ranks on this machine that pretend to be eight hosts; each parser reads the
recording in the tests. Every launch has these figures, times longer by a launch's own factor. Placements, NICs and
times are those of the generator. Leaves out: sonar, which needs counters of real nodes.
"""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Mapping
from typing import Any

import orjson
from applications.test_applications import read as recorded
from support import benchmark_runs, evidence
from support.commands import CHECKOUT

from railyard.base.checkout import BUILD
from railyard.placements.launchers import files
from railyard.placements.orders.allocation import allocate
from railyard.placements.topology import catalog
from railyard.records import benchmark as outputs
from railyard.records import programs, record, units
from railyard.records.assemble import LaunchRun
from railyard.records.record import Record
from railyard.records.rules.figures import RATES

FOLDER = BUILD / "forged"
TOPOLOGY = "gemini-2x2x2"
SMALL = {"scale": "small"}
#: Program of railyard -> the parameters of its run.
OWN: Mapping[str, Mapping[str, Any]] = {
    "congestor": {"pattern": "allreduce", "size_bytes": 8, "rounds": 20},
    "contention": {"pairs_per_node": [1], "sizes_bytes": [256], "window": 2, "repeats": 3, "least_s": 0.0, **SMALL},
    "hops": {"sizes_bytes": [0, 1024], "window": 2, "pairs_per_point": 1, "repeats": 3, **SMALL},
    "noise": {"quantum_s": 1e-4, "count": 10, "repeats": 3, **SMALL},
    "paths": {"paths": [1, 2], "sizes_bytes": [1024], "window": 2, "repeats": 3, **SMALL},
    "pt2pt": {"pattern": "random", "tests": ["latency", "bandwidth"], "sizes_bytes": [64], "window": 8, "repeats": 3},
    "rowcol": {
        "splits": ["X", "YZ"],
        "collectives": ["alltoall", "allgather", "allreduce", "bcast", "barrier"],
        "sizes_bytes": [1024],
        "repeats": 3,
        "start": "barrier",
        **SMALL,
    },
    "topobw": {"size_bytes": 1024, "messages": 2, "repeats": 2, "tolerance_percent": 99.0, **SMALL},
}
#: Recording of a third-party program -> the parameters of the check that gives it.
RECORDED: Mapping[str, Mapping[str, Any]] = {
    "amg-8": {"size": 8},
    "lulesh-8": {"size": 5, "iterations": 0},
    "minife-8": {"size": 8},
    "minighost-8": {"size": 12, "variables": 4, "steps": 20},
    "osu_allreduce-8": {},
    "osu_latency-2": {},
    "osu_mbw_mr-8": {},
    "quicksilver-8": {},
    "snap-8": {"size": 8, "angles": 12},
    "umt-8": {},
}
#: Recordings of runs that are longer than a launch of the generator, and how many times.
LONG: Mapping[str, float] = {"snap": 2, "umt": 5}
GRIDS: Mapping[int, list[int]] = {8: [2, 2, 2], 2: [2]}


def names() -> list[str]:
    """Return the name of each record, which begins with its benchmark."""
    return ["halo-emulated", "halo-half", "halo-measured", "halo-modelled", *OWN, *RECORDED]


def make() -> None:
    """Write the records to a folder of the build, for every process of the run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names():
        (FOLDER / f"{name}.json").write_bytes(orjson.dumps(made(name).document))


@functools.cache
def load(name: str) -> Record:
    """Return a record that `make` wrote."""
    return record.load(FOLDER / f"{name}.json")


def made(name: str) -> Record:
    """Return the honest record of a name, made now; RuntimeError for one with a launch that is no result."""
    if name == "halo-half":
        base = evidence.good(launches=2, topology=TOPOLOGY, grid=[2, 2], order="snake", block=[2, 2, 1])
    elif name.startswith("halo-"):
        policies = None if name == "halo-modelled" else evidence.POLICIES
        base = evidence.good(launches=2, origin=name.removeprefix("halo-"), nic_policies=policies)
    else:
        document = _run(name) if name in OWN else _recorded(name)
        base = _of_document(name.partition("-")[0], {**OWN, **RECORDED}[name], document)
    if fault := next((launch.reason for launch in base.launches if not launch.is_result), ""):
        raise RuntimeError(f"{name}: {fault}")
    return base


def _of_document(benchmark: str, parameters: Mapping[str, Any], document: Mapping[str, Any]) -> Record:
    """Return the record of a job in which every launch of a benchmark wrote a document.

    Its times are a launch's own factor as long, and its rates as much lower.
    """

    def slower(series: Mapping[str, Any], factor: float) -> dict[str, Any]:
        measures = units.fom(series["fom"], **document["figures"][series["fom"]]).unit.measures
        by = factor if measures == "time" else 1 / factor if measures in RATES else 1.0
        return {**series, "samples": [by * sample for sample in series["samples"]]}

    def change(run: LaunchRun, own: dict[str, Any]) -> LaunchRun:
        factor = (1 + 0.013 * run.index) / LONG.get(benchmark, 1)
        own["parameters"] = {}
        own["reported"] = document.get("reported", {})
        own["not_measured"] = document.get("not_measured", [])
        own["series"] = [slower(series, factor) for series in document["series"]]
        return run

    grid = GRIDS[len(document["ranks"])]
    case = {"benchmark": benchmark, "parameters": dict(parameters), "studies": []}
    return evidence.good(
        check=f"{benchmark}_smoke",
        topology=TOPOLOGY,
        grid=grid,
        order="snake",
        block=[2, 1, 1] if grid == [2] else [],
        placements=["plain"],
        nic_policies=["library-default"],
        launches=2,
        case_changes=case,
        change=change,
    )


def _run(name: str) -> dict[str, Any]:
    """Return what a program of railyard writes on hosts that have the names of the topology's nodes."""
    topology = catalog.load(TOPOLOGY)
    library, output = FOLDER / "hostname.so", FOLDER / f"{name}.out"
    source = CHECKOUT / "tests/data/benchmarks_hostname.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    nodes = allocate(topology, "snake").nodes
    pretended = [f"n{number}" for number in range(len(nodes))]
    for file, text in (("coordinates", files.coordinates(topology, nodes)), ("links", files.links(topology))):
        for node, host in zip(nodes, pretended, strict=True):
            text = text.replace(f"{node.name} ", f"{host} ")
        (FOLDER / file).write_text(text)
    given = programs.Given(parameters=OWN[name], is_emulated=name != "topobw", unrecorded={"count": 5})
    program = [*benchmark_runs.preload(library, benchmark_runs.BIN / name), *programs.options(name, given)]
    program += ["--json", output]
    done = benchmark_runs.mpirun("-n", "8", "-wdir", FOLDER, *program, env={"TEST_RANKS_PER_NODE": "1"})
    if done.status or not output.is_file():
        raise RuntimeError(f"{name}: {done.err[-500:]}")
    document: dict[str, Any] = json.loads(output.read_text())
    own = dict(zip(pretended, (node.name for node in nodes), strict=True))
    for series in [*document["series"], *document.get("not_measured", [])]:
        series["labels"] = {label: own.get(value, value) for label, value in series["labels"].items()}
    return {**document, "ranks": [None] * 8}


def _recorded(name: str) -> dict[str, Any]:
    """Return the document of a recorded output, as a job converts it."""
    reading = recorded(name)
    return {
        "ranks": [None] * int(name.partition("-")[2]),
        "reported": dict(reading.parameters),
        "figures": outputs.figures_json(series.fom for series in reading.series),
        "series": list(map(outputs.series_json, reading.series)),
    }
