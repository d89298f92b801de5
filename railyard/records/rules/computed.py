"""Check computed figures: what the link-load model and SimGrid give is computed again, and compared."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import as_seen
from railyard.placements.arrays import np
from railyard.placements.launchers import files
from railyard.placements.topology.base import Topology
from railyard.records import programs
from railyard.records.programs import Given
from railyard.records.programs.base import Point
from railyard.records.record import COMPUTED, Launch, Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import Fault, answers, ended_well, rule
from railyard.torus.modelled import programs as model
from railyard.torus.simulated import calibration, smpi

#: Programs that smpicc built.
SIMULATED = CHECKOUT / "build/benchmarks-simgrid/bin"
#: The longest simulation of a launch that is made again, in seconds of this machine.
LONGEST_S = 60
#: Relative difference of sums that other versions of numpy make.
ROUNDING = 1e-9

Figures = Mapping[tuple[str, Point], Sequence[float]]


@rule("computed-again")
def again(read: Record) -> Iterator[Fault]:
    """Modelled figures, and simulated ones where this machine has the same SimGrid, are computed again and agree."""
    for field, launch in ended_well(read) if read.origin in COMPUTED else ():
        if not isinstance(figures := _computed(read, launch), str) and (problem := _unlike(launch, figures)):
            yield Fault(f"{field}.series", problem)


def why_not_recomputed(read: Record) -> str:
    """Return in one line why figures of a computed record are not computed again; empty if all are."""
    reasons = (_computed(read, launch) for _, launch in ended_well(read) if read.origin in COMPUTED)
    return next((reason for reason in reasons if isinstance(reason, str)), "")


def _computed(read: Record, launch: Launch) -> Figures | str:
    """Return the figures that the same computation gives here, or in one line why it is not made."""
    cached = answers(read)
    key = "computed", launch.placement, len(launch.ranks), str(read.provenance["torus"])
    if key not in cached:
        topology, hosts = rebuilt.topology_of(read.case), rebuilt.asked_of(launch, rebuilt.expected_hosts(read))
        if topology is None or not rebuilt.has_own_names(read):
            cached[key] = "no topology of this name and content ships with the checker"
        elif read.origin is Origin.MODELLED:
            cached[key] = _modelled(read, hosts, topology)
        else:
            cached[key] = smpi.missing() or _other_simulation(read, topology) or _simulated(read, hosts, topology)
    figures: Figures | str = cached[key]
    return figures


def _other_simulation(read: Record, topology: Topology) -> str:
    """Return in one line what differs from a simulation on this machine; empty if nothing does."""
    torus = read.provenance["torus"] or {}
    named = str(torus.get("calibration", ""))
    if torus.get("engine") != f"SimGrid {smpi.version()}":
        return as_seen(f"simulated by {torus.get('engine')}; here is SimGrid {smpi.version()}")
    if named not in calibration.known() or calibration.load(named).sha256 != torus.get("calibration_sha256"):
        return "no calibration of this name and content ships with the checker"
    if torus.get("faults") or read.case.parameters.get("injection_percent", 100) != 100:
        return "the network has faults, or limited injection"
    if topology.rails > 1:
        return f"the NICs of ranks on {topology.rails} rails are in no record"
    program = SIMULATED / read.case.benchmark
    return "" if read.case.benchmark in programs.PROGRAMS and program.is_file() else f"{program} is not built"


def _words(read: Record) -> list[str]:
    """Return program and options; a number that is not a parameter, such as warm-up iterations, changes no figure."""
    benchmark, parameters = read.case.benchmark, read.case.parameters
    if benchmark not in programs.PROGRAMS:  # of the programs that only the model has
        shown = (("x".join(map(str, parameters.get(name, ()))), name) for name in ("grid", "cells"))
        return [benchmark, *itertools.chain.from_iterable((f"--{name}", text) for text, name in shown)]
    given = Given(parameters=parameters, unrecorded={"warmups": 1, "count": 1})
    return [benchmark, *programs.options(benchmark, given)]


def _modelled(read: Record, hosts: Sequence[str], topology: Topology) -> Figures | str:
    if read.case.benchmark not in model.PROGRAMS:
        return f"the model has no {read.case.benchmark}"
    index = {node.name: number for number, node in enumerate(topology.nodes)}
    nodes = np.array([index[host] for host in hosts], dtype=np.int64)
    return _figures(model.document(_words(read), topology, nodes)["series"])


def _simulated(read: Record, hosts: Sequence[str], topology: Topology) -> Figures | str:
    torus = read.provenance["torus"]
    program, *options = _words(read)
    with tempfile.TemporaryDirectory(prefix="railyard-check-") as name:
        folder = Path(name)
        (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        (folder / "coordinates").write_text(files.coordinates(topology))
        (folder / "links").write_text(files.links(topology))
        command = [sys.executable, "-P", "-m", "railyard.cli", "sim", "--hostfile", "hosts", "--faults", ""]
        command += ["--calibration", str(torus["calibration"]), "--time-limit", str(LONGEST_S)]
        command += ["--algorithms", ",".join(map(str, torus.get("algorithms", ())))]
        command += [topology.name, str(SIMULATED / program), *options, "--json", "output.json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return as_seen((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])[:300]
        return _figures(json.loads((folder / "output.json").read_text())["series"])


def _figures(series: Sequence[Mapping[str, Any]]) -> Figures:
    return {(one["fom"], frozenset(one["labels"].items())): one["samples"] for one in series}


def _unlike(launch: Launch, computed: Figures) -> str:
    """Return the first figure that is not the computed one, in one line; empty if all are."""
    stated = {(str(one.fom), frozenset(one.labels.items())): one.samples for one in launch.series}
    for fom, point in sorted(stated.keys() ^ computed.keys(), key=str):
        return f"{fom} is {'computed, and is not there' if (fom, point) in computed else 'not computed'}"
    for key, samples in stated.items():
        pairs = itertools.zip_longest(samples, computed[key], fillvalue=math.nan)
        for sample, value in pairs:
            if not math.isclose(sample, value, rel_tol=ROUNDING):
                return f"{key[0]} is {sample:.9g}; computed again it is {value:.9g}"
    return ""
