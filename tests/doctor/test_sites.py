"""Site configurations and doctor's fragments: each is loaded and dry-runs checks, with no line edited.

Machines are pretended: programs on the PATH that answer as the sites' documents show, a tree of files as /sys.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from support.commands import BIN, CHECKOUT, environment, program, ran
from support.reframe import reading, reframe_of

from railyard.doctor import cli, findings, inventory

SITES = sorted((CHECKOUT / "config/sites").glob("*.yml"))
LMOD = 'case "$1" in --version) echo "Modules based on Lua: Version 8.7.37" >&2;; esac'
ENVMOD = 'case "$*" in *-V*) echo "Modules Release 5.3.1 (2023-06-27)" >&2;; esac'


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
    words = ["-C", CHECKOUT / "reframe.yml", "-C", config, "--system", system, "--prefix", folder]
    return reframe_of(*words, *action, **variables)


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_a_site_is_loaded_and_checks_dry_run(site: Path, machine: dict[str, str], tmp_path: Path) -> None:
    """On the first site four checks; on the others one, because checks ask all sites for the same."""
    text = site.read_text()
    name = re.search(r"^  - name: (\S+)", text, re.M)
    assert name and "https://" in text, "where the facts are from"
    checks = {"halo_smoke"} | ({"hops_smoke", "contention_smoke", "sonar_smoke"} if site == SITES[0] else set())
    words = [word for check in checks for word in ("-n", check)]
    done = reframe(site, name[1], tmp_path, machine, *reading(*words), *words, "--dry-run")
    assert done.returncode == 0 and f"Ran {len(checks)}/{len(checks)}" in done.stdout, done.stdout + done.stderr
    assert set(re.findall(r"OK \] \(\d/\d\) (\w+)", done.stdout)) == checks
    script = next(tmp_path.rglob("rfm_job.sh")).read_text()
    assert "railyard granted || exit 1" in script and "benchmarks-site/bin:$PATH" in script


class Found(NamedTuple):
    """A machine as its login node shows it: its cluster, programs, variables, devices, and the expected words.

    `programs` are shell texts by name; PBS and Slurm print as their manuals show.
    """

    cluster: str
    programs: dict[str, str]
    variables: dict[str, str]
    devices: dict[str, str]
    expected: tuple[str, ...]


def slurm(cluster: str, sinfo: str) -> dict[str, str]:
    """What sinfo prints with --format "%P %D" (the default partition has a star), and scontrol show config."""
    listed = f"case \"$*\" in *format*) printf '{sinfo}\\n';; *) echo slurm 24.05.4;; esac"
    return {
        "sinfo": listed,
        "scontrol": f"echo 'ClusterName             = {cluster}'",
        "srun": "printf 'MPI plugin types are...\\n\\tnone\\n\\tpmix\\n' >&2",
        "sacct": "exit 0",
    }


def pbs(server: str, queue: str) -> dict[str, str]:
    """What qstat(1B) of OpenPBS prints of its version and with -B -f; no Slurm."""
    full = f"Server: {server}\\n    server_state = Active\\n    default_queue = {queue}\\n"
    said = f"case \"$*\" in --version) echo 'pbs_version = 2022.1.3';; *-B*) printf '{full}';; esac"
    return {"qstat": said, "sinfo": "exit 1", "srun": "exit 1"}


INFINIBAND = {"infiniband/mlx5_0": "InfiniBand", "infiniband/mlx5_1": "Ethernet"}
OMNI_PATH = {"infiniband/hfi1_0": "InfiniBand"}
CXI = {f"cxi/cxi{k}": "" for k in range(4)}
CRAY = {"CRAY_MPICH_VERSION": "8.1.30"}
OPENMPI = {"mpirun": 'case "$1" in --version) echo "mpirun (Open MPI) 4.1.6";; esac'}
MPICH = {"mpichversion": "printf 'MPICH Version: 4.3.0\\nMPICH Device: ch4:ofi\\n'", "mpirun": "exit 1"}
BY_CRAY = "features: [mpi, cray-mpich]"
MACHINES = {
    "lumi": Found(
        "lumi",
        slurm("lumi", "standard-g* 2978\\nsmall-g 2978\\ndev-g 2978"),
        CRAY,
        CXI,
        (BY_CRAY, "launcher: srun", "cxi3"),
    ),
    "perlmutter-cpu": Found(
        "perlmutter",
        slurm("perlmutter", "cpu_ss11* 3072\\ngpu_ss11 1792"),
        CRAY,
        {"cxi/cxi0": ""},
        (BY_CRAY, "--partition=cpu_ss11", "nics: [cxi0]"),
    ),
    "aurora": Found(
        "aurora-pbs-0001",
        {**pbs("aurora-pbs-0001.host", "workq"), **MPICH, "pals/mpiexec": "exit 0"},
        {},
        {f"cxi/cxi{k}": "" for k in range(8)},
        ("launcher: mpiexec", "features: [mpi, pals, mpich-ofi]", "-q workq", "place=scatter:excl", "cxi7"),
    ),
    "ndr": Found(
        "ndr",
        {**slurm("ndr", "compute* 700\\nlargemem 16"), **OPENMPI},
        {},
        INFINIBAND,
        ("features: [mpi, openmpi, ucx]", "mlx5_0:1", "(--partition NAME): largemem.", "[SLURM_MPI_TYPE, pmix]", "30m"),
    ),
    "pbs-omni-path": Found(
        "opa-pbs",
        {**pbs("opa-pbs", "workq"), **OPENMPI},
        {},
        OMNI_PATH,
        ("launcher: mpirun", "features: [mpi, openmpi, psm2]", "-q workq", "place=scatter:excl"),
    ),
    "ethernet": Found(
        "small", {**slurm("small", "all* 8"), **OPENMPI}, {}, {"net/eth0": ""}, ("features: [mpi, openmpi]", "nodes: 8")
    ),
    "no-default": Found("plain", {**slurm("plain", "a 4\\nb 64"), **OPENMPI}, {}, {}, ("--partition=b", "nodes: 16")),
}
#: One: to read all checks takes 3 s of processor, and only the dry run depends on the machine.
LISTED = "lumi"
#: A dry run takes 3 s of processor too: one for each form of a fragment, by scheduler, launcher and MPI.
TRIED = (LISTED, "aurora", "ndr", "pbs-omni-path")


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_what_doctor_prints_is_loaded_listed_and_dry_run_with_no_line_edited(
    name: str, machine: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fault` loads the fragment and dry-runs one check, as doctor itself does; a machine lists all checks."""
    shown = MACHINES[name]
    folder = tmp_path / "bin"
    (folder / "pals").mkdir()
    for other in ("mpicc.openmpi", "mpicc.mpich", "mpichversion"):
        program(folder, other, "exit 1")
    program(folder, "mpicc", "echo gcc -lmpi")
    for own, text in shown.programs.items():
        path = program(folder, own, text)
        if own.startswith("pals/"):
            (folder / path.name).symlink_to(path)
    for device, layer in shown.devices.items():
        path = tmp_path / "sys/class" / device
        (path / "ports/1").mkdir(parents=True)
        (path / "ports/1/link_layer").write_text(layer)
        (path / "ports/1/state").write_text("4: ACTIVE")
    for variable, value in {**machine, **shown.variables, "LOADEDMODULES": "gcc/13.2:mpi/1"}.items():
        monkeypatch.setenv(variable, value)
    here = inventory.look(tmp_path / "sys")
    here = replace(here, mpis=tuple(replace(mpi, built=True) for mpi in here.mpis))
    text = findings.fragment(here)
    (tmp_path / "mine.yml").write_text(text)
    assert name not in TRIED or cli.fault(text, findings.system_name(here)) == "", text
    assert f"- name: {shown.cluster}\n" in text and all(words in text for words in shown.expected), text
    assert "modules_system: lmod" in text and "modules: [gcc/13.2, mpi/1]" in text
    assert text.count("scheduler: ") == 1, "one partition"
    assert "mlx5_1" not in text, "no RoCE port"
    if name != LISTED:
        return
    checks = ("-c", str(CHECKOUT / "checks"), "-l")
    listed = reframe(tmp_path / "mine.yml", shown.cluster, tmp_path, machine, *checks)
    assert "halo_smoke" in listed.stdout, listed.stdout
    assert "lulesh_" in listed.stdout, "checks in a folder below checks/ are found"


#: An srun that wants an account, reports that the step waits, and runs it on a node with two adapters and four GPUs.
STRICT_SRUN = """\
case "$*" in --mpi=list) printf 'MPI plugin types are...\\n\\tpmix\\n' >&2; exit 0;; esac
echo "$*" >> {log}
case "$*" in *--account=proj*) ;; *) echo "srun: error: Invalid account or account/partition" >&2; exit 1;; esac
echo "srun: job 7 queued and waiting for resources" >&2
printf '%s' '{{"interfaces": [{{"name": "mlx5_0:1", "fabric": "infiniband", "numa": 0}}],'
echo ' "node": {{"host": "cn1", "boot": "b0", "nics": [], "gpus": [1, 2, 3, 4]}}}}'
"""


@pytest.mark.built
def test_doctor_asks_a_site_that_wants_an_account_for_two_partitions(machine: dict[str, str], tmp_path: Path) -> None:
    """Before, srun got no account and no time limit, and what it printed while it waited was not shown."""
    folder, log = tmp_path / "bin", tmp_path / "steps"
    texts = {**slurm("ask", "cpu* 64\\ngpu 16"), "srun": STRICT_SRUN.format(log=log)}
    for mpi, words in {"openmpi": "mpirun (Open MPI) 4.1.6", "mpich": "MPICH Version: 4.3.0"}.items():
        texts |= {f"mpicc.{mpi}": "echo gcc -lmpi", f"mpirun.{mpi}": f"echo '{words}'"}
    for name, text in texts.items():
        program(folder, name, text)
    command = [str(BIN / "railyard"), "doctor", "--on-a-node", "--fragment"]
    env = {**environment(), **machine}
    refused = ran(*command, cwd=CHECKOUT, env=env)
    assert refused.returncode == 1 and not refused.stdout
    assert "Invalid account" in refused.stderr and "--access" in refused.stderr.splitlines()[-1]
    command += ["--partition", "cpu", "--partition", "gpu", "--access", "--account=proj -C 'gpu&hbm80g'"]
    done = ran(*command, cwd=CHECKOUT, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("queued and waiting") == 2 and "does not work" not in done.stderr, done.stderr
    steps = [line for line in log.read_text().splitlines() if "--account" in line]
    for partition, step in zip(("cpu", "gpu"), steps, strict=True):
        options = f"--partition={partition} --account=proj -C gpu&hbm80g --nodes=1 --ntasks=1 --time=2 "
        assert step.startswith(options), step
        assert f"[--partition={partition}, --account=proj, -C 'gpu&hbm80g']" in done.stdout
    for mpi in ("openmpi", "mpich"):
        is_built = (CHECKOUT / f"build/benchmarks-{mpi}/bin/halo").is_file()
        assert (f"name: {mpi}-here" in done.stdout) is is_built
        assert (f"{mpi} 4." in done.stderr and "not built; run: make setup" in done.stderr) or is_built
    assert "origin: measured" in done.stdout and "emulated" not in done.stdout
    assert "# gpu: a node has 4 GPUs" in done.stdout and "# Other partitions" not in done.stdout


REGISTERED = """\
from reframe.core.backends import register_launcher
from reframe.core.launchers.mpi import MpirunLauncher


@register_launcher("site_mpirun")
class SiteMpirun(MpirunLauncher):
    def command(self, job):
        return ["/opt/site/mpirun", "-np", str(job.num_tasks), "$SITE_ARGS"]


partition = {"name": "cpu", "scheduler": "squeue", "launcher": "site_mpirun", "environs": ["site-mpi"]}
partition |= {"features": ["torus"], "extras": {"origin": "measured", "nodes": 8, "launch": "mpirun"}}
site_configuration = {
    "systems": [{"name": "site", "hostnames": ["^site$"], "partitions": [partition]}],
    "environments": [{"name": "site-mpi", "target_systems": ["site"], "features": ["mpi", "openmpi"]}],
}
"""


def test_a_launcher_that_a_site_registered_starts_every_launch_in_its_familys_words(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """And the binding `launcher` passes it no option about binding, which /none does."""
    config = tmp_path / "site_settings.py"
    config.write_text(REGISTERED)
    words = ["-c", str(CHECKOUT / "checks/halo.py"), "-n", "halo_smoke", "--dry-run"]
    words += ["-S", "placements=plain,plain/launcher"]
    done = reframe(config, "site", tmp_path, machine, *words)
    assert done.returncode == 0 and "Ran 1/1" in done.stdout, done.stdout + done.stderr
    script = next(tmp_path.rglob("rfm_job.sh")).read_text()
    ours = "/opt/site/mpirun -np 8 --map-by seq --hostfile plain.hostfile --bind-to none $SITE_ARGS env "
    plain = "/opt/site/mpirun -np 8 --map-by seq --hostfile plain-launcher.hostfile $SITE_ARGS env "
    assert ours in script and plain in script, script


def test_a_fragment_that_does_not_work_says_why() -> None:
    reason = cli.fault("systems: []", "nowhere")
    assert reason and "Traceback" not in reason
