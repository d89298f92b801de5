"""What a machine's parts let railyard do, what a missing part would add, and the reframe.yml fragment to start from.

Pure: `railyard.look` looks. The fragment is a whole configuration file, to be given after reframe.yml
(`-C reframe.yml -C FRAGMENT`); what cannot be seen from here, such as accounts and topologies, is left to its reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from railyard.doctor.inventory import Machine, Mpi

DEFAULT_NODES = 16
LAUNCHERS = {"slurm": "srun", "squeue": "srun"}
#: The stack that NIC policies are told to, by fabric; MPICH and Cray MPICH have their own.
STACKS = {"infiniband": "ucx", "omni-path": "psm2"}
OWN_STACKS = {"cray-mpich": ["cray-mpich"], "mvapich2": ["mvapich2"], "intel-mpi": ["intel-mpi"]}
#: What srun is asked for, where it has it; other libraries are served by the cluster's default.
PMI = {"openmpi": "pmix", "mpich": "pmi2", "mvapich2": "pmi2"}
BUILD = {"openmpi": "openmpi", "mpich": "mpich"}

#: The template's variable.
CHECKOUT = "{{ checkout }}"

HEADER = """\
# What `railyard doctor` saw on {hostname}. Give it after reframe.yml:
#     reframe -C reframe.yml -C THIS-FILE --system {name} -c checks -r -t smoke
# docs/cluster.md explains every line. Add by hand what cannot be seen: --account and --qos in `access`; in `extras`
# `coordinates` (a file that says where the nodes stand) and `topology` (a name or .yml file), if you know them.
{{% set checkout = getenv('RAILYARD_CHECKOUT') or getenv('PWD') %}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One part of a machine: whether it is there, what was found, and what it enables, or would."""

    part: str
    there: bool
    found: str
    enables: str


def findings(machine: Machine) -> Iterator[Finding]:
    """Every part, in the order in which a user would ask."""
    scheduler = machine.scheduler
    partitions = ", ".join(f"{p.name} ({p.nodes} nodes)" for p in scheduler.partitions)
    yield Finding(
        part="scheduler",
        there=scheduler.name != "local",
        found=" ".join(filter(None, [scheduler.name, scheduler.version, partitions])),
        enables="checks on many nodes; without one a job stays on this machine or on a virtual torus",
    )
    yield Finding(
        part="MPI",
        there=bool(machine.mpis),
        found=", ".join(f"{mpi.name} {mpi.version}" for mpi in machine.mpis),
        enables="every benchmark; build them with its compiler (benchmarks/README.md)",
    )
    yield _pmi(machine)
    fast = [nic for nic in machine.nics if nic.fabric != "ethernet"]
    yield Finding(
        part="NICs",
        there=bool(machine.nics),
        found=", ".join(f"{nic.name} ({nic.fabric}{_numa(nic.numa_node)})" for nic in machine.nics),
        enables="NIC policies" if len(fast) > 1 else "NIC policies where a node has several of a fast fabric",
    )
    yield _virtual_torus(machine)
    tools = machine.tools
    yield _tool(
        "Slurm's daemons", tools["slurmctld"], "a Slurm cluster on the virtual torus (torus up --slurm)"
    )
    yield _tool("Docker", tools["docker"], "nodes as containers (torus up --engine docker)")
    yield _tool("SimGrid", tools["simgrid"], "benchmarks on a simulated torus")
    yield _tool("Apptainer", tools["apptainer"], "checks from one image on every node")
    yield _tool("Spack", tools["spack"], "third-party applications, built and pinned")


def _pmi(machine: Machine) -> Finding:
    asked = ", ".join(machine.scheduler.pmi)
    return Finding(
        part="srun --mpi",
        there=bool(asked),
        found=asked,
        enables="ranks started by srun: Open MPI by pmix, MPICH by pmi2; otherwise use launcher mpirun",
    )


def _virtual_torus(machine: Machine) -> Finding:
    may = machine.is_root or machine.user_namespaces
    who = "root" if machine.is_root else "user namespaces" if may else "no permission for namespaces"
    return Finding(
        part="virtual torus",
        there=may and bool(machine.tools["ip"]),
        found=who if machine.tools["ip"] else "no ip (iproute2)",
        enables="every check on a virtual machine of namespaces (--system vtorus:netns)",
    )


def _tool(part: str, found: str, enables: str) -> Finding:
    return Finding(part=part, there=bool(found), found=found, enables=enables)


def _numa(node: int) -> str:
    return f", NUMA node {node}" if node >= 0 else ""


def fragment(machine: Machine) -> str:
    """The configuration file to start from, as text."""
    name = machine.hostname.lower()
    body: dict[str, Any] = {
        "systems": [
            {
                "name": name,
                "descr": f"{machine.hostname}, as railyard doctor saw it",
                "hostnames": [f"^{machine.hostname}"],
                "partitions": [_partition(machine, *each) for each in _partitions(machine)],
            }
        ],
        "environments": [_environment(machine, mpi, name) for mpi in machine.mpis],
    }
    if not machine.mpis:
        body["environments"] = [{"name": _environment_name("none"), "target_systems": [name], "cc": "mpicc"}]
    text = yaml.safe_dump(body, sort_keys=False, width=120, default_flow_style=None)
    return HEADER.format(hostname=machine.hostname, name=name) + text


def _partitions(machine: Machine) -> list[tuple[str, int, list[str]]]:
    """Name, nodes to ask for, options of the scheduler."""
    if not machine.scheduler.partitions:
        return [("local" if machine.scheduler.name == "local" else "compute", 1, [])]
    return [
        (p.name, max(1, min(p.nodes, DEFAULT_NODES)), [f"--partition={p.name}"])
        for p in machine.scheduler.partitions
    ]


def _partition(machine: Machine, name: str, nodes: int, access: list[str]) -> dict[str, Any]:
    scheduler = machine.scheduler
    launcher = (
        LAUNCHERS.get(scheduler.name, "mpirun") if scheduler.pmi or scheduler.name == "local" else "mpirun"
    )
    extras: dict[str, Any] = {"origin": "measured", "nodes": nodes}
    if devices := [nic.name for nic in machine.nics if nic.fabric != "ethernet"]:
        extras["nics"] = devices
    return {
        "name": name,
        "descr": f"{name} on {machine.hostname}",
        "scheduler": scheduler.name,
        "launcher": launcher,
        **({"access": access} if access else {}),
        "environs": [_environment_name(mpi.name) for mpi in machine.mpis] or [_environment_name("none")],
        "max_jobs": 1 if scheduler.name == "local" else 4,
        "features": ["torus"],
        "extras": extras,
        "prepare_cmds": [f"export PATH={CHECKOUT}/.venv/bin:$PATH"],
    }


def _environment(machine: Machine, mpi: Mpi, system: str) -> dict[str, Any]:
    fabrics = {nic.fabric for nic in machine.nics}
    stack = OWN_STACKS.get(mpi.name) or [STACKS[f] for f in sorted(fabrics & STACKS.keys())][:1]
    variables = [["PATH", f"{CHECKOUT}/build/benchmarks-{BUILD.get(mpi.name, 'site')}/bin:$PATH"]]
    if (pmi := PMI.get(mpi.name)) in machine.scheduler.pmi:
        variables.append(["SLURM_MPI_TYPE", str(pmi)])
    return {
        "name": _environment_name(mpi.name),
        "target_systems": [system],
        "cc": mpi.compiler,
        "features": ["mpi", *dict.fromkeys([mpi.name, *stack])],
        "env_vars": variables,
    }


def _environment_name(mpi: str) -> str:
    """Not one that reframe.yml has already."""
    return f"{mpi}-here"
