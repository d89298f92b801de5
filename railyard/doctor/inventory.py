"""Find what railyard can use on a machine: scheduler, MPI, NICs, containers, Spack, permissions. Changes nothing.

Versions and lists come from programs, devices from /sys. Devices that only the compute nodes have are not found. Leaves
out what follows from it (`railyard.doctor.findings`).
"""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railyard.base import programs, sysfs
from railyard.base.checkout import BUILD
from railyard.base.errors import InputError, quoted
from railyard.base.sysfs import Device
from railyard.jobs.nodes import node
from railyard.records.image_engines import apptainer

SYS = Path("/sys")
#: Why a device is not a NIC where every machine has such devices, which are not listed.
UNLISTED = ("", "the loopback", "no hardware", "a bridge", "a tunnel")
TIMEOUT_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition or queue: its name, how many nodes it has (0: not known), whether jobs go there by default.

    `cluster` is Slurm's name of its cluster where sinfo lists several.
    """

    name: str
    nodes: int
    default: bool = False
    cluster: str = ""

    @property
    def fullname(self) -> str:
        """Return CLUSTER:NAME, or the name alone."""
        return f"{self.cluster}:{self.name}" if self.cluster else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """`name` as ReFrame has it: slurm, squeue (Slurm without accounting), pbs, lsf or local.

    `has_pals`: mpiexec is HPE's PALS.
    """

    name: str
    version: str = ""
    partitions: tuple[Partition, ...] = ()
    pmi: tuple[str, ...] = ()
    cluster: str = ""
    has_pals: bool = False

    @property
    def chosen(self) -> Partition | None:
        """Return the scheduler's default partition, or else the one with the most nodes."""
        return max(self.partitions, key=lambda partition: (partition.default, partition.nodes), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mpi:
    """An MPI library: openmpi, mpich, cray-mpich, intel-mpi or mvapich2, its version and its compiler.

    `netmod` is the network layer of an MPICH, ofi or ucx; empty if unknown. `built` is whether the benchmarks are
    built with it.
    """

    name: str
    version: str
    compiler: str
    netmod: str = ""
    built: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The parts of a machine. `tools` maps a tool to its version or path, which is empty for a missing one.

    `access` are the options that the site demands of every job, `gpus` is the number of GPUs of a node. `nodes` maps
    this host, and a compute node where `--on-a-node` reached one, to its description. `interfaces` are the network
    devices, also those that cannot be a job's NICs.
    """

    hostname: str
    cpus: int
    numa_nodes: int
    scheduler: Scheduler
    mpis: tuple[Mpi, ...]
    interfaces: tuple[Device, ...]
    tools: Mapping[str, str] = field(default_factory=dict)
    is_root: bool = False
    user_namespaces: bool = False
    modules: tuple[str, ...] = ()
    modules_system: str = ""
    built: tuple[str, ...] = ()
    nics_of_a_node: bool = False
    gpus: int = 0
    access: tuple[str, ...] = ()
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def on(self, partition: str) -> Machine:
        """Return the machine with another partition chosen; InputError for one that the scheduler does not list."""
        scheduler = self.scheduler
        listed = {one.fullname: one for one in scheduler.partitions}
        if partition not in listed and (scheduler.name != "pbs"):  # of PBS only the default queue is known
            raise InputError("--partition", "", partition, ", ".join(listed) or "none: no partition is known")
        others = (dataclasses.replace(one, default=False) for name, one in listed.items() if name != partition)
        chosen = dataclasses.replace(listed.get(partition, Partition(name=partition, nodes=0)), default=True)
        return dataclasses.replace(self, scheduler=dataclasses.replace(scheduler, partitions=(*others, chosen)))

    @property
    def nics(self) -> tuple[Device, ...]:
        """Return the adapters of high-speed fabrics, or else of RoCE, or else the interfaces of Ethernet cards."""
        return tuple(device for device in self.interfaces if not device.why_not)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Return the NICs that compute nodes have, too: a login node's Ethernet cards are left out."""
        return tuple(nic for nic in self.nics if self.nics_of_a_node or nic.fabric != "ethernet")


#: Folder of the benchmarks in build/: Debian's wrappers have one each, any other machine has `site`.
BUILT_BY = {"mpicc.openmpi": "openmpi", "mpicc.mpich": "mpich"}
SITE = "site"


def look(root: Path = SYS) -> Machine:
    """Return the parts of this machine; `root` is its /sys."""
    here = node.describe(root.parent, os.environ)
    envmod = os.environ.get("MODULES_CMD") or os.environ.get("MODULESHOME")
    return Machine(
        hostname=platform.node().partition(".")[0],
        cpus=os.cpu_count() or 1,
        numa_nodes=max(1, len(list((root / "bus/node/devices").glob("node*")))),
        scheduler=scheduler(),
        mpis=tuple(dataclasses.replace(mpi, built=_is_built(mpi)) for mpi in _mpis()),
        nodes={here["host"]: here},
        interfaces=sysfs.devices(root),
        gpus=len(here["gpus"]),
        modules=tuple(name for name in os.environ.get("LOADEDMODULES", "").split(":") if name),
        modules_system="lmod" if os.environ.get("LMOD_CMD") else "envmod" if envmod else "",
        built=tuple(sorted(path.parts[-3].removeprefix("benchmarks-") for path in BUILD.glob("benchmarks-*/bin/halo"))),
        tools={name: find() for name, find in TOOLS.items()},
        is_root=os.geteuid() == 0,
        user_namespaces=_ended_well(["unshare", "--user", "--map-root-user", "--net", "true"]) is not None,
    )


def _is_built(mpi: Mpi) -> bool:
    """Return whether the benchmarks are built by an MPI's compiler wrapper: a site's may be those of another module."""
    folder = BUILD / f"benchmarks-{BUILT_BY.get(mpi.compiler, SITE)}"
    if not (folder / "bin/halo").is_file():
        return False
    by = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", sysfs.text(folder / "CMakeCache.txt"), re.M)
    is_other = by and Path(by[1]).resolve() != Path(shutil.which(mpi.compiler) or "").resolve()
    return mpi.compiler in BUILT_BY or not is_other


def scheduler() -> Scheduler:
    """Return the first scheduler whose command is on the PATH and works; `local` if there is none."""
    if partitions := _output(["sinfo", "--noheader", "--format", "%P %D"]):
        cluster = re.search(r"^ClusterName\s*=\s*(\S+)", _output(["scontrol", "show", "config"]), re.M)
        plugins = re.findall(r"^\s*(\w+)\s*$", _output(["srun", "--mpi=list"]), re.M)  # one per line after a heading
        return Scheduler(
            name="squeue" if _ended_well(["sacct", "--noheader"]) is None else "slurm",
            version=_first(["sinfo", "--version"]).removeprefix("slurm "),
            partitions=_partitions(partitions),
            pmi=tuple(word for word in plugins if word != "none"),
            cluster=cluster[1] if cluster else "",
        )
    for name, command, sign in OTHERS:
        if shutil.which(command[0]) and re.search(sign, answer := _output(command), re.IGNORECASE):
            version = next(iter(answer.splitlines()), "").strip()
            return _pbs(version) if name == "pbs" else Scheduler(name=name, version=version)
    return Scheduler(name="local")


#: Name, command, and what its output has in it: Grid Engine has a qstat, too.
OTHERS = (
    ("pbs", ["qstat", "--version"], "pbs"),
    ("flux", ["flux", "--version"], "flux"),
    ("lsf", ["bqueues", "-V"], "lsf"),
    ("oar", ["oarstat", "--version"], "oar"),
    ("sge", ["qstat", "-help"], "GE |grid engine"),
)


def _pbs(version: str) -> Scheduler:
    """Return a PBS with its server's name and default queue (qstat(1B), -B -f), and whether PALS is its mpiexec."""
    answer = _output(["qstat", "-B", "-f"])
    server = re.search(r"^Server: *([^.\s]+)", answer, re.M)
    queue = re.search(r"^ *default_queue *= *(\S+)", answer, re.M)
    return Scheduler(
        name="pbs",
        version=version,
        partitions=(Partition(name=queue[1], nodes=0, default=True),) if queue else (),
        cluster=server[1] if server else "",
        has_pals="pals" in Path(shutil.which("mpiexec") or "").resolve().parts,
    )


def nic_notes(every: Sequence[Device]) -> tuple[str, ...]:
    """Return one text for each card with several NICs, and one for all devices with hardware that are not NICs."""
    shared = sysfs.ports_of_one_card([device for device in every if not device.why_not])
    left_out = [f"{device.name} ({device.why_not})" for device in every if device.why_not not in UNLISTED]
    return (*shared, *([f"left out: {', '.join(left_out)}"] if left_out else []))


def _partitions(text: str) -> tuple[Partition, ...]:
    """Return the partitions in what sinfo prints; before Slurm 20.02 lines CLUSTER: NAME are among them."""
    nodes: dict[tuple[str, str], int] = {}
    cluster = ""
    for line in filter(str.strip, text.splitlines()):
        if heading := re.fullmatch(r"\s*CLUSTER: *(\S+)\s*", line):
            cluster = heading[1]
        elif row := re.fullmatch(r"\s*(\S+)\s+([0-9]{1,9})\s*", line):
            nodes[cluster, row[1]] = nodes.get((cluster, row[1]), 0) + int(row[2])
        else:
            print(
                f"railyard: sinfo: {quoted(line.strip())} is no partition with its nodes: passed over", file=sys.stderr
            )
    return tuple(
        Partition(name=name.removesuffix("*"), nodes=count, default=name.endswith("*"), cluster=cluster)
        for (cluster, name), count in nodes.items()
    )


def _mpis() -> list[Mpi]:
    if version := os.environ.get("CRAY_MPICH_VERSION"):
        return [Mpi(name="cray-mpich", version=version, compiler="cc")]
    by_name: dict[str, Mpi] = {}
    for wrapper in filter(shutil.which, WRAPPERS):
        if mpi := _identified(wrapper):
            by_name.setdefault(mpi.name, mpi)
    return list(by_name.values())


def _identified(wrapper: str) -> Mpi | None:
    """Return the MPI of a compiler wrapper, by the versions that its programs print and not by its name."""
    shown = _output([wrapper, "-show"])
    folder = Path(shutil.which(wrapper) or "").resolve().parent
    suffix = wrapper.partition(".")[2]
    answers = "\n".join(_version(name, options, folder, suffix) for name, options in VERSIONS)
    for name, pattern in SIGNS:
        if version := re.search(pattern, f"{shown}\n{answers}"):
            netmod = re.search(r"MPICH Device:\s+ch4:(\w+)", answers)
            return Mpi(name=name, version=version[1], compiler=wrapper, netmod=netmod[1] if netmod else "")
    if "intel" in shown.lower() and (root := os.environ.get("I_MPI_ROOT")):
        return Mpi(name="intel-mpi", version=Path(root).name, compiler=wrapper)
    return None


def _version(name: str, options: list[str], folder: Path, suffix: str) -> str:
    """Return the version that a program in the wrapper's folder prints: Debian's `mpirun.mpich` before `mpirun`."""
    names = [f"{name}.{suffix}", name] if suffix else [name]
    program = next((folder / name for name in names if (folder / name).is_file()), None)
    return _output([str(program), *options]) if program else ""


#: Compiler wrappers in order of preference; Debian's names first, because there they are the exact ones.
WRAPPERS = ("mpicc.openmpi", "mpicc.mpich", "mpicc", "mpiicx", "mpiicc")
#: Programs in a wrapper's folder that print their version.
VERSIONS: tuple[tuple[str, list[str]], ...] = (
    ("mpirun", ["--version"]),
    ("mpichversion", []),
    ("mpiname", ["-a"]),
    ("impi_info", ["-v"]),
)
#: Name and pattern of its version, the most special first: MVAPICH 3 calls itself MPICH, too.
SIGNS = (
    ("intel-mpi", r"Intel\(R\) MPI Library[^\n]*?Version (\S+)"),
    ("mvapich2", r"MVAPICH2?(?:\s+Version:?)?\s+(\d\S*)"),
    ("openmpi5", r"\((?:Open MPI|PRRTE|OpenRTE)\) (5\.\S+|3\.\d\S*prrte)"),
    ("openmpi", r"\((?:Open MPI|OpenRTE)\) (\S+)"),
    ("mpich", r"MPICH Version:\s+(\S+)"),
)


#: Tool -> how it is found. Apptainer is the one that checks use.
TOOLS: Mapping[str, Callable[[], str]] = {
    "apptainer": lambda: _first([program, "--version"]) if (program := apptainer.program()) else "",
    "singularity": lambda: _first(["singularity", "--version"]),
    "docker": lambda: _first(["docker", "version", "--format", "{{.Server.Version}}"]),
    "spack": lambda: _first(["spack", "--version"]) or os.environ.get("SPACK_ROOT", ""),
    "ip": lambda: shutil.which("ip") or "",
    "simgrid": lambda: shutil.which("smpicc") or "",
    "slurmctld": lambda: shutil.which("slurmctld", path=f"{os.defpath}:/usr/sbin") or "",
    "module": lambda: os.environ.get("LMOD_VERSION", "") or os.environ.get("MODULESHOME", ""),
}


def _first(command: list[str]) -> str:
    return next(iter(_output(command).splitlines()), "").strip()


def _output(command: list[str]) -> str:
    """Return the output of a command; empty if it is missing, fails, or takes too long."""
    done = _ended_well(command)
    return done.stdout + (done.stderr if "--mpi=list" in command else "") if done else ""


def _ended_well(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """Return a command's output; None if it is missing, fails, or takes too long."""
    try:
        done = programs.run(command, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done
