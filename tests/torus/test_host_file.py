"""A cluster without a scheduler: nodes that answer ssh, a host file in RAILYARD_NODES, ranks started by mpirun."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT, Run, environment, in_checkout
from support.reframe import reading
from support.topology.tori import entering, up
from support.waiting import wait_until

from railyard.records.store import archive

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
NO_SSH = "" if SSHD and shutil.which("ssh") else "no sshd and ssh; Debian's package openssh-server has them"
SSHD_CONFIG = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
"""
#: The head reaches nodes by the management network alone, as on most clusters.
SSH_CONFIG = """\
Host *
    HostName %h.mgmt
    IdentityFile {folder}/user_key
    IdentitiesOnly yes
    BatchMode yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="nodes' ssh daemons change users; run as root"),
    pytest.mark.skipif(bool(NO_SSH), reason=NO_SSH),
]
NODES = ["n0-0-0", "n1-0-1", "n0-1-1", "n1-1-0"]
SITE = """\
systems:
  - name: site
    hostnames: ['^nowhere$']
    partitions:
      - name: nodes
        scheduler: local
        launcher: mpirun
        environs: [openmpi-ssh]
        max_jobs: 1
        features: [torus]
        extras: {{origin: measured, nodes_from: environment}}
        prepare_cmds: ['export PATH="{path}:$PATH"']
environments:
  - name: openmpi-ssh
    target_systems: [site]
    cc: mpicc.openmpi
    features: [mpi, openmpi]
    env_vars:
      - [OMPI_MCA_plm_rsh_agent, '"{agent}"']
      - [OMPI_MCA_mca_base_env_list, 'PATH;LD_LIBRARY_PATH']
      - [OMPI_ALLOW_RUN_AS_ROOT, 1]
      - [OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, 1]
"""


@contextmanager
def ssh_nodes(torus: str, names: Sequence[str], folder: Path) -> Iterator[str]:
    """Run an sshd on each node; the ssh command that logs in there."""
    assert SSHD
    for key in ("host_key", "user_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(command, check=True)
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder))
    (folder / "ssh_config").write_text(SSH_CONFIG.format(folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    started = []
    for name in names:
        words = entering(torus, SSHD, "-D", "-e", "-f", folder / "sshd_config", host=name)
        with (folder / f"{name}.log").open("wb") as log:
            started.append(subprocess.Popen(words, env=environment(), stderr=log, stdout=log))
    try:
        ssh = ["ssh", "-F", str(folder / "ssh_config")]
        for name in names:
            wait_until(lambda name=name: _answers(torus, [*ssh, name, "true"]), f"{name} answers ssh")  # type: ignore[misc]
        yield " ".join(ssh)
    finally:
        for process in started:
            process.terminate()
            process.wait()


def _answers(torus: str, words: list[str]) -> bool:
    done = subprocess.run(entering(torus, *words), env=environment(), capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture
def agent(railyard: Run, torus_name: str, tmp_path: Path) -> Iterator[str]:
    """The ssh command that logs in on the nodes of a torus without Slurm."""
    up(railyard, torus_name, "--rate-scale", "0.001")
    keys = tmp_path / "ssh"
    keys.mkdir()
    with ssh_nodes(torus_name, NODES, keys) as command:
        yield command


def test_checks_run_on_the_nodes_of_a_host_file_by_ssh(torus_name: str, agent: str, tmp_path: Path) -> None:
    config, hosts = tmp_path / "site.yml", tmp_path / "hosts"
    programs = CHECKOUT / "build/benchmarks-openmpi/bin"
    config.write_text(SITE.format(path=f"{programs}:{BIN}", agent=agent))
    hosts.write_text("# my nodes\n" + "".join(f"{name} slots=2\n" for name in NODES))
    words = [str(BIN / "reframe"), "-C", str(CHECKOUT / "reframe.yml"), "-C", str(config), "--nocolor"]
    words += ["--system", "site", "--prefix", str(tmp_path), *reading("-n", "halo_smoke"), "-r"]
    words += ["-n", "halo_smoke", "-S", "scale=small", "-S", "cells=4", "-S", "repeats=1"]
    words += ["--keep-stage-files", "-S", "placements=plain,random", "-S", f"archive={tmp_path}/archive"]
    done = in_checkout(entering(torus_name, "env", f"RAILYARD_NODES={hosts}", *words))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    (record,) = archive.load_all(tmp_path / "archive")
    assert (record.origin, record.status) == ("emulated", "ok"), "the nodes share one kernel"
    assert {node["name"] for node in record.case.allocation["nodes"]} == set(NODES)
    assert all(launch.placement_verdict == "obeyed" and launch.nics for launch in record.launches)
    (described,) = tmp_path.glob("stage/**/nodes.json")
    assert set(json.loads(described.read_text())) == set(NODES), "every node described itself, by mpirun"
