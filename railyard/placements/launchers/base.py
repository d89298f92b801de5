"""Define a launcher: one object per launcher, in the modules of this folder.

A module that defines `LAUNCHER`, or several in a tuple `LAUNCHERS`, is found by `railyard.placements.launchers`;
nothing else must be edited to add one. Leaves out NICs (`railyard.placements.nics`) and how a job is written
(`railyard.jobs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from railyard.base.errors import InputError
from railyard.placements.hosts.node import Binding
from railyard.placements.orders.placement import Placement

#: Variables of batch systems that hold the path of the job's node file: PBS, LSF and OAR one line per slot, Grid Engine
#: (sge_pe(5), pe_hostfile) the host, its slots, its queue and its processors on a line.
BATCH_NODE_FILES = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "OAR_NODEFILE", "PE_HOSTFILE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A launch as text: `command` up to the program, `environment` to set, `files` (name -> text) to write."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """How variables reach the ranks: `options` on the launcher's command line, `environment` before it."""

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def pass_by_environment(variables: Mapping[str, str]) -> Passed:
    """Set the variables in the launcher's own environment, which its ranks inherit."""
    return Passed(environment=dict(variables))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHosts:
    """Hosts on which a launcher starts its daemons by a program in ssh's place. The hosts of a virtual torus are such.

    The launcher runs `agent HOST COMMAND...`. Hydra runs `hydra_agent`, which skips the options of ssh that Hydra puts
    first. `hostfile` and `hydra_hosts` are paths of the list of hosts, for Open MPI and for Hydra. `folder` is where
    daemons may write. Ranks send by the interfaces `nics`, daemons by the interface `management`.
    """

    count: int
    nics: tuple[str, ...]
    management: str
    agent: str
    hydra_agent: str
    hostfile: str
    hydra_hosts: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVariables:
    """The environment with which an MPI runs on `AgentHosts`.

    `reach` makes the launcher find and reach the hosts; in a job of the hosts' own scheduler they are not set. `run`
    is for daemons and ranks. `defaults` are set only where the caller has not set them.
    """

    reach: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


#: Sizes in bytes of the files in which a node's PMIx keeps the data of its ranks; it makes more as they are full.
#: By default each has 4 MiB, allocated at once: for 64 nodes 512 MiB of memory and a sixth of the time of a launch.
#: Ranks must have the sizes of their daemon: with others they end in a bus error.
PMIX_SEGMENTS = dict.fromkeys(("INITIAL_SEG_SIZE", "NS_META_SEG_SIZE", "NS_DATA_SEG_SIZE"), "65536")


def ucx_variables(hosts: AgentHosts) -> AgentVariables:
    """Return what limits UCX to the NICs of the hosts.

    UCX would use shared memory between hosts that are namespaces of one machine.
    """
    return AgentVariables(run={"UCX_TLS": "tcp,self"}, defaults={"UCX_NET_DEVICES": ",".join(hosts.nics)})


def libfabric_variables() -> AgentVariables:
    """Return what limits libfabric to TCP over the first NIC, because it would use the management network, too."""
    return AgentVariables(defaults={"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "nic0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """One launcher.

    `selected_by` are pairs of ReFrame's launcher name and a feature of the environment. A `general` launcher is
    selected only if no other one is, and its variables are read after those of all others, because a job script has
    them too. `local_rank` names variables that hold a rank's number on its node. `node_list` names variables that
    hold the job's nodes as a Slurm host list, `node_files` variables that hold the path of a node file. `node_commands`
    are commands that print the job's nodes, one per line, by the variable that is set in such a job.
    `all_gpus` are variables with which a rank sees every GPU of its node, whatever the launcher would choose.
    `nic_by_host` launchers choose a rank's NIC by its line of the host file (NODE.nicK), not by a stack's variables.
    `source` is the manual that the text follows, and `cannot` what the launcher refuses, both as Markdown.
    `on_agent_hosts` returns the environment for a virtual torus, which can run every launcher that has the function.
    The launcher's `--version` prints a text in which the pattern `version` occurs; it is empty if no text is typical.
    """

    name: str
    render: Callable[[Placement, str], Rendered]
    selected_by: tuple[tuple[str, str], ...]
    local_rank: tuple[str, ...] = ()
    node_list: tuple[str, ...] = ()
    node_files: tuple[str, ...] = ()
    node_commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bindings: frozenset[Binding] = frozenset(Binding)
    pass_variables: Callable[[Mapping[str, str]], Passed] = pass_by_environment
    all_gpus: Mapping[str, str] = field(default_factory=dict)
    general: bool = False
    nic_by_host: bool = False
    on_agent_hosts: Callable[[AgentHosts], AgentVariables] | None = None
    version: str = ""
    source: str = ""
    cannot: str = ""

    def rendered(self, placed: Placement, stem: str = "placement") -> Rendered:
        """Return the command and files that start a placement; file names begin with `stem`.

        Raises InputError for a placement or a binding that the launcher cannot express.
        """
        if placed.binding not in self.bindings:
            valid = ", ".join(sorted(self.bindings))
            raise InputError("launcher", "binding", problem=f"{self.name} cannot bind by {placed.binding}", valid=valid)
        return self.render(placed, stem)


def numa_of(placed: Placement, local: int) -> int:
    """Return the NUMA node of a local rank; the ranks of a node fill its NUMA nodes in equal blocks."""
    return local * placed.allocation.topology.sockets_per_node // placed.ranks_per_node
