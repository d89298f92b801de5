"""The environment of launches on a torus, made from the launchers' own modules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railyard.placements import launchers
from railyard.placements.launchers.base import AgentHosts, AgentVariables
from railyard.placements.topology import catalog
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import environment
from railyard.torus.virtual.lifecycle import VirtualTorus

TORUS = VirtualTorus(name="env", engine="netns", topology=catalog.load("gemini-7x7x7"), shape=Shape(), complete=True)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("mpiexec (OpenRTE) 3.1.3", ["openmpi4"]),
        ("mpirun (Open MPI) 4.1.4", ["openmpi4"]),
        ("mpirun (Open MPI) 5.0.11", ["openmpi5"]),
        ("mpirun (Open MPI) 10.0.1", ["openmpi5"]),
        ("HYDRA build details:", ["intel-mpi", "mpich"]),
        ("", ["intel-mpi", "mpich"]),
    ],
)
def test_the_text_of_version_selects_the_launcher(version: str, names: list[str]) -> None:
    assert [launcher.name for launcher in launchers.for_agent_hosts(version)] == names


@pytest.mark.built
def test_a_launcher_is_known_to_the_torus_by_its_own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_agent_hosts(hosts: AgentHosts) -> AgentVariables:
        reach = {"PRUN_AGENT": hosts.agent, "PRUN_RADIX": str(hosts.count)}
        return AgentVariables(reach=reach, defaults={"PRUN_NIC": hosts.nics[0], "PRUN_HOSTS": "all"})

    prun = replace(launchers.named("flux"), name="prun", version=r"prun \d", on_agent_hosts=on_agent_hosts)
    monkeypatch.setitem(launchers.LAUNCHERS, "prun", prun)
    monkeypatch.setenv("PRUN_HOSTS", "some")
    program = tmp_path / "prun"
    program.write_text("#!/bin/sh\necho prun 3.0\n")
    program.chmod(0o755)
    variables = environment.for_program(TORUS, str(program))
    assert {name: value for name, value in variables.items() if name.startswith("PRUN_")} == {
        "PRUN_AGENT": "railyard-enter -s",
        "PRUN_RADIX": "686",
        "PRUN_NIC": "nic0",
    }
    assert not any(name.startswith(("OMPI_", "HYDRA_", "I_MPI_")) for name in variables)
    assert variables["UCX_TLS"] == "tcp,self" and variables["FI_PROVIDER"] == "tcp"


@pytest.mark.built
def test_what_the_caller_has_set_of_nics_and_hosts_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCX_NET_DEVICES", "nic1")
    monkeypatch.setenv("HYDRA_HOST_FILE", "mine")
    variables = environment.for_launcher(TORUS, "mpich")
    assert not {"UCX_NET_DEVICES", "HYDRA_HOST_FILE"} & variables.keys()
    assert variables["HYDRA_LAUNCHER"] == "ssh"


@pytest.mark.unit
@pytest.mark.parametrize(("cluster", "nodes"), [("env", "n0-0-0"), ("other", None)])
def test_a_launcher_sees_the_job_of_the_torus_and_no_other(
    monkeypatch: pytest.MonkeyPatch, cluster: str, nodes: str | None
) -> None:
    for name, value in {"JOB_ID": "1", "JOB_NODELIST": "n0-0-0", "CLUSTER_NAME": cluster}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert environment.of_caller(TORUS).get("SLURM_JOB_NODELIST") == nodes
