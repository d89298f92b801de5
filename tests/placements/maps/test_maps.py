"""Maps of nodes: dumps as public threads and repositories have them, in our own wording, read rightly or refused."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.commands import CHECKOUT, Run
from support.topology import map_dumps
from support.topology.map_dumps import graphs, matrix, nccl, rocm

from railyard.base.errors import InputError
from railyard.placements.maps import findings, readers
from railyard.placements.maps.node_map import NodeMap
from railyard.records import record

#: Two NICs per node under several policies; its second launch used the first NIC alone.
EXAMPLE = CHECKOUT / "results/example/vcluster-degraded/2026-11-23-48175bf9bf77.json"
MLX = [f"mlx5_{k}" for k in range(10)]
EIGHT_PIX = "\n".join(
    " ".join([str(gpu // 4), *("PIX" if nic == gpu else "NODE" if nic // 4 == gpu // 4 else "SYS" for nic in range(8))])
    for gpu in range(8)
)
PXB_PAIRS = "\n".join(
    " ".join([str((3, 1, 7, 5)[gpu // 2]), *("PXB" if nic // 2 == gpu // 2 else "SYS" for nic in range(10))])
    for gpu in range(8)
)
H200_BOND = "\n".join(f"{line} {'NODE' if at < 4 else 'SYS'}" for at, line in enumerate(EIGHT_PIX.splitlines()))
RCCL_16 = " ".join(
    f"{k}(b(b(b(g{4 * k}) b(g{4 * k + 1}) n{2 * k}:mlx5_{2 * k}) "
    f"b(b(g{4 * k + 2}) b(g{4 * k + 3}) n{2 * k + 1}:mlx5_{2 * k + 1})))"
    for k in range(4)
)
RCCL_940 = " ".join(
    f"{k}({' '.join(f'b(b(b(g{d})) n{d}:mlx5_{d})' for d in range(4 * k, 4 * k + 4))})" for k in range(2)
)
ROME = " ".join(f"{k}(b(b(b(g{2 * k})) b(b(g{2 * k + 1})) n{k}:mlx5_{2 * k + 1}))" for k in range(4))
NDV4 = " ".join(
    f"{k}(b({' '.join(f'G000{d}:00:00.0 N010{d}:00:00.0' for d in pair)}))" for k, pair in enumerate(("34", "12"))
)
UCX = "# Memory domain: mlx5_3\n#\n#      Transport: rc_mlx5\n#         Device: mlx5_3:1\n#           Type: network\n"
UCX += "#      Transport: self\n#         Device: memory0\n#      Transport: ud_mlx5\n#         Device: mlx5_3:1\n"
OFI = "provider: verbs;ofi_rxm\n    fabric: IB-0xfe80\n    domain: irdma0\n    version: 206.0\n    type: FI_EP_RDM\n"
OFI += "provider: shm\n    fabric: shm\n    domain: shm\n    version: 200.0\n    type: FI_EP_RDM\n"

#: Where a dump is from, its text as we write it, the NIC of each GPU, and the kinds of findings.
DUMPS: dict[str, tuple[str, str, dict[str, str], set[str]]] = {
    "h100": (
        "an environment report of sglang 0.5.14 on eight H100, found by its text `NIC Legend:`",
        matrix(EIGHT_PIX, MLX[:8]),
        {f"gpu{k}": f"mlx5_{k}" for k in range(8)},
        set(),
    ),
    "h200 with a bond": (
        "weiziyang.wiki/posts/gpu-networking/gpu_communication1",
        matrix(H200_BOND, ["mlx5_0", *(f"mlx5_{k}" for k in range(3, 10)), "mlx5_bond_0"]),
        {f"gpu{k}": f"mlx5_{k + 2 if k else 0}" for k in range(8)},
        set(),
    ),
    "a100 in pairs": (
        "a README with `CUDAMPI_compress`, found by its text `NIC Legend:`; like nccl-tests#78 and nccl#2157",
        matrix(PXB_PAIRS, MLX, "NV12"),
        {f"gpu{k}": f"mlx5_{k}" for k in range(8)},
        set(),
    ),
    "16 gpus, 8 nics": (
        "ROCm/rccl tools/topo_expl/models/topo_16p1h.xml at 0cbce2a",
        nccl(RCCL_16),
        {f"gpu{4 * k + j}": f"mlx5_{2 * k + j // 2}" for k in range(4) for j in range(4)},
        set(),
    ),
    "mi300": ("ROCm/rccl topo_8p_940.xml", nccl(RCCL_940), {f"gpu{k}": f"mlx5_{k}" for k in range(8)}, set()),
    "four nics of eight": (
        "ROCm/rccl topo_8p_rome_4nics.xml",
        nccl(ROME),
        {f"gpu{k}": f"mlx5_{k // 2 * 2 + 1}" for k in range(8)},
        set(),
    ),
    "three nics": (
        "ROCm/rccl topo_8p6l_3nic.xml",
        nccl("0(b(g0) b(g1) b(g2) b(g3) n0:mlx5_0 n1:mlx5_1) 1(b(g4) b(g5) b(g6) b(g7) n2:mlx5_2)"),
        {"gpu0": "mlx5_0", "gpu1": "mlx5_1", "gpu4": "mlx5_2", "gpu7": "mlx5_2"},
        {"shared NIC"},
    ),
    "one nic on one side": (
        "ROCm/rccl topo_3p_pcie.xml",
        nccl("0(b(g0) n0:mlx5_0) 1(b(g1) b(g2))"),
        {"gpu0": "mlx5_0", "gpu1": "mlx5_0", "gpu2": "mlx5_0"},
        {"no near NIC"},
    ),
    "azure without devices": (
        "Azure/azhpc-images topology/ndv4-topo.xml at 8e9d055",
        nccl(NDV4),
        {f"gpu-000{k}:00:00.0": f"nic-010{k}:00:00.0" for k in range(1, 5)},
        set(),
    ),
    "azure nc": (
        "Azure/azhpc-images topology/ncv4-topo.xml",
        nccl("0(g0 n0:eth0) 1(g1) 2(g2) 3(g3)"),
        dict.fromkeys(("gpu0", "gpu1", "gpu2", "gpu3"), "eth0"),
        {"no near NIC"},
    ),
    "aws p4d": (
        "aws/aws-ofi-nccl topology/p4d-24xl-topo.xml at 2daf7d3",
        nccl("0(b(G0000:10:1c.0 G0000:10:1d.0 N0000:10:1b.0) b(G0000:20:1c.0 G0000:20:1d.0 N0000:20:1b.0))"),
        {f"gpu-0000:{k}0:1{j}.0": f"nic-0000:{k}0:1b.0" for k in (1, 2) for j in "cd"},
        set(),
    ),
    "ring by net 3 and 0": (
        "NVIDIA/nccl#524",
        graphs("n3 g0 g1 g2 g3 n0", "n3 g0 g1 g2 g3 n0"),
        {"gpu0": "net3", "gpu3": "net0"},
        set(),
    ),
    "one nic for both": ("NVIDIA/nccl#1406", graphs("n0 g0 n0"), {"gpu0": "net0"}, set()),
    "rocm": ("ROCm/legacy-rocm-build#4740", rocm([0] * 4 + [1] * 4), {}, set()),
    "ucx": ("a page with `ucx_info -d|grep mlx5_3:1`", UCX, {}, set()),
    "ofi": ("notes on Google's H4D, found by `provider: verbs;ofi_rxm`", OFI, {}, set()),
}
#: Topologies in the words of `map_dumps`, whose dumps of NCCL, lstopo and node-info have to lead to one map.
NODES = {"16 gpus, 8 nics": RCCL_16, "mi300": RCCL_940, "four nics of eight": ROME}
REFUSED = {
    "aws g5 (topology/g5.48xl-topo.xml), which has bridges alone": (nccl("0(b() b()) 1()"), "no GPU and no NIC"),
    "nccl#1667: other ranks' graphs lack net": (graphs("g0", "g0"), "no channel has a net"),
    "kubernetes.recipes: a matrix whose header lacks columns": ("GPU0 GPU1\nGPU0 X NV18 0-51 0\n", "no row of GPU1"),
    "a log": ("NCCL INFO Bootstrap : Using eth0\n", "which no reader of maps does"),
    "a bomb": ('<!DOCTYPE a [<!ENTITY b "c">]><system version="1"></system>', "has an ENTITY"),
    "nothing": ("", "it is empty"),
}


@pytest.mark.parametrize("name", DUMPS)
def test_a_public_dump_is_read_as_it_says(name: str) -> None:
    _, text, wanted, kinds = DUMPS[name]
    made = readers.parse(text, "a", name)
    assert {gpu: made.assigned[gpu] for gpu in wanted} == {gpu: (nic,) for gpu, nic in wanted.items()}
    assert {finding.kind for finding in findings.findings([made])} == kinds
    assert made.gpus or made.nics


@pytest.mark.parametrize("name", REFUSED)
def test_what_says_nothing_of_nics_is_refused_in_one_line(name: str) -> None:
    text, words = REFUSED[name]
    with pytest.raises(InputError) as refused:
        readers.parse(text, "a", name)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_lists_name_the_nics_that_libraries_can_use() -> None:
    assert [nic.name for nic in readers.parse(UCX, "a", "ucx").nics] == ["mlx5_3"]
    assert [nic.name for nic in readers.parse(OFI, "a", "ofi").nics] == ["irdma0"]
    assert [gpu.numa for gpu in readers.parse(rocm([0, 3, -1]), "a", "rocm").gpus] == [0, 3, None]


#: Dumps whose devices are all named.
SPOILABLE = ("h100", "h200 with a bond", "a100 in pairs", "16 gpus, 8 nics", "mi300", "four nics of eight")


@pytest.mark.parametrize("seed", range(100))
def test_a_spoilt_dump_among_good_ones_is_refused_or_named(seed: int) -> None:
    draw = random.Random(seed)
    text = DUMPS[draw.choice(SPOILABLE)][1]
    spoil = map_dumps.SPOILT[seed % len(map_dumps.SPOILT)]
    good = [readers.parse(text, node, "good") for node in ("n1", "n2", "n4")]
    assert not findings.findings(good)
    spoilt = spoil(text, draw)
    assert spoilt != text
    try:
        made = readers.parse(spoilt, "n3", "spoilt")
    except InputError as error:
        assert "\n" not in str(error)
        return
    named = findings.findings([*good[:2], made, good[2]])
    assert {finding.node for finding in named} == {"n3"}, spoil.__name__


@pytest.mark.parametrize("name", NODES)
def test_one_node_by_nccl_lstopo_and_node_info_has_one_map(name: str) -> None:
    text = NODES[name]
    by_nccl = readers.parse(nccl(text), "a", name)
    for other in (map_dumps.hwloc(text), map_dumps.node_info(text)):
        made = readers.parse(other, "a", name)
        renamed = {gpu.name: own.name for gpu, own in zip(made.gpus, by_nccl.gpus, strict=True)}
        assert {renamed[gpu]: nics for gpu, nics in made.assigned.items()} == by_nccl.assigned
        assert {(renamed[gpu], nic): d for (gpu, nic), d in made.distances.items()} == by_nccl.distances
        assert not findings.findings([made])


@pytest.mark.parametrize("seed", range(40))
def test_a_dump_with_any_characters_changed_is_read_or_refused_in_one_line(seed: int) -> None:
    draw = random.Random(seed)
    texts = [text for _, text, _, _ in DUMPS.values()] + [map_dumps.hwloc(ROME), map_dumps.node_info(ROME)]
    text = list(draw.choice(texts))
    for _ in range(draw.randint(1, 6)):
        text[draw.randrange(len(text))] = draw.choice('0x9-. <>"\n\tGX{')
    try:
        findings.findings([readers.parse("".join(text), "a", "changed")])
    except InputError as error:
        assert "\n" not in str(error)


def test_the_order_of_devices_and_nodes_changes_no_verdict() -> None:
    draw = random.Random(3)
    text = DUMPS["mi300"][1]
    root = ElementTree.fromstring(text)
    for part in root.iter():
        part[:] = draw.sample(list(part), len(part))
    shuffled = readers.parse(ElementTree.tostring(root, encoding="unicode"), "n2", "shuffled")
    good, without = (
        readers.parse(dump, name, name) for dump, name in ((text, "n1"), (map_dumps.drop(text, draw), "n3"))
    )
    assert shuffled.assigned == good.assigned
    for maps in itertools.permutations([good, shuffled, without]):
        named = findings.findings(maps)
        assert {finding.node for finding in named} == {"n3"}, "the node that lacks a device"
        assert "where n" in next(finding.text for finding in named if finding.kind == "differs")


def counted(made: NodeMap, **sent: float) -> list[str]:
    return [f.text for f in findings.against_bytes([made], {(made.node, nic): size for nic, size in sent.items()})]


def test_bytes_on_other_nics_than_the_dumps_are_named() -> None:
    made = readers.parse(DUMPS["h100"][1], "n1", "dump")
    right = {f"mlx5_{k}": 1e9 for k in range(8)}
    assert counted(made, **right) == []
    half = {f"mlx5_{k}": 2e9 if k < 4 else 1e6 for k in range(8)}
    assert counted(made, **half)[0] == "the dump says mlx5_4 for gpu4, the counters say mlx5_0, mlx5_1, mlx5_2, mlx5_3"
    assert len(counted(made, **half)) == 4
    assert "mlx5_bond_0 sent 500 MB, and no GPU gets it" in counted(made, **right, mlx5_bond_0=5e8)
    assert "the counters have eth0" in counted(made, eth0=1e9)[0]


def test_the_bytes_of_a_record_are_those_of_one_of_its_launches(railyard: Run, tmp_path: Path) -> None:
    nics = record.load(EXAMPLE).launches[1].nics
    assert nics is not None
    nodes = sorted({node for node, _ in nics.pairs})
    for node in nodes:
        (tmp_path / f"{node}.xml").write_text(nccl("0(b(g0 n0:nic0)) 1(b(g1 n1:nic1))"))
    dumps = [str(tmp_path / f"{node}.xml") for node in nodes]
    idle = {(node, nic) for (node, nic), sent in nics.sent.items() if not sent}
    done = railyard("map", *dumps, "--bytes", str(EXAMPLE), "--launch", "1", "--json")
    findings = json.loads(done.stdout)["findings"]
    assert idle and {(f["node"], f["text"].split()[3]) for f in findings} == idle
    lacking = railyard("map", *dumps, "--bytes", str(EXAMPLE), "--launch", "999")
    assert lacking.returncode == 2 and "has no bytes of NICs in launch 999" in lacking.stderr


def test_a_node_that_differs_is_named_with_the_first_difference(railyard: Run, tmp_path: Path) -> None:
    paths = [tmp_path / f"n{k}.topo.xml" for k in range(3)]
    for path in paths:
        path.write_text(DUMPS["mi300"][1])
    paths[1].write_text(map_dumps.swap_nics(DUMPS["mi300"][1], random.Random(1)))
    sent = tmp_path / "sent"
    sent.write_text("".join(f"n{k} mlx5_{nic} 1000000\n" for k in range(3) for nic in range(8)))
    picture = tmp_path / "node.svg"
    done = railyard("map", *map(str, paths), "--bytes", str(sent), "--plot", str(picture))
    assert done.returncode == 1 and "n2: as n0" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "differs" in line]
    assert line.startswith("n1: differs: has ") and " where n0 has " in line
    assert "1 MB" in picture.read_text() and "gpu7" in picture.read_text()
    document = json.loads(railyard("map", str(paths[0]), "--json").stdout)
    assert document["findings"] == [] and document["nodes"][0]["gpus"][3]["nics"] == ["mlx5_3"]
    assert [nic["rail"] for nic in document["nodes"][0]["nics"]] == list(range(8))
