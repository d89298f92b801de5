"""Set the environment of programs on a torus: the torus's variables, and those that a launcher's MPI needs there.

What each MPI needs is in its launcher's module in `railyard/placements/launchers`. Here is what depends on this
machine: paths, preloaded libraries, and what the caller has set. Leaves out the life of a launch (`launch`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from railyard.base.checkout import TORUS_BIN
from railyard.base.errors import RunError
from railyard.placements import launchers
from railyard.placements.launchers import openmpi
from railyard.placements.launchers.base import AgentHosts, AgentVariables, Launcher, libfabric_variables, ucx_variables
from railyard.torus.native import programs
from railyard.torus.native.programs import BIN, ENTER, FENCE, IDLE
from railyard.torus.slurm import cluster
from railyard.torus.virtual.lifecycle import VirtualTorus

#: Debian's packages of programs that the system must have.
PACKAGES = {"mpirun": "openmpi-bin", "srun": "slurm-client", "mpiexec.hydra": "mpich"}


def for_any_program(torus: VirtualTorus) -> dict[str, str]:
    """Return the variables of every program on a host of the torus. RunError if the C helpers are not built.

    Open MPI's daemons on other machines stay children of what starts them, because a Slurm step ends others. Ranks in
    an Apptainer image need the daemons' folder and the preloaded libraries inside the image; APPTAINER_NO_PRIVS is set
    because a root that lacks a capability cannot request all of them, Apptainer's default. HWLOC_COMPONENTS, unless the
    caller has set it, keeps hwloc from reading the PCI devices, none of which is a NIC of the torus. On a virtual
    machine each read leaves the guest: a launch of 64 ranks of Open MPI used 11 s of processor time with the reads and
    7 s without. Nor does hwloc load plugins: every daemon and rank would load the libraries of X11 and OpenCL.
    """
    programs.need()
    attached = ("OMPI_MCA_orte_leave_session_attached", "PRTE_MCA_prte_leave_session_attached")
    binds = [os.environ.get("APPTAINER_BIND"), str(torus.folder), str(IDLE), str(FENCE)]
    return {
        "RAILYARD_TORUS": torus.name,
        "PATH": f"{BIN}:{os.environ.get('PATH', os.defpath)}",
        **(cluster.environment(torus.folder) if torus.slurm else {}),
        **(dict.fromkeys(attached, "1") if torus.parts else {}),
        **_unset({"HWLOC_COMPONENTS": "-pci,-linuxio", "HWLOC_PLUGINS_PATH": os.devnull}),
        "APPTAINER_BIND": ",".join(filter(None, binds)),
        "APPTAINER_NO_PRIVS": "1",
    }


def of_caller(torus: VirtualTorus) -> dict[str, str]:
    """Return this process's variables, without those of a Slurm job that is not the torus's own.

    Launchers would take that job's nodes for theirs: Open MPI started 64 ranks on the first 4 of 64 nodes.
    """
    is_foreign = "SLURM_JOB_ID" in os.environ and not cluster.allocated(torus.name)
    return {name: value for name, value in os.environ.items() if not (is_foreign and name.startswith("SLURM_"))}


def for_launcher(torus: VirtualTorus, name: str) -> dict[str, str]:
    """Return the variables of a launcher on the head of the torus.

    `name` is that of a launcher in `railyard.placements.launchers` that can run there.
    """
    return _merged(_on_hosts(torus, launchers.named(name)))


def for_program(torus: VirtualTorus, program: str) -> dict[str, str]:
    """Return the variables of a launcher by the path of its program. Its `--version` shows which MPI it belongs to.

    Ranks may be of any build of that MPI, so the variables of UCX and libfabric are set as well.
    """
    kinds = launchers.for_agent_hosts(version_text([program], for_any_program(torus)))
    parts = [_on_hosts(torus, launcher) for launcher in kinds]
    return _merged(*parts, ucx_variables(agent_hosts(torus)), libfabric_variables())


def for_mpirun_in_job(torus: VirtualTorus) -> dict[str, str]:
    """Return the variables of Open MPI's mpirun in a job of the torus's Slurm.

    Slurm names the hosts and starts the daemons. PATH leaves out the torus's own `srun`, which mpirun must not call.
    """
    variables = _on_hosts(torus, launchers.named("openmpi4"))
    return {**variables.run, **_unset(variables.defaults), "PATH": f"{BIN}:{programs.system_path()}"}


def for_srun(torus: VirtualTorus) -> dict[str, str]:
    """Return the variables of srun: what the ranks' MPI needs, as far as the caller has not set it."""
    hosts = agent_hosts(torus)
    ucx = ucx_variables(hosts)
    defaults = {**openmpi.rank_variables(hosts), **ucx.run, **ucx.defaults}
    return {**_unset(defaults), "LD_PRELOAD": f"{preloaded()} {FENCE}"}


def agent_hosts(torus: VirtualTorus) -> AgentHosts:
    """Return the nodes of the torus as launchers see them."""
    return AgentHosts(
        count=len(torus.topology.nodes),
        nics=tuple(f"nic{rail}" for rail in range(torus.topology.rails)),
        management="mgmt0",
        agent=f"{ENTER.name} -s",
        hydra_agent=str(TORUS_BIN / "hydra-agent"),
        hostfile=str(torus.folder / "hostfile"),
        hydra_hosts=str(torus.folder / "hydra.hosts"),
        folder=str(torus.folder),
    )


def preloaded() -> str:
    """Return LD_PRELOAD of a launch: the library that lets idle ranks sleep, then what the caller has set."""
    return " ".join(filter(None, [str(IDLE), os.environ.get("LD_PRELOAD")]))


def openmpi_series(mpirun: Sequence[str], variables: Mapping[str, str]) -> str | None:
    """Return the series of the Open MPI that a command belongs to, such as `4.1`; None if it is not an Open MPI's."""
    match = re.search(rf"{openmpi.PRODUCT}(\d+\.\d+)", version_text(mpirun, variables))
    return match[1] if match else None


def version_text(launcher: Sequence[str], variables: Mapping[str, str]) -> str:
    """Return what a launcher prints on stdout for `--version`, run with these variables added."""
    command = [*launcher, "--allow-run-as-root", "--version"]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def located(name: str, path: str | None = None) -> str | None:
    """Return the path of a program on the PATH; None without it.

    Its folder is no link: Open MPI takes what is above it for its prefix, and of `/bin/mpirun` that would be `/`.
    """
    program = shutil.which(name, path=path)
    return program and str(Path(program).parent.resolve() / Path(program).name)


def system_program(*names: str) -> str:
    """Return the path of the first of these names on the PATH that is not a program of the torus's own folder.

    Raises RunError with the package of the last name if there is none.
    """
    path = programs.system_path()
    for name in names:
        if program := located(name, path):
            return program
    raise RunError(f"no {names[-1]} on the PATH; Debian's package {PACKAGES[names[-1]]} has it")


def _on_hosts(torus: VirtualTorus, launcher: Launcher) -> AgentVariables:
    """Return a launcher's variables on the nodes of the torus, for one that can run there."""
    assert launcher.on_agent_hosts is not None
    return launcher.on_agent_hosts(agent_hosts(torus))


def _merged(*parts: AgentVariables) -> dict[str, str]:
    """Return all variables in one mapping, without the defaults that the caller has replaced."""
    variables: dict[str, str] = {}
    for part in parts:
        variables |= {**part.reach, **part.run, **_unset(part.defaults)}
    return variables


def _unset(defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the defaults of variables that the caller has not set."""
    return {name: value for name, value in defaults.items() if name not in os.environ}
