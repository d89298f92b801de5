"""Where the nodes of real machines stand: every source's own form, cut off and broken too."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from support.commands import Run, refused
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.base.host_names import natural
from railyard.placements.hosts import naming, sources
from railyard.placements.hosts.hostlist import expand
from railyard.placements.hosts.sources import cray, slingshot
from railyard.placements.hosts.sources.located import NodeCoordinates
from railyard.placements.topology import catalog
from railyard.torus.slurm import cluster

INTERCONNECT = """\
c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1g0l32[(0,0,1)]\tLinkType: backplane
c0-0c0s0g0l02[(0,0,0)] X+ -> c1-0c0s0g0l02[(1,0,0)]\tLinkType: cable11x
c0-0c0s0g0l37[(0,0,0)] Y+ -> c0-0c0s0g1l37[(0,1,0)]\tLinkType: mezzanine
c0-0c0s0g0l06[(0,0,0)] Z- -> c0-0c0s1g0l26[(0,0,1)]\tLinkType: cable15z
"""
XTPROCADMIN = """\
  NID    (HEX)    NODENAME     TYPE    STATUS        MODE
    0      0x0  c0-0c0s0n0  service        up       batch
    1      0x1  c0-0c0s0n1  compute        up       batch
    2      0x2  c0-0c0s0n2  compute        up       batch
   33     0x21  c0-0c0s1n0  compute      down       batch
"""
DATABASE = """\
nid nodename type x_coord y_coord z_coord
4 c0-0c0s1n0 compute 0 0 1
5 c0-0c0s1n1 compute 0 0 1
6 c0-0c0s1n2 service 0 1 1
"""
SLINGSHOT = """\
src,dst,link_type,group
x1000c0r3j16p0,x1000c0s0b0n0h0,edge,0
x1000c0r7j16p0,x1000c0s0b0n0h1,edge,0
x1000c0r3j16p1,x1000c0s0b0n1h0,edge,0
x1000c0r7j18p0,x1000c0s1b0n0h0,edge,0
x1000c0r3j1p0,x1001c0r3j1p0,global,0
x1001c0r3j16p0,x1001c0s0b0n0h0,edge,1
"""
IBNETDISCOVER = """\
Switch\t36 "S-0002c902004a1b60"\t\t# "leaf-a" enhanced port 0 lid 2 lmc 0
[1]\t"H-0002c903000f1a2c"[1](2c903000f1a2d) \t\t# "node01 mlx5_0" lid 5 4xEDR
[2]\t"H-0002c903000f1a3c"[1](2c903000f1a3d) \t\t# "node02 mlx5_0" lid 6 4xEDR
[19]\t"S-0002c902004a1b80"[1]\t\t# "spine" lid 1 4xEDR

switchguid=0x2c902004a1b70(2c902004a1b70)
Switch\t36 "S-0002c902004a1b70"\t\t# "leaf-b" enhanced port 0 lid 3 lmc 0
[1]\t"H-0002c903000f1a4c"[1](2c903000f1a4d) \t\t# "node03 mlx5_0" lid 7 4xEDR
[2]\t"H-0002c903000f1a5c"[1](2c903000f1a5d) \t\t# "node01 mlx5_1" lid 8 4xEDR

switchguid=0x2c902004a1b80(2c902004a1b80)
Switch\t36 "S-0002c902004a1b80"\t\t# "spine" enhanced port 0 lid 1 lmc 0
[1]\t"S-0002c902004a1b60"[19]\t\t# "leaf-a" lid 2 4xEDR

vendid=0x2c9
caguid=0x2c903000f1a2c
Ca\t1 "H-0002c903000f1a2c"\t\t# "node01 mlx5_0"
[1](2c903000f1a2d) \t"S-0002c902004a1b60"[1]\t\t# lid 5 lmc 0 "leaf-a" lid 2 4xEDR
"""
SLURM = """\
# two leaves
SwitchName=leaf0 Nodes=n[00-01],m7 LinkSpeed=100
SwitchName=leaf1 \\
    Nodes=n02
SwitchName=spine Switches=leaf[0-1]
"""
CSV = "Name;Group;Switch;Port\nnid000001;0;3;16\nnid000002;1;0;2\nnid000003;;;\n"


def read(tmp_path: Path, text: str, kind: str | None = None) -> NodeCoordinates:
    path = tmp_path / "source"
    path.write_text(text)
    return sources.read(path, kind)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("interconnect", INTERCONNECT, {"c0-0c0s0n0": (0, 0, 0), "c0-0c0s0n3": (0, 1, 0), "c1-0c0s0n1": (1, 0, 0)}),
        ("xtprocadmin", DATABASE, {"nid00004": (0, 0, 1), "nid00005": (0, 0, 1)}),
        ("slingshot", SLINGSHOT, {"x1000c0s0b0n0": (0, 0, 0), "x1000c0s1b0n0": (0, 1, 0), "x1001c0s0b0n0": (1, 0, 0)}),
        ("ibnetdiscover", IBNETDISCOVER, {"node01": (0, 0, 0), "node02": (0, 0, 0), "node03": (1, 0, 0)}),
        ("slurm", SLURM, {"n00": (0, 0, 0), "m7": (0, 0, 0), "n02": (1, 0, 0)}),
        ("csv", CSV, {"nid000001": (0, 3, 16), "nid000002": (1, 0, 2)}),
        ("coordinates", "torus 2 2 2\nn1 1 0 1\n", {"n1": (1, 0, 1)}),
        ("coordinates", "torus 2 2 2 3\nn1 1 0 1 2\n", {"n1": (1, 0, 1, 2)}),
    ],
)
def test_every_source_is_recognised_and_read(
    tmp_path: Path, kind: str, text: str, expected: dict[str, tuple[int, ...]]
) -> None:
    found = read(tmp_path, text)
    assert found.kind == kind
    assert found.coordinates.items() >= expected.items()


def test_a_text_of_several_forms_is_of_the_first_and_no_two_sources_are_tried_at_once(tmp_path: Path) -> None:
    both = "SwitchName=leaf0 Nodes=x1000c0r3j16p0,x1000c0s0b0n0h0\n"
    assert all(sources.sources()[name].matches(both) for name in ("slurm", "slingshot"))
    assert read(tmp_path, both).kind == "slurm"
    tried = [source.precedence for source in sources.sources().values()]
    assert tried == sorted(set(tried))


def test_nodes_of_which_nothing_is_said_have_no_coordinate(tmp_path: Path) -> None:
    assert "nid000003" not in read(tmp_path, CSV).coordinates
    assert "nid00006" not in read(tmp_path, DATABASE).coordinates, "a service node"


def test_xtprocadmin_gives_the_hosts_of_interconnect_txt(tmp_path: Path, railyard: Run) -> None:
    links, table = tmp_path / "interconnect.txt", tmp_path / "xtprocadmin.txt"
    links.write_text(INTERCONNECT)
    table.write_text(XTPROCADMIN)
    found = cray.renamed(sources.read(links), cray.read_hosts(table)[0], str(table))
    assert found.coordinates == {"nid00001": (0, 0, 0), "nid00002": (0, 1, 0), "nid00033": (0, 0, 1)}
    shown = railyard("coordinates", str(links), "--names", str(table), "--topology", "gemini-4x4x4-two-nodes").stdout
    assert shown.splitlines() == ["torus 4 4 4", "nid00001 0 0 0", "nid00033 0 0 1", "nid00002 0 1 0"]
    (tmp_path / "coordinates").write_text(shown)
    assert sources.read(tmp_path / "coordinates").coordinates == found.coordinates, "what is printed can be read"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty; expected"),
        ("hello world\n", "line 1: begins with 'hello world'"),
        ("NodeName=cn1 State=IDLE\n", "scontrol show topology"),
        (XTPROCADMIN, "columns x, y, z"),
        ("n0 0 0 0\nn0 1 0 0\n", "it was at 0,0,0"),
        ("SwitchName=a Nodes=n[1-\n", "numbers and ranges"),
        ("SwitchName=spine Switches=leaf0\n", "at least one node"),
        ("node,x,y,z\na,1,2\n", "4 columns"),
        ("node,x,y,z\na,1,two,3\n", "'two'"),
    ],
)
def test_what_is_cut_off_or_wrong_is_one_line(tmp_path: Path, railyard: Run, text: str, told: str) -> None:
    path = tmp_path / "source"
    path.write_text(text)
    refused(railyard("coordinates", str(path)), told, str(path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (INTERCONNECT[:120], (4, "1 line passed over: line 2")),
        (IBNETDISCOVER.replace("node02 mlx5_0", "node02"), (2, "line 3: 'node02'; expected HOST DEVICE")),
        (IBNETDISCOVER.replace("[2]\t", "[2] -> "), (2, "2 lines passed over, the first line 3")),
        (SLURM + "SwitchName=leaf7 Nodes=n[9-3]\n", (4, "the smaller number first")),
        (CSV + "nid7;a;b;c\nnid8;0\n", (2, "2 lines passed over, the first line 5: 'a'")),
        ("a 1 2 3\nb 1 2\nc 1 2 3\n", (2, "line 2: 'b 1 2'; expected HOST X Y Z")),
    ],
)
def test_one_odd_line_is_reported_and_does_not_refuse_the_rest(
    tmp_path: Path, railyard: Run, text: str, expected: tuple[int, str]
) -> None:
    nodes, told = expected
    path = tmp_path / "source"
    path.write_text(text)
    done = railyard("coordinates", str(path), "--json")
    assert done.returncode == 0 and len(json.loads(done.stdout)["stands"]) == nodes
    assert told in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n0", ["n0"]),
        ("n[0-2,07],m1", ["n0", "n1", "n2", "n07", "m1"]),
        ("n[0-1], m[3]x", ["n0", "n1", "m3x"]),
        ("n[0-1]-[08-10]", ["n0-08", "n0-09", "n0-10", "n1-08", "n1-09", "n1-10"]),
    ],
)
def test_host_lists_as_slurm_writes_them(text: str, expected: list[str]) -> None:
    assert expand(text) == expected


def test_names_with_long_numbers_are_in_natural_order() -> None:
    long = "9" * 5000
    assert sorted([f"n{long}", "n10", "n9", "n007", "n0", "n"], key=natural) == [
        "n",
        "n0",
        "n007",
        "n9",
        "n10",
        f"n{long}",
    ]
    assert natural("n07") == natural("n7")
    with contextlib.suppress(InputError):
        slingshot.parse(f"x1000c0r{long}j1p0 x1000c0s0b0n{long}h{long}\nx1000c0r{long} x1000c0s0b0n{long}h0\n", "s")


def test_names_stand_on_the_topology_and_do_not_change_it() -> None:
    topo = gemini("2x1x1", nodes_per_router=2)
    named = naming.named(topo, {"nid1": (1, 0, 0), "nid0": (0, 0, 0), "nid2": (1, 0, 0)})
    assert [node.name for node in named.nodes] == ["nid0", "n0-0-0-1", "nid1", "nid2"]
    assert named.sha256 == topo.sha256
    for coordinates, told in (({"a": (2, 0, 0)}, "2,0,0"), (dict.fromkeys("abc", (0, 0, 0)), "node 3 at 0,0,0")):
        with pytest.raises(InputError, match=told):
            naming.named(topo, coordinates)


@pytest.mark.parametrize("name", ["gemini-4x4x4-two-nodes", "catalyst-dual-rail"])
def test_our_own_topology_conf_says_which_nodes_share_a_switch(tmp_path: Path, name: str) -> None:
    """What `torus up --slurm` tells Slurm, read back by the parser of what Slurm's users have."""
    topo = catalog.load(name)
    text = cluster.files("c", topo, tmp_path)["topology.conf"]
    found = read(tmp_path, text).coordinates
    at = {node.name: node.coordinate for node in topo.nodes}
    pairs = {(found[node], at[node]) for node in at}
    assert len(pairs) == len({*found.values()}) == len({*at.values()}), "a switch is one router"


REAL = """\
node,x,y,z
nid000001,1,0,0
nid000002,0,1,0
nid000003,0,0,1
nid000004,1,1,1
"""


def on_a_real_machine(tmp_path: Path, hosts: str) -> list[str]:
    """The shared words of `place` and `links` for a host list and coordinates as a site has them."""
    (tmp_path / "hosts").write_text(hosts)
    (tmp_path / "where.csv").write_text(REAL)
    files = ["--nodes", str(tmp_path / "hosts"), "--coordinates", str(tmp_path / "where.csv")]
    return ["gemini-2x2x2", "--grid", "4", *files]


@pytest.mark.parametrize(
    "hosts",
    [
        "nid000003\nnid000001\nnid000002\nnid000004\n",
        "nid000003.site.org slots=4\nnid000001.site.org\nnid000002.site.org\nnid000004.site.org\n",
        "nid000003\nnid[000001-000002],nid000004\n",
    ],
    ids=["short", "with-domain", "host-list"],
)
def test_a_real_host_list_is_placed_by_its_coordinates(tmp_path: Path, railyard: Run, hosts: str) -> None:
    shared = on_a_real_machine(tmp_path, hosts)
    placed = railyard("place", *shared, "--placement", "scheduler", "--format", "openmpi-hostfile")
    assert [name.partition(".")[0] for name in placed.stdout.split()] == [f"nid00000{k}" for k in (3, 1, 2, 4)], (
        placed.stderr
    )
    table = railyard("place", *shared, "--placement", "snake", "--format", "coordinates").stdout
    assert "nid000003" in table and " 0 0 1" in table
    loads = railyard("links", *shared, "--placements", "plain,snake")
    assert loads.returncode == 0 and "predicted on gemini-2x2x2" in loads.stdout, loads.stderr


def test_a_host_without_a_place_is_one_line_and_without_any_place_some_placements_are_left(
    tmp_path: Path, railyard: Run
) -> None:
    strange = railyard("place", *on_a_real_machine(tmp_path, "nid000001\nnid000099\n"), "--placement", "plain")
    assert strange.returncode != 0 and "nid000099" in strange.stderr and "Traceback" not in strange.stderr
    (tmp_path / "hosts").write_text("n1\nn2\n")
    unknown = ["unknown", "--grid", "4", "--ranks-per-node", "2", "--nodes", str(tmp_path / "hosts")]
    plain = railyard("place", *unknown, "--placement", "plain", "--launcher", "slurm")
    assert "n1*2\nn2*2\n" in plain.stdout, plain.stderr
    hilbert = railyard("place", *unknown, "--placement", "hilbert")
    assert hilbert.returncode != 0 and "without coordinates" in hilbert.stderr
    assert "whose links are known" in railyard("links", *unknown).stderr
