"""The `provenance` of a record: which code, which machine; what ran it is handed in by who knows.

Models: git commit and dirtiness of the checkout (an untracked file makes it dirty: it may change what runs),
kernel, distribution, CPU, memory, host name. Leaves out: user names, environment variables, serial numbers
and addresses.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import railyard
from railyard.checkout import CHECKOUT
from railyard.records.json_io import Json

_GIT_TIMEOUT_S = 30


def collect(
    *,
    reframe: Mapping[str, Json] | None = None,
    mpi: Mapping[str, Json] | None = None,
    torus: Mapping[str, Json] | None = None,
    image: Mapping[str, Json] | None = None,
    checkout: Path = CHECKOUT,
) -> dict[str, Json]:
    """The provenance of a job that runs here and now; with mpi None, `assemble` fills it in."""
    return {
        "railyard": code(checkout),
        "reframe": None if reframe is None else dict(reframe),
        "machine": machine(),
        "mpi": None if mpi is None else dict(mpi),
        "torus": None if torus is None else dict(torus),
        "image": None if image is None else dict(image),
    }


def code(checkout: Path = CHECKOUT) -> dict[str, Json]:
    """railyard's version and the checkout's commit; null where the folder is no checkout or git is absent."""
    unknown = {"version": railyard.__version__, "git_commit": None, "git_dirty": None}
    top = _git(checkout, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != checkout.resolve():
        return unknown
    status = _git(checkout, "status", "--porcelain")
    commit = _git(checkout, "rev-parse", "--verify", "HEAD")
    return {**unknown, "git_commit": commit, "git_dirty": None if status is None else bool(status)}


def _git(folder: Path, *arguments: str) -> str | None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_TIMEOUT_S,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine() -> dict[str, Json]:
    """Kernel, distribution, CPU model, CPU count, memory in bytes and host name of this machine."""
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "os": _field("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)', platform.system()),
        "cpu": _field("/proc/cpuinfo", r"^(?:model name|cpu model|Model)\s*:\s*(.+)$", platform.machine()),
        "cpus": os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "hostname": platform.node(),
    }


def _field(file: str, pattern: str, otherwise: str) -> str:
    try:
        content = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return otherwise
    found = re.search(pattern, content, re.MULTILINE)
    return " ".join(found.group(1).split()) if found else otherwise


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
