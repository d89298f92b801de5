"""librailyard-counters as a user has it: installed, linked with a program of their own, run under mpirun.

The networks are trees of files, sound and broken; the Gemini's figures are those of Pedretti et al., CUG'13.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import counter_trees
from support.benchmark_runs import BIN, MPICC, ROOT, Outcome, mpirun, preload

Counted = Callable[..., Outcome]


def linked(target: Path, folder: Path, *flags: str) -> Path:
    """Link the user's program with the library of a folder."""
    source, library = (str(ROOT / "tests/data/counters_program.c"), [f"-L{folder}", "-lrailyard-counters", "-lm"])
    subprocess.run([MPICC, *flags, source, *library, "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's program, linked with the installed library alone."""
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", BIN.parent, "--prefix", prefix], check=True, capture_output=True, text=True)
    (library,) = prefix.rglob("librailyard-counters.a")
    target = linked(prefix / "counters_program", library.parent, f"-I{prefix}/include")
    assert (prefix / "share/railyard/counters/gemini.txt").is_file()
    return target


@pytest.fixture
def counted(program: Path, pretend_hosts: Path, tmp_path: Path) -> Counted:
    """Runs the program: counts of group in tree/%h, or tree, while `then` is run."""

    def run(group: str, ranks: int = 2, then: str = "true", per_node: int = 1, **env: str) -> Outcome:
        variables = {
            "RAILYARD_COUNTERS_GROUP": group,
            "RAILYARD_COUNTERS_ROOT": f"{tmp_path}/tree/%h",
            "RAILYARD_COUNTERS_JSON": f"{tmp_path}/counted.json",
            "TEST_RANKS_PER_NODE": str(per_node),
        }
        command: list[str | Path] = ["env", f"LD_PRELOAD={pretend_hosts}", program, then]
        return mpirun("-n", str(ranks), *command, env=variables | env)

    return run


def document(tmp_path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((tmp_path / "counted.json").read_text())
    assert read["format"] == "railyard-counters-library/1"
    return read


def links(tmp_path: Path) -> list[dict[str, Any]]:
    """What the only leader counted of each link."""
    (leader,) = document(tmp_path)["leaders"]
    found: list[dict[str, Any]] = leader["links"]
    return found


def assert_one_line(outcome: Outcome, *parts: str) -> None:
    assert outcome.status == 2, outcome
    assert len(outcome.error_lines) == 1, outcome.err
    assert outcome.err.startswith("railyard-counters: ")
    for part in parts:
        assert part in outcome.err


# ---- a file for each counter ----


def test_network_devices_of_every_node(counted: Counted, tmp_path: Path) -> None:
    """The file among the devices of a node with bonds is no device."""
    for host in ("n0", "n1"):
        counter_trees.net_device(tmp_path / "tree" / host, "nic0", {"tx_bytes": 1000, "tx_packets": 10})
        counter_trees.net_device(tmp_path / "tree" / host, "lo", {"tx_bytes": 5})
        counter_trees.bonding_masters(tmp_path / "tree" / host)
    file = f"{tmp_path}/tree/n1/sys/class/net/nic0/statistics"
    outcome = counted("linux-net", 4, f"echo 4000 > {file}/tx_bytes; echo 12 > {file}/tx_packets", per_node=2)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(tmp_path)
    assert [leader["host"] for leader in read["leaders"]] == ["n0", "n1"]
    (link,) = read["leaders"][1]["links"]
    assert link["link"] == "nic0" and link["counters"]["TX_BYTES"] == 3000
    assert link["metrics"]["sent_mean"] == 1500 and link["metrics"]["received_mean"] is None
    assert read["units"]["TX_BYTES"] == "bytes"
    assert "# total sent_bytes: 3000 bytes" in outcome.out


PORT = "sys/class/infiniband/{}/ports/1/counters"
ETHERNET = "sys/class/net/nic0/statistics"
TELEMETRY = "sys/class/cxi/cxi0/device/telemetry"


@pytest.mark.parametrize(
    ("group", "name", "files", "counts"),
    [
        # words of four bytes, flits of eight
        ("infiniband", "mlx5_0/1", {f"{PORT.format('mlx5_0')}/port_xmit_data": (100, 350)}, {"sent_bytes": 1000}),
        ("omni-path", "hfi1_0/1", {f"{PORT.format('hfi1_0')}/port_xmit_data": (100, 350)}, {"sent_bytes": 2000}),
        # mlx5 alone has timeouts
        (
            *("infiniband", "mlx5_0/1"),
            {f"{PORT.format('mlx5_0')}/symbol_error": (7, 9), f"{PORT.format('mlx5_0')}/link_downed": (0, 1)},
            {"symbol_errors": 2, "link_downs": 1, "ACK_TIMEOUTS": None},
        ),
        # packets and pauses are added up over traffic classes; values carry their time
        (
            *("slingshot", "cxi0"),
            {f"{TELEMETRY}/hni_pkts_sent_by_tc_{k}": ("0@1.1", "0@2.1" if k % 7 else "5@2.1") for k in range(8)},
            {"sent_packets": 10, "received_packets": None},
        ),
        (
            *("slingshot", "cxi0", {f"{TELEMETRY}/hni_sts_rx_ok_octets": ("7@1.5", "4096@1700000009.5")}),
            {"received_bytes": 4089},
        ),
        # backwards is not a number, but a counter goes on from zero after its last value
        ("linux-net", "nic0", {f"{ETHERNET}/tx_bytes": (1000, 5)}, {"TX_BYTES": None, "sent_bytes": None}),
        (*("linux-net", "nic0", {f"{ETHERNET}/tx_bytes": (2**64 - 1000, 24)}), {"TX_BYTES": 1024, "sent_bytes": 1024}),
        ("linux-net", "nic0", {f"{ETHERNET}/rx_bytes": (2**53, 2**53 + 1)}, {"RX_BYTES": 1}),
    ],
)
def test_what_a_link_counts(
    *,
    counted: Counted,
    tmp_path: Path,
    group: str,
    name: str,
    files: dict[str, tuple[int | str, int | str]],
    counts: dict[str, int | None],
) -> None:
    """`files` have their values before and after."""
    root = tmp_path / "tree" / "n0"
    counter_trees.net_device(root, "nic0", {})
    for each in ("mlx5_0", "hfi1_0"):
        counter_trees.rdma_port(root, each, {})
    counter_trees.cxi_adapter(root, "cxi0", {})
    for file, (before, _) in files.items():
        counter_trees.write(root / file, before)
    changes = "; ".join(f"echo {after} > {root / file}" for file, (_, after) in files.items())
    assert counted(group, 1, changes).status == 0
    (link,) = links(tmp_path)
    found = link["counters"] | link["metrics"]
    assert (link["link"], {each: found[each] for each in counts}) == (name, counts)


def test_ports_that_are_down_ethernet_or_another_drivers_are_left_out(counted: Counted, tmp_path: Path) -> None:
    root = tmp_path / "tree" / "n0"
    counter_trees.rdma_port(root, "mlx5_0", {})
    counter_trees.rdma_port(root, "mlx5_0", {}, port=2)
    counter_trees.rdma_port(root, "mlx5_1", {}, state="1: DOWN")
    counter_trees.rdma_port(root, "mlx5_2", {}, link_layer="Ethernet")
    counter_trees.efa_port(root, "rdmap0s6", {})
    for group, names in {"infiniband": ["mlx5_0/1", "mlx5_0/2"], "roce": ["mlx5_2/1"], "efa": ["rdmap0s6/1"]}.items():
        assert counted(group, 1).status == 0
        assert [link["link"] for link in links(tmp_path)] == names


@pytest.mark.parametrize(
    ("fabric", "name"), [("mlx5_0", "mlx5_0/1"), ("hfi1_0", "hfi1_0/1"), ("cxi0", "cxi0"), ("", "nic0")]
)
def test_the_group_is_that_of_the_fabric(counted: Counted, tmp_path: Path, fabric: str, name: str) -> None:
    root = tmp_path / "tree" / "n0"
    counter_trees.net_device(root, "nic0", {})
    if fabric == "cxi0":
        counter_trees.cxi_adapter(root, fabric, {})
    elif fabric:
        counter_trees.rdma_port(root, fabric, {})
    assert counted("auto", 1).status == 0
    assert [link["link"] for link in links(tmp_path)] == [name]


def test_routers_of_a_torus_have_one_leader_and_name_the_other_end(
    program: Path, pretend_hosts: Path, tmp_path: Path
) -> None:
    """Only rank 0 has the variables: Open MPI's mpirun passes none on to other nodes."""
    coordinates = tmp_path / "coordinates"
    coordinates.write_text("torus 4 1 1\nn0 0 0 0\nn1 0 0 0\nn2 3 0 0\n")
    for router in ("r0-0-0", "r3-0-0"):
        for port in ("x+", "x-", "h0"):
            for name in ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets", "tx_dropped"):
                counter_trees.write(tmp_path / "tree" / router / f"class/net/{port}/statistics" / name, len(port))
    variables = {
        "RAILYARD_COUNTERS_GROUP": "torus-links",
        "RAILYARD_COUNTERS_ROOT": f"{tmp_path}/tree",
        "RAILYARD_COUNTERS_COORDINATES": str(coordinates),
        "RAILYARD_COUNTERS_JSON": f"{tmp_path}/counted.json",
    }
    words = f"{program} 'echo 1502 > {tmp_path}/tree/r3-0-0/class/net/x+/statistics/rx_bytes'"
    unset = " ".join(f"-u {name}" for name in variables)
    script = f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec {words}; exec env {unset} {words}'
    outcome = mpirun("-n", "3", "env", f"LD_PRELOAD={pretend_hosts}", "sh", "-c", script, env=variables)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(tmp_path)
    assert [leader["leader"] for leader in read["leaders"]] == ["(0,0,0)", "(3,0,0)"]
    found = {link["link"]: link for link in read["leaders"][1]["links"]}
    assert {name: link["remote"] for name, link in found.items()} == {"X+": "(0,0,0)", "X-": "(2,0,0)", "H0": "(3,0,0)"}
    assert [link["counters"]["RX_BYTES"] for link in found.values()] == [0, 1500, 0]


def test_a_total_is_the_formula_of_sums(counted: Counted, tmp_path: Path) -> None:
    """The mean packet of two nodes, one of them with an idle device: no sum of means, and a number."""
    for host in ("n0", "n1"):
        for device in ("nic0", "nic1"):
            counter_trees.net_device(tmp_path / "tree" / host, device, {})
    done = []
    for host, size, packets in (("n0", 1000, 10), ("n1", 3000, 10)):
        folder = f"{tmp_path}/tree/{host}/sys/class/net/nic0/statistics"
        done.append(f"echo {size} > {folder}/tx_bytes; echo {packets} > {folder}/tx_packets")
    outcome = counted("linux-net", 2, "; ".join(done))
    assert outcome.status == 0
    assert "# total sent_mean: 200 bytes" in outcome.out and "# total received_mean: - bytes" in outcome.out


# ---- Gemini ----


def gemini(tmp_path: Path, name: str = "c0-0c0s0", file: str | None = None) -> dict[str, str]:
    """Two nodes of one Gemini at (0,1,1), a third on the next; zero counts."""
    for host, node in (("n0", f"{name}n0"), ("n1", f"{name}n1"), ("n2", f"{name}n2")):
        counter_trees.write(tmp_path / "tree" / host / "proc/cray_xt/cname", node)
        counter_trees.write(tmp_path / "tree" / host / "var/run/gpcd/counters", counter_trees.gpcd({}))
    path = tmp_path / "interconnect.txt"
    geminis = {"c0-0c0s0g0": (0, 1, 1), "c0-0c0s0g1": (0, 0, 1)}
    path.write_text(counter_trees.interconnect(geminis) if file is None else file)
    return {"RAILYARD_COUNTERS_INTERCONNECT": str(path)}


def test_tiles_add_up_to_the_links_of_the_papers_figure_4(counted: Counted, tmp_path: Path) -> None:
    where = gemini(tmp_path)
    (tmp_path / "after").write_text(counter_trees.gpcd(counter_trees.FIGURE_4))
    copy = f"cp {tmp_path}/after {tmp_path}/tree/n0/var/run/gpcd/counters"
    outcome = counted("gemini", 3, copy, **where)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(tmp_path)
    assert [leader["leader"] for leader in read["leaders"]] == ["(0,1,1)", "(0,0,1)"]
    links = {link["link"]: link for link in read["leaders"][0]["links"]}
    assert {name: tuple(link["counters"].values()) for name, link in links.items()} == counter_trees.FIGURE_4
    names = ["X+", "X-", "Y+", "Y-", "Z+", "Z-", "HH"]
    ends = ["(1,1,1)", "(15,1,1)", "(0,2,1)", "(0,0,1)", "(0,1,2)", "(0,1,0)", "(0,1,1)"]
    rates = [9.36, 9.36, 9.36, 4.68, 15.04, 15.04, 10.64]
    assert [(name, links[name]["remote"]) for name in names] == list(zip(names, ends, strict=True))
    assert [round(links[name]["rate_gbyte_s"], 2) for name in names] == rates
    assert links["X+"]["metrics"]["received_bytes"] == 3 * (1626452284 + 304999266)
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["(0,1,1)"] in lines
    assert ["X+", "(1,1,1)", "9.36", *map(str, counter_trees.FIGURE_4["X+"])] in lines


@pytest.mark.parametrize(
    ("spoil", "parts"),
    [
        (lambda text: text[:-20], ["line 80", "cut short"]),
        (lambda text: "".join(text.splitlines(keepends=True)[3:]), ["37 tiles", "c0-0c0s0g0", "expected 40"]),
        (lambda text: text.replace("c0-0c0s0g", "c3-1c2s7g"), ["no line for the Gemini c0-0c0s0g0", "machine"]),
        (lambda text: text.replace("mezzanine", "optical", 1), ["link type optical", "CLASS"]),
        (lambda text: "nonsense\n" + text, ["line 1", "rtr --interconnect", "nonsense"]),
        (lambda text: "", ["no line for the Gemini"]),
    ],
)
def test_broken_interconnect_files_are_one_line(
    counted: Counted, tmp_path: Path, spoil: Callable[[str], str], parts: list[str]
) -> None:
    good = counter_trees.interconnect({"c0-0c0s0g0": (0, 1, 1), "c0-0c0s0g1": (0, 0, 1)})
    where = gemini(tmp_path, file=spoil(good))
    assert_one_line(counted("gemini", 3, **where), "interconnect.txt", *parts)


def test_no_interconnect_file(counted: Counted, tmp_path: Path) -> None:
    gemini(tmp_path)
    where = {"RAILYARD_COUNTERS_INTERCONNECT": f"{tmp_path}/none.txt"}
    assert_one_line(counted("gemini", 2, **where), "none.txt: cannot be read")


def test_a_gemini_reading_cut_short_is_one_line(counted: Counted, tmp_path: Path) -> None:
    where = gemini(tmp_path)
    text = counter_trees.gpcd({})
    counter_trees.write(tmp_path / "tree/n2/var/run/gpcd/counters", text[: len(text) // 2])
    assert_one_line(counted("gemini", 3, **where), "tree/n2/", "GM_", "cut short")


def test_a_node_that_is_no_cray(counted: Counted, tmp_path: Path) -> None:
    where = gemini(tmp_path, name="login1:")
    assert_one_line(counted("gemini", 2, **where), "cname", "c0-0c0s3n2")


# ---- bad input ----


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["no line DEVICES"]),
        ("DEVICES a b\n", ["line 1", "DEVICES path"]),
        ("DEVICES a\nCOUNTER A bytes\n", ["line 2", "COUNTER name unit path"]),
        ("DEVICES a\nCOUNTER A bytes a\nMETRIC m bytes A +\n", ["line 3", "METRIC name unit formula"]),
        ("DEVICES a\nCOUNTER A bytes a\nMETRIC m bytes B\n", ["line 3", "named above"]),
        ("# group\n\nFREQUENCY 3\n", ["line 3", "FREQUENCY is no keyword"]),
        ("SOURCE papi\n", ["line 1", "SOURCE files or SOURCE gpcd"]),
        ("CLASS cable -1\n", ["line 1", "GB/s"]),
    ],
)
def test_broken_groups_are_one_line(counted: Counted, tmp_path: Path, text: str, parts: list[str]) -> None:
    path = tmp_path / "group.txt"
    path.write_text(text)
    assert_one_line(counted(str(path)), f"counter group {path}", *parts)


@pytest.mark.parametrize("text", ["", "no number", "-3"])
def test_a_counter_that_is_no_number(counted: Counted, tmp_path: Path, text: str) -> None:
    counter_trees.net_device(tmp_path / "tree/n0", "nic0", {})
    counter_trees.write(tmp_path / "tree/n0/sys/class/net/nic0/statistics/tx_bytes", text)
    assert_one_line(counted("linux-net", 1), "statistics/tx_bytes", "not a number")


def test_a_counter_that_one_node_may_not_read(counted: Counted, tmp_path: Path) -> None:
    """A folder in the file's place is refused to root, too."""
    for host in ("n0", "n1"):
        counter_trees.net_device(tmp_path / "tree" / host, "nic0", {})
    file = tmp_path / "tree/n1/sys/class/net/nic0/statistics/tx_bytes"
    file.unlink()
    file.mkdir()
    assert_one_line(counted("linux-net", 2), "tree/n1/", "tx_bytes: cannot be read")


# ---- sanitizers ----


@pytest.fixture(scope="module")
def sanitized_program(sanitized: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's program and the library, both with the address and undefined-behaviour sanitizers."""
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    target = tmp_path_factory.mktemp("sanitized-program") / "counters_program"
    return linked(target, sanitized.parent, *flags, f"-I{ROOT}/benchmarks/counters")


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_the_library_under_sanitizers(sanitized_program: Path, pretend_hosts: Path, tmp_path: Path, ranks: int) -> None:
    """Good, then each error path: no such group, no device on the last node, a counter that is no number, a report
    that cannot be written.
    """
    for rank in range(ranks):
        counter_trees.net_device(tmp_path / f"tree/n{rank}", "nic0", {})
        counter_trees.rdma_port(tmp_path / f"tree/n{rank}", "mlx5_0", {})
    shutil.rmtree(tmp_path / f"tree/n{ranks - 1}/sys/class/infiniband")
    broken = tmp_path / f"tree/n{ranks - 1}/sys/class/net/nic0/statistics/tx_bytes"

    def run(group: str, then: str = "true", **env: str) -> Outcome:
        variables = {"RAILYARD_COUNTERS_GROUP": group, "RAILYARD_COUNTERS_ROOT": f"{tmp_path}/tree/%h", **env}
        return mpirun("-n", str(ranks), *preload(pretend_hosts, sanitized_program), then, env=variables)

    assert (run("linux-net").status, run("auto").status) == (0, 2 if ranks > 1 else 0)
    assert_one_line(run("myrinet"), "counters/groups/myrinet.txt", "cannot be read")
    assert_one_line(run("infiniband"), f"counters of n{ranks - 1}", "sys/class/infiniband")
    assert_one_line(
        run("linux-net", RAILYARD_COUNTERS_OUTPUT="/no/such/folder/x"), "/no/such/folder/x", "cannot be written"
    )
    assert_one_line(run("linux-net", f"echo none > {broken}"), "not a number")
