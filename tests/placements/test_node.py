"""A node's description: cores that may be used, NUMA domains, what is near; and where it is in the network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.commands import ran

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.jobs.nodes import node as description
from railyard.placements import launchers
from railyard.placements.hosts import in_job, naming, node
from railyard.placements.hosts.node import Binding, NodeLayout
from railyard.placements.nics import policies, stacks

#: NIC or GPU -> NUMA domain. On LUMI-G and Frontier the order of devices is not that of domains.
NICS = {"hsn0": 3, "hsn1": 1, "hsn2": 0, "hsn3": 2}
GPUS = {"0000:c1:00.0": 3, "0000:d1:00.0": 1}
CORES, PER_DOMAIN = 64, 16


def file(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(f"{text}\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """/sys and /proc of a node like LUMI-G's: 64 cores of two threads, 4 domains, each L3's first core reserved."""
    for core in range(CORES):
        for cpu in (core, core + CORES):
            file(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", f"{core},{core + CORES}")
            file(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", "0")
    for domain in range(4):
        first = domain * PER_DOMAIN
        cpus = f"{first}-{first + 15},{first + CORES}-{first + 15 + CORES}"
        file(tmp_path, f"sys/devices/system/node/node{domain}/cpulist", cpus)
        far = " ".join("10" if other == domain else "12" for other in range(4))
        file(tmp_path, f"sys/devices/system/node/node{domain}/distance", far)
    allowed = ",".join(f"{first + 1}-{first + 7}" for first in range(0, 2 * CORES, 8))
    file(tmp_path, "proc/self/status", f"Name:\tcat\nCpus_allowed_list:\t{allowed}")
    for name, domain in NICS.items():
        file(tmp_path, f"sys/class/net/{name}/device/numa_node", str(domain))
        file(tmp_path, f"sys/class/net/{name}/address", f"02:00:00:00:0e:{int(name[3:]):02x}")
    file(tmp_path, "sys/class/net/bonding_masters", "bond0")
    for address, domain in GPUS.items():
        file(tmp_path, f"sys/bus/pci/devices/{address}/class", "0x120000")
        file(tmp_path, f"sys/bus/pci/devices/{address}/numa_node", str(domain))
    file(tmp_path, "etc/cray/xname", "x1000c3s4b1n0")
    return tmp_path


@pytest.fixture
def layout(tree: Path) -> NodeLayout:
    found = node.parse(description.describe(tree, {}))
    assert found is not None
    return found


def test_cores_that_the_system_keeps_are_not_used_and_threads_stay_together(layout: NodeLayout) -> None:
    assert len(layout.cores) == 56
    assert [core.cpus for core in layout.cores[:2]] == [(1, 65), (2, 66)]
    assert layout.cores[7].cpus == (9, 73), "core 8 is reserved"
    assert layout.domains == (0, 1, 2, 3)


def test_devices_are_near_to_their_domains_and_a_file_is_no_device(tree: Path, layout: NodeLayout) -> None:
    assert layout.nics == NICS and layout.gpus == GPUS
    told = description.describe(tree, {"SLURM_TOPOLOGY_ADDR": "s0.leaf1.nid1"})
    assert (told["sockets"], told["xname"], told["switches"]) == (1, "x1000c3s4b1n0", "s0.leaf1.nid1")


def test_ranks_fill_domains_in_blocks_and_a_core_is_the_next_allowed_one(layout: NodeLayout) -> None:
    assert layout.cpus(0, 8, Binding.CORE) == (1, 65)
    assert layout.cpus(7, 8, Binding.CORE) == (9, 73)
    assert [layout.domain_of(k, 8, Binding.NUMA) for k in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert set(layout.cpus(2, 8, Binding.NUMA)) == {*range(17, 24), *range(25, 32), *range(81, 88), *range(89, 96)}
    with pytest.raises(InputError, match="at most 56 ranks per node"):
        layout.cpus(56, 64, Binding.CORE)


def test_the_nearest_nic_is_that_of_the_ranks_domain(layout: NodeLayout) -> None:
    names = sorted(NICS)
    near = layout.nearest(names, 8, Binding.NUMA)
    assert near is not None and [names[k] for k in near] == [
        *("hsn2", "hsn2", "hsn1", "hsn1", "hsn3", "hsn3", "hsn0", "hsn0")
    ]
    assert layout.nearest(["mlx5_0:1"], 2, Binding.NUMA) is None, "nobody says where it is"


def test_eight_nics_are_dealt_to_the_ranks_of_their_domains() -> None:
    cores = tuple(node.Core(numa=k // 4, cpus=(k,)) for k in range(8))
    wide = NodeLayout(cores=cores, nics={f"mlx5_{k}": k // 4 for k in range(8)})
    names = [f"mlx5_{k}:1" for k in range(8)]
    near = wide.nearest(names, 8, Binding.CORE)
    assert near == (0, 1, 2, 3, 4, 5, 6, 7)
    host = policies.host(naming.flat(["a", "b"]), 8, names, near)
    told = stacks.settings(policies.parse("nic-7", 8), "ucx", host)
    assert told.environment == {"UCX_NET_DEVICES": "mlx5_7:1"}


def test_a_rank_is_bound_by_its_script_to_just_those_cpus(tmp_path: Path) -> None:
    """On this machine's own CPUs, under each launcher's name of the local rank."""
    here = sorted(os.sched_getaffinity(0))
    layout = NodeLayout(cores=tuple(node.Core(numa=0, cpus=(cpu,)) for cpu in here))
    script = tmp_path / "bind.sh"
    script.write_text(node.binder(layout, len(here), Binding.CORE, launchers.variables("local_rank")))
    for name in launchers.variables("local_rank"):
        for local, cpu in enumerate(here):
            words = ["sh", script, "grep", "Cpus_allowed_list", "/proc/self/status"]
            done = ran("env", "-i", f"PATH={os.environ['PATH']}", f"{name}={local}", *words)
            assert done.stdout.split()[-1] == str(cpu)
    missing = ran("env", "-i", "/bin/sh", script, "true")
    assert missing.returncode == 2 and "local rank ''" in missing.stderr


#: Group, switch and port by the masks and shifts of HPE's shasta_addr.c.
@pytest.mark.parametrize(
    ("mac", "place"),
    [("02:00:00:00:0e:b3", (1, 26, 51)), ("02:00:00:00:00:00", (0, 0, 0)), ("02:00:00:0f:ff:ff", (511, 31, 63))],
)
def test_a_slingshot_address_holds_group_switch_and_port(mac: str, place: tuple[int, int, int]) -> None:
    assert in_job.algorithmic(mac) == place


def hsn(mac: str) -> Mapping[str, object]:
    return {"nics": [{"name": "hsn0", "mac": mac}]}


def test_coordinates_come_from_the_first_source_that_every_node_has() -> None:
    cray = {"a": hsn("02:00:00:00:0e:b3"), "b": hsn("02:00:00:00:0e:80"), "c": hsn("02:00:00:00:00:40")}
    found = in_job.coordinates(cray)
    assert found is not None and found.kind == "slingshot"
    assert found.coordinates == {"a": (1, 0, 0), "b": (1, 0, 0), "c": (0, 0, 0)}
    tree = {
        name: {"switches": f"root.{cell}.{leaf}.{name}", "pattern": "switch.switch.switch.node"}
        for name, cell, leaf in (("n1", "cell1", "leaf10"), ("n2", "cell1", "leaf2"), ("n3", "cell2", "leaf7"))
    }
    by_slurm = in_job.coordinates(tree)
    assert by_slurm is not None and by_slurm.coordinates == {"n1": (0, 1, 0), "n2": (0, 0, 0), "n3": (1, 0, 0)}
    assert naming.leaves(by_slurm.coordinates) == {"n2": (0, 0, 0), "n1": (1, 0, 0), "n3": (2, 0, 0)}
    xnames = {"n1": {"xname": "x1000c0s1b0n0"}, "n2": {"xname": "x1001c0s1b0n0"}}
    by_cabinet = in_job.coordinates(xnames)
    assert by_cabinet is not None and by_cabinet.coordinates == {"n1": (0, 0, 0), "n2": (1, 0, 0)}
    assert in_job.coordinates({**cray, "d": {}}) is None, "a node without a place: nothing is made up"
    assert in_job.coordinates({"n1": {"switches": "n1", "pattern": "node"}}) is None


def test_short_and_full_names_are_one_host_and_an_ambiguous_one_is_none() -> None:
    assert host_names.matched(["n1.site.org", "n2"], ["n1", "n2.site.org"]) == {
        "n1.site.org": "n1",
        "n2": "n2.site.org",
    }
    assert host_names.matched(["n1"], ["n1.a", "n1.b"]) == {}
    assert host_names.matched(["n1"], ["n1", "n1.a"]) == {"n1": "n1"}
    assert host_names.matched(["n1"], ["n11"]) == {}


def test_a_host_in_two_domains_is_one_where_nobody_else_has_its_short_name() -> None:
    """A batch system may know nodes by another network than their own (public case 13)."""
    assert host_names.matched(["cn01.batch.net"], ["cn01.os.net"]) == {"cn01.batch.net": "cn01.os.net"}
    assert host_names.matched(["n1.a", "n1.b"], ["n1.c"]) == {}
    assert host_names.matched(["n1.a"], ["n1.b", "n1.c"]) == {}
    assert host_names.matched(["worker.1.net"], ["worker.2.net"]) == {}, "two hosts of one short name"
    assert host_names.matched(["10.0.0.1"], ["10.0.0.2"]) == {}
