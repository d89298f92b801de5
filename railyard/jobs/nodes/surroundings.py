"""Record the environment of a job's launches: MPI's variables, modules, and the communication libraries loaded.

Two records that differ in any of it are two cases. Secrets stay out by one rule: a variable whose name
contains key, token, secret, pass, cred or auth, or whose value holds a user name in a URL, is recorded as `(left out)`.
The user's home folder is written as `~`. Leaves out every variable without one of the prefixes below.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railyard.records.assemble import one_line
from railyard.records.store.entries import SUBJECT

#: How the variables of MPI libraries, their networks and collectives begin, and the names of the commit under test.
PREFIXES = (
    *SUBJECT,
    *("MPICH_", "MPIR_", "OMPI_", "PRTE_", "PMIX_MCA_", "I_MPI_", "MV2_", "MVP_", "SLURM_MPI_TYPE", "PALS_"),
    *("FI_", "UCX_", "PSM", "HFI_", "IPATH_", "NCCL_", "RCCL_", "GLOO_", "CCL_", "GEMINI_", "CXI_"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"),
)
JOB_IDS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "OAR_JOB_ID", "JOB_ID")
SECRET_NAME = re.compile("key|token|secret|pass|cred|auth", re.IGNORECASE)
SECRET_VALUE = re.compile(r"://[^/\s]*@")
LEFT_OUT = "(left out)"
MOST_CHARACTERS = 1000


def described(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the variables of MPI and its networks, the modules, and the job's id in its batch system."""
    home, variables = environment.get("HOME", ""), {}
    for name, value in sorted(environment.items()):
        if name.startswith(PREFIXES):
            is_secret = SECRET_NAME.search(name) or SECRET_VALUE.search(value)
            variables[name] = LEFT_OUT if is_secret else one_line(_shown(value, home))[:MOST_CHARACTERS]
    modules = [name for name in environment.get("LOADEDMODULES", "").split(":") if name]
    job = next((environment[name] for name in JOB_IDS if environment.get(name)), "")
    return {"variables": variables, "modules": modules, "job": job}


def _shown(text: str, home: str) -> str:
    return text.replace(home, "~") if len(home) > 1 else text


def libraries(loaded: Sequence[Mapping[str, Any]], home: str = "") -> list[dict[str, str]]:
    """Return communication libraries as the record has them, from those that a launch had loaded.

    Each has its file, its version if it has one, and the sha256 of its content if the file can be read here.
    """
    rows = []
    for library in loaded:
        try:
            digest = hashlib.sha256(Path(library["path"]).read_bytes()).hexdigest()
        except OSError:
            digest = ""
        file, version = one_line(_shown(library["path"], home)), one_line(str(library["version"]))
        rows.append({"file": file, "version": version, "sha256": digest})
    return rows
