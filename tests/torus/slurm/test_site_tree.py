"""Slurm's own topology.conf of three levels places ranks: read, placed on the matching fat tree, started by srun."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from support.commands import Run
from support.topology import flies
from support.topology.tori import on_head, up

from railyard.placements.hosts import in_job, naming
from railyard.placements.topology import catalog
from railyard.torus.slurm import cluster as slurm

REASON = slurm.missing()
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(REASON), reason=REASON)]

#: Two pods of two leaves with two nodes.
LEVELS = {"levels": [{"children": 2, "parents": 1}, {"children": 2, "parents": 1}]}
ADDRESS = 'echo "$SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"'


def test_the_file_of_a_running_slurm_places_ranks_where_it_says(railyard: Run, torus_name: str, tmp_path: Path) -> None:
    cluster, tree = torus_name, tmp_path / "tree.yml"
    tree.write_text(yaml.safe_dump(flies.document("fat_tree", LEVELS)))
    up(railyard, cluster, "--slurm", topology=str(tree))
    topology = catalog.load(str(tree))
    own = {node.name: node.coordinate for node in topology.nodes}
    (tmp_path / "topology.conf").write_text(on_head(railyard, cluster, "scontrol", "show", "topology"))
    scattered = sorted(own, key=lambda name: name[::-1])
    (tmp_path / "hosts").write_text("\n".join(scattered))
    shared = [str(tree), "--grid", "4x2", "--nodes", str(tmp_path / "hosts")]
    by_slurm = [*shared, "--coordinates", str(tmp_path / "topology.conf")]
    loads = [railyard("links", *words, "--placements", "by-group", "--json") for words in (by_slurm, shared)]
    assert json.loads(loads[0].stdout) == json.loads(loads[1].stdout), loads[0].stderr
    words = ["--placement", "by-group", "--format", "openmpi-hostfile"]
    asked = railyard("place", *by_slurm, *words).stdout.split()
    assert [own[name][0] for name in asked] == [0] * 4 + [1] * 4, "pod after pod"
    file = tmp_path / "ranks"
    file.write_text("\n".join(asked) + "\n")
    step = ["--nodes=8", "--ntasks=8", "--distribution=arbitrary", "--label", "hostname"]
    ran = on_head(railyard, cluster, "env", f"SLURM_HOSTFILE={file}", "srun", *step)
    assert [host for _, host in sorted(re.findall(r"^(\d): (\S+)$", ran, re.M))] == asked
    told = railyard("torus", "srun", cluster, "--nodes=8", "--ntasks=8", "sh", "-c", ADDRESS)
    described = {
        name: {"switches": path, "pattern": pattern, "node_name": name}
        for name, path, pattern in (line.split() for line in told.stdout.splitlines())
    }
    located = in_job.coordinates(described)
    assert located is not None and naming.fitted(topology, located, "the nodes") == own
