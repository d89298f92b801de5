"""Collect what a report of a wrong reading needs: texts of a machine with host names replaced (`doctor --collect`).

Models: output of the commands and files that railyard reads, variables of a job, and the part of sysfs that decides
what a NIC is. Only the letters of host names change, so that lists, order and trees are the same. Leaves out:
addresses, serial numbers and names of switches, which do not change. A person reviews the files before sending them.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from railyard.base import programs
from railyard.base.errors import InputError
from railyard.base.host_names import short
from railyard.placements.launchers.base import BATCH_NODE_FILES

#: File -> the command whose output is in it.
COMMANDS: Mapping[str, list[str]] = {
    "scontrol-topology.txt": ["scontrol", "show", "topology"],
    "scontrol-topoconf.txt": ["scontrol", "show", "topoconf"],
    "sinfo.txt": ["sinfo", "--Node", "--noheader", "--format", "%N %P %D"],
    "srun-mpi.txt": ["srun", "--mpi=list"],
    "ibnetdiscover.txt": ["ibnetdiscover"],
    "ibnetdiscover-p.txt": ["ibnetdiscover", "-p"],
    "iblinkinfo.txt": ["iblinkinfo"],
    "opareport.txt": ["opareport", "-o", "links"],
    "xtprocadmin.txt": ["xtprocadmin", "-A"],
    "mpirun.txt": ["mpirun", "--version"],
    "mpichversion.txt": ["mpichversion"],
}
#: Variables that name a file with a job's hosts.
HOST_FILES = (*BATCH_NODE_FILES, "RAILYARD_NODES")
#: Variables of a job that railyard reads.
VARIABLES = re.compile(
    r"SLURM_\w*(NODE|TOPOLOGY|TASKS_PER)\w*|LSB_\w*HOST\w*|FLUX_\w+|OAR_NODEFILE|PBS_NODEFILE"
)
SLURM_FOLDERS = ("/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc/slurm")
#: Files of a device in sysfs whose content decides what it is.
SYSFS = (
    *(f"class/net/*/{name}" for name in ("operstate", "type", "bonding/mode", "device/numa_node")),
    *(f"class/infiniband/*/ports/*/{name}" for name in ("state", "link_layer")),
    *(f"class/infiniband/*/{name}" for name in ("node_type", "device/vendor", "device/numa_node")),
)
#: Links of a device in sysfs, which are written as `-> target`.
LINKS = (
    *("class/net/*/device", "class/net/*/master", "class/net/*/device/physfn"),
    *("class/infiniband/*/device", "class/infiniband/*/device/driver"),
)
TIMEOUT_S = 60


def write(folder: Path) -> list[str]:
    """Write the texts into a folder and return the names of the files; InputError for a folder with files."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            "--collect", "", problem=f"not an empty folder: {folder}", valid="a folder to be made"
        )
    texts = dict(_texts(os.environ))
    names = host_names(texts.values())
    texts = {name: replaced(text, names) for name, text in texts.items()}
    texts["sysfs.yaml"] = sysfs(Path("/sys"))
    folder.mkdir(parents=True, exist_ok=True)
    written = [name for name, text in sorted(texts.items()) if text.strip()]
    for name in written:
        (folder / name).write_text(texts[name], encoding="utf-8")
    return written


def _texts(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "hosts.txt", f"{socket.getfqdn()}\n{socket.gethostname()}\n"
    lines = [f"{key}={value}" for key, value in sorted(environment.items()) if VARIABLES.fullmatch(key)]
    yield "environment.txt", "".join(f"{line}\n" for line in lines)
    for variable in HOST_FILES:
        if path := environment.get(variable):
            yield f"{variable}.txt", _content(Path(path))
    for name in ("topology.conf", "topology.yaml"):
        folders = [Path(environment.get("SLURM_CONF", "/")).parent, *map(Path, SLURM_FOLDERS)]
        yield name, next(filter(None, (_content(folder / name) for folder in folders)), "")
    for name, command in COMMANDS.items():
        yield name, _output(command)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _output(command: list[str]) -> str:
    """Return what a command prints; empty if it is not installed, fails or takes too long."""
    try:
        done = programs.run(command, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if not done.returncode else ""


def host_names(texts: Iterable[str]) -> set[str]:
    """Return the host names and host lists in texts; the first text has the names of this host alone."""
    first, *others = texts
    words = set(first.split())
    for text in others:
        words |= set(re.findall(r'^Ca\s.*# *"([\w.-]+) ', text, re.MULTILINE))  # ibnetdiscover
        words |= set(re.findall(r"^CA: ([\w.-]+) ", text, re.MULTILINE))  # iblinkinfo
        words |= set(re.findall(r"\b(?:Nodes|NodeName|\w*NODELIST|\w*HOSTS)=([^\s#]+)", text))
        words |= set(re.findall(r"^([A-Za-z][\w.-]*\d[\w.-]*)(?:[ :\t].*)?$", text, re.MULTILINE))
    return {part for word in words for part in word.split(",") if part}


def replaced(text: str, names: Iterable[str]) -> str:
    """Return a text in which the letters before a host's number, and its domain, are replaced."""
    labels = {short(name) for name in names}
    domains = {name.removeprefix(short(name)) for name in names} - {""}
    prefixes = {match[0] for label in labels if (match := re.match(r"[A-Za-z][A-Za-z_-]*(?=[0-9\[])", label))}
    words = {label for label in labels if re.fullmatch(r"[A-Za-z][A-Za-z_-]*", label)}
    for domain in sorted(domains, key=len, reverse=True):
        text = text.replace(domain, ".example.org")
    patterns = [rf"(?<![A-Za-z0-9]){re.escape(prefix)}(?=[0-9\[])" for prefix in sorted(prefixes)]
    patterns += [rf"(?<![\w.-]){re.escape(word)}(?![\w-])" for word in sorted(words)]
    for index, pattern in enumerate(patterns):
        text = re.sub(pattern, f"host{_letters(index)}", text)
    return text


def _letters(index: int) -> str:
    """Return a, b, ..., z, ba, bb, ... for 0, 1, ..."""
    return (_letters(index // 26) if index > 25 else "") + chr(ord("a") + index % 26)


def sysfs(root: Path) -> str:
    """Return what sysfs reports of network devices, in the form of a case's `tree` (tests/data/public)."""
    lines = []
    for pattern in SYSFS:
        for path in sorted(root.glob(pattern)):
            if content := _content(path).strip():
                lines.append(f'  {path.relative_to(root)}: "{content}"')
    for pattern in LINKS:
        for path in sorted(root.glob(pattern)):
            lines.append(f'  {path.relative_to(root)}: "-> {os.path.relpath(path.resolve(), root)}"')
    return "".join(f"{line}\n" for line in ["tree:", *lines]) if lines else ""
