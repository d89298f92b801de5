"""A virtual dragonfly, fat tree and pod of rails: a halo's bytes are on the links and NICs that the model names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.benchmark_runs import BIN
from support.commands import Run, executable
from support.topology import flies
from support.topology.tori import links, up, up_described

from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import face_bytes, stencil

FIXED = flies.document("dragonfly", {"groups": 4, "routers": 3}, nodes=1)
VALIANT = {"valiant_share": 0.5, "spread": "nodes"}
SMALL = {
    "dragonfly": flies.document("dragonfly", {"groups": 4, "routers": 3, "routes": VALIANT}, nodes=1),
    "fat-tree": flies.document(
        "fat_tree", {"levels": [{"children": 2, "parents": 2}, {"children": 3, "parents": 1}]}, nodes=2
    ),
}


@pytest.mark.parametrize("case", [(kind, network) for network in ("kernel", "router") for kind in SMALL], ids="-".join)
def test_a_halos_bytes_are_on_the_links_that_the_model_names(
    railyard: Run, torus_name: str, tmp_path: Path, case: tuple[str, str]
) -> None:
    """Twelve ranks, one per node; headers and MPI's own messages are within a tenth of the busiest link's bytes."""
    kind, network = case
    options = ("--rate-scale", "0.0001", "--network", network)
    topology = up_described(railyard, torus_name, tmp_path, SMALL[kind], *options)
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"{node.name}\n" for node in topology.nodes))
    before = links(railyard, torus_name)
    launch = ["-np", "12", "--map-by", "seq", "--hostfile", str(hosts), "--bind-to", "none", str(BIN / "halo")]
    halo = ["--grid", "4x3", "--cells", "8192", "--repeats", "2", "--warmups", "1"]
    done = railyard("torus", "mpirun", torus_name, "--", *launch, *halo)
    assert done.returncode == 0 and "every ghost cell verified" in done.stdout, done.stderr
    carried = {name: link["bytes"] - before[name]["bytes"] for name, link in links(railyard, torus_name).items()}
    loads = load(topology, np.arange(12), stencil((4, 3), face_bytes(8192, 2)[:1]), PROTOCOLS["payload"])
    predicted = {link.name: size for link, size, _ in loads.slowest(loads.link_s.size)}
    used = [name for name, size in predicted.items() if size]
    scale = float(np.median([carried[name] / predicted[name] for name in used]))
    most = scale * max(predicted.values())
    assert len(used) > len(predicted) / 4
    for name, size in predicted.items():
        assert carried[name] == pytest.approx(scale * size, abs=0.1 * most), name


@pytest.mark.parametrize(
    ("kind", "link_class", "fault"),
    [("dragonfly", "global", ("--lanes-lost", "2")), ("fat-tree", "cable", ("--down",))],
)
def test_topobw_names_a_bad_cable_and_no_other(
    railyard: Run, torus_name: str, tmp_path: Path, *, kind: str, link_class: str, fault: tuple[str]
) -> None:
    """Lanes lost in one direction, or a dead cable whose detour is as long and as fast, by another spine."""
    described = SMALL[kind] if kind == "fat-tree" else FIXED
    options = ("--rate-scale", "0.0001", "--network", "router")
    topology = up_described(railyard, torus_name, tmp_path, described, *options)
    bad = next(link for link in reversed(topology.first_rail) if link.link_class == link_class)
    assert railyard("torus", "fault", torus_name, bad.name, *fault).returncode == 0
    given = ["--coordinates", tmp_path / "coordinates", "--links", tmp_path / "links"]
    load_options = ["--size", "64KiB", "--messages", "4", "--tolerance", "20", "--json", tmp_path / "out.json"]
    launch = ["-q", "-np", str(len(topology.nodes)), str(BIN / "topobw"), *map(str, given + load_options)]
    done = railyard("torus", "mpirun", torus_name, "--", *launch)
    assert done.returncode == 5, done.stderr
    verdict = json.loads((tmp_path / "out.json").read_text())["verdict"]
    names = {bad.name, topology.reverse(bad).name} if fault == ("--down",) else {bad.name}
    assert [set(finding["links"]) for finding in verdict["findings"]] == [names]
    named = {link["link"] for link in verdict["links"] if link["state"] in ("slow", "detour")}
    assert named == names, "a sound link that only met the bad one is explained, and not slow"


#: A pod of four nodes with eight NICs.
POD, CELLS, MESSAGE_BYTES = "rail-pod-small", "16384", "131072"
#: The NIC of each local rank on all nodes, and on node n0-0-1; what is named.
SETTINGS = {
    "right": ((0, 2, 4, 6), (0, 2, 4, 6), ()),
    "half": ((0, 0, 2, 2), (0, 0, 2, 2), ("2 NICs of a node carry bytes in place of 4; idle: nic4, nic6",)),
    "crossed": ((0, 2, 4, 6), (2, 0, 4, 6), ("messages cross rails",)),
}


def test_half_of_the_nics_and_crossed_rails_are_named_and_the_right_setting_is_equal_to_the_message(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """The grid's first dimension is along the nodes, so that a rank's messages stay on its rail."""
    up(railyard, torus_name, topology=POD)
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"n{pod}-0-{slot}\n" * 4 for pod in (0, 1) for slot in (0, 1)))
    for name, (usual, other, words) in SETTINGS.items():
        script = executable(
            tmp_path / f"{name}.sh",
            "#!/bin/sh\n"
            f"nics='{' '.join(map(str, usual))}'\n"
            f"[ $(hostname) = n0-0-1 ] && nics='{' '.join(map(str, other))}'\n"
            'set -- $nics -- "$@"\n'
            'eval "export OMPI_MCA_btl_tcp_if_include=nic\\${$((OMPI_COMM_WORLD_LOCAL_RANK + 1))}"\n'
            'shift 5\nexec "$@"\n',
        )
        before, after = tmp_path / "before", tmp_path / "after"
        before.write_text(railyard("torus", "counters", torus_name, "--json").stdout)
        launch = ["-np", "16", "--map-by", "seq", "--hostfile", str(hosts), "--bind-to", "none", str(script)]
        halo = [str(BIN / "halo"), "--grid", "4x4", "--cells", CELLS, "--repeats", "2", "--warmups", "1"]
        done = railyard("torus", "mpirun", torus_name, "--", *launch, *halo)
        assert done.returncode == 0, done.stderr
        after.write_text(railyard("torus", "counters", torus_name, "--since", str(before), "--json").stdout)
        wanted = ["--ranks-per-node", "4", "--nics", "one-per-rank", "--placements", "cart-create"]
        traffic = ["--allocation", "contiguous", "--grid", "4x4", "--sizes", MESSAGE_BYTES]
        judged = railyard("links", POD, *traffic, *wanted, "--counted", str(after))
        assert judged.returncode == (1 if words else 0), judged.stdout
        assert all(word in judged.stdout for word in words), judged.stdout
        assert words or "32 NICs and 16 leaves, 5 rounds: equal the model's to the message" in judged.stdout
