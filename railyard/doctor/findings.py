"""List what each part of a machine enables, or would enable, and write the reframe.yml fragment to start from.

Pure: `railyard.doctor.inventory` finds the parts. The fragment is a whole configuration file, to be given after
reframe.yml (`-C reframe.yml -C FRAGMENT`); what cannot be seen from here, such as accounts and topologies, is left to
its reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from railyard.doctor.inventory import BUILT_BY, SITE, Machine, Mpi, nic_notes
from railyard.jobs.nodes import observed
from railyard.torus.virtual import lifecycle

DEFAULT_NODES = 16
LAUNCHERS = {"slurm": "srun", "squeue": "srun"}
#: The communication stack that gets the settings of NIC policies, by fabric; MPICH and Cray MPICH have their own.
STACKS = {"infiniband": "ucx", "roce": "ucx", "omni-path": "psm2", "efa": "efa", "ethernet": "openmpi-tcp"}
#: MPIs that use the stack of the fabric.
TAKES_FABRIC = frozenset({"openmpi", "openmpi5"})
OWN_STACKS = {"cray-mpich": ["cray-mpich"], "mvapich2": ["mvapich2"], "intel-mpi": ["intel-mpi"]}
#: MPICH uses the stack that it was built for, whatever the fabric is.
NETMODS = {"ofi": "mpich-ofi", "ucx": "ucx"}
#: MPIs whose ranks HPE's mpiexec starts.
STARTED_BY_PALS = frozenset({"mpich", "cray-mpich"})
#: Options of every job of a partition or queue. PBS may put several chunks of a job on one node unless they scatter.
ACCESS = {
    "slurm": ("--partition={name}",),
    "squeue": ("--partition={name}",),
    "pbs": ("-q {name}", "-l place=scatter:excl"),
}
#: Value of `srun --mpi` for an MPI, where srun has it; other MPIs use the cluster's default.
PMI = {"openmpi": "pmix", "openmpi5": "pmix", "mpich": "pmi2", "mvapich2": "pmi2"}
SCHEDULERS = {"flux": "local", "sge": "local"}
TIME_LIMIT = "30m"

#: What a job on a virtual torus's Slurm does first: its record names the torus.
STATUS = '[ -e without-torus ] || railyard torus status "$RAILYARD_TORUS" --json > torus.json || exit 1'

#: The template's variable.
CHECKOUT = "{{ checkout }}"

HEADER = """\
# What `railyard doctor` saw on {hostname}. Give it after reframe.yml:
#     reframe -C reframe.yml -C THIS-FILE --system {name} -c checks -r -t smoke
# docs/cluster.md explains every line. Add by hand what cannot be seen: --account and --qos in `access` (doctor's
# --access does); in `extras` `coordinates` (a file with the nodes' coordinates) and `topology` (a name or .yml file).
{{% set checkout = '${{RAILYARD_CHECKOUT:-'
                   ~ (getenv('RAILYARD_CHECKOUT') or getenv('PWD')) | replace("'", "''") ~ '}}' %}}
"""

#: What each part of a machine enables, or would.
ENABLES = {
    "scheduler": "checks on many nodes; without one a job stays on this machine or on a virtual torus",
    "MPI": "every benchmark; build them with its compiler (benchmarks/README.md)",
    "srun --mpi": "ranks started by srun: Open MPI by pmix, MPICH by pmi2; otherwise use launcher mpirun",
    "NICs": "NIC policies where a node has several of a fast fabric",
    "modules": "the fragment loads what is loaded here; load compiler and MPI before you run doctor",
    "benchmarks": "every check but those of other programs; make setup builds them with the MPI that is loaded",
    "virtual torus": "every check on a virtual machine of namespaces (--system vtorus:netns)",
    "Slurm's daemons": "a Slurm cluster on the virtual torus (torus up --slurm)",
    "Docker": "nodes as containers (torus up --engine docker)",
    "SimGrid": "benchmarks on a simulated torus",
    "Apptainer": "checks from one image on every node",
    "Spack": "third-party applications, built and pinned",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of a machine: whether it is there, what was found, and what it enables, or would."""

    part: str
    there: bool
    found: str
    enables: str


def findings(machine: Machine) -> list[Finding]:
    """Return a finding for every part: scheduler, MPI, NICs, then tools."""
    scheduler, tools = machine.scheduler, machine.tools
    partitions = ", ".join(f"{p.fullname} ({p.nodes} nodes)" for p in scheduler.partitions)
    named = " ".join(filter(None, [scheduler.name, scheduler.version, partitions]))
    nics = [f"{nic.name} ({nic.fabric}{f', NUMA node {nic.numa}' if nic.numa >= 0 else ''})" for nic in machine.nics]
    has_several = sum(nic.fabric != "ethernet" for nic in machine.nics) > 1
    may = machine.is_root or machine.user_namespaces
    who = "root" if machine.is_root else "user namespaces" if may else "no permission for namespaces"
    other = f"{tools['singularity']}, which checks do not use" if tools["singularity"] else ""
    mpis = ", ".join(f"{mpi.name} {mpi.version}" for mpi in machine.mpis)
    modules, built = " ".join(machine.modules), ", ".join(f"build/benchmarks-{name}" for name in machine.built)
    rows: list[tuple[str, object, str]] = [
        ("scheduler", scheduler.name != "local", named),
        ("MPI", mpis, mpis),
        ("srun --mpi", scheduler.pmi, ", ".join(scheduler.pmi)),
        ("NICs", machine.nics, "; ".join(filter(None, (", ".join(nics), *nic_notes(machine.interfaces))))),
        ("modules", modules, modules or machine.modules_system),
        ("benchmarks", built, built),
        ("virtual torus", may and tools["ip"], who if tools["ip"] else "no ip (iproute2)"),
        ("Slurm's daemons", tools["slurmctld"], tools["slurmctld"]),
        ("Docker", tools["docker"], tools["docker"]),
        ("SimGrid", tools["simgrid"], tools["simgrid"]),
        ("Apptainer", tools["apptainer"], tools["apptainer"] or other),
        ("Spack", tools["spack"], tools["spack"]),
    ]
    enables = ENABLES | ({"NICs": "NIC policies"} if has_several else {})
    return [Finding(part, bool(there), text, enables[part]) for part, there, text in rows]


def system_name(machine: Machine) -> str:
    """Return the name of the machine in records: the cluster's name, the same from each login node, or the host's."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", (machine.scheduler.cluster or machine.hostname).lower())


def fragment(machine: Machine, *further: Machine) -> str:
    """Return the configuration file to start from, as text.

    `further` are the same machine with other partitions chosen; each gets a partition of the configuration.
    """
    name = system_name(machine)
    machines = (machine, *further)
    stem = re.sub(r"\d+$", "", machine.hostname)
    mpis = [mpi for mpi in machine.mpis if mpi.built] or [Mpi(name="none", version="", compiler="mpicc")]
    system: dict[str, Any] = {
        "name": name,
        "descr": f"{name}, as railyard doctor saw it on {machine.hostname}",
        "hostnames": [rf"^{re.escape(stem)}\d*"],
        **({"modules_system": machine.modules_system} if machine.modules_system else {}),
        "partitions": [_partition(one, mpis) for one in machines],
    }
    body = {"systems": [system], "environments": [_environment(machine, mpi, name) for mpi in mpis]}
    text = yaml.safe_dump(body, sort_keys=False, width=120, default_flow_style=None)
    names = [one.scheduler.chosen.fullname for one in machines if one.scheduler.chosen]
    others = [p.fullname for p in machine.scheduler.partitions if p.fullname not in names]
    more = f"# Other partitions (--partition NAME): {', '.join(others)}.\n" if others else ""
    more += "".join(map(_gpu_lines, machines))
    for one in machines:
        if why := observed.emulated(one.nodes):
            more += f"# {_partition_name(one)}: emulated, because {why}.\n"
    return HEADER.format(hostname=machine.hostname, name=name) + more + text


def _gpu_lines(machine: Machine) -> str:
    """Return how a partition's jobs get the GPUs of their nodes, as comments; empty without GPUs."""
    if not machine.gpus:
        return ""
    count, is_slurm = machine.gpus, machine.scheduler.name in LAUNCHERS
    option = f"'--gpus-per-node={count}'" if is_slurm else "the site's own option"
    return (
        f"# {_partition_name(machine)}: a node has {count} GPUs. Jobs get them by these lines of the partition:\n"
        f"#   access: [..., {option}]\n#   devices: [{{type: gpu, num_devices: {count}}}]\n"
    )


def _partition(machine: Machine, mpis: Sequence[Mpi]) -> dict[str, Any]:
    scheduler, chosen = machine.scheduler, machine.scheduler.chosen
    name = _partition_name(machine)
    access = [option.format(name=chosen.name) for option in ACCESS.get(scheduler.name, ())] if chosen else []
    cluster = [f"--clusters={chosen.cluster}"] if chosen and chosen.cluster else []
    access = [*cluster, *access, *machine.access]
    nodes = min(chosen.nodes or DEFAULT_NODES, DEFAULT_NODES) if chosen else 1
    origin = "emulated" if observed.emulated(machine.nodes) else "measured"
    extras: dict[str, Any] = {"origin": origin, "nodes": nodes}
    # srun where it can start ranks, mpiexec for PALS, else the MPI's own mpirun.
    launcher = LAUNCHERS.get(scheduler.name, "mpirun") if scheduler.pmi else "mpirun"
    if scheduler.has_pals and STARTED_BY_PALS & {mpi.name for mpi in mpis}:
        launcher = "mpiexec"
    before = [f'export PATH="{CHECKOUT}/.venv/bin:$PATH"']
    if torus := observed.torus_named(machine.nodes):
        extras |= {"cluster": torus, "topology": str(lifecycle.RUN / torus / "topology.yml"), "names_nodes": True}
        before = [f'export PATH="{CHECKOUT}/railyard/torus/bin:{CHECKOUT}/.venv/bin:$PATH"', STATUS]
    if scheduler.name in SCHEDULERS:
        extras["nodes_from"] = "environment"
    if devices := [nic.name for nic in machine.devices]:
        extras["nics"] = devices
    return {
        "name": re.sub(r"[^A-Za-z0-9_-]", "-", name),
        "descr": f"{name} on {machine.hostname}",
        "scheduler": SCHEDULERS.get(scheduler.name, scheduler.name),
        "launcher": launcher,
        **({"access": access} if access else {}),
        "environs": [f"{mpi.name}-here" for mpi in mpis],  # names that reframe.yml does not use already
        "max_jobs": 1 if scheduler.name in {"local", *SCHEDULERS} else 4,
        "time_limit": TIME_LIMIT,
        "features": ["torus"],
        "extras": extras,
        "prepare_cmds": before,
    }


def unbuilt(machine: Machine) -> Iterator[str]:
    """Yield a line for each MPI that is left out, with the command that builds the benchmarks with it."""
    for mpi in machine.mpis:
        if not mpi.built:
            is_debian = mpi.compiler in BUILT_BY
            build = "make setup" if is_debian else f"rm -rf build/benchmarks-{SITE}; make setup MPICC={mpi.compiler}"
            yield f"{mpi.name} {mpi.version}: left out: its benchmarks are not built; run: {build}"


def _partition_name(machine: Machine) -> str:
    chosen = machine.scheduler.chosen
    return chosen.name if chosen else "local" if machine.scheduler.name == "local" else "compute"


def _environment(machine: Machine, mpi: Mpi, system: str) -> dict[str, Any]:
    fabrics = {nic.fabric for nic in machine.devices}
    by_fabric = [STACKS[f] for f in sorted(fabrics & STACKS.keys(), reverse=True)][:1]
    stack = OWN_STACKS.get(mpi.name) or (by_fabric if mpi.name in TAKES_FABRIC else [])
    if mpi.name == "mpich" and mpi.netmod in NETMODS:
        stack = [NETMODS[mpi.netmod]]
    by_pals = machine.scheduler.has_pals and mpi.name in STARTED_BY_PALS
    launched = ["pals"] if by_pals else []
    library = [] if by_pals and mpi.name == "mpich" else [mpi.name]  # the feature `mpich` selects Hydra's mpiexec
    folder = BUILT_BY.get(mpi.compiler, SITE)
    variables = [["PATH", f'"{CHECKOUT}/build/benchmarks-{folder}/bin:$PATH"']]
    if (pmi := PMI.get(mpi.name)) in machine.scheduler.pmi:
        variables.append(["SLURM_MPI_TYPE", str(pmi)])
    return {
        "name": f"{mpi.name}-here",
        "target_systems": [system],
        **({"modules": list(machine.modules)} if machine.modules and machine.modules_system else {}),
        "cc": mpi.compiler,
        "features": ["mpi", *dict.fromkeys([*launched, *library, *stack])] if mpi.name != "none" else [],
        "env_vars": variables,
    }
