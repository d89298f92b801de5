"""Site configurations and doctor's fragments: each is loaded, lists its checks and dry-runs one, with no line edited.

Machines are pretended: programs on the PATH that answer as the sites' documents show, a tree of files as /sys.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support.commands import BIN, CHECKOUT, environment

SITES = sorted((CHECKOUT / "config/sites").glob("*.yml"))
LMOD = 'case "$1" in --version) echo "Modules based on Lua: Version 8.7.37" >&2;; esac'
ENVMOD = 'case "$*" in *-V*) echo "Modules Release 5.3.1 (2023-06-27)" >&2;; esac'


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Both module systems, which load nothing; as variables of the environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "modulecmd", ENVMOD)
    lmod = program(folder, "lmod", LMOD)
    path = f"{folder}:{BIN}:{os.environ['PATH']}"
    return {"PATH": path, "LMOD_CMD": str(lmod), "MODULES_CMD": str(folder / "modulecmd")}


def reframe(
    config: Path, system: str, folder: Path, variables: dict[str, str], *action: str
) -> subprocess.CompletedProcess[str]:
    words = [
        "reframe",
        "-C",
        str(CHECKOUT / "reframe.yml"),
        "-C",
        str(config),
        "--system",
        system,
        "--nocolor",
    ]
    words += ["--prefix", str(folder), *action]
    env = {**environment(), **variables}
    return subprocess.run(words, capture_output=True, text=True, cwd=CHECKOUT, env=env, check=False)


def dry_run(
    config: Path, system: str, folder: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    halo = ("-c", str(CHECKOUT / "checks/halo.py"), "-n", "halo_smoke", "--dry-run")
    return reframe(config, system, folder, variables, *halo)


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_a_site_is_loaded_its_checks_listed_and_one_dry_run(
    site: Path, machine: dict[str, str], tmp_path: Path
) -> None:
    text = site.read_text()
    name = re.search(r"^  - name: (\S+)", text, re.M)
    assert name and "https://" in text, "where the facts are from"
    listed = reframe(site, name[1], tmp_path, machine, "-c", str(CHECKOUT / "checks"), "-t", "smoke", "-l")
    checks = set(re.findall(r"^- (\w+)", listed.stdout, re.M))
    assert {"halo_smoke", "hops_smoke", "contention_smoke", "sonar_smoke"} <= checks, listed.stdout
    done = dry_run(site, name[1], tmp_path, machine)
    assert done.returncode == 0 and "Ran 1/1" in done.stdout, done.stdout + done.stderr
    script = next(tmp_path.rglob("rfm_job.sh")).read_text()
    assert "railyard granted || exit 1" in script and "benchmarks-site/bin:$PATH" in script


class Found(NamedTuple):
    """A machine as its login node shows it."""

    sinfo: str
    cluster: str
    variables: dict[str, str]
    devices: dict[str, str]
    wrapper: str
    features: str


INFINIBAND = {"infiniband/mlx5_0": "InfiniBand", "infiniband/mlx5_1": "Ethernet"}
CXI = {f"cxi/cxi{k}": "" for k in range(4)}
CRAY = {"CRAY_MPICH_VERSION": "8.1.30"}
OPENMPI = '--version) echo "mpirun (Open MPI) 4.1.6";;'
#: What sinfo prints with --format "%P %D": the default partition has a star.
MACHINES = {
    "lumi": Found("standard-g* 2978\\nsmall-g 2978\\ndev-g 2978", "lumi", CRAY, CXI, "", "cray-mpich"),
    "frontier": Found("batch* 9472\\nextended 9472", "frontier", CRAY, CXI, "", "cray-mpich"),
    "alps": Found("debug 24\\nnormal* 1266", "daint", CRAY, CXI, "", "cray-mpich"),
    "perlmutter": Found("cpu_ss11* 3072\\ngpu_ss11 1792", "perlmutter", CRAY, CXI, "", "cray-mpich"),
    "ndr": Found("compute* 700\\nlargemem 16", "ndr", {}, INFINIBAND, OPENMPI, "openmpi, ucx"),
    "opa": Found("workq 96", "opa", {}, {"infiniband/hfi1_0": "InfiniBand"}, OPENMPI, "openmpi, psm2"),
    "ethernet": Found("all* 8", "small", {}, {"net/eth0": ""}, OPENMPI, "openmpi"),
    "no-default": Found("a 4\\nb 64", "plain", {}, {}, OPENMPI, "openmpi"),
}
ASK = (
    "import sys; from pathlib import Path; from railyard.doctor import findings, inventory, trial; "
    "machine = inventory.look(Path(sys.argv[1])); text = findings.fragment(machine); "
    "Path(sys.argv[2]).write_text(text); print(trial.fault(text, findings.system_name(machine)))"
)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_what_doctor_prints_works_as_it_is(name: str, machine: dict[str, str], tmp_path: Path) -> None:
    shown = MACHINES[name]
    folder = tmp_path / "bin"
    program(
        folder, "sinfo", f"case \"$*\" in *format*) printf '{shown.sinfo}\\n';; *) echo slurm 24.05.4;; esac"
    )
    program(folder, "scontrol", f"echo 'ClusterName             = {shown.cluster}'")
    program(folder, "srun", "printf 'MPI plugin types are...\\n\\tnone\\n\\tpmix\\n' >&2")
    program(folder, "sacct", "exit 0")
    for other in ("mpicc.openmpi", "mpicc.mpich", "mpichversion"):
        program(folder, other, "exit 1")
    program(folder, "mpicc", "echo gcc -lmpi")
    program(folder, "mpirun", f'case "$1" in {shown.wrapper} esac')
    for device, layer in shown.devices.items():
        path = tmp_path / "sys/class" / device
        (path / "ports/1").mkdir(parents=True)
        (path / "ports/1/link_layer").write_text(layer)
        (path / "ports/1/state").write_text("4: ACTIVE")
    words = [str(BIN / "python"), "-c", ASK, str(tmp_path / "sys"), str(tmp_path / "mine.yml")]
    env = {**environment(), **machine, **shown.variables, "LOADEDMODULES": "gcc/13.2:mpi/1"}
    done = subprocess.run(words, capture_output=True, text=True, cwd=CHECKOUT, env=env, check=False)
    text = (tmp_path / "mine.yml").read_text()
    assert done.stdout.strip() == "", f"{done.stdout}{done.stderr}{text}"
    assert f"- name: {shown.cluster}\n" in text and f"features: [mpi, {shown.features}]" in text
    assert "modules_system: lmod" in text and "modules: [gcc/13.2, mpi/1]" in text
    assert text.count("scheduler: slurm") == 1, "one partition"
    assert "mlx5_1" not in text, "no RoCE port"


def test_a_fragment_that_does_not_work_says_why() -> None:
    code = "from railyard.doctor import trial; print(trial.fault('systems: []', 'nowhere'))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, check=True
    )
    assert done.stdout.strip() and "Traceback" not in json.dumps(done.stdout)
