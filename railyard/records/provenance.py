"""Collect the `provenance` of a record: which code ran, on which machine.

Models: the commit of the checkout and whether files differ from it ("dirty"), kernel, distribution, CPU, memory, host
name, digests of the compiled files. The checkout is clean if every file equals that of the commit byte for byte, and
the only other files are those that the committed .gitignore ignores. Settings of git cannot change the result: its
index, its filters and the user's own ignore lists are not used. Leaves out: user names, environment variables, serial
numbers and addresses.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import stat
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import railyard
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.records.json_io import Json

#: The file into which `git archive` writes the commit (.gitattributes).
ARCHIVED = "railyard/base/commit.txt"
_GIT_TIMEOUT_S = 30


def code(checkout: Path = CHECKOUT) -> dict[str, Json]:
    """Return railyard's version, the checkout's commit, and whether the checkout differs from it (`git_dirty`).

    The last two are None if the folder is not a git checkout or git is not installed. A folder that `git archive` made,
    such as an action that GitHub delivers, has a commit, but `git_dirty` is None.
    """
    unknown = {"version": railyard.__version__, "git_commit": None, "git_dirty": None}
    top = _git(checkout, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != checkout.resolve():
        text = ""
        with contextlib.suppress(OSError):
            text = (checkout / ARCHIVED).read_text(encoding="utf-8").strip()
        return {**unknown, "git_commit": text if re.fullmatch(r"[0-9a-f]{40,64}", text) else None}
    commit = _git(checkout, "rev-parse", "--verify", "HEAD")
    return {**unknown, "git_commit": commit, "git_dirty": None if commit is None else _is_dirty(checkout, commit)}


def state(checkout: Path = CHECKOUT, build: Path = BUILD) -> dict[str, Json]:
    """Return the current time, commit, whether the checkout differs from it, and digests of the compiled files."""
    now = code(checkout)
    built = [path for part in ("lib", "bin") for path in sorted((build / part).glob("*")) if path.is_file()]
    return {
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "git_commit": now["git_commit"],
        "git_dirty": now["git_dirty"],
        "files": digests(built),
    }


def digests(paths: Iterable[Path]) -> dict[str, Json]:
    """Return file name -> sha256, None for a file that cannot be read; names are as in `named_digests`."""
    return named_digests((str(path), _sha256(path)) for path in paths)


def named_digests(digests: Iterable[tuple[str, str | None]]) -> dict[str, Json]:
    """Return file name -> digest from (path, digest); a different file of the same name is `NAME~2` and so on."""
    by_name: dict[str, Json] = {}
    for path, digest in digests:
        name, number = Path(path).name, 1
        key = name
        while by_name.get(key, digest) != digest:
            number += 1
            key = f"{name}~{number}"
        by_name[key] = digest
    return by_name


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _is_dirty(checkout: Path, commit: str) -> bool | None:
    """Return whether any file differs from the commit, without git's index; None if git cannot list the commit."""
    tree = _git(checkout, "ls-tree", "-r", "-z", "--full-tree", commit)
    others = _git(checkout, "ls-files", "--others", "--exclude-per-directory=.gitignore", "-z")
    added = _git(checkout, "ls-files", "-z")
    if tree is None or others is None or added is None:
        return None
    entries = [line.partition("\t") for line in tree.split("\0") if line]
    committed = {name: state.split() for state, _, name in entries}
    strangers = {name for name in (others + added).split("\0") if name and name not in committed}
    return bool(strangers) or any(
        _differs(checkout / name, mode, digest) for name, (mode, kind, digest) in committed.items() if kind == "blob"
    )


def _differs(path: Path, mode: str, digest: str) -> bool:
    try:
        status = path.lstat()
        content = os.fsencode(path.readlink()) if stat.S_ISLNK(status.st_mode) else path.read_bytes()
    except OSError:
        return True
    kind = "120000" if stat.S_ISLNK(status.st_mode) else "100755" if status.st_mode & 0o100 else "100644"
    algorithm = "sha1" if len(digest) == 40 else "sha256"
    blob = hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return kind != mode or blob.hexdigest() != digest


def is_known(commit: str, checkout: Path = CHECKOUT) -> bool | None:
    """Return whether the checkout's repository has a commit; None if unknown: no git, or a shallow clone."""
    if _git(checkout, "rev-parse", "--is-shallow-repository") != "false":
        return None
    return _git(checkout, "cat-file", "-t", commit) == "commit"


def committed(commit: str, checkout: Path = CHECKOUT) -> datetime | None:
    """Return when a commit was made; None if the checkout is not a whole clone, or lacks the commit."""
    text = _git(checkout, "show", "--no-patch", "--format=%cI", commit) if is_known(commit, checkout) else None
    return datetime.fromisoformat(text) if text else None


def _git(folder: Path, *arguments: str) -> str | None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_TIMEOUT_S,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine() -> dict[str, Json]:
    """Return kernel, distribution, CPU model, number of CPUs, memory in bytes and host name of this machine."""
    memory_bytes = None
    with contextlib.suppress(OSError, ValueError):
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "os": _field("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)', platform.system()),
        "cpu": _field("/proc/cpuinfo", r"^(?:model name|cpu model|Model)\s*:\s*(.+)$", platform.machine()),
        "cpus": os.cpu_count(),
        "memory_bytes": memory_bytes,
        "hostname": platform.node(),
    }


def _field(file: str, pattern: str, otherwise: str) -> str:
    try:
        content = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return otherwise
    match = re.search(pattern, content, re.MULTILINE)
    return " ".join(match.group(1).split()) if match else otherwise
