"""What a machine has that railyard can use: scheduler, MPI, NICs, containers, Spack, permissions. Only looks.

Programs are asked for their versions and lists, /sys for devices; nothing is started that changes anything. What the
compute nodes have and this one lacks is not seen. Leaves out what follows from it (`railyard.doctor`).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SYS = Path("/sys")
TIMEOUT_S = 10
VIRTUAL = ("lo", "veth", "br-", "docker", "ifb", "virbr", "tun", "tap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition of a scheduler: its name, and how many nodes it has."""

    name: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """`name` as ReFrame has it: slurm, squeue (Slurm without accounting), pbs, lsf or local."""

    name: str
    version: str = ""
    partitions: tuple[Partition, ...] = ()
    pmi: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mpi:
    """An MPI library: openmpi, mpich, cray-mpich, intel-mpi or mvapich2, its version and its compiler."""

    name: str
    version: str
    compiler: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """A network device; `fabric` is infiniband, omni-path, slingshot or ethernet, `numa_node` -1 where nobody says."""

    name: str
    fabric: str
    numa_node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All of it. `tools` maps a tool to its version or path; an empty text says that it is not there."""

    hostname: str
    cpus: int
    numa_nodes: int
    scheduler: Scheduler
    mpis: tuple[Mpi, ...]
    nics: tuple[Nic, ...]
    tools: Mapping[str, str] = field(default_factory=dict)
    is_root: bool = False
    user_namespaces: bool = False


def look(sys: Path = SYS, environment: Mapping[str, str] = os.environ) -> Machine:
    """Look at this machine; `sys` is where its /sys is."""
    return Machine(
        hostname=platform.node().partition(".")[0],
        cpus=os.cpu_count() or 1,
        numa_nodes=max(1, len(list((sys / "bus/node/devices").glob("node*")))),
        scheduler=scheduler(),
        mpis=tuple(_mpis(environment)),
        nics=nics(sys),
        tools={name: find(environment) for name, find in TOOLS.items()},
        is_root=os.geteuid() == 0,
        user_namespaces=_succeeds(["unshare", "--user", "--map-root-user", "--net", "true"]),
    )


def scheduler() -> Scheduler:
    """The scheduler whose commands are here and answer; local where none does."""
    if partitions := _output(["sinfo", "--noheader", "--format", "%R %D"]):
        return Scheduler(
            name="slurm" if _succeeds(["sacct", "--noheader"]) else "squeue",
            version=_first(["sinfo", "--version"]).removeprefix("slurm "),
            partitions=_partitions(partitions),
            pmi=_pmi(),
        )
    for name, command in (("pbs", ["qstat", "--version"]), ("lsf", ["bqueues", "-V"])):
        if shutil.which(command[0]):
            return Scheduler(name=name, version=_first(command))
    return Scheduler(name="local")


def nics(sys: Path) -> tuple[Nic, ...]:
    """The network devices: adapters of high-speed fabrics, or where there are none the interfaces of Ethernet cards."""
    fast = [_nic(path, _fabric(path.name)) for path in sorted((sys / "class/infiniband").glob("*"))]
    fast += [_nic(path, "slingshot") for path in sorted((sys / "class/cxi").glob("*"))]
    if fast:
        return tuple(fast)
    interfaces = sorted((sys / "class/net").glob("*"))
    return tuple(_nic(path, "ethernet") for path in interfaces if not path.name.startswith(VIRTUAL))


def _nic(path: Path, fabric: str) -> Nic:
    try:
        node = int((path / "device/numa_node").read_text())
    except (OSError, ValueError):
        node = -1
    return Nic(name=path.name, fabric=fabric, numa_node=node)


def _fabric(device: str) -> str:
    return "omni-path" if device.startswith("hfi1") else "infiniband"


def _partitions(text: str) -> tuple[Partition, ...]:
    nodes: dict[str, int] = {}
    for line in text.splitlines():
        name, _, count = line.strip().partition(" ")
        nodes[name] = nodes.get(name, 0) + int(count or 0)
    return tuple(Partition(name=name, nodes=count) for name, count in nodes.items())


def _pmi() -> tuple[str, ...]:
    """What `srun --mpi` takes; Slurm lists it one a line, after a heading."""
    said = _output(["srun", "--mpi=list"])
    return tuple(word for word in re.findall(r"^\s*(\w+)\s*$", said, re.M) if word != "none")


def _mpis(environment: Mapping[str, str]) -> list[Mpi]:
    found = []
    if version := environment.get("CRAY_MPICH_VERSION"):
        found.append(Mpi(name="cray-mpich", version=version, compiler="cc"))
    if root := environment.get("I_MPI_ROOT"):
        found.append(Mpi(name="intel-mpi", version=Path(root).name, compiler="mpiicc"))
    for name, pattern, compilers in MPIS:
        compiler = next(filter(shutil.which, compilers), None)
        if compiler is None:
            continue
        version_said = re.search(pattern, _output([compiler, "-show"]) + _said_by(name))
        if version_said:
            found.append(Mpi(name=name, version=version_said[1], compiler=compiler))
    return found


def _said_by(mpi: str) -> str:
    """What an MPI's own programs say of their version."""
    programs = {"openmpi": ("mpirun.openmpi", "mpirun"), "mpich": ("mpichversion",), "mvapich2": ("mpiname",)}
    options = {"openmpi": ["--version"], "mpich": [], "mvapich2": ["-a"]}
    for program in programs[mpi]:
        if said := _output([program, *options[mpi]]):
            return said
    return ""


#: Name, where its version stands in what its programs say, its compilers in order of preference.
MPIS = (
    ("openmpi", r"\((?:Open MPI|OpenRTE)\) (\S+)", ("mpicc.openmpi", "mpicc")),
    ("mpich", r"MPICH Version:\s+(\S+)", ("mpicc.mpich", "mpicc")),
    ("mvapich2", r"MVAPICH2 (\S+)", ("mpicc.mvapich2", "mpicc")),
)


def _spack(environment: Mapping[str, str]) -> str:
    return _first(["spack", "--version"]) or environment.get("SPACK_ROOT", "")


#: Tool -> how it is found.
TOOLS: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "apptainer": lambda _: _first(["apptainer", "--version"]) or _first(["singularity", "--version"]),
    "docker": lambda _: _first(["docker", "version", "--format", "{{.Server.Version}}"]),
    "spack": _spack,
    "ip": lambda _: shutil.which("ip") or "",
    "simgrid": lambda _: shutil.which("smpicc") or "",
    "slurmctld": lambda _: shutil.which("slurmctld", path=f"{os.defpath}:/usr/sbin") or "",
    "module": lambda environment: environment.get("LMOD_VERSION", "") or environment.get("MODULESHOME", ""),
}


def _first(command: list[str]) -> str:
    return next(iter(_output(command).splitlines()), "").strip()


def _output(command: list[str]) -> str:
    """What a command says; empty where it is not there, fails or does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + (done.stderr if "--mpi=list" in command else "") if done.returncode == 0 else ""


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
