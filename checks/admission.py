"""The slow nodes and cables of a machine, by group tests, before anything else runs on it (docs/admission.md)."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import performance_function, run_before, sanity_function, variable

from checks.building import last_error
from railyard.placed.mixin import partition_of, plainly
from railyard.placements import launchers
from railyard.placements.topology import catalog
from railyard.placements.topology.torus import Torus

FOLDER = "admission"


@rfm.simple_test
class admission(rfm.RunOnlyRegressionTest):
    """Nodes and cables that are slower than their peers; those to use are in `good-nodes` of the output folder."""

    descr = "Slow nodes and cables, named in few launches by railyard admit"
    valid_systems = ["+torus %origin=emulated", "+torus %origin=measured"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    exclusive_access = True
    maintainers = ["railyard"]
    tags = {"admission"}

    #: Nodes to request from the scheduler; 0 for the partition's. A virtual torus has those of its topology.
    nodes = variable(int, value=0)

    #: Topology of the virtual torus that the job brings up; empty for the partition's.
    torus = variable(str, value="")

    #: Size of a message, and the percentage of the peers' median below which a pair is slow.
    #: :default: ``'auto'``, ``80.0``
    size = variable(str, value="auto")
    slow = variable(float, value=80.0)

    @run_before("run")
    @plainly()
    def choose_command(self) -> None:
        """Set the command of the job: railyard starts the launches, not ReFrame's launcher."""
        partition, where = self.current_partition, partition_of(self)
        launcher = launchers.selected(where.launch or partition.launcher_type.registered_name, where.features)
        is_emulated = where.origin == "emulated"
        words = ["--launcher", launcher.name, "--slow", str(self.slow), "--output", FOLDER]
        words += ["--size", self.size]
        topology = self.torus or where.topology
        if topology and (is_emulated or where.coordinates) and isinstance(catalog.load(topology), Torus):
            words += ["--topology", topology]
            words += [] if is_emulated else ["--coordinates", where.coordinates]
        self.executable = "railyard"
        self.executable_opts = ["admit", *map(shlex.quote, words), '--program "$(command -v pt2pt)"']
        self.job.launcher = getlauncher("local")()
        if is_emulated:
            Path(self.stagedir, "topology").write_text(f"{topology}\n")
        else:
            self.num_tasks, self.num_tasks_per_node = self.nodes or where.nodes, 1
        self.keep_files = [f"{FOLDER}/good-nodes", f"{FOLDER}/admission.json"]

    @sanity_function
    def every_node_is_good(self) -> Any:
        """Fail with the slow nodes and cables, or with the reason why the search is not sure."""
        if self.is_dry_run():
            return True
        if not (path := Path(self.stagedir, FOLDER, "admission.json")).is_file():
            return sn.assert_true(False, msg=last_error(self))
        self.result = json.loads(path.read_text())
        paths = [f"{name} between {one} and {other}" for name, one, other in self.result["slow_paths"]]
        wrong = [f"slow: {part}" for part in (*self.result["bad"], *paths)]
        wrong += [] if self.result["is_sure"] else ["the search is not sure: launch again"]
        return sn.assert_true(not wrong, msg="; ".join(wrong))

    @performance_function("nodes")
    def good_nodes(self) -> int:
        """Return how many nodes are to be used."""
        return len(self.result["good"])

    @performance_function("launches")
    def launches_made(self) -> int:
        """Return how many launches it took."""
        return int(self.result["launches"])
