"""A site's own file of a tree of three levels drives placements and link loads on the matching fat tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from support.commands import CHECKOUT
from support.topology import flies

from railyard.base.errors import InputError
from railyard.cli import cli
from railyard.placements.hosts import naming, sources
from railyard.placements.topology import catalog

PUBLIC = CHECKOUT / "tests/data/public"
#: Two pods of two leaves with two nodes.
LEVELS = {"levels": [{"children": 2, "parents": 1}, {"children": 2, "parents": 1}]}
YAML = """\
- topology: fabric
  tree:
    switches:
      - {switch: core, children: "pod[0-1]"}
      - {switch: pod0, children: "leaf[0-1]"}
      - {switch: pod1, children: "leaf[2-3]"}
      - {switch: leaf0, nodes: "yn[1-2]"}
      - {switch: leaf1, nodes: "yn[3-4]"}
      - {switch: leaf2, nodes: "yn[5-6]"}
      - {switch: leaf3, nodes: "yn[7-8]"}
"""


@pytest.fixture
def tree(tmp_path: Path) -> str:
    path = tmp_path / "tree.yml"
    path.write_text(yaml.safe_dump(flies.document("fat_tree", LEVELS)))
    return str(path)


def run(*words: object) -> str:
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(params=["slurm-islands/topology.conf", "topology.yaml", "ibnetdiscover-three-levels/dump.txt"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if "/" in request.param:
        return PUBLIC / str(request.param)
    (tmp_path / request.param).write_text(YAML)
    return tmp_path / str(request.param)


def test_loads_are_those_of_the_tree_whose_nodes_have_these_places(tree: str, site: Path, tmp_path: Path) -> None:
    located = sources.read(site)
    topology = catalog.load(tree)
    own = {at: iter([n.name for n in topology.nodes if n.coordinate == at]) for at in topology.coordinates}
    own_name = {name: next(own[at]) for name, at in naming.fitted(topology, located, "site").items()}
    scattered = list(own_name)[::3] + list(own_name)[1::3] + list(own_name)[2::3]
    (tmp_path / "hosts").write_text("\n".join(scattered))
    (tmp_path / "own").write_text("\n".join(map(own_name.__getitem__, scattered)))
    grid = (tree, "--grid", "4x2")
    by_site = (*grid, "--nodes", tmp_path / "hosts", "--coordinates", site)
    by_own = (*grid, "--nodes", tmp_path / "own")
    placements = ("--placements", "scheduler,by-group,by-switch", "--json")
    loads = [json.loads(run("links", *words, *placements).splitlines()[-1]) for words in (by_site, by_own)]
    assert loads[0] == loads[1] and loads[0]["by-group"]["slowest_s"] > 0
    placed = json.loads(run("place", *by_site, "--placement", "by-group", "--format", "json").splitlines()[-1])
    assert placed["groups"] == {"switches": 4, "groups": 2, "nodes_per_group": {"0": 4, "1": 4}}


def test_a_source_with_other_numbers_than_the_topology_is_refused(tree: str) -> None:
    leaves = sources.read(PUBLIC / "slurm-blocks/topology.conf")
    pods = sources.read(PUBLIC / "slurm-islands/topology.conf")
    for topology, located, told in (
        (catalog.load("gemini-2x2x2"), pods, "its coordinates are pod, leaf, those of gemini-2x2x2 are x, y, z"),
        (catalog.load(tree), leaves, "its coordinates are leaf, those of .* are group, switch"),
        (catalog.load(tree), sources.read(PUBLIC / "slurm-torus/topology.yaml"), "its coordinates are x, y, z"),
    ):
        with pytest.raises(InputError, match=told):
            naming.fitted(topology, located, "site")


def test_levels_above_the_pods_are_part_of_the_pods_number(tmp_path: Path) -> None:
    """Four levels: blocks of two pods of two leaves with one node, the second block listed first."""
    lines = [f"SwitchName=leaf{k} Nodes=n{k}" for k in range(8)]
    lines += [f"SwitchName=pod{k} Switches=leaf[{2 * k}-{2 * k + 1}]" for k in range(4)]
    lines += [f"SwitchName=block{k} Switches=pod[{2 * k}-{2 * k + 1}]" for k in range(2)]
    path = tmp_path / "topology.conf"
    path.write_text("\n".join([*lines[4:8], *lines[:4], *lines[8:], "SwitchName=core Switches=block[0-1]"]))
    located = sources.read(path)
    assert located.dimensions == ("block", "pod", "leaf") and located.coordinates["n0"] == (1, 0, 0)
    levels = {"levels": [{"children": 2, "parents": 1}] * 3}
    topology = catalog.parse(flies.document("fat_tree", levels), source="tree")
    at = naming.fitted(topology, located, "site")
    assert (at["n4"], at["n7"], at["n0"], at["n3"]) == ((0, 0, 0), (1, 1, 0), (2, 0, 0), (3, 1, 0))
    assert naming.named(topology, at).nodes[0].name == "n4"
