"""Try what doctor found: a fragment under ReFrame before it is printed, and the NICs of a compute node."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import RunError
from railyard.doctor.inventory import Machine, Nic

TRIAL = "halo_smoke"
LIMIT_S = 300
SHOW_NICS = "import json; from railyard.doctor import inventory; from dataclasses import asdict; "
SHOW_NICS += "print(json.dumps([asdict(nic) for nic in inventory.nics(inventory.SYS)]))"


def fault(fragment: str, system: str) -> str:
    """Load a fragment into ReFrame and dry-run one check; returns why that fails, empty if it works."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "mine.yml")
        path.write_text(fragment, encoding="utf-8")
        words = ["reframe", "-C", str(CHECKOUT / "reframe.yml"), "-C", str(path), "--system", system]
        words += ["--prefix", folder, "-c", str(CHECKOUT / "checks/halo.py"), "-n", TRIAL, "--dry-run"]
        path_of = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
        environment = {
            **os.environ,
            "PATH": path_of,
            "RAILYARD_CHECKOUT": str(CHECKOUT),
            "PWD": str(CHECKOUT),
        }
        try:
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                cwd=CHECKOUT,
                env=environment,
                timeout=LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    tried = re.search(r"Ran (\d+)/", output)
    if done.returncode == 0 and tried and int(tried[1]):
        return ""
    wrong = re.search(r"(?:Reason: |ERROR: |SKIP\s*\] .*?\[)(.*)", output)
    return wrong[1].strip() if wrong else f"no check runs on {system} with an MPI that was found"


def with_nics_of_a_node(machine: Machine) -> Machine:
    """Return the machine with the NICs of a compute node of the chosen partition; RunError where no step runs."""
    chosen = machine.scheduler.chosen
    if chosen is None:
        raise RunError("--on-a-node: no Slurm partition here; run: qsub -I, then railyard doctor on the node")
    step = ["srun", f"--partition={chosen.name}", "--nodes=1", "--ntasks=1", "--mpi=none", sys.executable]
    try:
        done = subprocess.run(
            [*step, "-c", SHOW_NICS], capture_output=True, text=True, cwd=CHECKOUT, check=False
        )
    except OSError as error:
        raise RunError(f"--on-a-node: srun: {error.strerror}") from error
    if done.returncode:
        raise RunError(f"--on-a-node: srun failed: {' '.join(done.stderr.split())}")
    nics = tuple(Nic(**nic) for nic in json.loads(done.stdout.splitlines()[-1]))
    return dataclasses.replace(machine, nics=nics, nics_of_a_node=True)
