"""What benchmarks and railyard-witness count of the NICs of their nodes: fake /sys trees, a virtual torus's devices.

The trees follow Documentation/ABI/stable/sysfs-class-infiniband of the kernel, drivers/infiniband/hw/hfi1 and HPE's cxi
driver.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import counter_trees
from support.benchmark_runs import BIN, MPICC, Outcome, mpirun, preload
from support.commands import Run
from support.mpis import nic_evidence

from railyard.jobs.nodes.counted import Counted
from railyard.placements.topology import catalog
from railyard.records.folded import health, ranks

WITNESS = BIN / "railyard-witness"
HALO = ["--cells", "4x4x4", "--repeats", "1", "--warmups", "0"]

Launched = Callable[..., dict[str, Any]]


def nics(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text())
    assert read["format"] == "railyard-nics/1"
    return read


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that is not railyard's: its rank 0 runs a shell command."""
    source = tmp_path_factory.mktemp("foreign") / "foreign.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdlib.h>\n"
        "int main(int argc, char **argv) {\n"
        "    int rank = 0;\n"
        "    MPI_Init(&argc, &argv);\n"
        "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "    int bad = rank == 0 && system(argv[1]) != 0;\n"
        "    MPI_Finalize();\n"
        "    return bad;\n"
        "}\n"
    )
    subprocess.run([MPICC, "-o", source.with_suffix(""), source], check=True)
    return source.with_suffix("")


@pytest.fixture
def launched(program: Path, pretend_hosts: Path, tmp_path: Path) -> Launched:
    """Run the program, whose rank 0 runs a command, on the hosts of tree/n<rank / per_node>; what was counted."""

    def run(command: str, ranks: int, per_node: int = 1) -> dict[str, Any]:
        env = {
            "RAILYARD_NICS": f"{tmp_path}/launch.nics",
            "RAILYARD_SYSFS": f"{tmp_path}/tree/%h",
            "TEST_RANKS_PER_NODE": str(per_node),
            "LD_PRELOAD": str(pretend_hosts),
        }
        words = ["env", *(f"{name}={value}" for name, value in env.items())]
        outcome = mpirun("-n", str(ranks), *words, WITNESS, tmp_path / "witness", program, command)
        assert (outcome.status, outcome.err) == (0, "") and (tmp_path / "witness").exists()
        return nics(tmp_path / "launch.nics")

    return run


def infiniband(root: Path) -> tuple[str, int]:
    """Two ports, of which one is down; the file of the counter of the other, and its unit."""
    counter_trees.rdma_port(root, "mlx5_0", {"port_xmit_data": 7})
    counter_trees.rdma_port(root, "mlx5_1", {}, state="1: DOWN")
    return "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", 4


def omni_path(root: Path) -> tuple[str, int]:
    counter_trees.rdma_port(root, "hfi1_0", {"port_xmit_data": 7})
    return "sys/class/infiniband/hfi1_0/ports/1/counters/port_xmit_data", 8


def slingshot(root: Path) -> tuple[str, int]:
    counter_trees.cxi_adapter(root, "cxi0", {"hni_sts_tx_ok_octets": 7})
    return "sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets", 1


def efa(root: Path) -> tuple[str, int]:
    counter_trees.efa_port(root, "rdmap0s6", {"tx_bytes": 7})
    return "sys/class/infiniband/rdmap0s6/ports/1/hw_counters/tx_bytes", 1


@pytest.mark.parametrize(
    ("node", "group", "nic"),
    [
        (infiniband, "infiniband", "mlx5_0:1"),
        (omni_path, "omni-path", "hfi1_0:1"),
        (slingshot, "slingshot", "cxi0"),
        (efa, "efa", "rdmap0s6:1"),
    ],
)
def test_the_bytes_of_each_nic_of_a_foreign_program(
    *, launched: Launched, tmp_path: Path, node: Callable[[Path], tuple[str, int]], group: str, nic: str
) -> None:
    """Two nodes of two ranks, each with a management network; the second node's NIC sends."""
    for host in ("n0", "n1"):
        file, unit = node(tmp_path / "tree" / host)
        counter_trees.net_device(tmp_path / "tree" / host, "eth0", {})
    stamp = "@1700000009.5" if group == "slingshot" else ""
    read = launched(f"echo 1007{stamp} > {tmp_path}/tree/n1/{file}", 4, per_node=2)
    rows = {(row["node"], row["nic"]): (row["group"], row["tx_bytes"]) for row in read["nics"]}
    ethernet = {(host, "eth0"): ("linux-net", 0) for host in ("n0", "n1")}
    assert rows == {("n0", nic): (group, 0), ("n1", nic): (group, 1000 * unit), **ethernet}
    assert read["reason"] is None


#: A node of each stack: source of the files' form, its NIC, files before and after, and what these are: event, kind,
#: before and after. Numbers are made up.
STACKS: dict[str, tuple[str, dict[str, tuple[str, str]], set[tuple[str, str, int, int]]]] = {
    # Documentation/ABI/testing/sysfs-class-net-statistics, sysfs-class-net, sysfs-bus-pci-devices-aer_stats
    "linux-net": (
        "eth0",
        {
            "sys/class/net/eth0/statistics/rx_crc_errors": ("2", "9"),
            "sys/class/net/eth0/carrier_down_count": ("1", "2"),
            "sys/class/net/eth0/speed": ("100000", "25000"),
            "sys/class/net/eth0/device/aer_dev_correctable": ("RxErr 1\nTOTAL_ERR_COR 1", "RxErr 4\nTOTAL_ERR_COR 4"),
            "sys/class/net/eth0/device/current_link_width": ("16", "8"),
        },
        {
            ("CRC_ERRORS", "count", 2, 9),
            ("LINK_DOWNS", "count", 1, 2),
            ("SPEED", "state", 100000, 25000),
            ("PCIE_CORRECTED", "count", 1, 4),
            ("PCIE_WIDTH", "state", 16, 8),
        },
    ),
    # Documentation/ABI/stable/sysfs-class-infiniband; counters of 4, 8 and 16 bits stop at their largest value
    "infiniband": (
        "mlx5_0:1",
        {
            "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": ("65535", "65535"),
            "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed": ("1", "2"),
            "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_wait": ("5", "900"),
            "sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err": ("4294967290", "6"),
            "sys/class/infiniband/mlx5_0/ports/1/rate": ("400 Gb/sec (4X NDR)", "100 Gb/sec (1X NDR)"),
            "sys/class/infiniband/mlx5_0/device/aer_dev_correctable": ("TOTAL_ERR_COR 2", "TOTAL_ERR_COR 5"),
        },
        {
            ("LINK_DOWNS", "count", 1, 2),
            ("XMIT_WAIT", "congestion", 5, 900),
            ("ACK_TIMEOUTS", "wrap", 4294967290, 6),
            ("RATE", "state", 400, 100),
            ("PCIE_CORRECTED", "count", 2, 5),
        },
    ),
    # NVIDIA, "Understanding mlx5 Linux counters and status parameters": out_of_sequence, np_cnp_sent
    "roce": (
        "mlx5_2:1",
        {
            "sys/class/infiniband/mlx5_2/ports/1/hw_counters/out_of_sequence": ("3", "40"),
            "sys/class/infiniband/mlx5_2/ports/1/hw_counters/np_cnp_sent": ("7", "8"),
        },
        {("OUT_OF_SEQUENCE", "count", 3, 40), ("CNP_SENT", "congestion", 7, 8)},
    ),
    # HPE's cxi driver: telemetry files "VALUE@SECONDS.NANOSECONDS", link/speed "BS_200G"
    "slingshot": (
        "cxi0",
        {
            "sys/class/cxi/cxi0/device/telemetry/pct_sct_timeouts": ("1@1700000000.5", "3@1700000009.5"),
            "sys/class/cxi/cxi0/device/telemetry/hni_pcs_uncorrected_cw": ("90049@1700000000.5", "90050@1700000009.5"),
            "sys/class/cxi/cxi0/device/port/0/link/speed": ("BS_200G", "BJ_100G"),
        },
        {("TIMEOUTS", "count", 1, 3), ("UNCORRECTED_CW", "count", 90049, 90050), ("SPEED", "state", 200, 100)},
    ),
    # Linux, drivers/infiniband/hw/hfi1/mad.c: the counters of sysfs-class-infiniband
    "omni-path": (
        "hfi1_0:1",
        {
            "sys/class/infiniband/hfi1_0/ports/1/counters/local_link_integrity_errors": ("20", "25"),
            "sys/class/infiniband/hfi1_0/ports/1/counters/symbol_error": ("70000", "0"),
        },
        {("REPLAYS", "count", 20, 25), ("SYMBOL_ERRORS", "reset", 70000, 0)},
    ),
    # Linux, drivers/infiniband/hw/efa/efa_verbs.c: hardware counters
    "efa": (
        "rdmap0s6:1",
        {
            "sys/class/infiniband/rdmap0s6/ports/1/hw_counters/rx_drops": ("7", "9"),
            "sys/class/infiniband/rdmap0s6/ports/1/hw_counters/retrans_timeout_events": ("1", "2"),
        },
        {("RX_DROPS", "count", 7, 9), ("TIMEOUTS", "count", 1, 2)},
    ),
    # Documentation/ABI/testing/sysfs-devices-edac; RFC 4022; arch/x86/kernel/cpu/mce/therm_throt.c
    "node": (
        "",
        {
            "sys/devices/system/edac/mc/mc1/ce_count": ("4", "6"),
            "sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count": ("0", "1"),
            "proc/net/snmp": (
                "Ip: A\nIp: 1\nTcp: A RetransSegs\nTcp: 70 5",
                "Ip: A\nIp: 1\nTcp: A RetransSegs\nTcp: 9 8",
            ),
            "proc/net/netstat": ("TcpExt: A TCPTimeouts\nTcpExt: 9 5", "TcpExt: A TCPTimeouts\nTcpExt: 9 8"),
        },
        {
            ("MEMORY_CORRECTED", "count", 4, 6),
            ("HOT_CORES", "count", 0, 1),
            ("TCP_RETRANSMITTED", "count", 5, 8),
            ("TCP_TIMEOUTS", "count", 5, 8),
        },
    ),
}


def trees(root: Path) -> None:
    """A node for each stack, n0 and so on."""
    names = list(STACKS)
    counter_trees.net_device(root / f"n{names.index('linux-net')}", "eth0", {})
    counter_trees.rdma_port(root / f"n{names.index('infiniband')}", "mlx5_0", {})
    counter_trees.rdma_port(root / f"n{names.index('roce')}", "mlx5_2", {}, link_layer="Ethernet")
    counter_trees.cxi_adapter(root / f"n{names.index('slingshot')}", "cxi0", {})
    counter_trees.rdma_port(root / f"n{names.index('omni-path')}", "hfi1_0", {})
    counter_trees.efa_port(root / f"n{names.index('efa')}", "rdmap0s6", {})
    for host, (_, files, _) in enumerate(STACKS.values()):
        for path, (before, _) in files.items():
            counter_trees.write(root / f"n{host}" / path, before)


def changed(launched: Launched, folder: Path, script: str) -> dict[str, Any]:
    """The health of a launch on a node of each stack, whose files a Python script changes meanwhile."""
    (folder / "change.py").write_text(script)
    read = launched(f"env -u LD_PRELOAD {sys.executable} {folder}/change.py", len(STACKS))["health"]
    return health.document(read["read"], read["not_read"], read["events"])


def test_the_faults_of_each_stack_have_the_values_of_its_files_and_what_no_driver_has_is_not_zero(
    launched: Launched, tmp_path: Path
) -> None:
    trees(tmp_path / "tree")
    new = {
        str(tmp_path / "tree" / f"n{host}" / path): f"{after}\n"
        for host, (_, files, _) in enumerate(STACKS.values())
        for path, (_, after) in files.items()
    }
    read = changed(launched, tmp_path, f"for path, text in {new!r}.items(): open(path, 'w').write(text)")
    for host, (group, (nic, _, wanted)) in enumerate(STACKS.items()):
        events = [event for event in read["events"] if event["node"] == f"n{host}"]
        found = {(event["event"], event["kind"], event["before"], event["after"]) for event in events}
        assert (found, {event["nic"] for event in events}) == (wanted, {nic}), group
    reasons = read["not_read"]["infiniband"]
    assert (reasons["SYMBOL_ERRORS"], reasons["RCV_ERRORS"]) == ("the counter is full", "no such file")
    assert reasons["FEC"] == "mlxlink and perfquery alone show FEC and its corrected blocks"
    assert read["not_read"]["node"]["HOT_CORES"] == "no such file"


def test_a_nic_that_vanishes_or_is_renamed_is_gone_and_one_that_was_set_back_wrapped_nowhere(
    launched: Launched, tmp_path: Path
) -> None:
    trees(tmp_path / "tree")
    port = "n1/sys/class/infiniband/mlx5_0/ports/1"
    counter_trees.write(tmp_path / f"tree/{port}/counters/port_rcv_errors", "9")
    script = (
        f"import os, shutil; os.chdir({str(tmp_path / 'tree')!r})\n"
        "shutil.rmtree('n3/sys/class/cxi/cxi0')\n"
        "os.rename('n0/sys/class/net/eth0', 'n0/sys/class/net/eth7')\n"
        f"for name, value in (('counters/port_rcv_errors', 0), ('hw_counters/local_ack_timeout_err', 6)):\n"
        f"    open('{port}/' + name, 'w').write(str(value))\n"
    )
    read = changed(launched, tmp_path, script)
    found = sorted((event["node"], event["nic"], event["kind"]) for event in read["events"])
    assert found == [
        ("n0", "eth0", "gone"),
        ("n1", "mlx5_0:1", "reset"),
        ("n1", "mlx5_0:1", "reset"),
        ("n3", "cxi0", "gone"),
    ]


@pytest.mark.parametrize("start", ["mpi_init_(&code)", "mpi_init_thread_(&wanted, &wanted, &code)"])
def test_a_program_that_starts_mpi_as_fortran_does_leaves_a_witness(tmp_path: Path, start: str) -> None:
    """SNAP, whose main is Fortran, left none: its MPI starts by functions of other names. The NICs are counted, too."""
    source = tmp_path / "fortran.c"
    source.write_text(
        "#include <mpi.h>\n"
        "void mpi_init_(int *); void mpi_init_thread_(int *, int *, int *); void mpi_finalize_(int *);\n"
        f"int main(void) {{ int wanted = 0, code = 0; (void)wanted; {start}; mpi_finalize_(&code); return code; }}\n"
    )
    program = source.with_suffix("")
    subprocess.run([MPICC, "-o", program, source, "-lmpi_mpifh"], check=True)
    env = {"RAILYARD_NICS": f"{tmp_path}/launch.nics"}
    outcome = mpirun("-n", "3", WITNESS, tmp_path / "witness", program, env=env)
    assert (outcome.status, outcome.err) == (0, "")
    witness = json.loads((tmp_path / "witness").read_text())
    assert len(ranks.of_nodes(witness["ranks"], "witness", "ranks")) == 3
    assert nics(tmp_path / "launch.nics")["reason"] is None


def halo(pretend_hosts: Path, ranks: int, folder: Path = BIN, **env: str) -> Outcome:
    """A benchmark, each of whose ranks has a node; the variables are those of rank 0 alone."""
    unset = " ".join(f"-u {name}" for name in env)
    words = " ".join(map(str, [folder / "halo", *HALO]))
    script = f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec {words}; exec env {unset or "-u NOTHING"} {words}'
    preloaded = preload(pretend_hosts, folder / "halo")[1]
    return mpirun("-n", str(ranks), "env", preloaded, "sh", "-c", script, env=env)


@pytest.fixture
def counted(sanitized: Path, pretend_hosts: Path, tmp_path: Path) -> Launched:
    """Run a benchmark on the hosts of tree/n<rank>; what was counted."""

    def run(ranks: int = 2, **more: str) -> dict[str, Any]:
        env = {"RAILYARD_NICS": f"{tmp_path}/halo.nics", "RAILYARD_SYSFS": f"{tmp_path}/tree/%h", **more}
        outcome = halo(pretend_hosts, ranks, sanitized, **env)
        assert (outcome.status, outcome.err) == (0, "")
        return nics(tmp_path / "halo.nics")

    return run


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_a_benchmark_counts_where_rank_0_is_told_to(
    *, counted: Launched, sanitized: Path, pretend_hosts: Path, tmp_path: Path, ranks: int
) -> None:
    for rank in range(ranks):
        counter_trees.rdma_port(tmp_path / f"tree/n{rank}", "mlx5_0", {})
    assert [row["node"] for row in counted(ranks)["nics"]] == [f"n{rank}" for rank in range(ranks)]
    (tmp_path / "halo.nics").unlink()
    assert halo(pretend_hosts, ranks, sanitized).status == 0 and not (tmp_path / "halo.nics").exists()


def test_a_node_whose_counters_cannot_be_read_says_why(counted: Launched, tmp_path: Path) -> None:
    """The other node's bytes are there; a folder in the file's place is refused to root, too."""
    for rank in range(2):
        counter_trees.rdma_port(tmp_path / f"tree/n{rank}", "mlx5_0", {})
    file = tmp_path / "tree/n1/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"
    file.unlink()
    file.mkdir()
    read = counted()
    assert [row["node"] for row in read["nics"]] == ["n0"]
    assert "tree/n1/" in read["reason"] and "port_xmit_data: cannot be read" in read["reason"]


def test_an_ethernet_device_without_statistics_is_named_with_what_it_lacks(counted: Launched, tmp_path: Path) -> None:
    counter_trees.write(tmp_path / "tree/n0/sys/class/net/eth0/operstate", "up")
    read = counted()
    assert read["nics"] == [] and "eth0/statistics/rx_bytes: cannot be read: No such file" in read["reason"]
    assert read["health"]["not_read"]["linux-net"]["RX_DROPPED"] == "no such file"


def test_nodes_without_a_nic_and_groups_that_there_are_not_are_a_reason(counted: Launched) -> None:
    none = counted()
    assert none["nics"] == [] and "no node has a NIC" in none["reason"]
    assert "myrinet.txt: cannot be read" in counted(RAILYARD_NIC_COUNTERS="myrinet")["reason"]


def test_the_energy_of_each_node_is_counted_over_the_program(launched: Launched, tmp_path: Path) -> None:
    """One node with RAPL, whose package starts again from 0 meanwhile, and a Cray's; a core is part of its package."""
    first, cray = tmp_path / "tree/n0", tmp_path / "tree/n1"
    package = counter_trees.rapl_zone(first, "intel-rapl:0", "package-0", 9_000_000, most=10_000_000)
    memory = counter_trees.rapl_zone(first, "intel-rapl:0:1", "dram", 5_000_000)
    counter_trees.rapl_zone(first, "intel-rapl:0:0", "core", 1)
    node = counter_trees.pm_counter(cray, "energy", 1000)
    command = f"echo 2000000 > {package}; echo 5500000 > {memory}; echo '1250 J 1 us' > {node}"
    found = {(row["node"], row["counter"]): row["joules"] for row in launched(command, 4, per_node=2)["energy"]}
    assert found == {("n0", "package-0"): 3, ("n0", "dram"): 0.5, ("n1", "node"): 250}


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"])
@pytest.mark.parametrize("own", [True, False], ids=["benchmark", "witness"])
def test_every_rank_reports_the_gpus_that_it_sees(*, program: Path, tmp_path: Path, variable: str, own: bool) -> None:
    words = [BIN / "halo", *HALO] if own else [WITNESS, tmp_path / "witness", program, "true"]
    line = " ".join(map(str, words))
    script = f"export {variable}=$((7 - OMPI_COMM_WORLD_LOCAL_RANK)); exec {line}"
    path = tmp_path / "launch.nics"
    env = [f"RAILYARD_NICS={path}", f"RAILYARD_SYSFS={tmp_path}"]
    outcome = mpirun("-n", "3", "env", *env, "sh", "-c", script)
    assert outcome.status == 0, outcome.err
    reported = nics(path)["gpus"]
    assert [each["variable"] for each in reported] == [variable] * 3
    content = Counted.read(path)
    assert content is not None and content.gpus == ("7", "6", "5")


def test_a_file_that_cannot_be_written_costs_one_line(pretend_hosts: Path) -> None:
    outcome = halo(pretend_hosts, 2, RAILYARD_NICS="/no/such/folder/x")
    assert outcome.status == 0 and "bandwidth_gbyte_s" in outcome.out
    (line,) = outcome.error_lines
    assert line.startswith("railyard: /no/such/folder/x: cannot be written")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")
def test_a_variable_unset_behind_a_policys_back_shows_without_the_toruss_own_evidence(
    railyard: Run, program: Path, tmp_path: Path
) -> None:
    """The ranks count the NICs of their node, and the bytes of their own connections by NIC.

    What the witness itself sends to gather the hosts is not counted.
    """
    name = f"t{os.getpid()}-nics"
    topology = catalog.load(nic_evidence.TOPOLOGY)
    done = railyard("torus", "up", nic_evidence.TOPOLOGY, "--name", name)
    assert done.returncode == 0, done.stderr
    try:
        for command in (nic_evidence.HALO, nic_evidence.foreign(tmp_path)):
            for obey, wanted in ((False, "not-obeyed"), (True, "obeyed")):
                found, of_ranks = nic_evidence.launch(topology, tmp_path, command, obey=obey, torus=name)
                assert found.verdict == wanted, found
                of_nics = {str(series.labels["nic"]): series.labels["ranks"] for series in of_ranks}
                assert (of_nics == {"nic0": "0-15"}) if obey else any("nic1" in names for names in of_nics), of_ranks
                assert 80 < sum(series.samples[0] for series in of_ranks) <= 101, of_ranks
        path, ranks = tmp_path / "silent.nics", str(len(topology.nodes))
        words = [WITNESS, tmp_path / "witness", program, "true"]
        done = railyard("torus", "mpirun", name, "-q", "-np", ranks, "env", f"RAILYARD_NICS={path}", *map(str, words))
        assert done.returncode == 0, done.stderr
        sent = sum(row["tx_bytes"] for row in nics(path)["nics"])
        assert sent < 25_000, "to connect and to meet; with the hosts it would be 43,000"
    finally:
        railyard("torus", "down", name)
