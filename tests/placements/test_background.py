"""What other jobs leave of the links: from counters, and what the optimiser and `railyard links` make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Run
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.linkload import background
from railyard.placements.linkload.background import LEAST, Background
from railyard.placements.linkload.model import PROTOCOLS, LinkLoads, load
from railyard.placements.linkload.traffic import stencil
from railyard.placements.orders.allocation import allocate, occupied
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import Effort
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology

GRID = (4, 4, 2)
FACES = stencil(GRID, (1e6,))


def counters(topology: Topology, bytes_of: dict[str, int]) -> dict[str, Any]:
    """Return a difference of two readings, ten seconds apart, in which links sent so many bytes at 8 Mbit/s."""
    links = [
        {"name": name, "dimension": name[0], "rate_mbit_s": 8.0, "bytes": size, "output_stall_ns": None}
        for name, size in bytes_of.items()
    ]
    return {
        "format": "railyard-counters/1",
        "topology": topology.sha256,
        "since": "2026-11-24T10:00:00.000000Z",
        "taken": "2026-11-24T10:00:10.000000Z",
        "links": links,
    }


def written(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_a_link_keeps_what_others_do_not_use(tmp_path: Path) -> None:
    topology = gemini("4x4x4")
    document = counters(topology, {"X+ 0,0,0>1,0,0": 4_000_000, "Y- 0,1,0>0,0,0": 99_000_000, "H+ n0-0-0>r0-0-0": 5})
    document["links"].append(
        {"name": "Z+ 0,0,0>0,0,1", "dimension": "Z", "rate_mbit_s": 8.0, "bytes": 0, "output_stall_ns": 2_500_000_000}
    )
    left = background.read(written(tmp_path / "counters", document), topology).left
    places = topology.link_places
    assert left.flat[places["X+ 0,0,0>1,0,0"]] == pytest.approx(0.6)
    assert left.flat[places["Y- 0,1,0>0,0,0"]] == LEAST
    assert left.flat[places["Z+ 0,0,0>0,0,1"]] == pytest.approx(0.75)  # idle, but stalled
    assert (left == 1).sum() == left.size - 3


def test_the_librarys_counters_count_what_arrives(tmp_path: Path) -> None:
    topology = gemini("4x4x4")
    link = {"link": "X+", "remote": "(1,0,0)", "rate_gbyte_s": 2.0, "metrics": {"received_bytes": 5e9}}
    unknown = {"link": "HH", "remote": None, "rate_gbyte_s": None, "metrics": {"received_bytes": 1}}
    document = {
        "format": "railyard-counters-library/1",
        "seconds": 10.0,
        "leaders": [{"leader": "(0,0,0)", "links": [link, unknown]}],
    }
    left = background.read(written(tmp_path / "counters", document), topology).left
    assert left.flat[topology.link_places["X- 1,0,0>0,0,0"]] == pytest.approx(0.75)
    assert (left == 1).sum() == left.size - 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something/1"}, "format"),
        ({"topology": "0" * 64}, "topology"),
        ({"since": None}, "one reading alone"),
        ({"taken": "2026-11-24T10:00:00.000000Z"}, "between the readings"),
        ({"links": []}, "no link of"),
        ({"links": [{"name": "X+ 0,0,0>1,0,0"}]}, "dimension"),
        ({"links": 7}, "not iterable"),
    ],
)
def test_counters_that_say_nothing_are_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    topology = gemini("4x4x4")
    document = counters(topology, {"X+ 0,0,0>1,0,0": 1}) | change
    with pytest.raises(InputError, match=message) as caught:
        background.read(written(tmp_path / "counters", document), topology)
    assert "\n" not in str(caught.value)


def loads(topology: Topology, nodes: Any) -> LinkLoads:
    return load(topology, nodes, FACES, PROTOCOLS["payload"])


@pytest.mark.built
@pytest.mark.parametrize("seed", range(2))
def test_links_that_others_fill_get_fewer_bytes(seed: int) -> None:
    topology = gemini("4x4x4", nodes_per_router=2)
    granted = occupied(allocate(topology), 40, seed)
    blind = place("optimised:1", granted, GRID, traffic=FACES)
    busiest = loads(topology, blind.indices).link_bytes.ravel()
    full = np.argsort(busiest)[-6:]
    left = np.ones(topology.link_rates.shape)
    left.flat[full] = LEAST
    effort = Effort(background=Background(left=left))
    seeing = place("optimised:1", granted, GRID, traffic=FACES, effort=effort)
    after = loads(topology, seeing.indices).link_bytes.ravel()
    assert after[full].sum() < busiest[full].sum() / 2


@pytest.mark.built
def test_the_commands_take_the_counters(tmp_path: Path, railyard: Run) -> None:
    topology = catalog.load("gemini-4x4x4")
    everything = {link.name: 9_000_000 for link in topology.first_rail if link.name.startswith("X+")}
    path = written(tmp_path / "counters", counters(topology, everything))
    shared = ("gemini-4x4x4", "--grid", "4x4x4", "--allocation", "random", "--seed", "1")
    before, after = (
        json.loads(railyard("links", *shared, "--placements", "plain", "--json", *more).stdout)["plain"]
        for more in ((), ("--background", str(path)))
    )
    assert after["hop_bytes"] == before["hop_bytes"]
    seconds = [{one["link"]: one["seconds"] for one in each["links"]} for each in (before, after)]
    loaded = next(name for name in everything if seconds[0][name] > 0)
    assert seconds[1][loaded] == pytest.approx(10 * seconds[0][loaded])
    done = railyard("place", *shared, "--placement", "optimised:1", "--background", str(path), "--format", "json")
    assert sorted(json.loads(done.stdout)["nodes"]) == sorted(node.name for node in topology.nodes)
    refused = railyard("place", *shared, "--placement", "plain", "--background", str(path))
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "optimised" in refused.stderr
