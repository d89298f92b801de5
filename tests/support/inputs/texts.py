"""Texts that other tools, sites and people write: every reader with real inputs, and the changes that inputs suffer.

Models: the public cases and recordings of tests/data, torn as editors, schedulers and full disks tear them. A reader
takes the path of a text and returns its value. Leaves out: JSON and YAML of railyard itself (`support.fuzz`).
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from railyard.applications.reading import Parser
from railyard.base import sysfs
from railyard.base.checkout import CHECKOUT
from railyard.doctor import inventory
from railyard.jobs.nodes import allocated_nodes, node
from railyard.placements.hosts import hostfile, hostlist, in_job, sources
from railyard.placements.hosts.sources import cray
from railyard.placements.topology import fault_words
from support.inputs import outputs
from support.topology.topologies import gemini

DATA = CHECKOUT / "tests/data"
PUBLIC = DATA / "public"
#: What a damaged word may look like.
WORDS = (
    *("nan", "-1", "0", "1e999", "-1e-400", "9" * 5000, "1.2.3", "", "\u0663", "0x10", "1e5000000000"),
    *("[", "]", "n[0-999999999]", "n[0-99][0-99][0-99]", "[0-9]" * 9, "cn[0-99]:999999", "a=b", "=", ":", "*"),
    *('"', "'", "#", "(", "[1]", "- - -", "{", "&a *a", "!!python/object:os.system", "\t", "\u202e", "\x1b[2J"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads a text at a path; `samples` are real texts by name."""

    read: Callable[[Path], Any]
    samples: Mapping[str, str]


@functools.cache
def _every_case() -> dict[Path, dict[str, Any]]:
    return {path.parent: yaml.safe_load(path.read_text()) for path in sorted(PUBLIC.glob("*/case.yaml"))}


def cases(reader: str) -> dict[str, dict[str, Any]]:
    """Return the public cases of a reader by name, with their file as `text`."""
    return {
        folder.name: case | {"text": (folder / case["file"]).read_text() if "file" in case else ""}
        for folder, case in _every_case().items()
        if case["reader"] == reader
    }


def _texts(reader: str) -> dict[str, str]:
    return {name: case["text"] for name, case in cases(reader).items()}


def _address(path: Path) -> Any:
    """Read lines `PATTERN HOST ADDRESS XNAME MAC`, each of which is a node."""
    described = {}
    for line in path.read_text().split("\n"):
        pattern, host, address, xname, mac = (line.split(" ") + [""] * 5)[:5]
        described[host] = {
            "pattern": pattern,
            "switches": address,
            "xname": xname,
            "nics": [{"name": "hsn0", "mac": mac}] * bool(mac),
        }
    return in_job.coordinates(described)


def _tree(path: Path) -> Any:
    """Make the files of lines `NAME: CONTENT` below a folder, as /sys and /proc have them, and describe that node."""
    root = path.parent / "root"
    for line in path.read_text().split("\n"):
        name, _, content = line.partition(": ")
        file = root / name
        if name and ".." not in name and "\0" not in name and len(name) < 200 and not file.exists():
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{content}\n")
            except OSError:  # a folder where a file is, or a name that no file can have
                continue
    return inventory.nic_notes(sysfs.devices(root / "sys")), node.describe(root, {})


TREE = """\
proc/self/status: Name: railyard
proc/self/status: Cpus_allowed_list:\t0-3
sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0,2
sys/devices/system/cpu/cpu0/topology/physical_package_id: 0
sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1,3
sys/devices/system/cpu/cpu2/topology/thread_siblings_list: 0,2
sys/devices/system/cpu/cpu3/topology/thread_siblings_list: 1-3:2/4
sys/devices/system/node/node0/cpulist: 0,2
sys/devices/system/node/node0/distance: 10 21
sys/devices/system/node/node1/cpulist: 1,3
sys/devices/system/node/node1/distance: 21 10
sys/bus/pci/devices/0000:41:00.0/class: 0x030200
sys/bus/pci/devices/0000:41:00.0/vendor: 0x10de
sys/bus/pci/devices/0000:41:00.0/numa_node: 1
sys/class/infiniband/mlx5_0/ports/1/state: 4: ACTIVE
sys/class/infiniband/mlx5_0/ports/1/link_layer: InfiniBand
sys/class/infiniband/mlx5_0/device/numa_node: 0
sys/class/net/ens1f0np0/operstate: up
sys/class/net/ens1f0np0/type: 1
sys/class/net/ens1f0np0/device/numa_node: -1
etc/cray/xname: x1000c0s0b0n0
"""
ADDRESSES = (
    "switch.switch.switch.node n1 root.cell1.isw1.n1\nswitch.switch.switch.node n2 root.cell2.isw1.n2",
    "torus:x:y:z.node n1 t0:1:0:0.n1\ntorus:x:y:z.node n2 t0:3:2:1.n2",
    "block.node n1 b1.n1\nblock.node n2 b2.n2",
    " n1  x1000c0s0b0n0 02:00:00:00:08:52\n n2  x1000c0s1b0n0 02:00:00:00:10:13",
)
FAULTS = "'X+ 0,0,0>1,0,0' --lanes-lost 1 --of-tiles 2/8; '1,0,0>2,0,0' --down; n0-0-0 --injection 50"
NAMES = {"hosts": "nid1 c0-0c0s0n1\nnid2 c0-0c0s0n2\n", "table": "NID NODENAME TYPE\n1 c0-0c0s0n1 compute\n"}
TOPOLOGY = gemini("4x2x2", rails=2)
HOSTS = _texts("hosts") | {"nodes": "n0-0-0\nn1-0-0.nic1\nn2-0-0:2\n"}


def _output(parser: Parser, text: str, left: str) -> Reader:
    """Return the reader of one program's output, with the file that it left after a form feed."""

    def read(path: Path) -> Any:
        out, _, wrote = path.read_bytes().decode(errors="replace").partition("\f")
        return parser(out, wrote, "launch-000.out")

    return Reader(read=read, samples={"recorded": f"{text}\f{left}"})


def _source(name: str) -> Reader:
    """Return the reader of one kind of coordinates, whatever a text looks like."""
    every = cases("coordinates").items()
    samples = {key: case["text"] for key, case in every if case.get("value", {}).get("kind", "") == name}
    return Reader(read=lambda path: sources.read(path, name), samples=samples or {"none": ""})


#: Readers of what sites and their tools write.
SITES: Mapping[str, Reader] = {
    "hosts": Reader(read=hostfile.entries, samples=HOSTS),
    "hosts of a job": Reader(read=lambda path: allocated_nodes.names({"LSB_DJOB_HOSTFILE": str(path)}), samples=HOSTS),
    "nodes of ranks": Reader(read=lambda path: hostfile.of_ranks(path, TOPOLOGY, most=4).tolist(), samples=HOSTS),
    "NICs of ranks": Reader(read=lambda path: hostfile.read_nics(path, TOPOLOGY), samples=HOSTS),
    "host list": Reader(
        read=lambda path: hostlist.expand(path.read_text()),
        samples={"slurm": "n[0-2,07],m1", "boxes": "r[0-1]n[08-10]-ib,x"},
    ),
    "coordinates": Reader(read=sources.read, samples=_texts("coordinates")),
    **{f"{name} alone": _source(name) for name in sources.sources()},
    "names": Reader(read=cray.read_hosts, samples=NAMES),
    "address": Reader(read=_address, samples=dict(enumerate(ADDRESSES))),  # type: ignore[arg-type]
    "sinfo": Reader(read=lambda path: inventory._partitions(path.read_text()), samples=_texts("sinfo")),
    "tree": Reader(read=_tree, samples={"node": TREE}),
    "faults": Reader(read=lambda path: fault_words.parse(TOPOLOGY, path.read_text()), samples={"words": FAULTS}),
}
OUTPUTS: Mapping[str, Reader] = {name: _output(*sample) for name, sample in outputs.samples().items()}
#: Every reader of other people's texts.
READERS: Mapping[str, Reader] = {**SITES, **OUTPUTS}


def changed(text: str, chance: random.Random) -> str:
    """Return a text with up to four damages: lines lost, doubled, cut, moved or repeated, words and characters lost."""
    lines = text.split("\n")
    for _ in range(chance.choice([1, 1, 2, 4])):
        lines = lines or [""]
        index = chance.randrange(len(lines))
        line = lines[index]
        words = line.split(" ")
        at = chance.randrange(len(line) + 1)
        match chance.randrange(9):
            case 0:
                del lines[index : index + chance.choice([1, 1, 3, 1000])]
            case 1:
                lines[index:index] = [line] * chance.choice([1, 2, 500])
            case 2:
                lines[index] = line[:at]
            case 3:
                words[chance.randrange(len(words))] = chance.choice(WORDS)
                lines[index] = " ".join(words)
            case 4:
                lines[index] = line[:at] + chance.choice(WORDS) + line[at + chance.choice([0, 1, 1, 3]) :]
            case 5:
                lines[index] = line[:at] + line[at : at + 3] * chance.choice([2, 30, 3000]) + line[at:]
            case 6:
                lines.insert(chance.randrange(len(lines) + 1), line)
            case 7:
                lines[index] = line[:at] + chance.choice(" \t:,.-[](){}\"'#=*0") * chance.choice([1, 20, 5000])
            case _:
                lines[index] = "".join(
                    chr(chance.choice([chance.randrange(32, 127), chance.randrange(0x2FF)])) for _ in range(20)
                )
    return "\n".join(lines)
