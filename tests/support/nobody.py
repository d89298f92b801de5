"""Run railyard as an ordinary user, who can read neither the checkout nor its interpreter."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.commands import CHECKOUT, HUNG_S

NOBODY = pwd.getpwnam("nobody")
#: What of the checkout a torus, a launch and the halo need.
NEEDED = ("railyard", "placements", "build/bin", "build/lib", "build/benchmarks-openmpi")
AS_NOBODY = ["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]


def as_nobody(home: Path, *arguments: str, within: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """`railyard ARGUMENTS...` as the user nobody, with an interpreter and a checkout that nobody can read."""
    packages = next((CHECKOUT / ".venv/lib").glob("python3.*/site-packages"))
    # Bound where nobody can read them, wherever the checkout is; the mount ends with the command.
    bind = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    bound = ["unshare", "--mount", "sh", "-c", bind, "sh", str(packages), str(home / "packages")]
    return subprocess.run(
        [*bound, *within, *AS_NOBODY, "/usr/bin/python3", "-m", "railyard.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        cwd="/",
        env={**os.environ, "HOME": str(home), "PYTHONPATH": f"{home}/checkout:{home}/packages", "COLUMNS": "120"},
        check=False,
    )


@contextmanager
def home_for_nobody() -> Iterator[Path]:
    """A home with a copy of the checkout's code in it, which an ordinary user could have made.

    One test at a time is this user: the tori of a user share namespaces, and `down --all` ends all of them.
    """
    with Path("/tmp/railyard-test-nobody.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield from _home()


def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="railyard-test-"))
    for folder in NEEDED:
        shutil.copytree(CHECKOUT / folder, home / "checkout" / folder)
    (home / "packages").mkdir()
    for path in [home, *home.rglob("*")]:
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    try:
        yield home
    finally:
        as_nobody(home, "torus", "down", "--all")
        shutil.rmtree(home)


def no_namespaces_for_nobody() -> str:
    """Return why user nobody can have no torus here, in one line; empty where it can."""
    version = "import sys; assert sys.version_info >= (3, 11)"
    if subprocess.run([*AS_NOBODY, "/usr/bin/python3", "-c", version], capture_output=True).returncode:
        return "/usr/bin/python3 is older than 3.11 or not there: no interpreter that user nobody can run"
    if subprocess.run([*AS_NOBODY, "unshare", "-Ur", "true"], capture_output=True).returncode:
        return "this kernel's policy forbids user namespaces to ordinary users"
    return ""
